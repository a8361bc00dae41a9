package nswrfs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// life is how long an incident lasts without an update, as for other fires from incident reports.
const life = 7 * 24 * time.Hour

// levels is the table of levels, by category (Australian Warning System, australianwarningsystem.com.au).
var levels = []struct {
	category string
	severity hazard.Severity
	basis    string
}{
	{"Emergency Warning", hazard.Warning, "the highest level: in danger, act immediately"},
	{"Watch and Act", hazard.Watch, "a heightened threat: conditions change, act now"},
	{"Advice", hazard.Advisory, "an incident has started, no immediate danger: stay informed"},
	{"Not Applicable", hazard.Information, "an incident without a warning"},
}

// fires are the types of incidents that are wildfires. Others are not: fires set to reduce fuel
// ("Burn off", "Hazard Reduction"), accidents, single haystacks, vehicles and houses.
var fires = []string{"Bush Fire", "Grass Fire", "Scrub Fire", "Forest Fire"}

// report converts an incident. It returns nil if the incident is not a wildfire and there is no
// warning, and a reason if it is rejected.
func (f *feature) report(now hazard.Instant) (*hazard.Report, string) {
	p := &f.Properties
	key := number(p.GUID)
	if key == "" {
		return nil, fmt.Sprintf("properties/guid: %q, expected an address that ends with a number", lenient.ExcerptText(p.GUID))
	}
	fields := p.fields()
	var notes []string
	kind := fields["TYPE"]
	category := cmp.Or(hazard.CleanLine(p.Category), fields["ALERT LEVEL"])
	severity := hazard.NoSeverity
	for _, category := range []string{category, fields["ALERT LEVEL"]} {
		for _, l := range levels {
			if severity == hazard.NoSeverity && strings.EqualFold(category, l.category) {
				severity = l.severity
			}
		}
	}
	if severity == hazard.NoSeverity {
		notes = append(notes, fmt.Sprintf("properties/category: %q, expected Advice, Watch and Act, Emergency Warning or Not Applicable", lenient.ExcerptText(category)))
		severity = hazard.Advisory
	}
	// Incidents of an unknown type are shown, and so is everything on which people must act.
	if kind != "" && !slices.ContainsFunc(fires, func(f string) bool { return strings.EqualFold(f, kind) }) && severity < hazard.Watch {
		return nil, source.Ignoring + "the type is not a fire, and the level is below Watch and Act"
	}
	updated, err := time.Parse("2/1/2006 3:04:05 PM", strings.TrimSpace(p.PubDate))
	at := hazard.At(updated)
	if err != nil {
		notes = append(notes, fmt.Sprintf("properties/pubDate: %q, expected a time such as 18/03/2020 11:00:00 PM", lenient.ExcerptText(p.PubDate)))
		at = now
	}
	point, areas, fault := place(f.Geometry)
	if point == nil && len(areas) == 0 {
		return nil, "geometry: " + cmp.Or(fault, lenient.Nothing) + ", expected a Point, and polygons"
	}
	if fault != "" {
		notes = append(notes, "geometry: "+fault)
	}
	called := strings.Trim(lenient.Clip(hazard.CleanLine(p.Title), 200), " ,;-")
	name := strings.Join(slices.DeleteFunc([]string{called, fields["COUNCIL AREA"], "New South Wales"}, func(s string) bool { return s == "" }), ", ")
	r := &hazard.Report{
		Source: Name, Key: key, Version: int64(at), Name: "Wildfire - " + name, Description: p.describe(fields), Type: hazard.Wildfire,
		Severity: severity, Category: hazard.Event, Start: at, LifeMS: life.Milliseconds(), Renewed: &at, Point: point, Areas: areas, Called: called,
		Level: category, Refs: []string{Name + ":" + key}, URL: "https://www.rfs.nsw.gov.au/fire-information/fires-near-me", Comment: Name + ":" + key,
		Creator: "NSW Rural Fire Service",
	}
	if w := seismic.NotReal(called); w != "" {
		r.Suspect = "properties/title says " + w + ": " + lenient.ExcerptText(called)
	} else if at > now.Add(24*time.Hour) {
		r.Suspect = fmt.Sprintf("properties/pubDate: %v is in the future", at)
	}
	source.Note(r, notes...)
	if len(areas) == 0 {
		source.Place(r, "AU", "New South Wales", fields["LOCATION"])
	}
	size, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSuffix(fields["SIZE"], " ha"), ",", ""), 64)
	source.Measure(r, hazard.BurntArea, size, err == nil && size > 0) // 0 means that it was not measured yet
	return r, ""
}

// told are the displayed fields of the description, in this order.
var told = []string{"ALERT LEVEL", "STATUS", "TYPE", "SIZE", "LOCATION", "COUNCIL AREA", "RESPONSIBLE AGENCY", "UPDATED"}

func (p *properties) describe(fields map[string]string) string {
	var lines []string
	for _, name := range told {
		if value := fields[name]; value != "" {
			lines = append(lines, name[:1]+strings.ToLower(name[1:])+": "+value+".")
		}
	}
	return hazard.Clean(strings.Join(lines, "\n"))
}

// maxDepth bounds the nesting of geometry collections. The deepest recorded one is two.
const maxDepth = 10

// place returns the point, and the polygons as one area. fault describes unreadable parts.
func place(raw jsontext.Value) (point *hazard.Point, areas []hazard.Area, fault string) {
	var polygons []jsontext.Value
	var walk func(raw jsontext.Value, depth int)
	walk = func(raw jsontext.Value, depth int) {
		var g struct {
			Type        string           `json:"type"`
			Coordinates jsontext.Value   `json:"coordinates"`
			Geometries  []jsontext.Value `json:"geometries"`
		}
		if err := json.Unmarshal(raw, &g, lenient.Options); err != nil || depth > maxDepth {
			fault = lenient.Excerpt(raw) + " cannot be read"
			return
		}
		switch {
		case g.Type == "Polygon":
			polygons = append(polygons, g.Coordinates)
		case g.Type == "GeometryCollection":
			for _, one := range g.Geometries {
				walk(one, depth+1)
			}
		default:
			var c []lenient.Number
			if err := json.Unmarshal(g.Coordinates, &c, lenient.Options); err != nil || len(c) < 2 || seismic.Position(c[0], c[1]) == nil {
				fault = cmp.Or(lenient.Excerpt(g.Coordinates), lenient.Nothing) + " is no position"
				return
			}
			point = seismic.Position(c[0], c[1])
		}
	}
	if len(raw) > 0 {
		walk(raw, 0)
	}
	if len(polygons) == 0 {
		return point, nil, fault
	}
	coordinates, err := json.Marshal(polygons)
	if err == nil {
		var shape geo.Shape
		if shape, err = geo.ParseLoose(slices.Concat([]byte(`{"type":"MultiPolygon","coordinates":`), coordinates, []byte("}"))); err == nil {
			return point, []hazard.Area{{Role: hazard.ImpactArea, Geometry: shape.GeoJSON()}}, fault
		}
	}
	return point, nil, lenient.ExcerptText(err.Error())
}
