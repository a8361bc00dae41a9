package nifc

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

const (
	// life is how long a fire lasts after the last modification of its data: incident reports are
	// daily while a fire is fought (our judgment).
	life = 7 * 24 * time.Hour
	// skew is how far in the future a date may be.
	skew = time.Hour
	// farBack is how long before the last modification a fire may have been discovered: no fire
	// burns through two winters.
	farBack = 400 * 24 * time.Hour
)

// The parts of an event, which are also the places of the reports.
const (
	incidentPlace  = "incident"
	perimeterPlace = "perimeter"
)

var (
	irwinForm  = regexp.MustCompile(`^[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}$`)
	uniqueForm = regexp.MustCompile(`^(?:19|20)[0-9]{2}-[A-Z0-9]{3,10}-[A-Z0-9-]{1,20}$`)
)

// irwin returns an id of IRWIN in capitals, without braces, or "" if s is invalid.
func irwin(s string) string {
	if s = strings.ToUpper(strings.Trim(s, "{} ")); irwinForm.MatchString(s) {
		return s
	}
	return ""
}

// key returns the identity of the incident: its id in IRWIN, or else its unique fire id, or "" if
// it has neither.
func (in *incident) key() string {
	return cmp.Or(irwin(in.text("IrwinID", "poly_IRWINID")), in.unique())
}

// unique returns the unique fire id in capitals, or "" if there is none.
func (in *incident) unique() string {
	if s := strings.ToUpper(in.text("UniqueFireIdentifier")); uniqueForm.MatchString(s) {
		return s
	}
	return ""
}

// facts are the values of an incident that several fields of a report depend on. A date that is
// missing is nil.
type facts struct {
	key                       string
	modified, start, drawn    *hazard.Instant
	modifiedField, startField string // the members that the dates come from
	name                      string
	acres, contained          float64
	hasSize, hasContained     bool
	point                     *hazard.Point
	pointFault                string // why there is no point
	area                      string // GeoJSON; empty if there is none
	state                     string // why the fire is over; empty while it is not
}

// facts reads the values. What cannot be read becomes a fault of the incident.
func (in *incident) facts(geometry jsontext.Value, key string) (f facts) {
	f.key = key
	f.modified, f.modifiedField = in.instant("ModifiedOnDateTime_dt", "ICS209ReportDateTime", "CreatedOnDateTime_dt", "FireDiscoveryDateTime")
	f.start, f.startField = in.instant("FireDiscoveryDateTime", "CreatedOnDateTime_dt")
	f.drawn, _ = in.instant("poly_DateCurrent", "poly_CreateDate")
	f.name = called(cmp.Or(in.text("IncidentName"), in.text("poly_IncidentName")))
	f.acres, f.hasSize = in.within(0, math.Inf(1), "acres", "IncidentSize", "DailyAcres", "DiscoveryAcres", "poly_GISAcres")
	f.contained, f.hasContained = in.within(0, 100, "a share of 100", "PercentContained")
	f.point, f.pointFault = in.point(geometry)
	var err error
	if f.area, err = in.area(geometry); err != nil {
		in.faults = append(in.faults, err.Error())
	}
	return f
}

// over returns why the fire is over, or "".
func (in *incident) over(f *facts) string {
	for _, d := range declared {
		if at, _ := in.instant(d.member); at != nil {
			return d.word
		}
	}
	if f.hasContained && f.contained >= 100 {
		return "contained"
	}
	return ""
}

// kind reads what the record is: why it is not a hazard, or what is doubtful about it.
func (in *incident) kind(key string) (ignored string, doubts []string) {
	doubt := func(format string, args ...any) { doubts = append(doubts, fmt.Sprintf(format, args...)) }
	kind := strings.ToUpper(in.text("IncidentTypeCategory"))
	row := slices.IndexFunc(categories, func(c category) bool { return c.word == kind })
	switch {
	case row < 0:
		doubt("%s: %q, expected WF, RX or CX", in.field("IncidentTypeCategory"), lenient.ExcerptText(kind))
	case kind == complexes && !in.perimeter: // the list decides, by its fires
	case categories[row].ignored != "":
		return categories[row].ignored, nil
	}
	if drawn := in.text("poly_FeatureCategory"); strings.Contains(strings.ToLower(drawn), "prescribed") {
		doubt("poly_FeatureCategory: %q, but %s is %q", lenient.ExcerptText(drawn), in.field("IncidentTypeCategory"), kind)
	}
	if what := in.text("IncidentTypeKind"); what != "" && what != "FI" {
		doubt("%s: %q, expected FI", in.field("IncidentTypeKind"), lenient.ExcerptText(what))
	}
	if other := irwin(in.text("poly_IRWINID")); other != "" && other != key && irwinForm.MatchString(key) {
		doubt("poly_IRWINID: %s, but %s is %s", other, in.field("IrwinID"), key)
	}
	return "", doubts
}

// report converts an incident to a report, or to a reason why it is not a hazard. Its error names
// the field, the value and what was expected.
func (in *incident) report(geometry jsontext.Value, key string, now hazard.Instant) (r hazard.Report, ignored string, err error) {
	ignored, doubts := in.kind(key)
	if ignored != "" {
		return r, ignored, nil
	}
	f := in.facts(geometry, key)
	for _, date := range []struct {
		at   *hazard.Instant
		name string
	}{{f.modified, "ModifiedOnDateTime_dt"}, {f.start, "FireDiscoveryDateTime"}} {
		if date.at == nil {
			return r, "", errors.New(strings.Join(append(in.faults, in.field(date.name)+": missing, expected milliseconds since 1970"), "; "))
		}
	}
	r = hazard.Report{
		Source:   Name,
		Key:      key,
		Places:   []string{incidentPlace},
		Version:  int64(*f.modified),
		Name:     "Wildfire - " + lenient.Joined(", ", cmp.Or(f.name, in.unique(), "unnamed"), in.state()),
		Type:     hazard.Wildfire,
		Severity: severity(f.acres),
		Category: hazard.Event,
		Start:    *f.start,
		Renewed:  f.modified,
		LifeMS:   life.Milliseconds(),
		Point:    f.point,
		Called:   f.name,
		Level:    in.text("IncidentComplexityLevel", "FireMgmtComplexity"),
		Comment:  Name + ":" + key,
		Creator:  "NIFC",
	}
	source.Measure(&r, hazard.BurntArea, f.acres*source.HaPerAcre, f.hasSize)
	source.Measure(&r, hazard.Containment, f.contained, f.hasContained)
	if irwinForm.MatchString(key) {
		r.Refs = append(r.Refs, "irwin:"+key)
	}
	if u := in.unique(); u != "" {
		r.Refs = append(r.Refs, "nifc:"+u)
		r.URL = "https://irwin.doi.gov/observer/incidents/" + u
	}
	if in.perimeter {
		r.Part, r.Places = perimeterPlace, []string{perimeterPlace}
		if f.drawn != nil { // the polygon may change when the incident data do not
			r.Version = max(r.Version, int64(*f.drawn))
		}
		if f.area != "" {
			r.Areas = []hazard.Area{{Role: hazard.ImpactArea, Geometry: f.area}}
		}
	}
	if f.state = in.over(&f); f.state != "" { // this ends the whole fire, not only one part
		r.Ended, r.Minor, r.Places = hazard.EndAllClear, true, nil
	}
	if len(r.Areas) == 0 && f.state == "" {
		if county := in.text("POOCounty"); county != "" {
			if source.Place(&r, "US", county+" County, "+in.state(), in.text("POOCity")) {
				f.pointFault = "" // the county tells
			}
		}
	}
	r.Suspect = strings.Join(append(doubts, in.doubts(&f, len(r.Areas) > 0, now)...), "; ")
	r.Description = in.description(&r, &f)
	r.Products = in.products(&r, &f)
	return r, "", nil
}

// doubts returns why the values must be checked by a person before they count.
func (in *incident) doubts(f *facts, hasArea bool, now hazard.Instant) (doubts []string) {
	doubt := func(format string, args ...any) { doubts = append(doubts, fmt.Sprintf(format, args...)) }
	if w := notReal(f.name); w != "" {
		doubt("%s says %s: %q", in.field("IncidentName"), w, lenient.ExcerptText(f.name))
	}
	switch {
	case *f.start > now.Add(skew):
		doubt("%s: %v is in the future", f.startField, *f.start)
	case *f.start < f.modified.Add(-farBack):
		doubt("%s: %v is more than a year before the last modification at %v", f.startField, *f.start, *f.modified)
	}
	if *f.modified > now.Add(skew) {
		doubt("%s: %v is in the future", f.modifiedField, *f.modified)
	}
	if f.drawn != nil && *f.drawn > now.Add(skew) {
		doubt("poly_DateCurrent: %v is in the future", *f.drawn)
	}
	if f.point == nil && !hasArea && f.state == "" && f.pointFault != "" {
		doubt("%s", f.pointFault)
	}
	return doubts
}

// state returns the name of the state in which the fire began, or "" if it is unknown.
func (in *incident) state() string {
	code := strings.ToUpper(in.text("POOState"))
	return cmp.Or(states[code], code)
}

// when formats a time for people.
func when(at hazard.Instant) string { return at.Time().Format("2 January 2006 15:04 UTC") }

// description describes what is known; it is the same for both services.
func (in *incident) description(r *hazard.Report, f *facts) string {
	var county string
	if c := in.text("POOCounty"); c != "" {
		county = c + " County"
	}
	where := lenient.Joined(", ", county, in.state())
	first := "Wildfire"
	if f.name != "" {
		first += " " + f.name
	}
	if where != "" {
		first += " in " + where
	}
	if about := in.text("IncidentShortDescription"); about != "" {
		first += ", " + about
	}
	lines := []string{first + "."}
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if f.hasSize {
		say("Size: %s.", acres(f.acres))
	}
	if f.hasContained {
		say("Contained: %s.", percent(f.contained))
	}
	if f.state != "" {
		say("Declared %s.", f.state)
	}
	if b := lenient.Joined(", ", in.text("FireBehaviorGeneral"), in.text("FireBehaviorGeneral1"), in.text("FireBehaviorGeneral2")); b != "" {
		say("Behaviour: %s.", strings.ToLower(b))
	}
	if c := in.text("FireCause"); c != "" {
		say("Cause: %s.", strings.ToLower(c))
	}
	if n, ok := in.number("TotalIncidentPersonnel"); ok && n >= 1 {
		say("Personnel: %s.", grouped(math.Round(n)))
	}
	if c := in.text("CpxName"); c != "" {
		say("Part of: %s.", c)
	}
	say("Discovered: %s.", when(r.Start))
	say("Source: National Interagency Fire Center, incident data of %s%s.", when(*f.modified), labelled(", complexity: ", r.Level))
	return hazard.Clean(strings.Join(lines, "\n"))
}

func labelled(label, value string) string {
	if value == "" {
		return ""
	}
	return label + value
}

// products returns the product tree of a part: the register's page for the incident, and the map's
// dates for the perimeter.
func (in *incident) products(r *hazard.Report, f *facts) []hazard.ReportProduct {
	tree := []hazard.ReportProduct{{Key: Name, Title: "NIFC", Type: hazard.FolderProduct, Time: r.Start}}
	if !in.perimeter {
		if r.URL != "" {
			tree = append(tree, hazard.ReportProduct{
				Key: "irwin", Parent: Name, Title: "IRWIN incident " + in.unique(), Type: hazard.URLProduct, Data: r.URL, Time: *f.modified,
			})
		}
		return tree
	}
	if len(r.Areas) == 0 {
		return tree
	}
	at, lines := *f.modified, []string{"Fire perimeter as mapped, which may be older or newer than the incident data."}
	if f.drawn != nil {
		at = *f.drawn
		lines = append(lines, "Edited: "+when(at)+".")
	}
	if seen, _ := in.instant("poly_PolygonDateTime"); seen != nil {
		lines = append(lines, "Observed: "+when(*seen)+".")
	}
	if a, ok := in.number("poly_GISAcres"); ok && a > 0 {
		lines = append(lines, "Area: "+acres(a)+".")
	}
	if m := in.text("poly_MapMethod"); m != "" {
		lines = append(lines, "Method: "+m+".")
	}
	return append(tree, hazard.ReportProduct{
		Key: perimeterPlace, Parent: Name, Title: "Perimeter of " + at.Time().Format(time.DateOnly), Type: hazard.TextProduct,
		Data: hazard.Clean(strings.Join(lines, "\n")), Time: at,
	})
}

// point returns where the fire began, or why that is unknown.
func (in *incident) point(geometry jsontext.Value) (*hazard.Point, string) {
	fault := "geometry: null, expected a Point"
	if !in.perimeter && geometry.Kind() == '{' {
		var g struct {
			Type        string         `json:"type"`
			Coordinates jsontext.Value `json:"coordinates"`
		}
		if json.Unmarshal(geometry, &g, lenient.Options) == nil && g.Type == "Point" {
			lon, lat := lenient.Position(g.Coordinates)
			if p := believable(lon.Value, lat.Value); p != nil && lon.Known && lat.Known {
				return p, ""
			}
		}
		fault = fmt.Sprintf("geometry: %s, expected a Point with longitude and latitude", lenient.ExcerptText(string(compact(geometry))))
	}
	lat, ok1 := in.number("InitialLatitude")
	lon, ok2 := in.number("InitialLongitude")
	if ok1 && ok2 {
		if p := believable(lon, lat); p != nil {
			return p, ""
		}
	}
	return nil, fault
}

// believable returns a position in degrees, corrected if the mistake is clear; it returns nil if it
// cannot be in the United States.
func believable(lon, lat float64) *hazard.Point {
	if math.Abs(lat) > 90 && math.Abs(lon) <= 90 || lon > 0 && lat < 0 { // latitude and longitude are swapped: no state is both east and south
		lon, lat = lat, lon
	}
	if lon > 180 && lon <= 360 { // the Aleutians, with a longitude from 0 to 360
		lon -= 360
	}
	if !(math.Abs(lat) <= 90 && math.Abs(lon) <= 180) || lat == 0 && lon == 0 {
		return nil
	}
	return &hazard.Point{Lon: lon, Lat: lat}
}

// area returns the perimeter as it was sent, or "" if there is none.
func (in *incident) area(geometry jsontext.Value) (string, error) {
	switch kind := geometry.Kind(); {
	case !in.perimeter || kind == 0 || kind == 'n':
		return "", nil
	case kind != '{':
		return "", fmt.Errorf("geometry: %s, expected a Polygon or MultiPolygon", lenient.ExcerptText(string(geometry)))
	}
	var g struct {
		Type        string         `json:"type"`
		Coordinates jsontext.Value `json:"coordinates"`
	}
	if err := json.Unmarshal(geometry, &g, lenient.Options); err != nil || g.Type != "Polygon" && g.Type != "MultiPolygon" || g.Coordinates.Kind() != '[' {
		return "", fmt.Errorf("geometry: %s, expected a Polygon or MultiPolygon", lenient.ExcerptText(string(compact(geometry))))
	}
	if text := compact(g.Coordinates); string(text) != "[]" {
		return `{"type":"` + g.Type + `","coordinates":` + string(text) + `}`, nil
	}
	return "", nil
}
