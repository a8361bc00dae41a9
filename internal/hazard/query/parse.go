package query

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/crs"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Fault is one thing wrong with the parameters.
type Fault struct {
	Parameter string
	Detail    string // names the value and what is allowed
	TooCostly bool   // it is well formed, but takes more work than a request may cost
}

// Faults is everything that is wrong with the parameters at once.
type Faults []Fault

func (f Faults) Error() string {
	words := make([]string, len(f))
	for i, one := range f {
		words[i] = one.Parameter + ": " + one.Detail
	}
	return strings.Join(words, "; ")
}

// Limits of parameters, because each phrase, and each position of a geometry, costs time on every
// hazard.
const (
	maxText     = 200 // characters of q
	maxPhrases  = 12
	maxSources  = 50
	maxMeasures = 12
)

// parameter reads one parameter of the URL.
type parameter struct {
	name string
	read func(p *parser, value string)
}

// filters are the parameters of a Filter.
var filters = []parameter{
	{"type", func(p *parser, v string) {
		p.Types = list(p, "type", v, func(id string) (hazard.Type, bool) {
			_, ok := hazard.Type(id).Info()
			return hazard.Type(id), ok
		}, func() (known []string) {
			for _, t := range hazard.Types() {
				known = append(known, string(t.ID))
			}
			return known
		})
	}},
	{"severity", func(p *parser, v string) {
		p.Severities = list(p, "severity", v, hazard.ParseSeverity, func() (known []string) {
			for _, s := range hazard.Severities() {
				known = append(known, s.ID)
			}
			return known
		})
	}},
	{"category", func(p *parser, v string) {
		p.Categories = list(p, "category", v, func(id string) (hazard.Category, bool) {
			_, ok := hazard.Category(id).Info()
			return hazard.Category(id), ok
		}, func() (known []string) {
			for _, c := range hazard.Categories() {
				known = append(known, string(c.ID))
			}
			return known
		})
	}},
	{"status", func(p *parser, v string) {
		p.Statuses = list(p, "status", v, func(id string) (hazard.Status, bool) {
			return hazard.Status(id), id == string(hazard.Active) || id == string(hazard.Expired)
		}, func() []string { return []string{"A (active)", "E (expired)"} })
	}},
	{"source", (*parser).sources},
	{"ref", (*parser).ref},
	{"bbox", (*parser).bbox},
	{"near", func(*parser, string) {}}, // with radius
	{"radius", func(*parser, string) {}},
	{"intersects", (*parser).intersects},
	{"possible", func(p *parser, v string) {
		if p.Possible = v == "true"; !p.Possible && v != "false" {
			p.fault("possible", "%.60q is not one of true, false", v)
		}
	}},
	{"datetime", (*parser).datetime},
	{"updated_since", func(p *parser, v string) { p.UpdatedSince = p.moment("updated_since", v) }},
	{"measure", (*parser).measures},
	{"q", (*parser).text},
}

// conditions are the other parameters of a Query that say what it finds.
var conditions = []parameter{
	{"filter", func(*parser, string) {}}, // with filter-lang and filter-crs
	{"filter-lang", func(*parser, string) {}},
	{"filter-crs", func(*parser, string) {}},
	{"at", func(p *parser, v string) { p.At = p.moment("at", v) }},
}

// pages are the parameters of a Query that say in what order and parts it is answered.
var pages = []parameter{
	{"sort", func(p *parser, v string) {
		sort, ok := parseSort(v)
		if !ok {
			p.fault("sort", "%.60q is not one of %s, nor a measurement in GET /measurements; a leading - is optional", v, sortNames())
			return
		}
		p.Sort = sort
	}},
	{"limit", func(p *parser, v string) {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > MaxLimit {
			p.fault("limit", "%.60q is not a whole number from 1 to %d", v, MaxLimit)
			return
		}
		p.Limit = n
	}},
	{"cursor", func(p *parser, v string) {
		if p.Cursor = v; v == "" {
			p.fault("cursor", "is empty; the first page has none")
		}
	}},
}

// ParseFilter parses the parameters of a Filter. It ignores names in also; every other name is a
// fault, and so is a repeated one. It returns nil if there are no faults.
func ParseFilter(values url.Values, also ...string) (Filter, Faults) {
	q, faults := parse(values, filters, also, nil)
	return q.Filter, faults
}

// Parse parses the parameters of a Query, as ParseFilter does. Without a limit Query.Limit is 0.
// Query.Decode parses the cursor, and the caller checks that At is in the past.
func Parse(values url.Values, also ...string) (Query, Faults) {
	return ParseOn(Fields(), values, also...)
}

// ParseOn does the same as Parse with other fields in filters.
func ParseOn(fields []Field, values url.Values, also ...string) (Query, Faults) {
	return parse(values, slices.Concat(filters, conditions, pages), also, fields)
}

// ParseSet does the same as Parse for an answer that has neither order nor pages.
func ParseSet(values url.Values, also ...string) (Query, Faults) {
	return parse(values, slices.Concat(filters, conditions), also, Fields())
}

type parser struct {
	Query
	fields []Field // that a filter may name
	values url.Values
	faults Faults
}

func parse(values url.Values, known []parameter, also []string, fields []Field) (Query, Faults) {
	p := &parser{values: values, fields: fields}
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = k.name
		if given := values[k.name]; len(given) > 1 {
			p.fault(k.name, "is given %d times, expected once; several values are separated by commas", len(given))
		} else if len(given) == 1 {
			k.read(p, given[0])
		}
	}
	p.near()
	if slices.Contains(names, "filter") {
		p.where()
	}
	if p.Ref != "" && p.At != nil {
		p.fault("ref", "cannot be combined with at: identifiers are only known as of now")
	}
	for name := range values {
		if !slices.Contains(names, name) && !slices.Contains(also, name) {
			p.fault(name, "is not known; these are known here: %s", strings.Join(slices.Concat(names, also), ", "))
		}
	}
	slices.SortFunc(p.faults, func(a, b Fault) int { return strings.Compare(a.Parameter, b.Parameter) })
	return p.Query, p.faults
}

func (p *parser) fault(name, format string, args ...any) {
	p.faults = append(p.faults, Fault{Parameter: name, Detail: fmt.Sprintf(format, args...)})
}

// list reads identifiers separated by commas, in the order of their kind and each once.
func list[T comparable](p *parser, name, value string, read func(string) (T, bool), known func() []string) (found []T) {
	var unknown []string
	for id := range strings.SplitSeq(value, ",") {
		v, ok := read(id)
		switch {
		case !ok && len(unknown) < 3:
			unknown = append(unknown, fmt.Sprintf("%.40q", id))
		case ok && !slices.Contains(found, v):
			found = append(found, v)
		}
	}
	if unknown != nil {
		p.fault(name, "%s is not a %s; expected one of %s, separated by commas", strings.Join(unknown, ", "), name, strings.Join(known(), ", "))
	}
	return found
}

func (p *parser) sources(value string) {
	for name := range strings.SplitSeq(value, ",") {
		switch {
		case !isName(name):
			p.fault("source", "%.60q is neither the name of a source in GET /sources, nor %q for hazards of editors", name, Editors)
			return
		case !slices.Contains(p.Sources, name):
			p.Sources = append(p.Sources, name)
		}
	}
	if len(p.Sources) > maxSources {
		p.fault("source", "%d names, at most %d are allowed", len(p.Sources), maxSources)
	}
}

// isName reports whether s is a valid name of a source.
func isName(s string) bool {
	return s != "" && len(s) <= 60 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	})
}

func (p *parser) ref(value string) {
	scheme, id, ok := strings.Cut(value, ":")
	if !ok || scheme == "" || id == "" || len(value) > 300 {
		p.fault("ref", "%.60q is not SCHEME:ID, such as glide:EQ-2026-000123-CHN or atcf:CP012026", value)
		return
	}
	p.Ref = value
}

func (p *parser) bbox(value string) {
	west, south, east, north, err := geo.ParseBBox(value)
	if err != nil {
		p.fault("bbox", "%.80q: %v", value, err)
		return
	}
	box := geo.Box{West: west, South: south, East: east, North: north}.BothSides()
	p.Box = &box
}

// near reads the two parameters that only make sense together.
func (p *parser) near() {
	place, radius := p.values["near"], p.values["radius"]
	if len(place) > 1 || len(radius) > 1 || place == nil && radius == nil {
		return
	}
	if place == nil {
		p.fault("radius", "is given without near=lon,lat")
		return
	}
	lonText, latText, ok := strings.Cut(place[0], ",")
	lon, okLon := number(lonText)
	lat, okLat := number(latText)
	if !ok || !okLon || !okLat || math.Abs(lon) > 180 || math.Abs(lat) > 90 {
		p.fault("near", "%.60q is not lon,lat: longitude from -180 to 180 and latitude from -90 to 90, in degrees, separated by a comma", place[0])
		return
	}
	if radius == nil {
		p.fault("near", "is given without radius= in metres")
		return
	}
	r, ok := number(radius[0])
	if !ok || !(r > 0 && r <= maxRadius) {
		p.fault("radius", "%.60q is not a number of metres above 0, at most %d", radius[0], maxRadius)
		return
	}
	p.Near = newNear(lon, lat, r)
}

// where reads a filter, in the language and the reference system that other parameters name (OGC 19-079r2, section 8).
func (p *parser) where() {
	text, lang, system := p.values["filter"], p.values["filter-lang"], p.values["filter-crs"]
	if len(text) > 1 || len(lang) > 1 || len(system) > 1 {
		return
	}
	in := CQL2Text
	if len(lang) == 1 {
		if in = lang[0]; in != CQL2Text && in != CQL2JSON && in != CQLText {
			p.fault("filter-lang", "%.40q is not one of %s, %s", in, CQL2Text, CQL2JSON)
			return
		}
	}
	positions, _ := crs.Referred(crs.CRS84)
	if len(system) == 1 {
		var ok bool
		if positions, ok = crs.Referred(system[0]); !ok {
			p.fault("filter-crs", "%.80q is not known; expected %s or one of the other names in /ogc/collections", system[0], crs.CRS84)
			return
		}
	}
	if text == nil {
		if lang != nil {
			p.fault("filter-lang", "is given without filter")
		}
		return
	}
	w, err := parseWhere(in, text[0], positions, p.fields)
	if err != nil {
		p.fault("filter", "%v", err)
		_, p.faults[len(p.faults)-1].TooCostly = errors.AsType[*geo.CostError](err)
		return
	}
	p.Where = w
}

// number reads a decimal number.
func number(s string) (float64, bool) {
	if strings.Trim(s, "+-.0123456789eE") != "" {
		return 0, false // strconv takes Inf, NaN, and hexadecimal numbers
	}
	n, err := strconv.ParseFloat(s, 64)
	return n + 0, err == nil // no negative zero
}

func (p *parser) intersects(value string) {
	area, err := newArea(value)
	switch {
	case value == "":
		p.fault("intersects", "is empty, expected a geometry as WKT, such as POLYGON((9 53,11 53,11 54,9 54,9 53)), longitude before latitude")
	case err != nil:
		p.fault("intersects", "%.60q: %v", value, err)
		_, p.faults[len(p.faults)-1].TooCostly = errors.AsType[*geo.CostError](err)
	default:
		p.Area = area
	}
}

// datetime parses an interval of OGC API – Features (OGC 17-069r4, section 7.15.4): a moment, or
// two of which one may be open (.. or empty). A date means the whole day in UTC, as in other
// services.
func (p *parser) datetime(value string) {
	const form = "a moment (2026-11-02T06:00:00Z), a day (2026-11-02), or two of them with / between, of which one may be .. for open"
	first, last, interval := strings.Cut(value, "/")
	if !interval {
		last = first
	}
	span := Span{hazard.MinInstant, hazard.MaxInstant}
	open := func(s string) bool { return interval && (s == "" || s == "..") }
	ok := true
	if !open(first) {
		span.From, _, ok = readMoment(first)
	}
	if ok && !open(last) {
		_, span.To, ok = readMoment(last)
	}
	switch {
	case !ok:
		p.fault("datetime", "%.80q is not %s%s", value, form, plusHint(value))
	case span.From > span.To:
		p.fault("datetime", "%.80q: it ends before it begins", value)
	default:
		p.Life = &span
	}
}

// readMoment reads a moment, or a day as its first and its last millisecond.
func readMoment(s string) (from, to hazard.Instant, ok bool) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		from = hazard.At(t)
		return from, from.Add(24*time.Hour) - 1, inRange(from)
	}
	at, ok := ReadMoment(s)
	return at, at, ok
}

func inRange(i hazard.Instant) bool { return i >= hazard.MinInstant && i <= hazard.MaxInstant }

// MomentForm describes the values that ReadMoment accepts.
const MomentForm = "a moment as RFC 3339 has it, such as 2026-11-02T06:00:00Z"

// ReadMoment parses a moment (RFC 3339), and reports whether it is valid, in the years from 1 to
// 9999.
func ReadMoment(s string) (hazard.Instant, bool) {
	t, err := time.Parse(time.RFC3339, s)
	i := hazard.At(t)
	return i, err == nil && inRange(i)
}

func (p *parser) moment(name, value string) *hazard.Instant {
	i, ok := ReadMoment(value)
	if !ok {
		p.fault(name, "%.60q is not %s%s", value, MomentForm, plusHint(value))
		return nil
	}
	return &i
}

// plusHint returns a hint about an unescaped + in a time zone.
func plusHint(value string) string {
	if strings.Contains(value, " ") {
		return "; in a URL a + must be written %2B"
	}
	return ""
}

// measures reads ranges of quantities, name:low..high, separated by commas.
func (p *parser) measures(value string) {
	for part := range strings.SplitSeq(value, ",") {
		name, span, ok := strings.Cut(part, ":")
		low, high, okSpan := strings.Cut(span, "..")
		if !ok || !okSpan {
			p.fault("measure", "%.60q is not name:low..high, of which either side may be left open, such as magnitude:6.. or depth_km:..70", part)
			continue
		}
		info, ok := hazard.Quantity(name).Info()
		if !ok {
			p.fault("measure", "%.60q is not a measurement; expected one of %s (GET /measurements)", name, strings.Join(texts(hazard.Quantities(), func(i hazard.QuantityInfo) string { return string(i.Name) }), ", "))
			continue
		}
		m := Measure{info.Name, math.Inf(-1), math.Inf(1)}
		bound := func(text string, into *float64) bool {
			if text == "" {
				return true
			}
			v, ok := info.Value(text)
			if !ok {
				v, ok = number(text)
			}
			if !ok {
				p.fault("measure", "%s: %.60q is not %s", name, text, expected(&info))
				return false
			}
			*into = v
			return true
		}
		if okLow, okHigh := bound(low, &m.Low), bound(high, &m.High); !okLow || !okHigh {
			continue
		}
		lowest, highest := info.Range()
		switch {
		case m.Low > m.High:
			p.fault("measure", "%s: %.60q begins with the greater value, expected low..high", name, span)
		case m.High < lowest || m.Low > highest:
			p.fault("measure", "%s: %.60q lets nothing through: no value can be there, expected %s", name, span, expected(&info))
		case !slices.Contains(p.Measures, m):
			p.Measures = append(p.Measures, m)
		}
	}
	if len(p.Measures) > maxMeasures {
		p.fault("measure", "%d ranges, at most %d are allowed", len(p.Measures), maxMeasures)
	}
}

// expected returns the valid values of a quantity.
func expected(info *hazard.QuantityInfo) string {
	low, high := info.Range()
	text := fmt.Sprintf("a number from %s to %s", decimals(low), decimals(high))
	if info.Unit != "" {
		text += " " + info.Unit
	}
	if len(info.Words) > 0 {
		text += ", or one of " + strings.Join(info.Words, ", ")
	}
	return text
}

// text parses the terms of a text search, separated by blanks; all must occur. A term in double
// quotes, or one of several words (old-harbour), is a phrase; a * at its end makes its last word a
// prefix.
func (p *parser) text(value string) {
	if n := len([]rune(value)); n > maxText {
		p.fault("q", "%d characters, at most %d are allowed", n, maxText)
		return
	}
	for rest := strings.TrimLeft(value, blanks); rest != ""; rest = strings.TrimLeft(rest, blanks) {
		var term string
		var closed bool
		prefix := false
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			if term, rest, closed = strings.Cut(quoted, `"`); !closed {
				p.fault("q", `%.80q: a " is not closed`, value)
				return
			}
			rest, prefix = strings.CutPrefix(rest, "*")
		} else {
			end := strings.IndexAny(rest, blanks+`"`)
			if end < 0 {
				end = len(rest)
			}
			term, prefix = strings.CutSuffix(rest[:end], "*")
			rest = rest[end:]
		}
		words := textWords(term)
		if len(words) == 0 || strings.Contains(term, "*") {
			p.fault("q", `%.80q: not each part is a word, a beginning of one (harb*) or a "phrase", of letters and digits`, value)
			return
		}
		p.Text = append(p.Text, Phrase{words, prefix})
	}
	switch n := len(p.Text); {
	case n == 0:
		p.fault("q", `is empty, expected words, beginnings of words (harb*) or "phrases"`)
	case n > maxPhrases:
		p.fault("q", "%d words and phrases, at most %d are allowed", n, maxPhrases)
	}
}

const blanks = " \t\r\n"

// Values returns parameters from which Parse makes the query again. Equal queries have equal parameters.
func (q *Query) Values() url.Values {
	v := q.Filter.Values()
	if q.Sort != (Sort{}) {
		v.Set("sort", q.Sort.String())
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	}
	if q.At != nil {
		v.Set("at", q.At.String())
	}
	return v
}

// Values returns parameters from which ParseFilter makes the filter again.
func (f *Filter) Values() url.Values {
	v := url.Values{}
	set := func(name string, values []string) {
		if len(values) > 0 {
			slices.Sort(values)
			v.Set(name, strings.Join(values, ","))
		}
	}
	set("type", texts(f.Types, func(t hazard.Type) string { return string(t) }))
	set("severity", texts(f.Severities, hazard.Severity.String))
	set("category", texts(f.Categories, func(c hazard.Category) string { return string(c) }))
	set("status", texts(f.Statuses, func(s hazard.Status) string { return string(s) }))
	set("source", slices.Clone(f.Sources))
	if f.Ref != "" {
		v.Set("ref", f.Ref)
	}
	if f.Box != nil {
		v.Set("bbox", decimals(f.Box.West, f.Box.South, f.Box.East, f.Box.North))
	}
	if f.Near != nil {
		v.Set("near", decimals(f.Near.lon, f.Near.lat))
		v.Set("radius", decimals(f.Near.radius))
	}
	if f.Area != nil {
		v.Set("intersects", f.Area.text)
	}
	if f.Possible {
		v.Set("possible", "true")
	}
	if f.Life != nil {
		v.Set("datetime", moment(f.Life.From, hazard.MinInstant)+"/"+moment(f.Life.To, hazard.MaxInstant))
	}
	if f.UpdatedSince != nil {
		v.Set("updated_since", f.UpdatedSince.String())
	}
	set("measure", texts(f.Measures, Measure.String))
	var terms []string
	for _, p := range f.Text {
		term := `"` + strings.Join(p.Words, " ") + `"`
		if p.Prefix {
			term += "*"
		}
		terms = append(terms, term)
	}
	if terms != nil {
		v.Set("q", strings.Join(terms, " "))
	}
	if f.Where != nil {
		v.Set("filter", f.Where.Text)
		v.Set("filter-lang", f.Where.Lang)
		if f.Where.CRS != crs.CRS84 {
			v.Set("filter-crs", f.Where.CRS)
		}
	}
	return v
}

// String is the range as the parameter has it.
func (m Measure) String() string {
	side := func(v float64) string {
		if math.IsInf(v, 0) {
			return ""
		}
		return decimals(v)
	}
	return string(m.Quantity) + ":" + side(m.Low) + ".." + side(m.High)
}

func texts[T any](list []T, text func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = text(v)
	}
	return out
}

func decimals(numbers ...float64) string {
	return strings.Join(texts(numbers, func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }), ",")
}

func moment(i, open hazard.Instant) string {
	if i == open {
		return ".."
	}
	return i.String()
}
