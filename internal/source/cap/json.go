package cap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hazardd/internal/hazard"
	"hazardd/internal/source"
)

// maxJSON bounds one alert in JSON, in bytes: what it costs in memory is a multiple of it.
const maxJSON = 4 << 20

// ninaWarning is where the warnings are that NINA's dashboard lists (warnung.bund.de, api31).
const ninaWarning = "https://warnung.bund.de/api31/warnings/"

var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// readJSON reads CAP as JSON: one alert; MeteoAlarm's {"warnings":[{"alert":{…}}]}; {"alerts":…}, an array or an object by
// identifier; or the dashboard of NINA, which is a list of links. Members have the names of CAP's elements, or those with
// "_list" after them.
func readJSON(text []byte) (Document, error) {
	r := jsonReader{text: text, dec: jsontext.NewDecoder(bytes.NewReader(text), lenient...)}
	err := r.document()
	return r.doc, err
}

type jsonReader struct {
	text []byte
	dec  *jsontext.Decoder
	doc  Document
}

func (r *jsonReader) document() error {
	var err error
	if r.dec.PeekKind() == '[' {
		err = r.each(r.dashboard)
		if err == nil && len(r.doc.Bad) > 0 && len(r.doc.Messages)+len(r.doc.Links) == 0 {
			bad := r.doc.Bad[0]
			r.doc.Bad = nil
			return source.Errorf("a JSON array of something else (%s), expected CAP alerts or the dashboard of NINA", bad.Reason)
		}
	} else {
		err = r.object()
	}
	if err != nil {
		return r.broken(err)
	}
	if _, err := r.dec.ReadToken(); err != io.EOF {
		return &source.PayloadError{Reason: "something follows the document, expected its end", Cut: true}
	}
	return nil
}

// object reads the object around the alerts, which may be an alert itself.
func (r *jsonReader) object() error {
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	isList, isAlert := false, false
	var names []string
	for r.dec.PeekKind() != '}' {
		name, err := r.dec.ReadToken()
		if err != nil {
			return err
		}
		member := name.String()
		switch {
		case member == "warnings" || member == "alerts":
			isList = true
			err = r.each(r.record)
		case member == "alert" && !isAlert:
			isList = true
			err = r.value(r.record)
		default:
			isAlert = isAlert || member == "identifier" || member == "msgType"
			names = append(names, member)
			err = r.dec.SkipValue()
		}
		if err != nil {
			return err
		}
		if len(names) > 1000 {
			return source.Errorf("an object of more than %d members, expected a CAP alert", len(names)-1)
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	switch {
	case isAlert && !isList:
		r.record(r.text)
	case !isList:
		return source.Errorf("a JSON object with the members %.100q, expected a CAP alert or a list of them", names)
	}
	return nil
}

// value reads the next value.
func (r *jsonReader) value(f func([]byte)) error {
	v, err := r.dec.ReadValue()
	if err != nil {
		return err
	}
	end := r.dec.InputOffset()
	f(r.text[end-int64(len(v)) : end])
	return nil
}

// each reads the values of an array, or of the members of an object.
func (r *jsonReader) each(f func([]byte)) error {
	kind := r.dec.PeekKind()
	if kind != '[' && kind != '{' {
		if err := r.dec.SkipValue(); err != nil {
			return err
		}
		return source.Errorf("a list is %s, expected an array", kind)
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	for k := r.dec.PeekKind(); k != ']' && k != '}'; k = r.dec.PeekKind() {
		if kind == '{' {
			if _, err := r.dec.ReadToken(); err != nil {
				return err
			}
		}
		if err := r.value(f); err != nil {
			return err
		}
		if len(r.doc.Messages)+len(r.doc.Bad) > maxAlerts {
			return source.Errorf("more than %d alerts", maxAlerts)
		}
	}
	_, err := r.dec.ReadToken()
	return err
}

// record reads one alert, or the object that holds it as its member "alert".
func (r *jsonReader) record(raw []byte) {
	where := fmt.Sprintf("alerts/%d", len(r.doc.Messages)+len(r.doc.Bad))
	bad := func(format string, args ...any) {
		r.doc.Bad = append(r.doc.Bad, source.Reject{Record: where, Reason: fmt.Sprintf(format, args...), Raw: source.Keep(raw)})
	}
	if len(raw) > maxJSON {
		bad("%d bytes, expected at most %d", len(raw), maxJSON)
		return
	}
	var o member
	if err := json.Unmarshal(raw, &o, lenient...); err != nil {
		bad("a value that is no object, expected an alert")
		return
	}
	if inner, ok := o["alert"].(map[string]any); ok {
		o = inner
	}
	if o.get("identifier") == nil && o.get("msgType") == nil && o.get("info") == nil {
		bad("an object without identifier, msgType and info, expected an alert")
		return
	}
	r.doc.Messages = append(r.doc.Messages, Message{Alert: o.alert(), Raw: raw})
}

// dashboard reads an entry of NINA's dashboard.
func (r *jsonReader) dashboard(raw []byte) {
	var e struct {
		ID      string `json:"id"`
		Sent    string `json:"sent"`
		Payload any    `json:"payload"`
	}
	if len(raw) > maxJSON || json.Unmarshal(raw, &e, lenient...) != nil || e.ID == "" || e.Payload == nil {
		r.record(raw)
		return
	}
	link := source.Link{URL: ninaWarning + url.PathEscape(e.ID) + ".json", ID: hazard.CleanLine(e.ID)}
	if t, err := ParseTime(e.Sent); err == nil {
		link.Updated = &t
	}
	r.doc.Links = append(r.doc.Links, link)
}

func (r *jsonReader) broken(err error) error {
	if bad, ok := errors.AsType[*source.PayloadError](err); ok {
		return bad
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return &source.PayloadError{Reason: fmt.Sprintf("ends early, at byte %d", r.dec.InputOffset()), Cut: true}
	}
	return &source.PayloadError{Reason: fmt.Sprintf("not JSON at byte %d: %.200v", r.dec.InputOffset(), err), Cut: true}
}

// member is a JSON object, whose members may be of other kinds than expected: what CAP has once may be given as a list, and
// numbers as numbers.
type member map[string]any

func (m member) get(name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	return m[name+"_list"]
}

func (m member) word(name string) string { return strings.Join(words(m.get(name)), " ") }

func (m member) words(name string) []string { return words(m.get(name)) }

func words(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case float64, bool:
		return []string{fmt.Sprint(v)}
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, words(e)...)
		}
		return out
	}
	return nil
}

// objects are the objects of a list, or the one that stands for a list.
func (m member) objects(name string) []member {
	switch v := m.get(name).(type) {
	case map[string]any:
		return []member{v}
	case []any:
		var out []member
		for _, e := range v {
			if o, ok := e.(map[string]any); ok {
				out = append(out, o)
			}
		}
		return out
	}
	return nil
}

func (m member) values(name string) []Value {
	var out []Value
	for _, o := range m.objects(name) {
		out = append(out, Value{Name: o.word("valueName"), Value: o.word("value")})
	}
	return out
}

func (m member) alert() Alert {
	a := Alert{
		Identifier: m.word("identifier"), Sender: m.word("sender"), Sent: m.word("sent"), Status: m.word("status"),
		MsgType: m.word("msgType"), Source: m.word("source"), Scope: m.word("scope"), Note: m.word("note"), Code: m.words("code"),
		References: m.word("references"), Incidents: m.word("incidents"),
	}
	infos := m.objects("info")
	for _, i := range infos[:min(len(infos), maxInfo+1)] { // one too many is told to be
		a.Information = append(a.Information, i.info())
	}
	return a
}

func (m member) info() Info {
	i := Info{
		Language: m.word("language"), Category: m.words("category"), Event: m.word("event"), ResponseType: m.words("responseType"),
		Urgency: m.word("urgency"), Severity: m.word("severity"), Certainty: m.word("certainty"), EventCode: m.values("eventCode"),
		Effective: m.word("effective"), Onset: m.word("onset"), Expires: m.word("expires"), SenderName: m.word("senderName"),
		Headline: m.word("headline"), Description: m.word("description"), Instruction: m.word("instruction"), Web: m.word("web"),
		Parameter: m.values("parameter"),
	}
	for _, r := range m.objects("resource") {
		i.Resource = append(i.Resource, Resource{r.word("resourceDesc"), r.word("mimeType"), r.word("uri")})
	}
	areas := m.objects("area")
	for _, a := range areas[:min(len(areas), maxAreas)] {
		i.Area = append(i.Area, Area{Desc: a.word("areaDesc"), Polygon: a.words("polygon"), Circle: a.words("circle"), Geocode: a.values("geocode")})
	}
	return i
}
