package openapi

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Document is the document as people read it: references followed, operations by their tags, in the order in which they are written.
type Document struct {
	Title, Summary, Text string
	Schemes              []Scheme
	Tags                 []Tag
	Schemas              []Schema
}

// Scheme is a way to say who asks.
type Scheme struct{ Name, Text string }

// Tag is a group of operations.
type Tag struct {
	Name, Text string
	Operations []Operation
}

// Operation is a method of a path.
type Operation struct {
	ID, Method, Path, Summary, Text string
	Scheme                          string // who may use it is said by this scheme; empty: anybody may
	Webhook                         bool   // made by the service, to an address of the reader
	Parameters                      []Parameter
	Bodies                          []Body // of the request, one for each media type
	Answers                         []Answer
}

// Parameter is a parameter of a request, or a header of an answer.
type Parameter struct {
	Name, In, Text string // In is path, query, header or cookie
	Required       bool
	Type           []Word
	Example        string // as it stands in a request; empty: none
}

// Body is what a request or an answer holds in a media type.
type Body struct {
	MediaType string
	Type      []Word
	Example   string // JSON, or text; empty: none
}

// Answer is an answer of an operation.
type Answer struct {
	Status, Text string
	Headers      []Parameter
	Bodies       []Body
}

// Schema is a record, or a value that has a name.
type Schema struct {
	Name, Text string
	Type       []Word // of what has no members
	Members    []Member
	Example    string // JSON
}

// Member is a member of a record.
type Member struct {
	Name     string
	Required bool
	Type     []Word
	Text     string
}

// Word is a part of the description of a type.
type Word struct {
	Text   string
	Schema bool // Text is the name of a schema
}

// ordered is a JSON object whose members keep their order.
type ordered[T any] struct {
	names []string
	of    map[string]T
}

func (o *ordered[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	o.of = map[string]T{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		var value T
		if err := json.UnmarshalDecode(dec, &value); err != nil {
			return err
		}
		o.names, o.of[key] = append(o.names, key), value
	}
	_, err := dec.ReadToken()
	return err
}

// The objects of OpenAPI 3.1 and JSON Schema 2020-12, as far as a page shows them.
type (
	root struct {
		Info struct {
			Title       string `json:"title"`
			Summary     string `json:"summary"`
			Description string `json:"description"`
		} `json:"info"`
		Security []map[string][]string `json:"security"`
		Tags     []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"tags"`
		Paths      ordered[ordered[jsontext.Value]] `json:"paths"`
		Webhooks   ordered[ordered[jsontext.Value]] `json:"webhooks"`
		Components struct {
			Schemes    ordered[schema]      `json:"securitySchemes"` // of which the description is read
			Parameters map[string]parameter `json:"parameters"`
			Headers    map[string]parameter `json:"headers"`
			Responses  map[string]response  `json:"responses"`
			Schemas    ordered[schema]      `json:"schemas"`
		} `json:"components"`
	}
	operation struct {
		ID          string                 `json:"operationId"`
		Tags        []string               `json:"tags"`
		Summary     string                 `json:"summary"`
		Description string                 `json:"description"`
		Security    *[]map[string][]string `json:"security"` // nil: as everywhere
		Parameters  []parameter            `json:"parameters"`
		RequestBody struct {
			Content ordered[content] `json:"content"`
		} `json:"requestBody"`
		Responses ordered[response] `json:"responses"`
	}
	parameter struct {
		Ref         string           `json:"$ref"`
		Name        string           `json:"name"`
		In          string           `json:"in"`
		Description string           `json:"description"`
		Required    bool             `json:"required"`
		Schema      schema           `json:"schema"`
		Example     jsontext.Value   `json:"example"`
		Examples    ordered[example] `json:"examples"`
	}
	example struct {
		Value jsontext.Value `json:"value"`
	}
	response struct {
		Ref         string             `json:"$ref"`
		Description string             `json:"description"`
		Headers     ordered[parameter] `json:"headers"`
		Content     ordered[content]   `json:"content"`
	}
	content struct {
		Schema   schema           `json:"schema"`
		Example  jsontext.Value   `json:"example"`
		Examples ordered[example] `json:"examples"`
	}
	schema struct {
		Ref         string           `json:"$ref"`
		Type        jsontext.Value   `json:"type"`
		Format      string           `json:"format"`
		Pattern     string           `json:"pattern"`
		Enum        []jsontext.Value `json:"enum"`
		Const       jsontext.Value   `json:"const"`
		Default     jsontext.Value   `json:"default"`
		Minimum     jsontext.Value   `json:"minimum"`
		Maximum     jsontext.Value   `json:"maximum"`
		MinLength   int              `json:"minLength"`
		MaxLength   int              `json:"maxLength"`
		Description string           `json:"description"`
		Properties  ordered[schema]  `json:"properties"`
		Required    []string         `json:"required"`
		Items       *schema          `json:"items"`
		OneOf       []schema         `json:"oneOf"`
		Examples    []jsontext.Value `json:"examples"`
	}
)

// Read is the document for people.
func Read() (*Document, error) {
	var r root
	if err := json.Unmarshal(document(), &r); err != nil {
		return nil, err
	}
	d := &Document{Title: r.Info.Title, Summary: r.Info.Summary, Text: r.Info.Description}
	for _, t := range r.Tags {
		d.Tags = append(d.Tags, Tag{Name: t.Name, Text: t.Description})
	}
	for _, name := range r.Components.Schemes.names {
		d.Schemes = append(d.Schemes, Scheme{name, r.Components.Schemes.of[name].Description})
	}
	for _, webhook := range []bool{false, true} {
		paths := r.Paths
		if webhook {
			paths = r.Webhooks
		}
		for _, path := range paths.names {
			operations, err := r.operations(path, paths.of[path])
			if err != nil {
				return nil, err
			}
			for _, o := range operations {
				o.Webhook = webhook
				i := slices.IndexFunc(d.Tags, func(t Tag) bool { return t.Name == o.tag })
				if i < 0 {
					return nil, fmt.Errorf("operation %s has the tag %q, which is not declared", o.ID, o.tag)
				}
				d.Tags[i].Operations = append(d.Tags[i].Operations, o.Operation)
			}
		}
	}
	for _, name := range r.Components.Schemas.names {
		d.Schemas = append(d.Schemas, readSchema(name, r.Components.Schemas.of[name]))
	}
	return d, nil
}

type tagged struct {
	Operation
	tag string
}

func (r *root) operations(path string, item ordered[jsontext.Value]) (list []tagged, err error) {
	var shared []parameter
	if text := item.of["parameters"]; text != nil {
		if err := json.Unmarshal(text, &shared); err != nil {
			return nil, err
		}
	}
	for _, method := range item.names {
		if method == "parameters" {
			continue
		}
		var o operation
		if err := json.Unmarshal(item.of[method], &o); err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		t := tagged{Operation{ID: o.ID, Method: strings.ToUpper(method), Path: path, Summary: o.Summary, Text: o.Description}, o.Tags[0]}
		for _, s := range *cmp.Or(o.Security, &r.Security) {
			for name := range s {
				t.Scheme = name
			}
		}
		for _, p := range slices.Concat(shared, o.Parameters) {
			t.Parameters = append(t.Parameters, r.parameter(p, r.Components.Parameters))
		}
		t.Bodies = r.bodies(o.RequestBody.Content)
		for _, status := range o.Responses.names {
			response := o.Responses.of[status]
			if response.Ref != "" {
				response = r.Components.Responses[last(response.Ref)]
			}
			a := Answer{Status: status, Text: response.Description, Bodies: r.bodies(response.Content)}
			for _, name := range response.Headers.names {
				h := r.parameter(response.Headers.of[name], r.Components.Headers)
				h.Name = name
				a.Headers = append(a.Headers, h)
			}
			t.Answers = append(t.Answers, a)
		}
		list = append(list, t)
	}
	return list, nil
}

// last is the name that a reference ends with.
func last(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

func (r *root) parameter(p parameter, components map[string]parameter) Parameter {
	if p.Ref != "" {
		p = components[last(p.Ref)]
	}
	out := Parameter{Name: p.Name, In: p.In, Text: p.Description, Required: p.Required, Type: p.Schema.words()}
	value := p.Example
	if len(p.Examples.names) > 0 {
		value = p.Examples.of[p.Examples.names[0]].Value
	}
	out.Example = plain(value)
	return out
}

// plain is a value as it stands in a request: a list's items are separated by commas.
func plain(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		text, _ := jsontext.AppendUnquote(nil, v) // a part of a valid document
		return string(text)
	case '[':
		var items []jsontext.Value
		_ = json.Unmarshal(v, &items) // as above
		texts := make([]string, len(items))
		for i, item := range items {
			texts[i] = plain(item)
		}
		return strings.Join(texts, ",")
	}
	return string(v)
}

func (r *root) bodies(c ordered[content]) (list []Body) {
	for _, mediaType := range c.names {
		of := c.of[mediaType]
		b := Body{MediaType: mediaType, Type: of.Schema.words()}
		value := of.Example
		switch {
		case len(of.Examples.names) > 0:
			value = of.Examples.of[of.Examples.names[0]].Value
		case value == nil && of.Schema.Ref != "":
			if all := r.Components.Schemas.of[last(of.Schema.Ref)].Examples; len(all) > 0 {
				value = all[0]
			}
		}
		if b.Example = indented(value); value.Kind() == '"' {
			b.Example = plain(value)
		}
		list = append(list, b)
	}
	return list
}

// line is how long a line of an example may be, in characters.
const line = 96

// indented is JSON in lines: what fits one stays on one.
func indented(v jsontext.Value) string {
	if v == nil {
		return ""
	}
	return layout(v, "")
}

func layout(v jsontext.Value, indent string) string {
	short := v.Clone()
	if err := short.Format(jsontext.Multiline(false), jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true)); err != nil || len(indent)+len(short) <= line {
		return string(short)
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	var out strings.Builder
	open, _ := dec.ReadToken() // a part of a valid document, as all that follows
	if open.Kind() != '{' && open.Kind() != '[' {
		return string(short)
	}
	out.WriteString(open.String())
	for n := 0; dec.PeekKind() != '}' && dec.PeekKind() != ']'; n++ {
		if n > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n" + indent + "  ")
		value, _ := dec.ReadValue()
		if open.Kind() == '{' {
			out.WriteString(string(value) + ": ")
			value, _ = dec.ReadValue()
		}
		out.WriteString(layout(value.Clone(), indent+"  "))
	}
	end, _ := dec.ReadToken()
	out.WriteString("\n" + indent + end.String())
	return out.String()
}

func readSchema(name string, s schema) Schema {
	out := Schema{Name: name, Text: s.Description}
	if len(s.Examples) > 0 {
		out.Example = indented(s.Examples[0])
	}
	for _, member := range s.Properties.names {
		p := s.Properties.of[member]
		out.Members = append(out.Members, Member{member, slices.Contains(s.Required, member), p.words(), p.Description})
	}
	if len(out.Members) == 0 {
		out.Type = s.words()
	}
	return out
}

// words say what values a schema lets through.
func (s *schema) words() []Word {
	say := func(format string, args ...any) Word { return Word{Text: fmt.Sprintf(format, args...)} }
	var words []Word
	switch {
	case s.Ref != "":
		words = append(words, Word{last(s.Ref), true})
	case len(s.Const) > 0:
		words = append(words, say("always %s", s.Const))
	case len(s.OneOf) > 0 && len(s.Properties.names) == 0:
		for i := range s.OneOf {
			if i > 0 {
				words = append(words, say(" or "))
			}
			words = append(words, s.OneOf[i].words()...)
		}
	case s.Items != nil && len(s.Items.Properties.names) == 0:
		words = append(append(words, say("list of ")), s.Items.words()...)
	case s.Items != nil:
		words = append(words, say("list of objects: "))
		for i, name := range s.Items.Properties.names {
			words = append(words, say("%s%s", strings.Repeat(", ", min(i, 1)), name))
		}
	default:
		words = append(words, say("%s", cmp.Or(s.typeName(), "any")))
	}
	if s.Format != "" {
		words = append(words, say(", %s", s.Format))
	}
	if len(s.Enum) > 0 {
		texts := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			if texts[i] = plain(v); texts[i] == "" {
				texts[i] = "empty"
			}
		}
		words = append(words, say(": %s", strings.Join(texts, ", ")))
	}
	switch low, high := string(s.Minimum), string(s.Maximum); {
	case low != "" && high != "":
		words = append(words, say(", %s to %s", low, high))
	case low != "":
		words = append(words, say(", at least %s", low))
	case high != "":
		words = append(words, say(", at most %s", high))
	}
	if s.MaxLength > 0 {
		words = append(words, say(", at most %d characters", s.MaxLength))
	}
	if s.Default != nil {
		words = append(words, say("; %s if not given", s.Default))
	}
	return words
}

func (s *schema) typeName() string {
	if s.Type.Kind() == '[' {
		return strings.ReplaceAll(plain(s.Type), ",", " or ")
	}
	if s.Type == nil && len(s.Enum) > 0 {
		return "string"
	}
	return string(bytes.Trim(s.Type, `"`))
}
