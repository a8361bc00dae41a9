package nhc

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cyclone"
)

// The parts of the drawings of a storm. The text of a forecast/advisory contains the positions and
// the winds; each layer is a part of its own.
const (
	drawnForecast  = "forecast"   // forecast positions and track
	drawnWindNow   = "wind now"   // radii at the time of the advisory
	drawnWindAhead = "wind ahead" // forecast radii
	drawnCone      = "cone"
	drawnPast      = "past" // past positions and track
)

// advisoryAfter is the time from the synoptic hour on which an advisory is based to its issue.
const advisoryAfter = 3 * time.Hour

// drawnFeature has the attributes of a feature in a layer of cones, winds or the best track.
type drawnFeature struct {
	attributes
	Period    lenient.Number `json:"fcstprd"` // period of the cone in hours
	AdvNum    string         `json:"advnum"`
	StormID   string         `json:"stormid"`
	ValidTime string         `json:"validtime"` // "2026082203": the hour of the advisory in UTC
	SynopTime string         `json:"synoptime"` // hour of the analysis, from which tau counts
	DTG       lenient.Number `json:"dtg"`       // 2026081006: hour of a position of the best track
	Intensity lenient.Number `json:"intensity"` // in kt
}

// drawing collects the shapes of one storm in a layer.
type drawing struct {
	key, part string
	version   int64
	shapes    []hazard.Shape
	past      []cyclone.Fix
}

// drawn collects the drawings of a layer by storm and part, in the order of the layer.
type drawn struct {
	all   []*drawing
	byKey map[string]*drawing
}

func (d *drawn) of(key, part string, version int64) *drawing {
	id := fmt.Sprint(key, " ", part, " ", version)
	if part == drawnPast { // its version is the time of the last position
		id = key + " " + part
	}
	if d.byKey == nil {
		d.byKey = map[string]*drawing{}
	}
	one := d.byKey[id]
	if one == nil {
		one = &drawing{key: key, part: part, version: version}
		d.byKey[id], d.all = one, append(d.all, one)
	}
	one.version = max(one.version, version)
	return one
}

// add adds a feature that is only drawn and makes no report. It returns a reason if the feature is
// unreadable.
func (d *drawn) add(row string, properties jsontext.Value, kind string, coordinates jsontext.Value, name string) (reason string) {
	var f drawnFeature
	if err := json.Unmarshal(orEmpty(properties), &f, lenient.Options, json.MatchCaseInsensitiveNames(true)); err != nil {
		return lenient.Fault(err, properties)
	}
	key := ""
	for _, text := range []string{f.StormID, f.Source, name} {
		if m := anyATCF.FindStringSubmatch(text); m != nil && key == "" {
			key = strings.ToLower(m[1])
		}
	}
	shape := hazard.Shape{Geometry: `{"type":` + strconv.Quote(kind) + `,"coordinates":` + string(coordinates) + `}`}
	area := kind == "Polygon" || kind == "MultiPolygon"
	switch row {
	case "cone":
		at, ok := localTime(f.AdvDate)
		if n := f.StormNum; key == "" && ok && n.Known && n.Value >= 1 && n.Value <= 99 {
			key = strings.ToLower(atcfID(strings.TrimSpace(f.Basin) + pad(int(n.Value)) + strconv.Itoa(at.Time().Year())))
		}
		if !ok || key == "" || !area {
			return "advdate: " + lenient.ExcerptText(f.AdvDate) + ", expected the time of a cone of a storm"
		}
		hours := 120.0
		if p := f.Period; p.Known && p.Value > 0 && p.Value <= 240 {
			hours = p.Value
		}
		shape.Role, shape.From, shape.To, shape.Forecast = hazard.ConeShape, at, at.Add(time.Duration(hours)*time.Hour), true
		shape.Label = "Forecast cone of the center"
		if nr := advisoryNumber(f.AdvisNum); nr != "" {
			shape.Label += ", advisory " + nr
		}
		one := d.of(key, drawnCone, int64(at))
		one.shapes = append(one.shapes, shape)
	case "wind":
		at, err := time.Parse("2006010215", f.ValidTime)
		base, errSynop := time.Parse("2006010215", f.SynopTime)
		if err != nil || key == "" || !area || !(f.Radii.Value > 0 && f.Radii.Value <= 200) || f.Tau.Known && !(f.Tau.Value >= 0 && f.Tau.Value <= 240) {
			return "validtime: " + lenient.ExcerptText(f.ValidTime) + ", expected the hour of wind radii of a storm, such as 2026082203"
		}
		part, issued := drawnWindNow, at
		shape.Role, shape.Band, shape.From = hazard.WindShape, cyclone.Band(f.Radii.Value), hazard.At(at)
		if ahead := time.Duration(f.Tau.Value) * time.Hour; ahead > 0 {
			if errSynop != nil {
				base = at.Add(-ahead)
			}
			part, shape.Forecast, shape.From = drawnWindAhead, true, hazard.At(base.Add(ahead))
			issued = base.Add(advisoryAfter)
		}
		shape.To = shape.From
		shape.Label = "Wind of " + whole(f.Radii.Value) + " kt and more"
		one := d.of(key, part, int64(hazard.At(issued)))
		one.shapes = append(one.shapes, shape)
	case "past":
		if kind != "Point" { // the track is made from the positions; the segments only repeat it
			return ""
		}
		at, err := time.Parse("2006010215", strconv.FormatFloat(f.DTG.Value, 'f', 0, 64))
		place := points(slices.Concat([]byte("["), coordinates, []byte("]")))
		if err != nil || key == "" || len(place) != 1 {
			return "dtg: " + f.DTG.Said() + ", expected the hour of a position of a storm, such as 2026081006"
		}
		one := d.of(key, drawnPast, int64(hazard.At(at)))
		fix := cyclone.Fix{At: hazard.At(at), Point: place[0]}
		if w := f.Intensity; w.Known && w.Value > 0 && w.Value <= 250 {
			fix.Wind = w.Value
		}
		if len(one.past) < maxTrack {
			one.past = append(one.past, fix)
		}
	}
	return ""
}

// finish adds the drawings to the batch.
func (d *drawn) finish(p *parser) {
	for _, one := range d.all {
		if one.part == drawnPast {
			slices.SortFunc(one.past, func(a, b cyclone.Fix) int { return cmp.Compare(a.At, b.At) })
			one.shapes = cyclone.Shapes(one.past)
		}
		slices.SortStableFunc(one.shapes, func(a, b hazard.Shape) int { return cmp.Compare(a.From, b.From) })
		p.Drawings = append(p.Drawings, source.Drawing{Key: one.key, Part: one.part, Version: one.version, Shapes: one.shapes})
	}
}

var (
	tcmBlock = regexp.MustCompile(`(?:FORECAST|OUTLOOK) VALID (\d{2})/(\d{2})(\d{2})Z ([\d.]+[NS]) ([\d.]+[EW])`)
	tcmNow   = regexp.MustCompile(`CENTER LOCATED NEAR [\d.]+[NS] [\d.]+[EW] AT (\d{2})/(\d{2})(\d{2})Z`)
	tcmMax   = regexp.MustCompile(`MAX (?:SUSTAINED )?WINDS? (\d{1,3}) KT`)
	tcmRadii = regexp.MustCompile(`\b(34|50|64) KT\.+ ?(\d{1,3})NE (\d{1,3})SE (\d{1,3})SW (\d{1,3})NW`)
	tcmEnds  = regexp.MustCompile(`(?:FORECAST|OUTLOOK) VALID |EXTENDED OUTLOOK|REPEAT\.\.\.CENTER|REQUEST FOR `)
)

// tcmFixes returns the positions of a forecast/advisory with their times and winds. text is in
// capitals, with white space replaced by blanks.
func tcmFixes(text string, f *fix) (all []cyclone.Fix) {
	block := func(from int) string {
		rest := text[from:]
		if at := tcmEnds.FindStringIndex(rest); at != nil {
			rest = rest[:at[0]]
		}
		return rest
	}
	add := func(m []string, rest string, point *hazard.Point, forecast bool) {
		at, ok := lenient.Near(m[0], m[1], m[2], f.issued)
		if !ok || point == nil {
			return
		}
		one := cyclone.Fix{At: at, Point: *point, Forecast: forecast}
		if w := tcmMax.FindStringSubmatch(rest); w != nil {
			one.Wind = integer(w[1]).Value
		}
		for _, r := range tcmRadii.FindAllStringSubmatch(rest, 3) {
			radii := cyclone.Radii{Wind: integer(r[1]).Value}
			for i := range radii.Quadrants {
				radii.Quadrants[i] = integer(r[2+i]).Value
			}
			one.Radii = append(one.Radii, radii)
		}
		all = append(all, one)
	}
	if m := tcmNow.FindStringSubmatchIndex(text); m != nil {
		add([]string{text[m[2]:m[3]], text[m[4]:m[5]], text[m[6]:m[7]]}, block(m[1]), f.point, false)
	}
	for _, m := range tcmBlock.FindAllStringSubmatchIndex(text, maxTrack) {
		part := func(i int) string { return text[m[2*i]:m[2*i+1]] }
		add([]string{part(1), part(2), part(3)}, block(m[1]), onEarth(lettered(part(5), "EW"), lettered(part(4), "NS")), true)
	}
	return all
}

// draw adds the positions and winds of a forecast/advisory as drawings.
func (p *parser) draw(f *fix, fixes []cyclone.Fix) {
	all := cyclone.Shapes(fixes)
	for _, part := range []string{drawnForecast, drawnWindNow, drawnWindAhead} {
		d := source.Drawing{Key: strings.ToLower(f.id), Part: part, Version: int64(f.issued)}
		for _, s := range all {
			of := drawnForecast
			switch {
			case s.Role == hazard.WindShape && s.Forecast:
				of = drawnWindAhead
			case s.Role == hazard.WindShape:
				of = drawnWindNow
			}
			if of == part {
				d.Shapes = append(d.Shapes, s)
			}
		}
		p.Drawings = append(p.Drawings, d) // also without shapes: they remove the earlier ones, because the storm no longer has such winds
	}
}
