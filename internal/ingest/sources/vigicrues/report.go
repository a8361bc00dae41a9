package vigicrues

import (
	"cmp"
	"fmt"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// colors is the table of levels, by NivInfViCr (vigicrues.gouv.fr, "La vigilance crues").
var colors = []struct {
	level          float64
	french, advice string
	severity       hazard.Severity
	basis          string
}{
	{1, "vert", "", hazard.NoSeverity, "no vigilance is needed"},
	{2, "jaune", "Risque de crue génératrice de débordements et de dommages localisés, ou de montée rapide et dangereuse des eaux, nécessitant une vigilance particulière " +
		"notamment dans le cas d'activités exposées et/ou saisonnières.", hazard.Advisory, "local overflow, or fast rise: be careful"},
	{3, "orange", "Risque de crue génératrice de débordements importants susceptibles d'avoir un impact significatif sur la vie collective et la sécurité des biens et des personnes.",
		hazard.Watch, "large overflow, significant impact"},
	{4, "rouge", "Risque de crue majeure. Menace directe et généralisée de la sécurité des personnes et des biens.", hazard.Warning, "major flood, direct and general threat"},
}

// report converts a stretch. It returns a reason if it is green, or rejected.
func (f *feature) report(now hazard.Instant) (*hazard.Report, string) {
	p := &f.Properties
	key := code(p.Code)
	if key == "" {
		return nil, fmt.Sprintf("properties/CdEntCru: %q, expected the code of a stretch such as AP1", lenient.ExcerptText(p.Code))
	}
	var notes []string
	row := colors[1]
	switch v := p.Level.Value; {
	case p.Level.Known && v == 1:
		return nil, source.Ignoring + "green: no vigilance is needed"
	case p.Level.Known && (v == 2 || v == 3 || v == 4):
		row = colors[int(v)-1]
	default:
		notes = append(notes, fmt.Sprintf("properties/NivInfViCr: %s, expected 1 to 4", p.Level.Said()))
		row.french, row.advice = "inconnue", ""
	}
	river := lenient.Clip(hazard.CleanLine(cmp.Or(p.Name, p.Lower)), 200)
	r := &hazard.Report{
		Source: Name, Key: key, Version: int64(now), Name: "Vigilance crues " + row.french + " - " + cmp.Or(river, "tronçon "+key) + ", France",
		Description: row.advice, Type: hazard.Flood, Severity: row.severity, Category: hazard.Event, Start: now, Open: true, Country: "FR",
		Called: river, Level: row.french, Refs: []string{Name + ":" + key}, URL: "https://www.vigicrues.gouv.fr/", Comment: Name + ":" + key, Creator: "Vigicrues",
	}
	shape, err := geo.ParseLoose(f.Geometry)
	if err == nil {
		shape, err = along(shape)
	}
	if err != nil {
		notes = append(notes, "geometry: "+lenient.ExcerptText(err.Error()))
		r.Places = []string{"ISO3166-1:FR"}
	} else {
		r.Areas = []hazard.Area{{Role: hazard.AlertArea, Geometry: shape.GeoJSON()}}
	}
	source.Note(r, notes...)
	return r, ""
}

// Those who live within riverside meters of a stretch are meant. It is our judgment: the widest
// flood plains of the watched rivers have some kilometers.
const riverside = 2000

// maxSteps bounds the circles along one stretch: one of 600 km has 300.
const maxSteps = 500

// along returns what lies within riverside of the lines: circles no farther apart than their radius.
func along(lines geo.Shape) (geo.Shape, error) {
	var circles []geo.Shape
	add := func(at geo.Position) {
		if len(circles) < maxSteps {
			circles = append(circles, geo.Circle(at[0], at[1], riverside))
		}
	}
	for _, line := range lines.Lines() {
		var last geo.Position
		for i, at := range line {
			if i == 0 {
				add(at)
				last = at
				continue
			}
			for d := geo.Distance(last[0], last[1], at[0], at[1]); d > riverside && len(circles) < maxSteps; d = geo.Distance(last[0], last[1], at[0], at[1]) {
				last = geo.Position{last[0] + (at[0]-last[0])*riverside/d, last[1] + (at[1]-last[1])*riverside/d}
				add(last)
			}
		}
		add(line[len(line)-1])
	}
	if len(circles) == 0 {
		return geo.Shape{}, fmt.Errorf("no line, expected a LineString or a MultiLineString")
	}
	return geo.Union(circles...)
}
