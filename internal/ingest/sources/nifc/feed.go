package nifc

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// services is the address of NIFC's services at ArcGIS.
const services = "https://services3.arcgis.com/T4QMspbfLg3qTGWY/arcgis/rest/services/"

// feature is the location or the perimeter of an incident.
type feature struct {
	Type string `json:"type"`
	// Geometry is a Point, or a Polygon or MultiPolygon; null if there is none.
	Geometry jsontext.Value `json:"geometry"`
	// Properties are about a hundred members, some of which were added or removed over the years.
	// These are read:
	//
	//   IrwinID                  id in IRWIN; in braces and capitals (in 2021 in lowercase without braces)
	//   UniqueFireIdentifier     year, unit and number: "2026-FLFNF-000475"
	//   IncidentTypeCategory     WF wildfire, RX prescribed fire, CX complex
	//   IncidentName             "Pineland Road", also "SR 47 (21)", "CANYON"; usually without "Fire"
	//   IncidentShortDescription "13 Miles NW from Fargo, GA"
	//   IncidentSize             acres; DailyAcres in 2021
	//   PercentContained         may be null, goes down as well as up
	//   FireDiscoveryDateTime    this and all dates in milliseconds since 1970
	//   ContainmentDateTime, ControlDateTime, FireOutDateTime   time of the declaration; null before that
	//   ModifiedOnDateTime_dt    when the incident data were last changed
	//   InitialLatitude, InitialLongitude   where it began
	//   POOState, POOCounty      point of origin: "US-GA", "Clinch"
	//   FireCause, FireBehaviorGeneral, TotalIncidentPersonnel, IncidentComplexityLevel, CpxName, …
	//
	// In the perimeters, their names begin with attr_. The polygon has its own members:
	//
	//   poly_IncidentName, poly_IRWINID, poly_FeatureCategory ("Wildfire Daily Fire Perimeter", "Prescribed Fire"),
	//   poly_GISAcres            size of the polygon, not of the incident
	//   poly_DateCurrent         time of the polygon's last edit, before or after that of the incident data
	//   poly_PolygonDateTime     time of the observation of the edge
	//   poly_MapMethod           "Mixed Methods", "IR Image Interpretation"
	Properties map[string]jsontext.Value `json:"properties"`
}

// attr is the prefix of the incident data's names in the perimeters, and poly that of the
// polygon's.
const (
	attr = "attr_"
	poly = "poly_"
)

// incident is a decoded feature.
type incident struct {
	properties map[string]jsontext.Value
	perimeter  bool
	faults     []string // the members with a wrong type
}

func incidentOf(f *feature) *incident {
	in := &incident{properties: f.Properties}
	for name := range f.Properties {
		if strings.HasPrefix(name, attr) || strings.HasPrefix(name, poly) {
			in.perimeter = true
			break
		}
	}
	return in
}

// field returns the full name of a member of the incident data.
func (in *incident) field(name string) string {
	if in.perimeter && !strings.HasPrefix(name, poly) {
		return attr + name
	}
	return name
}

// text returns the first of the named members that is not empty.
func (in *incident) text(names ...string) string {
	for _, name := range names {
		raw := in.properties[in.field(name)]
		switch raw.Kind() {
		case '"':
			b, _ := jsontext.AppendUnquote(nil, raw) // the only possible error is invalid UTF-8, which is allowed
			if s := hazard.CleanLine(lenient.Clip(string(b), maxWords)); s != "" {
				return s
			}
		case '0':
			return string(raw)
		case 0, 'n':
		default:
			in.expected(name, raw, "a string")
		}
	}
	return ""
}

// number returns the first of the named members that is a number, and whether there is one.
func (in *incident) number(names ...string) (float64, bool) {
	for _, name := range names {
		raw := in.properties[in.field(name)]
		text := []byte(raw)
		switch raw.Kind() {
		case 0, 'n':
			continue
		case '"':
			text, _ = jsontext.AppendUnquote(nil, raw)
			if len(bytes.TrimSpace(text)) == 0 {
				continue
			}
		}
		v, err := strconv.ParseFloat(string(bytes.TrimSpace(text)), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			in.expected(name, raw, "a number")
			continue
		}
		return v, true
	}
	return 0, false
}

// within returns the first of the named members that is a number from low to high. what describes
// such a number for notes.
func (in *incident) within(low, high float64, what string, names ...string) (float64, bool) {
	for _, name := range names {
		switch v, ok := in.number(name); {
		case !ok:
		case v >= low && v <= high:
			return v, true
		default:
			in.expected(name, in.properties[in.field(name)], what)
		}
	}
	return 0, false
}

// instant returns the first of the named members that is a time, with its name, or nil if there is
// none.
func (in *incident) instant(names ...string) (*hazard.Instant, string) {
	for _, name := range names {
		ms, ok := in.number(name)
		switch {
		case !ok:
		case ms >= float64(hazard.MinInstant) && ms <= float64(hazard.MaxInstant):
			return new(hazard.Instant(math.Floor(ms))), in.field(name)
		default:
			in.expected(name, in.properties[in.field(name)], "milliseconds since 1970")
		}
	}
	return nil, ""
}

func (in *incident) expected(name string, raw jsontext.Value, what string) {
	fault := fmt.Sprintf("%s: %s, expected %s", in.field(name), lenient.ExcerptText(string(raw)), what)
	if !slices.Contains(in.faults, fault) {
		in.faults = append(in.faults, fault)
	}
}

// Parse reads a FeatureCollection of either service. It reads each feature separately: one with a
// wrong type becomes a Reject and does not affect its neighbors. Several polygons of one incident
// make one report. Of several locations of one incident, the last modified counts and the others
// are ignored.
//
// The error, if any, is a *source.PayloadError. The Batch still contains the part before the error.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := newParser(now)
	doc, err := list.Read(payload, p.record)
	kind := doc.Word("type")
	if complaint := doc.Head["error"]; complaint != nil && err == nil { // ArcGIS reports errors with status 200
		return source.Batch{}, source.Errorf("an error message instead of fires: %s", lenient.Excerpt(complaint))
	}
	switch {
	case kind != "FeatureCollection" && (kind != "" || err == nil): // certainly not a list of fires
		p = newParser(now)
		if err == nil {
			err = source.Errorf("type: %q, expected FeatureCollection", lenient.ExcerptText(kind))
		}
	case err == nil && doc.Listed == "":
		err = source.Errorf("features: %s, expected an array", cmp.Or(lenient.Excerpt(doc.Head["features"]), lenient.Nothing))
	}
	p.conclude()
	more := says(doc.Head["exceededTransferLimit"]) || says(lenient.Member(doc.Head["properties"], "exceededTransferLimit"))
	p.Whole = err == nil && !more && p.Batch.Read > 0
	return p.Done(), err
}

var list = lenient.Collection{
	Want: "GeoJSON", Lists: []string{"features"}, Heads: []string{"type", "error", "properties", "exceededTransferLimit"},
}

// says reports whether a boolean member is present and not false or null.
func says(raw []byte) bool { return len(raw) > 0 && raw[0] != 'f' && raw[0] != 'n' }

type parser struct {
	lenient.Batch
	now hazard.Instant
	// found holds the records of each incident and part, and order the incidents in the order of
	// the document.
	found map[string][]found
	order []string
	// complexes holds the ids and names of the complexes of which a fire is listed that goes on.
	complexes map[string]bool
}

func newParser(now hazard.Instant) parser {
	return parser{now: now, found: map[string][]found{}, complexes: map[string]bool{}, Batch: lenient.Batch{
		Events: func(_ string, raw []byte) []string { return names(raw) },
	}}
}

// found is the content of one record.
type found struct {
	report hazard.Report
	sum    [sha256.Size]byte // digest of the record, to find copies and to order other records
	// complex is the name of the complex that the fire belongs to, as the complex itself has it.
	complex string
}

// record reads one feature.
func (p *parser) record(where func() string, raw []byte) {
	f, notes := lenient.Read[feature](&p.Batch, where, raw)
	if f == nil {
		return
	}
	if f.Properties == nil {
		p.Reject(where, raw, "properties: missing, expected an object")
		return
	}
	in := incidentOf(f)
	key := in.key()
	if key == "" {
		p.Reject(where, raw, fmt.Sprintf("%s: %q, expected an id such as {BA2C4EC7-36BF-4B79-B6D1-8706200326BF}", in.field("IrwinID"), lenient.ExcerptText(in.text("IrwinID"))))
		return
	}
	r, reason, err := in.report(f.Geometry, key, p.now)
	switch {
	case err != nil:
		p.Reject(lenient.At(key), raw, append(notes, err.Error())...)
		return
	case reason != "":
		p.Ignore(key, reason)
		return
	}
	source.Note(&r, append(notes, in.faults...)...)
	one := found{report: r, sum: sha256.Sum256(compact(raw))}
	if strings.EqualFold(in.text("IncidentTypeCategory"), complexes) {
		one.complex = strings.ToLower(cmp.Or(in.text("IncidentName"), key))
	} else if r.Ended == "" && !in.perimeter {
		p.complexes[irwin(in.text("CpxID"))], p.complexes[strings.ToLower(in.text("CpxName"))] = true, true
	}
	id := key + " " + r.Part
	if p.found[id] == nil {
		p.order = append(p.order, id)
	}
	p.found[id] = append(p.found[id], one)
}

// names returns the names of the fire in a record that is unreadable as a whole, or nil if they are
// unknown. If the record has an id in IRWIN, that is the key.
func names(raw []byte) []string {
	members := lenient.Member(raw, "properties")
	word := func(name string) (text string, there bool) {
		for _, prefix := range []string{"", attr} {
			if v := jsontext.Value(lenient.Member(members, prefix+name)); len(v) > 0 && v.Kind() != 'n' {
				return lenient.Word(v), true
			}
		}
		return "", false
	}
	var all []string
	for _, name := range []string{"IrwinID", poly + "IRWINID"} {
		id, there := word(name)
		if id = irwin(id); id != "" {
			all = append(all, id)
		} else if there {
			return nil
		}
	}
	if unique, _ := word("UniqueFireIdentifier"); uniqueForm.MatchString(strings.ToUpper(unique)) {
		all = append(all, strings.ToUpper(unique))
	}
	return all
}

// conclude makes one report of the records of one incident and part. It does not depend on their
// order.
func (p *parser) conclude() {
	for _, id := range p.order {
		all := p.found[id]
		slices.SortFunc(all, func(a, b found) int {
			return cmp.Or(cmp.Compare(a.report.Version, b.report.Version), bytes.Compare(a.sum[:], b.sum[:]))
		})
		r := all[len(all)-1].report
		if name := all[len(all)-1].complex; name != "" && (p.complexes[name] || p.complexes[r.Key]) {
			for range all {
				p.Ignore(r.Key, categories[slices.IndexFunc(categories, func(c category) bool { return c.word == complexes })].ignored)
			}
			continue
		}
		var areas []hazard.Area
		for _, f := range all {
			for _, a := range f.report.Areas {
				if !slices.Contains(areas, a) {
					areas = append(areas, a)
				}
			}
		}
		r.Areas = areas
		for range all[1:] {
			p.Ignore(r.Key, repeated)
		}
		p.Reports = append(p.Reports, r)
		p.draw(&r)
	}
}

// draw adds the perimeter of a fire as a drawing, with the day on which it was mapped. A later
// perimeter replaces it, and the history shows the fire's growth.
func (p *parser) draw(r *hazard.Report) {
	if r.Part != perimeterPlace || len(r.Areas) == 0 || r.Suspect != "" {
		return
	}
	at := hazard.Instant(r.Version)
	for i := range r.Products {
		if r.Products[i].Key == perimeterPlace {
			at = r.Products[i].Time
		}
	}
	d := source.Drawing{Key: r.Key, Part: perimeterPlace, Version: r.Version}
	for _, a := range r.Areas {
		d.Shapes = append(d.Shapes, hazard.Shape{Role: hazard.PerimeterShape, From: at, Label: "Perimeter of " + at.Time().Format(time.DateOnly), Geometry: a.Geometry})
	}
	p.Drawings = append(p.Drawings, d)
}

// compact returns a copy of raw without white space, or an unchanged copy if raw is not JSON.
func compact(raw jsontext.Value) jsontext.Value {
	v := raw.Clone()
	_ = v.Compact()
	return v
}
