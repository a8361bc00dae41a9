package geonet

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

var idForm = regexp.MustCompile(`^[0-9a-z]{4,40}$`)

// report converts a feature. If it cannot, it returns the reason.
func (f *feature) report(now hazard.Instant) (*hazard.Report, string) {
	p := &f.Properties
	key := strings.TrimSpace(p.PublicID)
	if !idForm.MatchString(key) {
		return nil, fmt.Sprintf("properties/publicID: %q, expected an id of lowercase letters and digits", lenient.ExcerptText(p.PublicID))
	}
	start, note, err := lenient.Time(p.Time, nil)
	if err != nil {
		return nil, "properties/time: " + err.Error()
	}
	c := append(f.Geometry.Coordinates, lenient.Number{}, lenient.Number{})
	q := seismic.Quake{Magnitude: p.Magnitude, Depth: p.Depth, MMI: p.MMI, At: seismic.Position(c[0], c[1])}
	if q.At == nil {
		return nil, fmt.Sprintf("geometry/coordinates: %s, %s, expected a longitude and a latitude", c[0].Said(), c[1].Said())
	}
	if where := hazard.CleanLine(p.Locality); where != "" {
		q.Place = where + ", New Zealand"
	}
	deleted := p.Quality == "deleted"
	if !p.Magnitude.Known && !p.MMI.Known && !deleted {
		return nil, "properties/magnitude: missing, and mmi too: expected one of them"
	}
	l := q.Level()
	r := &hazard.Report{
		Source: Name, Key: key, Version: int64(now), Type: hazard.Earthquake, Severity: l.Severity, Start: start, LifeMS: l.Life.Milliseconds(),
		Name: q.Name(), Description: p.description(&q, start), Minor: l.Minor, Point: q.At,
		Refs: []string{Name + ":" + key}, URL: "https://www.geonet.org.nz/earthquake/" + key, Comment: Name + ":" + key, Creator: "GeoNet",
		Suspect: strings.Join(q.Doubts("properties/time", start, "", start, now), "; "),
	}
	q.Measure(r)
	if note != "" {
		source.Note(r, "properties/time: "+note)
	}
	if deleted {
		r.Minor, r.Ended = true, hazard.EndWithdrawn
	}
	return r, ""
}

// description describes the strength, the depth and the quality of the data.
func (p *quake) description(q *seismic.Quake, start hazard.Instant) string {
	var b strings.Builder
	q.Describe(&b, start)
	if p.MMI.Known && p.MMI.Value > 0 {
		fmt.Fprintf(&b, "Intensity MMI %.0f at the closest place.\n", p.MMI.Value)
	}
	if quality := hazard.CleanLine(p.Quality); quality != "" {
		b.WriteString("Quality of the solution: " + quality + ".")
	}
	return hazard.Clean(b.String())
}
