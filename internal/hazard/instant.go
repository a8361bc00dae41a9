package hazard

import (
	"strconv"
	"time"
)

// Instant is a moment in milliseconds since 1970-01-01T00:00:00Z. It may be negative, because
// catalogs hold events before 1970.
type Instant int64

// At converts t, truncated to the millisecond.
func At(t time.Time) Instant { return Instant(t.UnixMilli()) }

// Now returns i. So an Instant is a Clock that stands still, for records as of a given time.
func (i Instant) Now() Instant { return i }

// Clock tells the time.
type Clock interface{ Now() Instant }

// ClockFunc adapts a function to a Clock.
type ClockFunc func() Instant

// Now returns what f returns.
func (f ClockFunc) Now() Instant { return f() }

// Time returns the instant in UTC.
func (i Instant) Time() time.Time { return time.UnixMilli(int64(i)).UTC() }

// Add returns the instant d later, to the millisecond.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d.Milliseconds()) }

// Digits returns the instant as a string of digits, the form of the base interface (section 2.6).
func (i Instant) Digits() string { return strconv.FormatInt(int64(i), 10) }

// String returns the instant in RFC 3339 with milliseconds, for people and logs.
func (i Instant) String() string { return i.Time().Format("2006-01-02T15:04:05.000Z07:00") }

// The limits of a hazard's instants. A moment beyond them is a mistake, such as seconds taken for
// milliseconds, and RFC 3339 cannot express it.
const (
	MinInstant Instant = -62135596800000 // 0001-01-01T00:00:00Z
	MaxInstant Instant = 253402300799999 // 9999-12-31T23:59:59.999Z
)

// Ceil returns t, rounded up to a multiple of d since the epoch.
func (t Instant) Ceil(d time.Duration) Instant {
	step := Instant(d.Milliseconds())
	rest := t % step
	if rest < 0 {
		rest += step
	}
	if rest == 0 {
		return t
	}
	return t + step - rest
}
