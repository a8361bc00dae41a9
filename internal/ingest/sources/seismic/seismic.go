// Package seismic holds what the sources of earthquakes have in common: the level of an earthquake
// that was not assessed yet, its name, and the beginning of its description.
package seismic

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

const (
	UsualLife = 24 * time.Hour // our judgment: no service states an end; GDACS lists earthquakes for days
	GreatLife = 72 * time.Hour // our judgment: search and rescue is urgent for three days
)

// NoEnd says how long an earthquake counts, since no service states an end (source.Lists).
const NoEnd = "24 h from the earthquake, 72 h at WARNING"

// Lives are how long earthquakes last, for the description of a source.
var Lives = []source.Life{{Of: "an earthquake", For: UsualLife}, {Of: "an earthquake of level WARNING", For: GreatLife}}

// Skew is the tolerated difference between our clock and a source's.
const Skew = 10 * time.Minute

// Quake is an earthquake.
type Quake struct {
	Magnitude lenient.Number
	Kind      string         // type of the magnitude: mww, ml …
	Depth     lenient.Number // km below sea level
	MMI       lenient.Number // highest Modified Mercalli intensity, or the source's own similar scale
	Place     string         // in words, on one line; empty if unknown
	At        *hazard.Point
}

// Level is a row of the table of levels. A condition of 0 always holds.
type Level struct {
	Mag      float64 // the lowest magnitude
	Depth    float64 // km, less than; an unknown depth counts as shallow
	MMI      float64 // the lowest intensity
	Severity hazard.Severity
	Life     time.Duration
	Minor    bool
	Basis    string
}

// Levels is for an earthquake whose impact was not assessed yet. The first row that fits is used. A
// later assessment by USGS PAGER has precedence (internal/ingest/fuse).
var Levels = []Level{
	{Mag: 7.0, Depth: 100, Severity: hazard.Warning, Life: GreatLife,
		Basis: "judgement: a great and shallow earthquake nobody has assessed yet"},
	{Mag: 6.0, Severity: hazard.Watch, Life: UsualLife,
		Basis: "judgement; deep earthquakes of M 7 and more are here too"},
	{Mag: 5.0, Severity: hazard.Advisory, Life: UsualLife,
		Basis: "judgement: 52 of 54 recorded events of M 5.0 to 5.9 that PAGER has rated are green"},
	{Mag: 4.5, Severity: hazard.Information, Life: UsualLife,
		Basis: "threshold: M 4.5, from which networks list earthquakes worldwide"},
	{MMI: 4.0, Severity: hazard.Information, Life: UsualLife,
		Basis: "threshold: intensity IV, felt indoors by many (Modified Mercalli)"},
	{Severity: hazard.Information, Life: UsualLife, Minor: true,
		Basis: "below the thresholds: no hazard, but an update of one that was above them"},
}

// Slight is source.Source.Slight of sources that use Levels.
const Slight = "an earthquake below magnitude 4.5, and below intensity IV"

// Fits reports whether the conditions of the row hold.
func (l *Level) Fits(q *Quake) bool {
	return (l.Mag == 0 || q.Magnitude.Known && q.Magnitude.Value >= l.Mag) && (l.MMI == 0 || q.MMI.Known && q.MMI.Value >= l.MMI) &&
		(l.Depth == 0 || !q.Depth.Known || q.Depth.Value < l.Depth)
}

// Level returns the row of Levels that fits.
func (q *Quake) Level() *Level {
	for i := range Levels {
		if Levels[i].Fits(q) {
			return &Levels[i]
		}
	}
	panic("the last level has no condition")
}

// Name returns "M 7.1 Earthquake - 12 km NE of X, Country", or the name that the earthquake was
// given.
func (q *Quake) Name() string {
	where := q.Place
	if where == "" && q.At != nil {
		where = fmt.Sprintf("%.2f %s, %.2f %s", math.Abs(q.At.Lat), side(q.At.Lat, "N", "S"), math.Abs(q.At.Lon), side(q.At.Lon, "E", "W"))
	}
	called := "Earthquake"
	if strings.Contains(strings.ToLower(where), "earthquake") {
		called = ""
	}
	if q.Magnitude.Known {
		called = strings.TrimSpace("M " + Decimal(q.Magnitude.Value) + " " + called)
	}
	if called == "" || where == "" {
		return called + where
	}
	return called + " - " + where
}

func side(degrees float64, positive, negative string) string {
	if degrees < 0 {
		return negative
	}
	return positive
}

// Decimal formats a number with one decimal, as is usual for magnitudes and intensities; never as
// -0.0.
func Decimal(v float64) string {
	if v = math.Round(v*10) / 10; v == 0 {
		v = 0
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// slot is twice the largest usual revision of a time of origin in a catalog without ids. Two
// earthquakes of the catalog are farther apart than that.
const slot = 20 * time.Second

// Named returns names for an earthquake of a catalog without ids, from its time of origin. key is
// the slot of time that contains it, and near is the nearest neighboring slot. If the origin is
// revised by up to half a slot, the old and the new names have one in common.
func Named(start hazard.Instant) (key string, near []string) {
	name := func(at time.Time) string { return at.UTC().Format("20060102T150405") }
	at := start.Time().Truncate(slot)
	next := at.Add(slot)
	if start.Time().Sub(at) < slot/2 {
		next = at.Add(-slot)
	}
	return name(at), []string{name(next)}
}

// maxKind bounds a type of a magnitude.
const maxKind = 20

// IsCode reports whether s looks like a code of a network: 1 to longest letters, digits, "_", "-" and ".".
func IsCode(s string, longest int) bool {
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.') {
			return false
		}
	}
	return s != "" && len(s) <= longest
}

// Describe adds the strength, depth and time of the earthquake, one line each.
func (q *Quake) Describe(b *strings.Builder, start hazard.Instant) {
	b.WriteString("Magnitude ")
	if q.Magnitude.Known {
		b.WriteString(Decimal(q.Magnitude.Value))
		if kind := strings.TrimSpace(q.Kind); IsCode(kind, maxKind) && !strings.EqualFold(kind, "m") {
			b.WriteString(" (" + kind + ")")
		}
	} else {
		b.WriteString("not known yet")
	}
	if q.Place != "" {
		b.WriteString(", " + q.Place)
	}
	b.WriteString(".\n")
	if q.Depth.Known {
		km := strconv.FormatFloat(math.Round(math.Abs(q.Depth.Value)*10)/10, 'f', -1, 64)
		b.WriteString("Depth: " + km + " km")
		if q.Depth.Value < 0 && km != "0" {
			b.WriteString(" above sea level")
		}
		b.WriteString(".\n")
	}
	b.WriteString("Time: " + start.Time().Format("2006-01-02 15:04:05") + " UTC.\n")
}

// Measure adds the measurements of the earthquake to its report.
func (q *Quake) Measure(r *hazard.Report) {
	source.Measure(r, hazard.Magnitude, q.Magnitude.Value, q.Magnitude.Known)
	source.Measure(r, hazard.Depth, q.Depth.Value, q.Depth.Known)
	source.Measure(r, hazard.Intensity, q.MMI.Value, q.MMI.Known)
	for i := range r.Measurements {
		if kind := strings.TrimSpace(q.Kind); r.Measurements[i].Name == hazard.Magnitude && IsCode(kind, maxKind) && !strings.EqualFold(kind, "m") {
			r.Measurements[i].Scale = strings.ToLower(kind)
		}
	}
}

// Position returns a point on Earth, or nil if lon or lat is missing or out of range. Longitudes
// may go up to 360 degrees, for regions that cross the antimeridian.
func Position(lon, lat lenient.Number) *hazard.Point {
	if !lon.Known || !lat.Known || math.Abs(lat.Value) > 90 || math.Abs(lon.Value) > 360 {
		return nil
	}
	return &hazard.Point{Lon: geo.Wrap(lon.Value), Lat: lat.Value}
}

// NotReal returns the word in a text that marks an event as not real, or "" if there is none.
func NotReal(text string) string {
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		for _, sign := range []string{"TEST", "EXERCISE", "DRILL"} {
			if strings.EqualFold(w, sign) {
				return sign
			}
		}
	}
	return ""
}

// Doubts returns why a readable report must be held until somebody has checked it. timeMember and
// updatedMember are the members of the record with the two times; updatedMember is empty if there
// is none. An old event with a wrong year looks like a new one: a catalog once moved an earthquake
// from 1925 to 2025, and it was announced.
func (q *Quake) Doubts(timeMember string, start hazard.Instant, updatedMember string, updated, now hazard.Instant) (why []string) {
	if start > now.Add(Skew) {
		why = append(why, fmt.Sprintf("%s: %v is in the future", timeMember, start))
	}
	if updated < start.Add(-Skew) {
		why = append(why, fmt.Sprintf("%s: %v is before the event at %v", updatedMember, updated, start))
	}
	if q.At != nil && *q.At == (hazard.Point{}) && q.Place == "" {
		why = append(why, "no place: the position is 0, 0, and no place is named")
	}
	return why
}
