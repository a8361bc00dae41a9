package hazard

import (
	"strconv"
	"time"
)

// Instant is a moment in milliseconds since 1970-01-01T00:00:00Z. It may be negative: catalogues hold events before 1970.
type Instant int64

// At is the instant of t, cut to the millisecond.
func At(t time.Time) Instant { return Instant(t.UnixMilli()) }

// Now returns i: an instant is a Clock that stands still, for what is recorded as of a given time.
func (i Instant) Now() Instant { return i }

// Clock tells the time.
type Clock interface{ Now() Instant }

// ClockFunc is a function as a Clock.
type ClockFunc func() Instant

// Now returns what f returns.
func (f ClockFunc) Now() Instant { return f() }

// Time is the instant as a time in UTC.
func (i Instant) Time() time.Time { return time.UnixMilli(int64(i)).UTC() }

// Add is the instant d later, to the millisecond.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d.Milliseconds()) }

// Digits is the instant as the base interface carries it (section 2.6): a string of digits.
func (i Instant) Digits() string { return strconv.FormatInt(int64(i), 10) }

// String is RFC 3339 with milliseconds, for people and logs.
func (i Instant) String() string { return i.Time().Format("2006-01-02T15:04:05.000Z07:00") }

// The instants that a hazard may have. Beyond them a moment is a mistake (a wrapped year, seconds for milliseconds),
// and RFC 3339 could not write it.
const (
	MinInstant Instant = -62135596800000 // 0001-01-01T00:00:00Z
	MaxInstant Instant = 253402300799999 // 9999-12-31T23:59:59.999Z
)
