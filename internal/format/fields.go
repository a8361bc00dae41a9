package format

import (
	"bufio"
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/format/headline"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/wire"
)

// record is a row of a table: the base interface's fields, and ours. Names differ even without
// regard to case, because some databases ignore it.
type record struct {
	wire.Hazard
	// The instants of the base interface once more, as RFC 3339 in UTC: programs that make tables know it.
	StartTime      string `json:"start_time"`
	EndTime        string `json:"end_time"`
	CreateTime     string `json:"create_time"`
	LastUpdateTime string `json:"last_update_time"`
	UpdateTime     string `json:"update_time"`
	SeverityRank   int    `json:"severity_rank"` // 1 TERMINATION to 5 WARNING, to sort and to colour by
	Source         string `json:"source"`        // the source that reported it first; empty for an editor's
	// The reason of the end (hazard.EndReason), the UUID of the successor, and an editor's note on
	// a false alarm.
	Reason    string `json:"reason"`
	Successor string `json:"successor"`
	Note      string `json:"note"`
	AreaRole  string `json:"area_role"` // role of the geometry: alert, impact, track, point
	// How well the place is known (hazard.PlaceKind), and where that is region or country, as what: its
	// geometry is then no place where it is, but only a point to draw it at.
	PlaceKind    string `json:"place_kind"`
	PlaceKnownAs string `json:"place_known_as"`
	PageURL      string `json:"page_url"`
	SymbolURL    string `json:"symbol_url"`
	// What was measured: an object of values by quantity.
	Measurements measured `json:"measurements"`
	// Who lives in its area, with a low and a high estimate; null: not known.
	People     *int64 `json:"people"`
	PeopleLow  *int64 `json:"people_low"`
	PeopleHigh *int64 `json:"people_high"`
	// How much it matters beside others, 0 to 100, and why; null and empty once it is over.
	Importance       *int   `json:"importance"`
	ImportanceReason string `json:"importance_reason"`
	// What the authority adds in the language of hazard_Name and description. Empty if there is
	// nothing, or if the language is unknown. Languages lists all languages, separated by blanks.
	Language  string `json:"language"`
	Languages string `json:"languages"`
	// The hazard in a sentence or two, and what to do in the words of its editor or source; empty if
	// nobody says.
	Headline     string `json:"headline"`
	Instruction  string `json:"instruction"`
	ResponseType string `json:"response_type"` // CAP's words, separated by blanks
	Contact      string `json:"contact"`
	Web          string `json:"web"`
	Audience     string `json:"audience"`
}

// measured is written as {"magnitude": 7.4, "pager_level": 3}: of a scale of words the place of the word.
type measured []hazard.Measurement

func (all measured) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, m := range all {
		if err := enc.WriteToken(jsontext.String(string(m.Name))); err != nil {
			return err
		}
		if err := enc.WriteToken(jsontext.Float(m.Value)); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

func newRecord(e *Entry, o *Options, role hazard.AreaRole) *record {
	h, base := e.Hazard, o.Base
	said := e.headline(o.Language, o.At)
	r := &record{
		Hazard: wire.FromHazard(h, e.Products, base), StartTime: h.Start.String(), EndTime: h.End.String(), CreateTime: h.Created.String(),
		LastUpdateTime: h.LastUpdate.String(), UpdateTime: h.Updated.String(), SeverityRank: int(h.Severity), Source: h.Source, Reason: string(h.Reason),
		Note: h.Note, AreaRole: string(role), PlaceKind: string(h.Place()), PlaceKnownAs: h.PlaceKnownAs, PageURL: pageURL(base, h), SymbolURL: symbolURL(base, h),
		Measurements: h.Measurements, Headline: said.Headline, Instruction: headline.InstructionOf(h),
	}
	if e := h.Exposed(); e != nil && e.People != nil {
		r.People, r.PeopleLow, r.PeopleHigh = &e.People.People, &e.People.Low, &e.People.High
	}
	if h.Status == hazard.Active {
		i := hazard.ImportanceOf(h)
		r.Importance, r.ImportanceReason = &i.Score, i.Reason()
	}
	if h.Successor != uuid.Nil {
		r.Successor = h.Successor.String()
	}
	if t := h.Says(); t != nil {
		r.Language, r.ResponseType = t.Language, strings.Join(t.Responses, " ")
		r.Contact, r.Web, r.Audience = t.Contact, t.Web, t.Audience
	}
	r.Languages = strings.Join(h.Languages(), " ")
	return r
}

// pageURL returns the address of the service's page of a hazard.
func pageURL(base string, h *hazard.Hazard) string { return base + "/h/" + h.UUID.String() }

// symbolURL returns the address of the symbol for a hazard's type, category and severity; it needs
// no token.
func symbolURL(base string, h *hazard.Hazard) string {
	return base + "/symbols/" + string(h.Type) + "/" + string(h.Category) + "/" + h.Severity.String() + ".png"
}

// field is one field of a record as text.
type field struct {
	name, value string
	number      bool
}

// fields returns the record's fields in order. null, an empty array and an empty object become the
// empty text. Characters that XML cannot hold are left out, because many other programs also stop
// at them.
func (r *record) fields() ([]field, error) {
	text, err := marshal(r)
	if err != nil {
		return nil, err
	}
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	fields := make([]field, 0, 48)
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		f := field{name: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		switch value.Kind() {
		case '"':
			if err := json.Unmarshal(value, &f.value); err != nil {
				return nil, err
			}
			f.value = clean(f.value)
		case '0':
			f.value, f.number = string(value), true
		case 'n':
		default:
			if f.value = string(value); f.value == "[]" || f.value == "{}" {
				f.value = ""
			}
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// marshal writes JSON. What is stored is UTF-8 and finite; should a byte not be, a sign stands for it.
func marshal(v any) ([]byte, error) { return json.Marshal(v, jsontext.AllowInvalidUTF8(true)) }

// jsonEncoder writes the records of the base interface: an array without white space, as the live view does, or one on each line.
type jsonEncoder struct {
	options Options
	lines   bool
}

func (j *jsonEncoder) begin(out *bufio.Writer) error {
	if !j.lines && !j.options.Single {
		out.WriteByte('[')
	}
	return nil
}

func (j *jsonEncoder) fragment(e *Entry) (fragment, error) {
	text, err := marshal(wire.FromHazard(e.Hazard, e.Products, j.options.Base))
	return fragment{text: text}, err
}

func (j *jsonEncoder) add(out *bufio.Writer, _ *hazard.Hazard, fr fragment, n int) {
	if n > 0 && !j.lines {
		out.WriteByte(',')
	}
	out.Write(fr.text)
	if j.lines {
		out.WriteByte('\n')
	}
}

func (j *jsonEncoder) end(out *bufio.Writer, _ int) error {
	if !j.lines && !j.options.Single {
		out.WriteByte(']')
	}
	return nil
}

// csvEncoder writes a table.
type csvEncoder struct{ options Options }

// geometryColumn is the name that GDAL, QGIS and others recognize for a column of well-known text.
const geometryColumn = "WKT"

func (c *csvEncoder) begin(out *bufio.Writer) error {
	fields, err := newRecord(&Entry{Hazard: &hazard.Hazard{}}, &Options{}, "").fields()
	if err != nil {
		return err
	}
	for _, f := range fields {
		out.WriteString(f.name)
		out.WriteByte(',')
	}
	out.WriteString(geometryColumn + "\r\n")
	return nil
}

func (c *csvEncoder) fragment(e *Entry) (fragment, error) {
	shape, role := e.shape()
	fields, err := newRecord(e, &c.options, role).fields()
	if err != nil {
		return fragment{}, err
	}
	out := &bytes.Buffer{}
	for _, f := range fields {
		if f.number {
			out.WriteString(f.value)
		} else {
			cell(out, Guarded(f.value))
		}
		out.WriteByte(',')
	}
	cell(out, shape.WKT())
	out.WriteString("\r\n")
	return fragment{text: out.Bytes()}, nil
}

func (c *csvEncoder) add(out *bufio.Writer, _ *hazard.Hazard, fr fragment, _ int) { out.Write(fr.text) }

func (c *csvEncoder) end(*bufio.Writer, int) error { return nil }

// cell writes a quoted field (RFC 4180, section 2, rules 5 to 7). encoding/csv cannot combine LF
// inside of fields with CR LF between records.
func cell(out *bytes.Buffer, text string) {
	if text == "" {
		return
	}
	out.WriteByte('"')
	out.WriteString(strings.ReplaceAll(text, `"`, `""`))
	out.WriteByte('"')
}

// Guarded returns text that no spreadsheet takes for a formula, by an apostrophe in front (OWASP,
// "CSV Injection"). Numbers, even negative ones, stay unchanged.
func Guarded(text string) string {
	const formula = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20" // the last four are full-width forms of the first
	trimmed := strings.TrimLeft(text, " ")               // some programs skip blanks first
	if trimmed == "" || !strings.ContainsRune(formula, firstRune(trimmed)) || plainNumber(text) {
		return text
	}
	return "'" + text
}

func firstRune(s string) rune {
	for _, r := range s {
		return r
	}
	return 0
}

// plainNumber reports whether text is a decimal number and nothing else.
func plainNumber(text string) bool {
	digits, point := 0, false
	for i, c := range text {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '-' && i == 0:
		case c == '.' && !point && digits > 0:
			point = true
		default:
			return false
		}
	}
	return digits > 0 && text[len(text)-1] != '.'
}
