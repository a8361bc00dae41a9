package lenient

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

var timeForm = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)? ?([Zz]|[-+]\d{2}(?::?\d{2})?)?$`)

// Time parses an RFC 3339 time as alerts write it: also with z, with an offset without colon,
// without seconds, with a leap second, or with 24:00:00, the end of a day. A time without an offset
// is in zone, or in UTC if zone is nil; then a note says so.
func Time(s string, zone *time.Location) (at hazard.Instant, note string, err error) {
	s = strings.TrimSpace(s)
	bad := func() (hazard.Instant, string, error) {
		return 0, "", fmt.Errorf("%q, expected a time as in RFC 3339", ExcerptText(s))
	}
	m := timeForm.FindStringSubmatch(s)
	if m == nil {
		return bad()
	}
	day, err := time.Parse(time.DateOnly, m[1])
	if err != nil {
		return bad()
	}
	hours, _ := strconv.Atoi(m[2])
	minutes, _ := strconv.Atoi(m[3])
	seconds, _ := strconv.ParseFloat("0"+m[4]+m[5], 64)
	if hours > 24 || minutes > 59 || seconds >= 61 || hours == 24 && minutes+int(seconds) > 0 {
		return bad()
	}
	if zone == nil {
		zone = time.UTC
	}
	switch offset := strings.ReplaceAll(m[6], ":", ""); offset {
	case "":
		note = fmt.Sprintf("%q has no zone, read as %s", s, day.In(zone).Format("Z07:00"))
	case "Z", "z":
		zone = time.UTC
	default:
		h, _ := strconv.Atoi(offset[1:3])
		half, _ := strconv.Atoi("0" + offset[3:])
		if h > 23 || half > 59 {
			return bad()
		}
		east := h*3600 + half*60
		if offset[0] == '-' {
			east = -east
		}
		zone = time.FixedZone("", east)
	}
	t := time.Date(day.Year(), day.Month(), day.Day(), hours, minutes, 0, 0, zone).Add(time.Duration(seconds * float64(time.Second)))
	if at = hazard.At(t); at < hazard.MinInstant || at > hazard.MaxInstant {
		return bad()
	}
	return at, note, nil
}

// Zone returns the offset of a time as a location, or nil if it has none.
func Zone(s string) *time.Location {
	m := timeForm.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil || m[6] == "" {
		return nil
	}
	for _, form := range []string{"Z07:00", "Z0700", "Z07"} {
		if t, err := time.Parse(form, strings.ToUpper(m[6])); err == nil {
			return t.Location()
		}
	}
	return nil
}

// Near returns the moment with that day of the month, hour and minute ("27", "12", "00") that is
// nearest to the moment to. ok is false if there is none within ten days.
func Near(day, hour, minute string, to hazard.Instant) (at hazard.Instant, ok bool) {
	d, errD := strconv.Atoi(day)
	h, errH := strconv.Atoi(hour)
	m, errM := strconv.Atoi(minute)
	if errD != nil || errH != nil || errM != nil || d < 1 || d > 31 || h > 24 || m > 59 || h < 0 || m < 0 {
		return 0, false
	}
	best := hazard.Instant(10 * 24 * time.Hour / time.Millisecond)
	for back := -1; back <= 1; back++ {
		month := time.Date(to.Time().Year(), to.Time().Month()+time.Month(back), 1, 0, 0, 0, 0, time.UTC)
		t := time.Date(month.Year(), month.Month(), d, h, m, 0, 0, time.UTC)
		if t.Month() != month.Month() && h < 24 {
			continue
		}
		away := hazard.At(t) - to
		if away < 0 {
			away = -away
		}
		if away < best {
			at, ok, best = hazard.At(t), true, away
		}
	}
	return at, ok
}
