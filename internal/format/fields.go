package format

import (
	"bufio"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/format/headline"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/wire"
)

// record is a hazard as a row of a table: the base interface's fields, and ours. All formats with fields
// are written from it, so it is made once for all of them. Names differ even without regard to case,
// because some databases ignore it.
type record struct {
	values []value // one for each of Columns
	shape  geo.Shape
	role   hazard.AreaRole
	// said is the headline, in the reader's language: the value of the column headline.
	said  string
	clean bool // no text has characters that XML cannot hold
	// web is the page of the source; empty if there is none.
	web string
}

// value is one field of a record, as JSON has it, but without quotes.
type value struct {
	text string
	form valueForm
	bare bool // it stands in XML as it is
}

type valueForm uint8

const (
	textValue valueForm = iota
	numberValue
	jsonValue // an object or an array
	noValue   // null
)

// builder makes a record, or the columns of all records.
type builder struct {
	values  []value
	naming  bool
	columns []Column
}

func (b *builder) add(name string, kind ColumnKind, v value) {
	if b.naming {
		b.columns = append(b.columns, Column{name, kind})
		return
	}
	b.values = append(b.values, v)
}

func (b *builder) text(name, text string) { b.add(name, TextColumn, value{text: text}) }

// known adds a text that is null where it is not known.
func (b *builder) known(name string, text *string) {
	v := value{form: noValue}
	if text != nil {
		v = value{text: *text}
	}
	b.add(name, TextColumn, v)
}

func (b *builder) whole(name string, n *int64) {
	v := value{form: noValue}
	if n != nil {
		v = value{text: strconv.FormatInt(*n, 10), form: numberValue}
	}
	b.add(name, WholeColumn, v)
}

func (b *builder) real(name string, x float64) {
	b.add(name, RealColumn, value{text: jsontext.Float(x).String(), form: numberValue})
}

func (b *builder) moment(name string, at hazard.Instant) {
	b.add(name, MomentColumn, value{text: at.String()})
}

func (b *builder) json(name, text string) {
	b.add(name, JSONColumn, value{text: text, form: jsonValue})
}

// headlineColumn is the name of the column whose value is record.said.
const headlineColumn = "headline"

// fields adds all fields of a hazard, in order.
func (b *builder) fields(e *Entry, base string, role hazard.AreaRole) {
	h := e.Hazard
	w := wire.FromHazard(h, e.Products, base)
	b.whole("hazard_ID", &w.HazardID)
	b.text("uuid", w.UUID)
	b.text("hazard_Name", w.HazardName)
	b.text("description", w.Description)
	b.text("type_ID", w.TypeID)
	b.text("severity_ID", w.SeverityID)
	b.text("category_ID", w.CategoryID)
	b.text("status", w.Status)
	b.text("autoexpire", w.AutoExpire)
	b.text("start_Date", w.StartDate)
	b.text("end_Date", w.EndDate)
	b.text("create_Date", w.CreateDate)
	b.text("last_Update", w.LastUpdate)
	b.text("update_Date", w.UpdateDate)
	b.known("update_User", w.UpdateUser)
	b.text("creator", w.Creator)
	b.real("latitude", w.Latitude)
	b.real("longitude", w.Longitude)
	b.text("product_total", w.ProductTotal)
	b.whole("org_ID", &w.OrgID)
	b.whole("app_ID", &w.AppID)
	b.text("app_IDs", w.AppIDs)
	b.text("charter_Uri", w.CharterURI)
	b.text("glide_Uri", w.GlideURI)
	b.text("snc_url", w.SncURL)
	b.known("areabrief_url", w.AreabriefURL)
	b.text("comment_Text", w.CommentText)
	b.text("master_Incident_ID", w.MasterIncidentID)
	b.text("message_ID", w.MessageID)
	b.text("in_Dashboard", w.InDashboard)
	b.json("roles", "[]") // empty in every known sample of the base interface
	// The instants of the base interface once more, as RFC 3339 in UTC: programs that make tables know it.
	b.moment("start_time", h.Start)
	b.moment("end_time", h.End)
	b.moment("create_time", h.Created)
	b.moment("last_update_time", h.LastUpdate)
	b.moment("update_time", h.Updated)
	b.whole("severity_rank", new(int64(h.Severity))) // 1 TERMINATION to 5 WARNING, to sort and to colour by
	b.text("source", h.Source)                       // the source that reported it first; empty for an editor's
	// The reason of the end (hazard.EndReason), the UUID of the successor, and an editor's note on
	// a false alarm.
	b.text("reason", string(h.Reason))
	successor := ""
	if h.Successor != uuid.Nil {
		successor = h.Successor.String()
	}
	b.text("successor", successor)
	b.text("note", h.Note)
	b.text("area_role", string(role)) // role of the geometry: alert, impact, track, point
	// How well the place is known (hazard.PlaceKind), and where that is region or country, as what: its
	// geometry is then no place where it is, but only a point to draw it at.
	b.text("place_kind", string(h.Place()))
	b.text("place_known_as", h.PlaceKnownAs)
	b.text("page_url", pageURL(base, h))
	b.text("symbol_url", symbolURL(base, h))
	// What was measured: an object of values by quantity.
	b.json("measurements", measured(h.Measurements))
	// Who lives in its area, with a low and a high estimate; null: not known.
	var people, low, high *int64
	if e := h.Exposed(); e != nil && e.People != nil {
		people, low, high = &e.People.People, &e.People.Low, &e.People.High
	}
	b.whole("people", people)
	b.whole("people_low", low)
	b.whole("people_high", high)
	// How much it matters beside others, 0 to 100, and why; null and empty once it is over.
	var score *int64
	why := ""
	if h.Status == hazard.Active {
		i := hazard.ImportanceOf(h)
		score, why = new(int64(i.Score)), i.Reason()
	}
	b.whole("importance", score)
	b.text("importance_reason", why)
	// What the authority adds in the language of hazard_Name and description. Empty if there is
	// nothing, or if the language is unknown. Languages lists all languages, separated by blanks.
	var t hazard.Text
	if says := h.Says(); says != nil {
		t = *says
	}
	b.text("language", t.Language)
	b.text("languages", strings.Join(h.Languages(), " "))
	// The hazard in a sentence or two, and what to do in the words of its editor or source; empty if
	// nobody says.
	b.text(headlineColumn, "")
	b.text("instruction", headline.InstructionOf(h))
	b.text("response_type", strings.Join(t.Responses, " ")) // CAP's words, separated by blanks
	b.text("contact", t.Contact)
	b.text("web", t.Web)
	b.text("audience", t.Audience)
}

// measured returns {"magnitude":7.4,"pager_level":3}: of a scale of words the place of the word.
func measured(all []hazard.Measurement) string {
	if len(all) == 0 {
		return "{}"
	}
	b := []byte{'{'}
	for i, m := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(quote(b, string(m.Name)), ':')
		b = append(b, jsontext.Float(m.Value).String()...)
	}
	return string(append(b, '}'))
}

// quote appends text as JSON. What is stored is UTF-8; should a byte not be, a sign stands for it.
func quote(b []byte, text string) []byte {
	b, _ = jsontext.AppendQuote(b, text) // the error says that there was such a byte
	return b
}

// newRecord returns the record of a hazard, without its headline. base is the service's public address,
// without a slash at its end.
func newRecord(e *Entry, base string) *record {
	r := &record{clean: true}
	r.shape, r.role = e.shape()
	b := builder{values: make([]value, 0, len(columns()))}
	b.fields(e, base, r.role)
	r.values = b.values
	for i := range r.values {
		v := &r.values[i]
		tidy := clean(v.text) == v.text
		r.clean = r.clean && tidy
		v.bare = i != headlineIndex() && tidy && bare(v.text) && r.text(i) == v.text
	}
	if r.web = sourceURL(e.Hazard); r.web == e.Hazard.URL {
		r.web = e.Hazard.URL // one text in memory
	}
	return r
}

// record returns the record of an entry, with its headline.
func (e *Entry) record(o *Options) record {
	r := e.kept
	if r == nil {
		r = newRecord(e, o.Base)
	}
	said := *r
	said.said = e.headline(o.Language, o.At).Headline
	said.clean = r.clean && clean(said.said) == said.said
	return said
}

// size is about how much memory a record takes, in bytes.
func (r *record) size() int {
	if r == nil {
		return 0
	}
	n := r.shape.Size() + 24*len(r.values)
	for _, v := range r.values {
		n += len(v.text)
	}
	return n
}

// text returns the field in column i for programs that stop at null, and at characters that XML cannot
// hold: those are left out. null, an empty array and an empty object become the empty text.
func (r *record) text(i int) string {
	v := r.values[i]
	switch v.form {
	case numberValue:
		return v.text
	case jsonValue:
		if len(v.text) == len("{}") {
			return ""
		}
		return v.text
	case noValue:
		return ""
	}
	if i == headlineIndex() {
		v.text = r.said
	}
	return r.tidy(v.text)
}

// tidy leaves out of a text of the hazard what XML cannot hold.
func (r *record) tidy(text string) string {
	if r.clean {
		return text
	}
	return clean(text)
}

// appendJSON appends the record as a JSON object.
func (r *record) appendJSON(b []byte) []byte {
	for i, c := range columns() {
		b = append(b, "{,"[min(i, 1)], '"')
		b = append(append(b, c.Name...), '"', ':')
		switch v := r.values[i]; {
		case v.form == noValue:
			b = append(b, "null"...)
		case v.form != textValue:
			b = append(b, v.text...)
		case i == headlineIndex():
			b = quote(b, r.said)
		default:
			b = quote(b, v.text)
		}
	}
	return append(b, '}')
}

// pageURL returns the address of the service's page of a hazard.
func pageURL(base string, h *hazard.Hazard) string { return base + "/h/" + h.UUID.String() }

// symbolURL returns the address of the symbol for a hazard's type, category and severity; it needs
// no token.
func symbolURL(base string, h *hazard.Hazard) string {
	return base + "/symbols/" + string(h.Type) + "/" + string(h.Category) + "/" + h.Severity.String() + ".png"
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
type csvEncoder struct {
	options Options
	text    []byte // of the last hazard; used again
}

// geometryColumn is the name that GDAL, QGIS and others recognize for a column of well-known text.
const geometryColumn = "WKT"

func (c *csvEncoder) begin(out *bufio.Writer) error {
	for _, column := range columns() {
		out.WriteString(column.Name)
		out.WriteByte(',')
	}
	out.WriteString(geometryColumn + "\r\n")
	return nil
}

func (c *csvEncoder) fragment(e *Entry) (fragment, error) {
	r := e.record(&c.options)
	b := c.text[:0]
	for i := range r.values {
		if r.values[i].form == numberValue {
			b = append(b, r.values[i].text...)
		} else {
			b = appendCell(b, Guarded(r.text(i)))
		}
		b = append(b, ',')
	}
	if !r.shape.IsZero() {
		b = append(r.shape.AppendWKT(append(b, '"')), '"')
	}
	c.text = append(b, "\r\n"...)
	return fragment{text: c.text}, nil
}

func (c *csvEncoder) add(out *bufio.Writer, _ *hazard.Hazard, fr fragment, _ int) { out.Write(fr.text) }

func (c *csvEncoder) end(*bufio.Writer, int) error { return nil }

// appendCell appends a quoted field (RFC 4180, section 2, rules 5 to 7). encoding/csv cannot combine LF
// inside of fields with CR LF between records.
func appendCell(b []byte, text string) []byte {
	if text == "" {
		return b
	}
	b = append(b, '"')
	for {
		i := strings.IndexByte(text, '"')
		if i < 0 {
			return append(append(b, text...), '"')
		}
		b = append(append(b, text[:i+1]...), '"')
		text = text[i+1:]
	}
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
