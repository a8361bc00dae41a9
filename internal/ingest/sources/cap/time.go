package cap

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// times sets the start and end of a group. If the end is not after the start, but after the time of
// issue, it is replaced by the usual life of the type, because the alert must not vanish before it
// begins. For an end before the time of issue, see early. An end too far in the future is ignored,
// and so is one that is only a stamp of the list.
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
	if r.cfg.Practice.Expires == ExpiresStamp {
		g.expiry, g.end = nil, nil
	}
	switch {
	case g.end == nil:
	case *g.end <= r.sent:
		r.early(g)
	case *g.end > r.sent.Add(farAhead):
		g.end = nil
	case *g.end <= g.start:
		info, _ := g.typ.Info()
		g.end = new(g.start.Add(cmp.Or(info.Life, 24*time.Hour)))
	}
	if g.end == nil && g.ended == "" && !is(r.m.MsgType, "Cancel") {
		g.notes = append(g.notes, r.endlessNote(g))
	}
	if g.start > r.now.Add(farAhead) {
		g.doubts = append(g.doubts, fmt.Sprintf("onset: %v is more than 366 days ahead", g.start))
	}
}

// early reads an end that is not after the time of issue. What it means depends on the sender. Of an
// unknown one, the alert is shown as one without an end, unless the end is long before its issue:
// then it is the end of something that is over.
func (r *reader) early(g *group) {
	switch p := &r.cfg.Practice; {
	case g.ended != "":
		g.start = min(g.start, *g.end)
	case p.Early == EarlyOver, p.Early == EarlyUnknown && p.Lists.InForce != source.Yes && *g.end < r.sent.Add(-goesOn):
		g.ended, g.start = hazard.EndExpired, min(g.start, *g.end)
	default:
		g.end, g.expiry = nil, nil
	}
}

// endlessNote says how long an alert without an end is shown.
func (r *reader) endlessNote(g *group) string {
	if r.cfg.Practice.Lists.InForce == source.Yes {
		return "the sender states no end: it lasts until the sender's list no longer holds it"
	}
	info, _ := g.typ.Info()
	return fmt.Sprintf("the sender states no usable end, so it is shown for %d hours from its issue, or until a newer message", int(max(info.Life, endless).Hours()))
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
