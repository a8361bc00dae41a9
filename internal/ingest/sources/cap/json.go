package cap

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// maxJSON bounds one alert in JSON, in bytes, because it takes several times that in memory.
const maxJSON = 4 << 20

// ninaWarning is the address of the warnings in NINA's dashboard (warnung.bund.de, api31).
const ninaWarning = "https://warnung.bund.de/api31/warnings/"

var list = lenient.Collection{
	Want: "CAP alerts", Lists: []string{"warnings", "alerts"}, Heads: []string{"alert", "identifier", "msgType", "info", "info_list"},
}

// readJSON reads CAP as JSON: one alert; MeteoAlarm's {"warnings":[{"alert":{…}}]}; {"alerts":…},
// an array or an object by identifier; or NINA's dashboard, a list of links. Members are named like
// CAP's elements, possibly with "_list" appended.
func readJSON(text []byte) (Document, error) {
	r := jsonReader{}
	err := r.document(text)
	r.doc.Bad = r.bad.Done().Rejects
	if err == nil && r.more {
		err = &source.PayloadError{Reason: fmt.Sprintf("more than %d alerts", maxAlerts), Cut: true}
	}
	return r.doc, err
}

type jsonReader struct{ reading }

func (r *jsonReader) document(text []byte) error {
	if text[0] == '[' {
		r.doc.List = true
		err := lenient.List(text, "CAP alerts", func(_ func() string, raw []byte) { r.dashboard(raw) })
		if bad := r.bad.Done().Rejects; err == nil && len(bad) > 0 && len(r.doc.Messages)+len(r.doc.Links) == 0 {
			r.bad.Clear()
			return source.Errorf("a JSON array of something else (%s), expected CAP alerts or the dashboard of NINA", bad[0].Reason)
		}
		return err
	}
	if isNotice(text) {
		return r.notices(text)
	}
	doc, err := list.Read(text, func(_ func() string, raw []byte) { r.record(raw) })
	if err != nil {
		return err
	}
	listed := doc.Listed != ""
	defer func() { r.doc.List = listed }()
	for _, name := range list.Lists { // an object by identifier
		switch raw := doc.Head[name]; {
		case raw == nil:
		case raw[0] != '{':
			return source.Errorf("%s: %s, expected an array", name, lenient.Excerpt(raw))
		default:
			listed = true
			c := lenient.Cursor{Doc: raw}
			_ = c.Members(func(string) error {
				value, err := c.Value()
				if err == nil {
					r.record(value)
				}
				return err
			})
		}
	}
	switch raw := doc.Head["alert"]; {
	case raw != nil:
		r.record(raw)
	case listed:
	case doc.Head["identifier"] != nil || doc.Head["msgType"] != nil:
		r.record(doc.Object)
	default:
		return source.Errorf("a JSON object of something else (%s), expected a CAP alert or a list of them", lenient.Excerpt(doc.Object))
	}
	return nil
}

// record reads one alert, or the object that contains it in its member "alert".
func (r *jsonReader) record(raw []byte) {
	if r.read == maxAlerts {
		r.more = true
		return
	}
	r.read++
	if len(raw) > maxJSON {
		r.reject(raw, "%d bytes, expected at most %d", len(raw), maxJSON)
		return
	}
	var o member
	notes, err := lenient.Decode(raw, &o)
	if err != nil {
		r.reject(raw, "%s", lenient.Fault(err, raw))
		return
	}
	if inner, ok := o["alert"].(map[string]any); ok {
		o = inner
	}
	if o.get("identifier") == nil && o.get("msgType") == nil && o.get("info") == nil {
		r.reject(raw, "an object without identifier, msgType and info, expected an alert")
		return
	}
	notes = append(notes, o.faults("", "")...)
	a := o.alert()
	if v := o.get("info"); v != nil && len(a.Information) == 0 && len(notes) > 0 { // otherwise it would look like a message without info
		r.reject(raw, "%s", strings.Join(notes, "; "))
		return
	}
	r.doc.Messages = append(r.doc.Messages, Message{Alert: a, Raw: raw, Notes: notes})
}

// dashboard reads an entry of NINA's dashboard.
func (r *jsonReader) dashboard(raw []byte) {
	if id, payload := lenient.Word(lenient.Member(raw, "id")), lenient.Member(raw, "payload"); id != "" && payload != nil {
		link := source.Link{URL: ninaWarning + url.PathEscape(id) + ".json", ID: hazard.CleanLine(id)}
		if t, err := ParseTime(lenient.Word(lenient.Member(raw, "sent"))); err == nil {
			link.Updated = &t
		}
		r.doc.Links = append(r.doc.Links, link)
		return
	}
	r.record(raw)
}

// member is a JSON object whose members may have unexpected types: single values may be lists, and
// numbers may be strings.
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

// inside lists the members that contain objects, by the member around them; all other members are
// texts.
var inside = map[string][]string{
	"": {"info"}, "info": {"eventCode", "parameter", "resource", "area"}, "area": {"geocode"},
}

// faults returns the read members with a type that CAP does not allow: an object in place of a
// text, or a text in place of an object.
func (m member) faults(kind, prefix string) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		v, bare := m[name], strings.TrimSuffix(name, "_list")
		expected := "a text"
		if slices.Contains(inside[kind], bare) {
			expected = "objects"
		}
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for i, e := range list {
			where := prefix + name
			if ok {
				where += fmt.Sprintf("/%d", i)
			}
			o, isObject := e.(map[string]any)
			_, isList := e.([]any)
			switch {
			case e == nil || !known[bare]:
			case isObject && expected == "objects" && slices.ContainsFunc(slices.Collect(maps.Keys(o)), func(n string) bool { return known[strings.TrimSuffix(n, "_list")] }):
				all = append(all, member(o).faults(bare, where+"/")...)
			case isObject || isList || expected != "a text":
				text, _ := json.Marshal(e)
				all = append(all, fmt.Sprintf("%s: %s, expected %s", where, lenient.Excerpt(text), expected))
			}
			if len(all) > maxFaults {
				return all
			}
		}
	}
	return all
}

// maxFaults bounds the reported faults of one alert.
const maxFaults = 20

// known are the names of the members that are read.
var known = func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq("identifier sender sent status msgType source scope note code references incidents info " +
		"language category event responseType urgency severity certainty eventCode effective onset expires senderName headline description instruction web contact audience parameter " +
		"resource resourceDesc mimeType uri area areaDesc polygon circle geocode valueName value") {
		names[name] = true
	}
	return names
}()

// objects returns the objects of a list, or a single object as a list.
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
	for _, i := range infos[:min(len(infos), maxInfo+1)] { // with one block too many, so that the excess is reported
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
		Contact: m.word("contact"), Audience: m.word("audience"),
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
