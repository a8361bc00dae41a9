package cap

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"hazardd/internal/hazard"
)

// times reads from when until when a group holds. An end that is not after the start is repaired by the life of the type, as
// long as the message was issued before it: such alerts must not vanish before they begin. One that lies before the message
// itself says that it is over. One that is farther ahead than can be known is none.
func (r *reader) times(g *group) {
	read := func(field, text string) *hazard.Instant {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		at, err := ParseTime(text)
		if err != nil {
			g.doubts = append(g.doubts, fmt.Sprintf("%s: %.40q, expected a time with its zone", field, text))
			return nil
		}
		return &at
	}
	effective := read("effective", g.in.Effective)
	g.onset, g.expiry = read("onset", g.in.Onset), read("expires", g.in.Expires)
	g.start = r.sent
	switch {
	case g.onset != nil:
		g.start = *g.onset
	case effective != nil:
		g.start = *effective
	}
	g.end = g.expiry
	// MET Norway: expires is how long the message holds, and this is the end of the weather.
	if at, err := ParseTime(g.in.Param("eventEndingTime")); err == nil {
		g.end = &at
	}
	switch {
	case g.end == nil:
	case *g.end <= r.sent:
		g.ended = hazard.EndExpired
		g.start = min(g.start, *g.end)
	case *g.end > r.sent.Add(farAhead):
		g.end = nil
	case *g.end <= g.start:
		info, _ := g.typ.Info()
		g.end = new(g.start.Add(cmp.Or(info.Life, 24*time.Hour)))
	}
	if g.start > r.now.Add(farAhead) {
		g.doubts = append(g.doubts, fmt.Sprintf("onset: %v is more than 366 days ahead", g.start))
	}
}

// ParseTime reads a time of CAP, which has its zone: RFC 3339, also with Z, which CAP forbids, with an offset without colon,
// and with a leap second.
func ParseTime(s string) (hazard.Instant, error) {
	s = strings.TrimSpace(s)
	leap := time.Duration(0)
	if len(s) > 19 && s[16:19] == ":60" {
		s, leap = s[:16]+":59"+s[19:], time.Second
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04:05Z0700", s)
	}
	if err != nil {
		return 0, err
	}
	at := hazard.At(t.Add(leap))
	if at < hazard.MinInstant || at > hazard.MaxInstant {
		return 0, fmt.Errorf("%s is out of range", s)
	}
	return at, nil
}

// parseFeedTime reads a time of RSS or Atom.
func parseFeedTime(s string) (hazard.Instant, error) {
	if at, err := ParseTime(s); err == nil {
		return at, nil
	}
	for _, form := range []string{time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700"} {
		// A zone that is only named has an unknown offset, but for the names of UTC.
		if t, err := time.Parse(form, s); err == nil && (strings.Contains(form, "-0700") || strings.HasSuffix(s, "GMT") || strings.HasSuffix(s, "UTC")) {
			return hazard.At(t), nil
		}
	}
	return 0, fmt.Errorf("%.40q is no time", s)
}
