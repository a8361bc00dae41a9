package geonet

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source/frame"
)

const (
	usualLife = 24 * time.Hour // judgement: no service says an end
	greatLife = 72 * time.Hour // judgement: search and rescue counts in three days
)

// level is a row of the table of levels. A condition that is zero is none.
type level struct {
	mag      float64 // at least
	depth    float64 // km, less than; an unknown depth counts as shallow
	mmi      float64 // at least
	severity hazard.Severity
	life     time.Duration
	minor    bool
	basis    string
}

// levels: the first row that fits decides. They are those of other networks, which do not say either how bad it was.
var levels = []level{
	{mag: 7.0, depth: 100, severity: hazard.Warning, life: greatLife, basis: "judgement: a great and shallow earthquake nobody has assessed yet"},
	{mag: 6.0, severity: hazard.Watch, life: usualLife, basis: "judgement; deep earthquakes of M 7 and more are here too"},
	{mag: 5.0, severity: hazard.Advisory, life: usualLife, basis: "judgement, as for other networks"},
	{mag: 4.5, severity: hazard.Information, life: usualLife, basis: "threshold: M 4.5, from which networks list earthquakes worldwide"},
	{mmi: 4.0, severity: hazard.Information, life: usualLife, basis: "MMI 4: felt by most, things rattle"},
	{severity: hazard.Information, life: usualLife, minor: true, basis: "below the threshold: an update of one that was above it"},
}

// clockSkew is how far ahead an origin may be: clocks are wrong.
const clockSkew = time.Hour

var idForm = regexp.MustCompile(`^[0-9a-z]{4,40}$`)

// level is the row of the table that fits.
func (q *quake) level() *level {
	for i := range levels {
		l := &levels[i]
		if (l.mag == 0 || q.Magnitude.Known && q.Magnitude.Value >= l.mag) && (l.mmi == 0 || q.MMI.Known && q.MMI.Value >= l.mmi) &&
			(l.depth == 0 || !q.Depth.Known || q.Depth.Value < l.depth) {
			return l
		}
	}
	return &levels[len(levels)-1]
}

// description says in a sentence how strong, how deep and how well known the earthquake is.
func (q *quake) description() string {
	said := []string{}
	if q.Magnitude.Known {
		said = append(said, fmt.Sprintf("magnitude %.1f", q.Magnitude.Value))
	}
	if q.Depth.Known {
		said = append(said, fmt.Sprintf("depth %.0f km", q.Depth.Value))
	}
	if q.MMI.Known && q.MMI.Value > 0 {
		said = append(said, fmt.Sprintf("intensity MMI %.0f at the closest place", q.MMI.Value))
	}
	if quality := hazard.CleanLine(q.Quality); quality != "" {
		said = append(said, "quality of the solution: "+quality)
	}
	return "Earthquake in New Zealand: " + strings.Join(said, ", ") + "."
}

// report maps a feature. It says why, if it cannot.
func (f *feature) report(now hazard.Instant) (r hazard.Report, reason string) {
	q := &f.Properties
	key := strings.TrimSpace(q.PublicID)
	if !idForm.MatchString(key) {
		return r, fmt.Sprintf("properties/publicID: %q, expected an id of small letters and digits", frame.ExcerptText(q.PublicID))
	}
	start, note, err := frame.Time(q.Time, nil)
	if err != nil {
		return r, "properties/time: " + err.Error()
	}
	c := f.Geometry.Coordinates
	if f.Geometry.Type != "Point" || len(c) < 2 || !c[0].Known || !c[1].Known || math.Abs(c[1].Value) > 90 || math.Abs(c[0].Value) > 360 {
		return r, "geometry: expected a Point of longitude and latitude"
	}
	point := &hazard.Point{Lon: math.Remainder(c[0].Value, 360), Lat: c[1].Value}
	deleted := q.Quality == "deleted"
	if !q.Magnitude.Known && !q.MMI.Known && !deleted {
		return r, "properties/magnitude: missing, and mmi too: expected one of them"
	}
	l, name := q.level(), "Earthquake"
	if q.Magnitude.Known {
		name = fmt.Sprintf("M %.1f Earthquake", q.Magnitude.Value)
	}
	where := hazard.CleanLine(q.Locality)
	if where == "" {
		where = fmt.Sprintf("%.2f, %.2f", point.Lat, point.Lon)
	}
	r = hazard.Report{
		Source: Name, Key: key, Version: int64(now), Type: hazard.Earthquake, Severity: l.severity, Start: start, LifeMS: l.life.Milliseconds(),
		Name: name + " - " + where + ", New Zealand", Description: q.description(), Minor: l.minor, Point: point,
		Refs: []string{Name + ":" + key}, URL: "https://www.geonet.org.nz/earthquake/" + key, Comment: Name + ":" + key, Creator: "GeoNet",
	}
	if note != "" {
		r.Notes = append(r.Notes, "properties/time: "+note)
	}
	if deleted {
		r.Minor, r.Ended = true, hazard.EndWithdrawn
	}
	if start > now.Add(clockSkew) {
		r.Suspect = fmt.Sprintf("properties/time: %s is in the future", start)
	}
	return r, ""
}
