package cap

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
)

// times sets the start and end of a group. If the end is not after the start, but after the time of
// issue, it is replaced by the usual life of the type, because the alert must not vanish before it
// begins. An end before the time of issue means that the alert is over. An end too far in the
// future is ignored.
func (r *reader) times(g *group) {
	read := func(field, text string) *hazard.Instant {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		at, note, err := lenient.Time(text, r.zone)
		if err != nil {
			g.faults = append(g.faults, fmt.Sprintf("%s: %v", field, err))
			return nil
		}
		if note != "" {
			g.faults = append(g.faults, field+": "+note)
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
	// MET Norway uses expires for the validity of the message, and this parameter for the end of
	// the weather.
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

// ParseTime parses a CAP time with its offset. See lenient.Time.
func ParseTime(s string) (hazard.Instant, error) {
	at, note, err := lenient.Time(s, nil)
	if err == nil && note != "" {
		err = errors.New(note)
	}
	return at, err
}

// parseFeedTime parses an RSS or Atom time.
func parseFeedTime(s string) (hazard.Instant, error) {
	if at, err := ParseTime(s); err == nil {
		return at, nil
	}
	for _, form := range []string{time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700"} {
		// The offset of a zone name is unknown, except for the names of UTC.
		if t, err := time.Parse(form, s); err == nil && (strings.Contains(form, "-0700") || strings.HasSuffix(s, "GMT") || strings.HasSuffix(s, "UTC")) {
			return hazard.At(t), nil
		}
	}
	return 0, fmt.Errorf("%.40q is not a time", s)
}
