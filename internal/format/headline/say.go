package headline

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/atlas/gazetteer"
	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/hazard"
)

// number writes a number with a fixed number of decimals as readers of the language do.
func (m *maker) number(v float64, decimals int) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	whole, part, _ := strings.Cut(text, ".")
	from := 4
	if m.l.ID == "es" {
		from = 5 // RAE: four digits are not grouped
	}
	if len(whole) >= from {
		var groups []string
		for size := 3; len(whole) > size; {
			groups = append([]string{whole[len(whole)-size:]}, groups...)
			whole = whole[:len(whole)-size]
			if m.l.ID == "hi" {
				size = 2
			}
		}
		whole = strings.Join(append([]string{whole}, groups...), m.say("group"))
	}
	if part != "" {
		whole += m.say("decimal") + part
	}
	if v < 0 {
		whole = "-" + whole
	}
	return whole
}

// twoDigits rounds to two digits.
func twoDigits(v float64) float64 {
	if v < 10 {
		return math.Round(v*10) / 10
	}
	step := math.Pow(10, math.Floor(math.Log10(v))-1)
	return math.Round(v/step) * step
}

// short writes a number with two digits: "5,500", "4.5".
func (m *maker) short(v float64) string {
	v = twoDigits(v)
	if v != math.Trunc(v) {
		return m.number(v, 1)
	}
	return m.number(v, 0)
}

// nearest rounds to a multiple of step.
func nearest(v, step float64) float64 { return math.Round(v/step) * step }

// distance rounds by rule 9: to 1 km below 30, to 5 km below 100, to 10 km above.
func distance(km float64) float64 {
	switch {
	case km < 30:
		return math.Round(km)
	case km < 100:
		return nearest(km, 5)
	}
	return nearest(km, 10)
}

// people writes a number of people with two digits.
func (m *maker) people(n int64) string {
	v := float64(hazard.TwoDigits(n))
	if m.l.ID == "zh" || m.l.ID == "ja" { // they count in ten thousands
		if v >= 1e4 {
			return m.say("million", "n", m.short(v/1e4))
		}
		return m.number(v, 0)
	}
	if v >= 1e6 {
		return m.say("million", "n", m.short(v/1e6))
	}
	return m.number(v, 0)
}

var points = []string{"N", "NE", "E", "SE", "S", "SW", "W", "NW"}

// eight returns the nearest of eight directions, from 0 for north.
func eight(degrees float64) int { return int(math.Round(math.Mod(degrees+360, 360)/45)) % 8 }

// compass are the sixteen points of the compass and their directions in eight.
var compass = map[string]float64{"N": 0, "NNE": 22, "NE": 45, "ENE": 68, "E": 90, "ESE": 112, "SE": 135, "SSE": 158, "S": 180, "SSW": 202, "SW": 225, "WSW": 248, "W": 270, "WNW": 292, "NW": 315, "NNW": 338}

// from says where something is from a place: "19 km north of Hualien City".
func (m *maker) from(km, bearing float64, place string) string {
	return m.say("from."+points[eight(bearing)], "km", m.number(km, 0), "place", place)
}

// local is a moment in the zone of the place.
func (m *maker) local(i hazard.Instant) time.Time {
	if m.utc {
		return i.Time().UTC()
	}
	return i.Time().In(m.zone)
}

// days are how many days a moment is from the moment of reading.
func (m *maker) days(i hazard.Instant) float64 {
	return math.Abs(float64(i-m.at)) / float64(24*time.Hour/time.Millisecond)
}

func (m *maker) weekday(t time.Time) string { return m.say(fmt.Sprintf("day.%d", t.Weekday())) }

func (m *maker) date(t time.Time) string {
	month := m.say(fmt.Sprintf("month.%d", t.Month()))
	if t.Year() != m.local(m.at).Year() {
		return m.say("dateYear", "n", t.Day(), "month", month, "year", t.Year())
	}
	return m.say("date", "n", t.Day(), "month", month)
}

// day is the day of a moment: "Sunday"; some days away "Monday 21 November", then "31 July".
func (m *maker) day(i hazard.Instant) string {
	t := m.local(i)
	switch d := m.days(i); {
	case d > 6.5:
		return m.say("onDate", "date", m.date(t))
	case d > 4.5:
		return m.say("dayDate", "day", m.weekday(t), "date", m.date(t))
	}
	return m.say("onDay", "day", m.weekday(t))
}

// dated is a day with its date.
func (m *maker) dated(i hazard.Instant) string {
	t := m.local(i)
	return m.say("dayDate", "day", m.weekday(t), "date", m.date(t))
}

// clock is a day and a time: "Tuesday 15:00".
func (m *maker) clock(i hazard.Instant) string {
	t := m.local(i)
	time := t.Format("15:04")
	if m.utc {
		time += " UTC"
	}
	if m.days(i) > 6.5 {
		return m.say("dateTime", "date", m.date(t), "time", time)
	}
	return m.say("dayTime", "day", m.weekday(t), "time", time)
}

// end says when a hazard ends, for the headline and for until (rules 12 and 13).
func (m *maker) end() (when, until string) {
	h := m.h
	begun := h.Start <= m.at
	start, end := m.local(h.Start), m.local(h.End)
	sameDay := start.Format(time.DateOnly) == end.Format(time.DateOnly)
	switch {
	case !h.EndGiven && h.Source != "" && (h.Type == hazard.Cyclone || strings.Contains(m.small, "until further notice")):
		return m.say("further"), trimmed(m.say("further"))
	case !h.EndGiven && begun:
		return "", m.say("noEnd")
	case !h.EndGiven:
		s := m.say("fromTime", "t", m.clock(h.Start))
		return s, trimmed(s) + m.say("comma") + m.say("noEnd")
	case begun:
		return m.say("until", "t", m.clock(h.End)), m.clock(h.End)
	case sameDay && start.Hour() == 0 && start.Minute() <= 1 && end.Hour() == 23 && end.Minute() >= 59:
		s := m.say("on", "t", m.day(h.Start))
		return s, trimmed(s)
	case sameDay && m.days(h.Start) <= 6.5:
		s := m.say("dayRange", "day", m.weekday(start), "from", start.Format("15:04"), "to", end.Format("15:04"))
		return s, trimmed(s)
	}
	s := m.say("fromTo", "from", m.clock(h.Start), "to", m.clock(h.End))
	return s, trimmed(s)
}

// land is the name of a country as it stands after a preposition.
func (m *maker) land(code string) string {
	if m.l.ID != "en" {
		return gazetteer.CountryName(code, m.l.ID)
	}
	c, _ := region.CountryByCode(code)
	if theLands[code] {
		return "the " + c.Name
	}
	return c.Name
}

// theLands are countries that English names with an article.
var theLands = map[string]bool{"US": true, "GB": true, "NL": true, "PH": true, "AE": true, "BS": true, "MV": true, "DO": true, "CF": true, "CG": true, "CD": true, "KM": true, "GM": true,
	"SB": true, "UM": true, "MH": true, "SC": true, "KY": true, "FK": true, "FO": true, "CK": true, "TC": true, "VG": true, "VI": true, "MP": true}

// sourceName is a source as readers know it.
func (m *maker) sourceName(name string) string {
	const short = 6 // abbreviations
	if said := m.l.NameOf("source", name); said != name || len(name) > short {
		return said
	}
	return strings.ToUpper(name)
}

// and joins names: "a, b and c".
func (m *maker) and(names []string) string {
	switch n := len(names); n {
	case 0:
		return ""
	case 1:
		return names[0]
	default:
		return m.say("and", "a", strings.Join(names[:n-1], m.say("comma")), "b", names[n-1])
	}
}
