package drill

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"go.yaml.in/yaml/v4"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// The bounds of a scenario: no drill of people needs more.
const (
	// MaxScenario is the maximum length of a scenario, in bytes.
	MaxScenario = 4 << 20
	maxSteps    = 10_000
	maxLength   = 30 * 24 * time.Hour
	maxFile     = 32 << 20 // bytes of a product's file: the default limit of a service
	maxFiles    = 256 << 20
	maxFaults   = 50 // faults that are reported: more would not help
)

// Fault is an error in a scenario, or something that is played differently than written.
type Fault struct {
	Line   int // from 1
	Field  string
	Detail string // names the value and what was expected
}

func (f Fault) String() string {
	if f.Field == "" {
		return fmt.Sprintf("line %d: %s", f.Line, f.Detail)
	}
	return fmt.Sprintf("line %d: %s: %s", f.Line, f.Field, f.Detail)
}

// InvalidError lists the errors in a scenario.
type InvalidError struct{ Faults []Fault }

func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Parse parses and checks a scenario, and reads the files of its products from folder. If folder is
// nil, it must not name files. Errors in it are an *InvalidError.
func Parse(text []byte, folder fs.FS) (*Scenario, error) {
	if len(text) > MaxScenario {
		return nil, fmt.Errorf("the scenario has %d bytes; the limit is %d", len(text), MaxScenario)
	}
	doc, err := document(text)
	if err != nil {
		return nil, err
	}
	r := &reader{folder: folder, hazards: map[string]*hazardState{}, products: map[string]*productState{}}
	s := r.scenario(doc)
	if len(r.faults) > 0 {
		return nil, &InvalidError{r.faults[:min(len(r.faults), maxFaults)]}
	}
	return s, nil
}

// document returns the only YAML document of a text.
func document(text []byte) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := loader.Load(&doc); err == io.EOF {
		return nil, errors.New("it is empty; expected name, title and timeline")
	} else if err != nil {
		return nil, fmt.Errorf("it is not YAML: %w", err)
	}
	if err := loader.Load(new(yaml.Node)); err != io.EOF {
		return nil, errors.New("it goes on after its end; expected one document")
	}
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 {
		return doc.Content[0], nil
	}
	return &doc, nil
}

// reader parses a scenario, and tracks the state after each step.
type reader struct {
	folder   fs.FS
	faults   []Fault
	notes    []Fault
	hazards  map[string]*hazardState
	products map[string]*productState
	bytes    int // total size of the files
}

type hazardState struct {
	line                int
	ended               int // line of the step that ends it; 0 if not ended
	name                string
	latitude, longitude float64
}

type productState struct {
	line   int
	hazard string
	typ    hazard.ProductType
	title  string
}

func (r *reader) fault(n *yaml.Node, field, format string, args ...any) {
	r.faults = append(r.faults, Fault{n.Line, field, fmt.Sprintf(format, args...)})
}

// mapping returns the members of a YAML mapping by name; nil if n is not a mapping.
func (r *reader) mapping(n *yaml.Node, what string, known ...string) map[string]*yaml.Node {
	if n = deref(n); n.Kind != yaml.MappingNode {
		r.fault(n, what, "is %s; expected members: %s", brief(n), strings.Join(known, ", "))
		return nil
	}
	members := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || !slices.Contains(known, key.Value):
			r.fault(key, what, "%s is not known here; expected one of %s", brief(key), strings.Join(known, ", "))
		case members[key.Value] != nil:
			r.fault(key, key.Value, "stands here twice")
		default:
			members[key.Value] = deref(n.Content[i+1])
		}
	}
	return members
}

func deref(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// brief returns a short form of a node for messages.
func brief(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return "empty"
		}
		const maxLetters = 60
		value := hazard.CleanLine(n.Value)
		if utf8.RuneCountInString(value) > maxLetters {
			value = string([]rune(value)[:maxLetters]) + "…"
		}
		return strconv.Quote(value)
	}
	return "nothing"
}

var word = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$`)

// word reads a key that the scenario gives to a hazard or product.
func (r *reader) word(n *yaml.Node, field string) string {
	if n.Kind != yaml.ScalarNode || !word.MatchString(n.Value) {
		r.fault(n, field, "%s is not a word of 1 to 64 characters of a to z, 0 to 9 and, inside, -", brief(n))
		return ""
	}
	return n.Value
}

// text reads a text of at most maxLetters characters. If there is none, it is empty, and a fault.
func (r *reader) text(n *yaml.Node, field string, maxLetters int, clean func(string) string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.fault(n, field, "is %s; expected a text", brief(n))
		return ""
	}
	s := clean(n.Value)
	if s == "" {
		r.fault(n, field, "is empty; expected a text")
	}
	if c := utf8.RuneCountInString(s); c > maxLetters {
		r.fault(n, field, "has %d characters; at most %d are allowed", c, maxLetters)
	}
	return s
}

func (r *reader) number(n *yaml.Node, field string, low, high float64, unit string) float64 {
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || !(v >= low && v <= high) {
		r.fault(n, field, "%s is not a number from %v to %v (%s)", brief(n), low, high, unit)
		return 0
	}
	return v
}

func (r *reader) scenario(n *yaml.Node) *Scenario {
	m := r.mapping(n, "", "name", "title", "description", "timeline")
	if m == nil {
		return nil
	}
	s := &Scenario{}
	for _, field := range []string{"name", "title", "timeline"} {
		if m[field] == nil {
			r.fault(n, field, "is missing")
		}
	}
	if n := m["name"]; n != nil {
		s.Name = r.word(n, "name")
	}
	if n := m["title"]; n != nil {
		s.Title = r.text(n, "title", hazard.MaxName, hazard.CleanLine)
	}
	if n := m["description"]; n != nil {
		s.Description = r.text(n, "description", hazard.MaxDescription, hazard.Clean)
	}
	if n := m["timeline"]; n != nil {
		r.timeline(n, s)
	}
	s.Notes = r.notes
	return s
}

func (r *reader) timeline(n *yaml.Node, s *Scenario) {
	switch {
	case n.Kind != yaml.SequenceNode || len(n.Content) == 0:
		r.fault(n, "timeline", "is %s; expected a list of steps, each with \"at:\" and one of %s", brief(n), deedNames())
		return
	case len(n.Content) > maxSteps:
		r.fault(n, "timeline", "has %d steps; at most %d are allowed", len(n.Content), maxSteps)
		return
	}
	var before Step
	for _, item := range n.Content {
		if len(r.faults) >= maxFaults {
			return
		}
		step, ok := r.step(deref(item))
		if !ok {
			continue
		}
		if step.At < before.At {
			r.fault(item, "at", "%s lies before %s of line %d; steps stand in the order in which they are played", Clock(step.At), Clock(before.At), before.Line)
			continue
		}
		step.number = len(s.Steps)
		before = step
		s.Steps = append(s.Steps, step)
	}
	if len(r.faults) == 0 && len(r.hazards) == 0 {
		r.fault(n, "timeline", "begins no hazard")
	}
}

func deedNames() string {
	names := make([]string, len(deeds))
	for i, d := range deeds {
		names[i] = string(d)
	}
	return strings.Join(names, ", ")
}

// hazardMembers and productMembers are what steps may say of hazards and products.
var (
	hazardMembers  = []string{"name", "type", "severity", "latitude", "longitude", "description", "area", "circle_km", "link", "category"}
	productMembers = []string{"title", "comment", "where", "text", "url"}
)

// step reads a step. Its allowed members depend on what it does.
func (r *reader) step(n *yaml.Node) (Step, bool) {
	step := Step{Line: n.Line}
	if n.Kind != yaml.MappingNode {
		r.fault(n, "timeline", "holds %s; expected a step with \"at:\" and one of %s", brief(n), deedNames())
		return step, false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		d := Deed(n.Content[i].Value)
		if !slices.Contains(deeds, d) || d == Say && step.Do != "" {
			continue
		}
		if step.Do != "" && step.Do != Say {
			r.fault(n.Content[i], string(d), "cannot be combined with %s; a step does one thing", step.Do)
			return step, false
		}
		step.Do = d
	}
	known := []string{"at", "say", string(step.Do)}
	switch step.Do {
	case "":
		r.fault(n, "", "the step does nothing; expected one of %s", deedNames())
		return step, false
	case Begin, Update:
		known = append(known, hazardMembers...)
	case Add:
		known = append(append(known, "product", "in", "folder", "file"), productMembers...)
	case Revise:
		known = append(known, productMembers...)
	}
	count := len(r.faults)
	m := r.mapping(n, string(step.Do), slices.Compact(known)...)
	if at := m["at"]; at == nil {
		r.fault(n, "at", "is missing; expected a time from the beginning such as +00:05:00")
	} else {
		step.At = r.time(at)
	}
	if say := m["say"]; say != nil {
		step.Say = r.text(say, "say", hazard.MaxComment, hazard.Clean)
	}
	switch step.Do {
	case Begin:
		r.begin(n, m, &step)
	case Update:
		r.update(n, m, &step)
	case Add:
		r.add(n, m, &step)
	case Revise:
		r.revise(n, m, &step)
	case Finish:
		if h := r.active(m, &step); h != nil {
			h.ended, step.Subject = step.Line, h.name
		}
	}
	return step, len(r.faults) == count
}

var clockTime = regexp.MustCompile(`^\+?([0-9]{1,3}):([0-5][0-9])(?::([0-5][0-9]))?$`)

// time reads a duration in hours, minutes and seconds.
func (r *reader) time(n *yaml.Node) time.Duration {
	var d time.Duration
	if f := clockTime.FindStringSubmatch(n.Value); n.Kind == yaml.ScalarNode && f != nil {
		for i, unit := range []time.Duration{time.Hour, time.Minute, time.Second} {
			v, _ := strconv.Atoi("0" + f[i+1]) // digits
			d += time.Duration(v) * unit
		}
		if d <= maxLength {
			return d
		}
	}
	r.fault(n, "at", "%s is not a time from the beginning of the drill, such as +00:05:00 (hours, minutes, seconds; at most %d hours)", brief(n), maxLength/time.Hour)
	return 0
}

// active returns the hazard of a step, if it is active then.
func (r *reader) active(m map[string]*yaml.Node, step *Step) *hazardState {
	n := m[string(step.Do)]
	if step.Hazard = r.word(n, string(step.Do)); step.Hazard == "" {
		return nil
	}
	h := r.hazards[step.Hazard]
	switch {
	case h == nil:
		r.fault(n, string(step.Do), "%q is not a hazard of this drill that has begun%s", step.Hazard, r.begun())
	case h.ended != 0:
		r.fault(n, string(step.Do), "%q has ended in line %d and cannot begin again", step.Hazard, h.ended)
		return nil
	}
	return h
}

func (r *reader) begun() string {
	var words []string
	for w, h := range r.hazards {
		if h.ended == 0 {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return ""
	}
	slices.Sort(words)
	return "; these have: " + strings.Join(words[:min(len(words), 20)], ", ")
}

func (r *reader) begin(n *yaml.Node, m map[string]*yaml.Node, step *Step) {
	step.Hazard = r.word(m["begin"], "begin")
	for _, field := range []string{"name", "type", "severity", "latitude", "longitude"} {
		if m[field] == nil {
			r.fault(n, field, "is missing")
		}
	}
	h := &hazardState{line: step.Line}
	fields := r.hazardFields(m, h)
	if before := r.hazards[step.Hazard]; before != nil {
		r.fault(n, "begin", "%q has begun in line %d", step.Hazard, before.line)
		return
	}
	if step.Hazard == "" {
		return
	}
	r.hazards[step.Hazard] = h
	str := func(name string) string { s, _ := fields[name].(string); return s }
	step.Begin = &Hazard{Name: str("hazard_Name"), Description: str("description"), Type: str("type_ID"), Severity: str("severity_ID"), Link: str("snc_url"),
		Latitude: h.latitude, Longitude: h.longitude}
	if step.Begin.Description == "" {
		step.Begin.Description = textMark
	}
	if area, ok := fields["area"].(jsonText); ok {
		step.Begin.Area = area
	}
	step.Subject = h.name
}

func (r *reader) update(n *yaml.Node, m map[string]*yaml.Node, step *Step) {
	h := r.active(m, step)
	if h == nil {
		h = &hazardState{} // the members are checked all the same
	}
	step.Fields = r.hazardFields(m, h)
	step.Subject = h.name
	if len(step.Fields) == 0 {
		r.fault(n, "update", "alters nothing; expected one of %s", strings.Join(hazardMembers, ", "))
	}
}

// jsonText is already encoded JSON.
type jsonText []byte

// MarshalJSON returns t.
func (t jsonText) MarshalJSON() ([]byte, error) { return t, nil }

// hazardFields returns the members of a hazard in a step, by their names in the base interface. It
// sets h to the state after the step.
func (r *reader) hazardFields(m map[string]*yaml.Node, h *hazardState) map[string]any {
	fields := map[string]any{}
	if n := m["name"]; n != nil {
		h.name = marked(r.text(n, "name", hazard.MaxName-len(marked("")), hazard.CleanLine))
		fields["hazard_Name"] = h.name
	}
	if n := m["description"]; n != nil {
		fields["description"] = markedText(r.text(n, "description", hazard.MaxDescription-len(markedText(" ")), hazard.Clean))
	}
	if n := m["type"]; n != nil {
		fields["type_ID"] = oneOf(r, n, "type", hazard.Types(), func(t hazard.TypeInfo) string { return string(t.ID) })
	}
	if n := m["severity"]; n != nil {
		fields["severity_ID"] = oneOf(r, n, "severity", hazard.Severities(), func(s hazard.SeverityInfo) string { return s.ID })
	}
	if n := m["category"]; n != nil {
		c := oneOf(r, n, "category", hazard.Categories(), func(c hazard.CategoryInfo) string { return string(c.ID) })
		if c != "" && c != string(hazard.Exercise) {
			r.notes = append(r.notes, Fault{n.Line, "category", fmt.Sprintf("%s is played as %s, as all of a drill", c, hazard.Exercise)})
		}
	}
	if n := m["latitude"]; n != nil {
		h.latitude = r.number(n, "latitude", -90, 90, "degrees north")
		fields["latitude"] = h.latitude
	}
	if n := m["longitude"]; n != nil {
		h.longitude = r.number(n, "longitude", -180, 180, "degrees east")
		fields["longitude"] = h.longitude
	}
	if n := m["link"]; n != nil {
		fields["snc_url"] = r.link(n, "link")
	}
	area, circle := m["area"], m["circle_km"]
	switch {
	case area != nil && circle != nil:
		r.fault(circle, "circle_km", "cannot be combined with area")
	case area != nil:
		fields["area"] = r.area(area)
	case circle != nil:
		if km := r.number(circle, "circle_km", 0.1, 5000, "kilometres"); km > 0 {
			fields["area"] = jsonText(geo.Circle(h.longitude, h.latitude, km*1000).GeoJSON())
		}
	}
	return fields
}

func oneOf[T any](r *reader, n *yaml.Node, field string, known []T, id func(T) string) string {
	ids := make([]string, len(known))
	for i, k := range known {
		ids[i] = id(k)
	}
	if n.Kind != yaml.ScalarNode || !slices.Contains(ids, n.Value) {
		r.fault(n, field, "%s is not one of %s", brief(n), strings.Join(ids, ", "))
		return ""
	}
	return n.Value
}

func (r *reader) link(n *yaml.Node, field string) string {
	s := r.text(n, field, hazard.MaxLink, hazard.CleanLine)
	if u, err := url.Parse(s); s != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil) {
		r.fault(n, field, "%s is not an absolute http or https address", brief(n))
	}
	return s
}

// area reads a GeoJSON geometry in YAML; JSON is YAML too.
func (r *reader) area(n *yaml.Node) jsonText {
	var v any
	if err := n.Decode(&v); err != nil {
		r.fault(n, "area", "cannot be read: %s", hazard.CleanLine(err.Error()))
		return nil
	}
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		r.fault(n, "area", "is %s; expected a GeoJSON geometry", brief(n))
		return nil
	}
	shape, err := geo.ParseGeoJSON(text)
	if err != nil {
		r.fault(n, "area", "is not a GeoJSON geometry that can be used: %s", err)
		return nil
	}
	return jsonText(shape.GeoJSON())
}

func (r *reader) add(n *yaml.Node, m map[string]*yaml.Node, step *Step) {
	h := r.active(m, step)
	p := &Product{}
	step.Add = p
	if m["title"] == nil {
		r.fault(n, "title", "is missing")
	}
	var kinds []string
	for _, kind := range []string{"folder", "text", "url", "file"} {
		if m[kind] != nil {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) != 1 {
		r.fault(n, "add", "the product has %d of folder, text, url and file (%s); expected one", len(kinds), strings.Join(kinds, ", "))
		return
	}
	fields := r.productFields(m)
	str := func(name string) string { s, _ := fields[name].(string); return s }
	p.Title, p.Comment, p.Where, p.Data = str("title"), str("comment_Text"), str("geo_Locations"), str("data")
	step.Subject = p.Title
	switch kinds[0] {
	case "folder":
		p.Type = string(hazard.FolderProduct)
		if v := m["folder"]; v.Value != "true" {
			r.fault(v, "folder", "is %s; expected true", brief(v))
		}
	case "text":
		p.Type = string(hazard.TextProduct)
	case "url":
		p.Type = string(hazard.URLProduct)
	case "file":
		p.Type = string(hazard.FileProduct)
		p.File = r.file(m["file"])
	}
	if in := m["in"]; in != nil {
		p.Folder = r.word(in, "in")
		switch folder := r.products[p.Folder]; {
		case p.Folder == "":
		case folder == nil:
			r.fault(in, "in", "%q is not a product of this drill that has been added", p.Folder)
		case folder.typ != hazard.FolderProduct || folder.hazard != step.Hazard:
			r.fault(in, "in", "%q, of line %d, is no folder of %s", p.Folder, folder.line, step.Hazard)
		}
	}
	if key := m["product"]; key != nil {
		if step.Product = r.word(key, "product"); step.Product != "" {
			if before := r.products[step.Product]; before != nil {
				r.fault(key, "product", "%q has been added in line %d", step.Product, before.line)
			} else if h != nil {
				r.products[step.Product] = &productState{step.Line, step.Hazard, hazard.ProductType(p.Type), p.Title}
			}
		}
	}
}

func (r *reader) revise(n *yaml.Node, m map[string]*yaml.Node, step *Step) {
	key := m["revise"]
	step.Product = r.word(key, "revise")
	p := r.products[step.Product]
	step.Fields = r.productFields(m)
	switch {
	case step.Product == "":
	case p == nil:
		r.fault(key, "revise", "%q is not a product of this drill that has been added", step.Product)
	case r.hazards[p.hazard].ended != 0:
		r.fault(key, "revise", "%q belongs to %s, which has ended in line %d", step.Product, p.hazard, r.hazards[p.hazard].ended)
	case m["text"] != nil && p.typ != hazard.TextProduct, m["url"] != nil && p.typ != hazard.URLProduct:
		r.fault(key, "revise", "%q, of line %d, is a %s; text is for text products, url for url products", step.Product, p.line, p.typ)
	case len(step.Fields) == 0:
		r.fault(n, "revise", "alters nothing; expected one of %s", strings.Join(productMembers, ", "))
	default:
		if title, ok := step.Fields["title"].(string); ok {
			p.title = title
		}
		step.Hazard, step.Subject = p.hazard, p.title
	}
}

// productFields returns the members of a product in a step, by their names in the base interface.
func (r *reader) productFields(m map[string]*yaml.Node) map[string]any {
	fields := map[string]any{}
	if n := m["title"]; n != nil {
		fields["title"] = marked(r.text(n, "title", hazard.MaxName-len(marked("")), hazard.CleanLine))
	}
	if n := m["comment"]; n != nil {
		fields["comment_Text"] = r.text(n, "comment", hazard.MaxComment, hazard.Clean)
	}
	if n := m["text"]; n != nil {
		fields["data"] = markedText(r.text(n, "text", hazard.MaxData-len(markedText(" ")), hazard.Clean))
	}
	if n := m["url"]; n != nil {
		fields["data"] = r.link(n, "url")
	}
	if n := m["where"]; n != nil {
		s := r.text(n, "where", hazard.MaxDescription, func(s string) string { return s })
		shape, err := geo.ParseWKT(s)
		if s != "" && err != nil {
			r.fault(n, "where", "is not WKT that can be used, such as POINT (23.7 38.0), longitude first: %s", err)
		}
		fields["geo_Locations"] = shape.WKT()
	}
	return fields
}

// file reads a file: {name, content}, or {from} with an optional name.
func (r *reader) file(n *yaml.Node) *File {
	m := r.mapping(n, "file", "name", "content", "from")
	if m == nil {
		return nil
	}
	f := &File{}
	from, content := m["from"], m["content"]
	switch {
	case (from == nil) == (content == nil):
		r.fault(n, "file", "expected either from, a path below the scenario's folder, or content")
		return nil
	case content != nil:
		if content.Kind != yaml.ScalarNode || content.Tag == "!!null" {
			r.fault(content, "content", "is %s; expected the text of the file", brief(content))
			return nil
		}
		f.Content = []byte(content.Value)
	default:
		f.Content = r.read(from)
		f.Name = path.Base(from.Value)
	}
	if name := m["name"]; name != nil {
		f.Name = r.text(name, "name", 150, hazard.CleanLine)
	}
	if f.Name == "" || strings.ContainsAny(f.Name, `/\`) || strings.Trim(f.Name, ".") == "" {
		r.fault(n, "name", "%q is not a name of a file; expected one without folders, such as map.svg", f.Name)
	}
	if !strings.HasPrefix(f.Name, mark) {
		f.Name = fileMark + f.Name
	}
	return f
}

// read reads a file in the scenario's folder.
func (r *reader) read(n *yaml.Node) []byte {
	if n.Kind != yaml.ScalarNode || !fs.ValidPath(n.Value) {
		r.fault(n, "from", "%s is not a path below the scenario's folder, with / between folders and without ..", brief(n))
		return nil
	}
	if r.folder == nil {
		r.fault(n, "from", "%s: this scenario stands in no folder; write the file's content instead", brief(n))
		return nil
	}
	info, err := fs.Stat(r.folder, n.Value)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.fault(n, "from", "there is no file %s in the scenario's folder", brief(n))
		return nil
	case err == nil && !info.Mode().IsRegular():
		r.fault(n, "from", "%s is not a plain file", brief(n))
		return nil
	case err == nil && info.Size() > maxFile, err == nil && r.bytes+int(min(info.Size(), math.MaxInt32)) > maxFiles:
		r.fault(n, "from", "%s has %d bytes; a file may have %d, all together %d", brief(n), info.Size(), maxFile, maxFiles)
		return nil
	}
	var content []byte
	if err == nil {
		content, err = fs.ReadFile(r.folder, n.Value)
	}
	if err != nil {
		r.fault(n, "from", "%s cannot be read: %s", brief(n), hazard.CleanLine(err.Error()))
		return nil
	}
	r.bytes += len(content)
	return bytes.Clone(content)
}
