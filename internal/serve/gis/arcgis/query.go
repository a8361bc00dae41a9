package arcgis

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/geo"
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
	Rows // statistics, or distinct values
)

// Query is a query of a layer.
type Query struct {
	query.Query
	Answer      Answer
	layerFields []*Field
	Geometry    bool
	GeoJSON     bool
	PBF         bool
	OutSR       int
	Offset      int
	Most        int // maximum number of features or rows
	Groups      []*Field
	Stats       []Statistic
	sort        []ordering // order of rows
}

// Limits of one query.
const (
	maxIDs    = 5_000
	maxStats  = 50
	maxOffset = 1_000_000
)

// refused are parameters that would change the result but are not supported. Other unsupported
// parameters only affect the form of the answer, and are ignored.
var refused = []string{"text", "relationParam", "having", "distance", "historicMoment", "gdbVersion", "fullText", "parameterValues", "rangeValues", "returnExtentOnly", "quantizationParameters", "sqlFormat", "token"}

// Parse reads the parameters of a query of the layer.
func (l *Layer) Parse(values url.Values) (*Query, query.Faults) {
	p := &parser{values: values, q: &Query{Geometry: true, OutSR: wgs84, Most: maxRecords}}
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
		e, err := cql.ParseSQL(text)
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
	in, err := readReference(p.values.Get("inSR"), wgs84)
	if err != nil {
		p.fault("inSR", "%v", err)
	}
	if p.q.OutSR, err = readReference(p.values.Get("outSR"), wgs84); err != nil {
		p.fault("outSR", "%v", err)
	}
	text := p.values.Get("geometry")
	if text == "" {
		return
	}
	if rel := p.values.Get("spatialRel"); !slices.Contains([]string{"", "esriSpatialRelIntersects", "esriSpatialRelEnvelopeIntersects"}, rel) {
		p.fault("spatialRel", "%.60q is not known here: expected esriSpatialRelIntersects or esriSpatialRelEnvelopeIntersects", rel)
	}
	place, err := readPlace(text, p.values.Get("geometryType"), in)
	if err != nil {
		p.fault("geometry", "%v", err)
		_, p.faults[len(p.faults)-1].TooCostly = errors.AsType[*geo.CostError](err)
		return
	}
	if p.q.Box = place.Box; place.Box == nil {
		p.q.Area = query.NewShapeArea(place.Shape)
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
	if p.q.GeoJSON && p.q.OutSR != wgs84 {
		p.fault("outSR", "GeoJSON supports only WGS 84: omit outSR, or use f=json")
	}
	switch {
	case p.flag("returnCountOnly", false):
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
	if p.q.Most = number("resultRecordCount", maxRecords, maxRecords); p.q.Most == 0 {
		p.q.Most = maxRecords
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
	rest := p.q.sort[1:] // every order ends with the number, in the same direction
	if len(rest) > 1 || len(rest) == 1 && (!strings.EqualFold(rest[0].column, objectID) || rest[0].descending != first.descending) {
		p.fault("orderByFields", "features can be sorted by one field only, and then by %s", objectID)
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
		p.fault("orderByFields", "features cannot be sorted by %s; they can by %s, start_time, end_time, last_update_time and measurements in either direction, and by severity_rank and importance with DESC", f.Name, objectID)
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
