package arcgis

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/crs"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/hazard/query/cql"
)

// Answer is the kind of a query's answer.
type Answer int

// The answers.
const (
	Features Answer = iota
	Count
	IDs
	Rows   // statistics, or distinct values
	Extent // the box around all, with their number
)

// Query is a query of a layer.
type Query struct {
	query.Query
	Answer      Answer
	layerFields []*Field
	Geometry    bool
	GeoJSON     bool
	PBF         bool
	OutSR       crs.System
	Grid        *grid // quantizationParameters; nil: none
	Offset      int
	Most        int // maximum number of features or rows
	Groups      []*Field
	Stats       []Statistic
	relation    *relation
	counted     bool       // the number belongs to the answer Extent
	sort        []ordering // order of rows, or of features where sorted
	sorted      bool       // Sort cannot express the order
}

// grid returns the grid of an answer in PBF.
func (q *Query) grid() grid {
	if q.Grid != nil {
		return *q.Grid
	}
	return gridOf(q.OutSR)
}

// Limits of one query.
const (
	maxIDs    = 5_000
	maxStats  = 50
	maxOffset = 1_000_000
)

// refused are parameters that would change the result but are not supported. Other unsupported
// parameters only affect the form of the answer, and are ignored.
var refused = []string{"text", "relationParam", "having", "historicMoment", "gdbVersion", "fullText", "parameterValues", "rangeValues", "sqlFormat", "token"}

// Parse reads the parameters of a query of the layer. now is CURRENT_TIMESTAMP of its where clause.
func (l *Layer) Parse(values url.Values, now time.Time) (*Query, query.Faults) {
	p := &parser{values: values, layer: l, now: now, q: &Query{Geometry: true, OutSR: inDegreesOfWGS84, Most: l.most()}}
	for name, given := range values {
		if len(given) > 1 {
			p.fault(name, "is given %d times, expected once", len(given))
		}
	}
	for _, name := range refused {
		if v := values.Get(name); v != "" && v != "false" && v != "none" && v != "standard" {
			p.fault(name, "is not known here")
		}
	}
	p.where(l)
	p.place()
	p.time()
	p.form()
	p.paging()
	p.statistics()
	p.order()
	slices.SortFunc(p.faults, func(a, b query.Fault) int { return strings.Compare(a.Parameter, b.Parameter) })
	return p.q, p.faults
}

type parser struct {
	values url.Values
	layer  *Layer
	now    time.Time
	q      *Query
	faults query.Faults
}

func (p *parser) fault(name, format string, args ...any) {
	p.faults = append(p.faults, query.Fault{Parameter: name, Detail: fmt.Sprintf(format, args...)})
}

// where reads the conditions: those of the layer, where and objectIds.
func (p *parser) where(l *Layer) {
	if l.Active {
		p.q.Statuses = []hazard.Status{hazard.Active}
	}
	if roles := l.roles(); roles != nil {
		in := cql.In{Of: cql.Operand{Kind: cql.Property, Text: query.AreaRole}}
		for _, role := range roles {
			in.List = append(in.List, cql.Operand{Kind: cql.Text, Text: role})
		}
		p.and("layer", string(l.Kind), in)
	}
	if text := p.values.Get("where"); strings.TrimSpace(text) != "" {
		e, err := cql.ParseSQL(text, p.now)
		if err == nil {
			err = p.and("where", text, e)
		}
		if err != nil {
			p.fault("where", "%v", err)
		}
	}
	if ids := p.values.Get("objectIds"); ids != "" {
		p.q.Hazards = []int64{}
		for part := range strings.SplitSeq(ids, ",") {
			n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
			if err != nil || len(p.q.Hazards) == maxIDs {
				p.fault("objectIds", "%.60q: expected at most %d whole numbers, separated by commas", part, maxIDs)
				return
			}
			p.q.Hazards = append(p.q.Hazards, n)
		}
		slices.Sort(p.q.Hazards)
		p.q.Hazards = slices.Compact(p.q.Hazards)
	}
}

// and adds a condition. text is its source.
func (p *parser) and(lang, text string, e cql.Expr) error {
	w, err := query.NewWhere(e, query.Fields())
	if err != nil {
		return err
	}
	w.Lang, w.Text = lang, text
	p.q.Where = p.q.Where.And(w)
	return nil
}

func (p *parser) place() {
	in, err := readReference(p.values.Get("inSR"), inDegreesOfWGS84)
	if err != nil {
		p.fault("inSR", "%v", err)
	}
	if p.q.OutSR, err = readReference(p.values.Get("outSR"), inDegreesOfWGS84); err != nil {
		p.fault("outSR", "%v", err)
	}
	p.quantization()
	text := p.values.Get("geometry")
	name := p.values.Get("spatialRel")
	if name == "" {
		name = intersects
	}
	if !slices.Contains(relations(), name) {
		p.fault("spatialRel", "%.60q is not known here; expected one of %s", name, strings.Join(relations(), ", "))
	}
	metres := p.distance()
	if text == "" {
		if metres > 0 {
			p.fault("distance", "is given without geometry")
		}
		return
	}
	place, err := readPlace(text, p.values.Get("geometryType"), in)
	if err != nil {
		p.fault("geometry", "%v", err)
		_, p.faults[len(p.faults)-1].TooCostly = errors.AsType[*geo.CostError](err)
		return
	}
	p.search(place, name, metres)
}

// search makes conditions of a place: those by which the store finds hazards, and the relation that
// the hazards found are tested for where these do not say it all.
func (p *parser) search(at *place, name string, metres float64) {
	points := p.layer.Kind == Points
	shape := at.Shape
	if at.Box != nil {
		shape = at.Box.Shape()
	}
	p.q.Possible = points // the point of a hazard that is only known to be in a country is in this layer, too
	switch {
	case metres > 0:
		if name != intersects {
			p.fault("spatialRel", "distance goes with %s only", intersects)
		}
		p.q.relation = &relation{name: name, shape: shape, metres: metres}
		p.around(shape, metres)
		return
	case points && at.Box != nil && (name == intersects || name == envelopes || name == contains):
		p.within(at.Box)
	case points || name != intersects && name != envelopes:
		p.q.relation = &relation{name: name, shape: shape}
	}
	if p.q.Box = at.Box; at.Box == nil {
		p.q.Area = query.NewShapeArea(shape)
	}
}

// around adds the condition that a hazard meets the box of a shape, widened by a distance.
func (p *parser) around(s geo.Shape, metres float64) {
	west, south, east, north := s.Bounds()
	var boxes cql.Or
	for _, b := range (geo.Box{West: west, South: south, East: east, North: north}).Widened(metres) {
		boxes.Any = append(boxes.Any, cql.Meets{Of: cql.Operand{Kind: cql.Property, Text: "geometry"}, Geometry: cql.Geometry{BBox: []float64{b.West, b.South, b.East, b.North}}})
	}
	if err := p.and("distance", fmt.Sprint(boxes), boxes); err != nil {
		p.fault("distance", "%v", err)
	}
}

// within adds the condition that the point of a hazard is in a box.
func (p *parser) within(b *geo.Box) {
	side := func(name string, c cql.Comparator, n float64) cql.Expr {
		return cql.Compare{By: c, Left: cql.Operand{Kind: cql.Property, Text: name}, Right: cql.Operand{Kind: cql.Number, Number: n}}
	}
	east, west := side("longitude", cql.LessOrEqual, b.East), side("longitude", cql.GreaterOrEqual, b.West)
	var round cql.Expr = cql.And{All: []cql.Expr{east, west}}
	if b.West > b.East {
		round = cql.Or{Any: []cql.Expr{east, west}}
	}
	e := cql.And{All: []cql.Expr{side("latitude", cql.GreaterOrEqual, b.South), side("latitude", cql.LessOrEqual, b.North), round}}
	if err := p.and("box", fmt.Sprint(*b), e); err != nil {
		p.fault("geometry", "%v", err)
	}
}

// units are the lengths of the units of a distance, in meters.
var units = map[string]float64{"": 1, "esriSRUnit_Meter": 1, "esriSRUnit_Kilometer": 1000, "esriSRUnit_StatuteMile": 1609.344, "esriSRUnit_NauticalMile": 1852,
	"esriSRUnit_USNauticalMile": 1852, "esriSRUnit_Foot": 0.3048, "esriSRUnit_SurveyFoot": 1200.0 / 3937}

// maxDistance is the largest distance of a query, in meters: half way round the world.
const maxDistance = 20_037_508

// distance reads distance and units. It returns meters.
func (p *parser) distance() float64 {
	text := p.values.Get("distance")
	if text == "" {
		return 0
	}
	unit, ok := units[p.values.Get("units")]
	if !ok {
		p.fault("units", "%.60q is not one of %s", p.values.Get("units"), strings.Join(slices.Sorted(maps.Keys(units))[1:], ", "))
	}
	n, err := strconv.ParseFloat(text, 64)
	if n *= unit; err != nil || !(n >= 0 && n <= maxDistance) {
		p.fault("distance", "%.60q is not a number from 0 to %d meters", text, maxDistance)
		return 0
	}
	return n
}

// quantization reads quantizationParameters and maxAllowableOffset.
func (p *parser) quantization() {
	offset := 0.0
	if text := p.values.Get("maxAllowableOffset"); text != "" {
		var err error
		if offset, err = strconv.ParseFloat(text, 64); err != nil || !(offset >= 0) {
			p.fault("maxAllowableOffset", "%.60q is not a number of at least 0", text)
		}
	}
	if text := p.values.Get("quantizationParameters"); text != "" {
		var err error
		if p.q.Grid, err = readGrid(text, offset, p.q.OutSR); err != nil {
			p.fault("quantizationParameters", "%v", err)
		}
	}
}

// time reads a moment or a period in milliseconds since 1970. Either end of a period may be null.
func (p *parser) time() {
	text := p.values.Get("time")
	if text == "" {
		return
	}
	first, last, two := strings.Cut(text, ",")
	if !two {
		last = first
	}
	read := func(s string, open hazard.Instant) hazard.Instant {
		if s = strings.TrimSpace(s); s == "null" && two {
			return open
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if at := hazard.Instant(n); err == nil && at >= hazard.MinInstant && at <= hazard.MaxInstant {
			return at
		}
		p.fault("time", "%.60q must be a time in milliseconds since 1970, or two times with a comma between them, one of which may be null", text)
		return open
	}
	span := query.Span{From: read(first, hazard.MinInstant), To: read(last, hazard.MaxInstant)}
	if span.From > span.To {
		p.fault("time", "%.60q ends before it begins", text)
	}
	p.q.Life = &span
}

// flag reads true or false.
func (p *parser) flag(name string, missing bool) bool {
	switch text := strings.ToLower(p.values.Get(name)); text {
	case "":
		return missing
	case "true":
		return true
	case "false":
		return false
	default:
		p.fault(name, "%.40q is neither true nor false", text)
		return missing
	}
}

// form reads the form of the answer.
func (p *parser) form() {
	switch f := strings.ToLower(p.values.Get("f")); f {
	case "", "json", "pjson":
	case "geojson":
		p.q.GeoJSON = true
	case "pbf":
		p.q.PBF = true
	default:
		p.fault("f", "%.40q is not one of json, pjson, geojson, pbf", f)
	}
	p.q.Geometry = p.flag("returnGeometry", true)
	p.q.layerFields = p.fields("outFields", p.values.Get("outFields"))
	if p.q.GeoJSON && p.q.OutSR.Code != crs.WGS84 {
		p.fault("outSR", "GeoJSON supports only WGS 84: omit outSR, or use f=json")
	}
	p.q.counted = p.flag("returnCountOnly", false)
	switch {
	case p.flag("returnExtentOnly", false):
		p.q.Answer = Extent
	case p.q.counted:
		p.q.Answer = Count
	case p.flag("returnIdsOnly", false):
		p.q.Answer = IDs
	}
}

// fields reads names of fields. Unless they are groups, the first field is always that of object
// ids.
func (p *parser) fields(parameter, text string) []*Field {
	all := []*Field{fieldNamed(objectID)}
	if text = strings.TrimSpace(text); text == "" {
		return all
	}
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if name == "*" {
			for i := range fields() {
				all = append(all, &fields()[i])
			}
			continue
		}
		f := fieldNamed(name)
		if f == nil {
			p.fault(parameter, "%.60q is not a field of the layer", name)
			continue
		}
		all = append(all, f)
	}
	unique := all[:0]
	for _, f := range all {
		if !slices.Contains(unique, f) {
			unique = append(unique, f)
		}
	}
	return unique
}

func (p *parser) paging() {
	number := func(name string, missing, most int) int {
		text := p.values.Get(name)
		if text == "" {
			return missing
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			p.fault(name, "%.40q is not a whole number of at least 0", text)
		}
		return min(n, most)
	}
	p.q.Offset = number("resultOffset", 0, maxOffset)
	most := p.layer.most()
	if p.q.Most = number("resultRecordCount", most, most); p.q.Most == 0 {
		p.q.Most = most
	}
}

// statistics reads outStatistics, groupByFieldsForStatistics and returnDistinctValues.
func (p *parser) statistics() {
	text := p.values.Get("outStatistics")
	distinct := p.flag("returnDistinctValues", false)
	groups := p.values.Get("groupByFieldsForStatistics")
	if distinct && text == "" {
		groups = p.values.Get("outFields")
	}
	if text == "" && !distinct {
		if groups != "" {
			p.fault("groupByFieldsForStatistics", "is given without outStatistics")
		}
		return
	}
	for name := range strings.SplitSeq(groups, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		f := fieldNamed(name)
		if f == nil || f.field == nil {
			p.fault("groupByFieldsForStatistics", "%.60q is not a field for grouping", name)
			continue
		}
		p.q.Groups = append(p.q.Groups, f)
	}
	if distinct && text == "" && len(p.q.Groups) == 0 {
		p.fault("outFields", "must name the fields whose distinct values are requested")
	}
	if text != "" {
		stats, err := readStatistics(text)
		if err != nil {
			p.fault("outStatistics", "%v", err)
		}
		p.q.Stats = stats
	}
	if p.q.Answer != Count {
		p.q.Answer = Rows
	} else {
		p.fault("returnCountOnly", "cannot be combined with outStatistics and returnDistinctValues")
	}
}

// ordering is a column of rows and its direction.
type ordering struct {
	column     string
	descending bool
}

// sorts are the supported orders of features, by field.
var sorts = map[string]query.Order{objectID: query.ByNumber, "start_time": query.ByStart, "end_time": query.ByEnd, "last_update_time": query.ByLastUpdate}

// order reads orderByFields. By default, features are in the order of their numbers, so that later
// features do not move earlier ones.
func (p *parser) order() {
	p.q.Sort = query.Sort{By: query.ByNumber}
	text := strings.TrimSpace(p.values.Get("orderByFields"))
	if text == "" {
		return
	}
	for part := range strings.SplitSeq(text, ",") {
		words := strings.Fields(part)
		if len(words) == 0 || len(words) > 2 || len(words) == 2 && !strings.EqualFold(words[1], "ASC") && !strings.EqualFold(words[1], "DESC") {
			p.fault("orderByFields", "%.60q is not the name of a field, optionally followed by ASC or DESC", part)
			return
		}
		o := ordering{strings.Trim(words[0], `"`), len(words) == 2 && strings.EqualFold(words[1], "DESC")}
		p.q.sort = append(p.q.sort, o)
	}
	if p.q.Answer == Rows {
		return
	}
	first := p.q.sort[0]
	f := fieldNamed(first.column)
	if f == nil {
		p.fault("orderByFields", "%.60q is not a field of the layer", first.column)
		return
	}
	for _, o := range p.q.sort {
		if f := fieldNamed(o.column); f == nil || f.field == nil {
			p.fault("orderByFields", "%.60q is not a field by which features can be sorted", o.column)
			return
		}
	}
	rest := p.q.sort[1:] // every order of Sort ends with the number, in the same direction
	if len(rest) > 1 || len(rest) == 1 && (!strings.EqualFold(rest[0].column, objectID) || rest[0].descending != first.descending) {
		p.q.sorted = true
		return
	}
	quantity, measured := strings.CutPrefix(f.Name, "measurements_")
	by, known := sorts[f.Name]
	switch {
	case known:
		p.q.Sort = query.Sort{By: by, Descending: first.descending}
	case measured:
		p.q.Sort = query.Sort{By: query.ByMeasure, Descending: first.descending, Quantity: hazard.Quantity(quantity)}
	case f.Name == "importance" && first.descending:
		p.q.Sort = query.Sort{By: query.ByImportance, Descending: true}
	case f.Name == "severity_rank" && first.descending && len(rest) == 0:
		p.q.Sort = query.Sort{}
	default:
		p.q.sorted = true
	}
}

// readStatistics reads outStatistics.
func readStatistics(text string) (all []Statistic, err error) {
	var given []struct {
		Type  string `json:"statisticType"`
		Field string `json:"onStatisticField"`
		Name  string `json:"outStatisticFieldName"`
	}
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		return nil, errors.New(`expected [{"statisticType": "count", "onStatisticField": "hazard_ID", "outStatisticFieldName": "n"}]`)
	}
	if len(given) == 0 || len(given) > maxStats {
		return nil, fmt.Errorf("expected 1 to %d statistics, found %d", maxStats, len(given))
	}
	for _, g := range given {
		s := Statistic{Type: strings.ToLower(g.Type), Field: fieldNamed(g.Field), Name: g.Name}
		if !slices.Contains(statistics, s.Type) {
			return nil, fmt.Errorf("%.40q is not a statistic; expected one of %s", g.Type, strings.Join(statistics, ", "))
		}
		if s.Field == nil || s.Field.field == nil || s.Field.field.Kind == query.TextField && s.sums() {
			return nil, fmt.Errorf("%.60q is not a field on which %s is possible", g.Field, s.Type)
		}
		if s.Name == "" {
			s.Name = s.Type + "_" + s.Field.Name
		}
		all = append(all, s)
	}
	return all, nil
}
