package jtwc

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cyclone"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// life is how long a storm lasts after its last warning: twice the interval of 12 hours in the
// Southern Hemisphere.
const life = 24 * time.Hour

// The parts of a report: the position of the storm, and its forecast track.
const (
	placeStorm = "storm"
	placeTrack = "track"
)

// fix is the state of a storm at one time.
type fix struct {
	class, number, letter, name string // as in the text: "TYPHOON", "25", "W", "SURIGAE"
	form, warning               string // the kind of text, and the number of the warning, "018"
	at, issued                  hazard.Instant
	point                       *hazard.Point
	wind, gusts                 lenient.Number // in kt, over one minute
	pressure                    lenient.Number // hPa
	movement                    string
	last                        bool
	track                       []*hazard.Point
	fixes                       []cyclone.Fix // with times and winds; nil if the text has none
	notes                       []string
}

// ours reports whether the storm belongs to this center. Storms east of the date line belong to the
// National Hurricane Center.
func (f *fix) ours() bool {
	return basins[f.letter] != "" || guests[f.letter] != "" && (f.point == nil || f.point.Lon > 0)
}

// add adds the reports of a fix. If it cannot, it returns the reason.
func (p *parser) add(f *fix) (reason string) {
	number, _ := strconv.Atoi(f.number)
	if f.point == nil {
		return "the position is not on Earth"
	}
	if !f.wind.Known || f.wind.Value > 250 {
		return "the wind: " + f.wind.Said() + ", expected MAX SUSTAINED WINDS in kt"
	}
	id := cyclone.Identity(number, f.letter, *f.point, f.at)
	if id == "" {
		p.Ignore(f.number+f.letter, "not a cyclone: the numbers 50 to 79 are internal, 80 to 89 for training, 90 to 99 disturbances")
		return ""
	}
	name := ""
	if cyclone.Number(f.name) == 0 && f.name != "INVEST" {
		name = lenient.Readable(f.name)
	}
	key, basin := strings.ToLower(id), strings.ToLower(id[:2])
	class := lenient.Readable(f.class)
	r := hazard.Report{
		Source: Name, Key: key, Part: f.form + "/" + cmp.Or(f.warning, f.at.Time().Format("200601021504")), Version: int64(f.issued),
		Name: class + " " + cmp.Or(name, f.number+f.letter), Type: hazard.Cyclone, Severity: cyclone.Level(f.wind.Value), Category: hazard.Event,
		Start: f.at, LifeMS: life.Milliseconds(), Point: f.point, Places: []string{placeStorm},
		Refs: []string{"atcf:" + id}, Called: name, Level: class,
		URL:     fmt.Sprintf("%sproducts/%s%s%sweb.txt", site, basin, id[2:4], id[6:]),
		Comment: Name + ":" + key, Creator: "JTWC", Description: f.description(class, places[basin], id),
	}
	if seismic.NotReal(f.name) != "" {
		r.Suspect = "the text says " + seismic.NotReal(f.name)
	}
	source.Note(&r, f.notes...)
	source.Measure(&r, hazard.Wind, f.wind.Value*source.KmhPerKnot, f.wind.Known)
	source.Measure(&r, hazard.Gust, f.gusts.Value*source.KmhPerKnot, f.gusts.Known)
	p.Reports = append(p.Reports, r)
	if len(f.fixes) > 0 {
		p.Drawings = append(p.Drawings, source.Drawing{Key: key, Part: "warning", Version: int64(f.issued), Shapes: cyclone.Shapes(f.fixes)})
	}
	if line := line(f.track); line != "" {
		// This part only shows the track, not the strength.
		r.Part, r.Places, r.Severity, r.Notes = r.Part+"/track", []string{placeTrack}, hazard.Information, nil
		r.Areas = []hazard.Area{{Role: hazard.TrackArea, Geometry: line}}
		p.Reports = append(p.Reports, r)
	}
	return ""
}

// description describes what is known, one line for each fact.
func (f *fix) description(class, basin, id string) string {
	var b strings.Builder
	side := func(v float64, positive, negative string) string {
		if v < 0 {
			positive = negative
		}
		return strconv.FormatFloat(math.Abs(v), 'f', 1, 64) + " " + positive
	}
	fmt.Fprintf(&b, "Center near %s, %s", side(f.point.Lat, "N", "S"), side(f.point.Lon, "E", "W"))
	if f.movement != "" {
		b.WriteString(", moving " + f.movement)
	}
	fmt.Fprintf(&b, ".\nMaximum sustained winds: %.0f kt (%.0f km/h)", f.wind.Value, math.Round(f.wind.Value*1.852/5)*5)
	if f.gusts.Known {
		fmt.Fprintf(&b, ", gusts to %.0f kt", f.gusts.Value)
	}
	b.WriteString(".\n")
	if f.pressure.Known && f.pressure.Value > 800 && f.pressure.Value < 1100 {
		fmt.Fprintf(&b, "Minimum central pressure: %.0f hPa.\n", f.pressure.Value)
	}
	if f.last {
		b.WriteString("This is the last warning of the center on this system.\n")
	}
	fmt.Fprintf(&b, "Classified %s by the Joint Typhoon Warning Center", class)
	if f.warning != "" {
		b.WriteString(", warning " + strings.TrimLeft(f.warning, "0"))
	}
	fmt.Fprintf(&b, ", %s UTC. Basin: %s. ATCF: %s.", f.at.Time().Format("2006-01-02 15:04"), basin, id)
	return b.String()
}

// line returns a track as GeoJSON, or "" if it has fewer than two positions.
func line(track []*hazard.Point) string {
	var points []string
	for _, p := range track {
		if p != nil {
			if at := fmt.Sprintf("[%v,%v]", p.Lon, p.Lat); len(points) == 0 || points[len(points)-1] != at {
				points = append(points, at)
			}
		}
	}
	if len(points) < 2 {
		return ""
	}
	line, err := geo.ParseLoose([]byte(`{"type":"LineString","coordinates":[` + strings.Join(points, ",") + `]}`)) // splits it at the antimeridian
	if err != nil {
		return ""
	}
	return line.GeoJSON()
}
