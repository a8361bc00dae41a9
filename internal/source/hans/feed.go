package hans

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hazardd/internal/hazard"
	"hazardd/internal/source"
	"hazardd/internal/source/frame"
)

// api is where USGS publishes the lists and the volcanoes.
const api = "https://volcanoes.usgs.gov/hans-public/api/volcano/"

// volcano is an element of any of the lists. Each list has some of the members:
//
//   - getElevatedVolcanoes and getMonitoredVolcanoes: the latest notice of a volcano, without position;
//   - getCapElevated: the same for alerts in the Common Alerting Protocol, with position and synopsis;
//   - getUSVolcanoes, and getVolcano for a single one: the catalogue, with position, without alert level.
type volcano struct {
	Number       text   `json:"vnum"` // in the Smithsonian's catalogue
	Name         string `json:"volcano_name"`
	NameAppended string `json:"volcano_name_appended"` // the same with "Volcano" behind it (getCapElevated)
	// Observatory is one of five, or "Northern Mariana Islands".
	Observatory string `json:"obs_fullname"`
	// AlertLevel is for people on the ground: NORMAL, ADVISORY, WATCH, WARNING, UNASSIGNED. ColorCode is for aviation: GREEN,
	// YELLOW, ORANGE, RED, UNASSIGNED. They usually go together, and part when ash is the only danger, or none.
	AlertLevel string `json:"alert_level"`
	ColorCode  string `json:"color_code"`
	// Notice is the document that said so last. It may cover several volcanoes.
	Notice string `json:"notice_identifier"`
	// NoticeType is DU (daily update), WU, VN …; getCapElevated names it otherwise.
	NoticeType    string `json:"notice_type_cd"`
	NoticeTypeCAP string `json:"noticeTypeCd"`
	NoticeURL     string `json:"notice_url"`
	// When the notice was sent: "2026-07-27 19:44:38" without zone, in UTC, and the same in seconds since 1970.
	SentUTC  string `json:"sent_utc"`
	SentUnix number `json:"sent_unixtime"`
	SentCAP  string `json:"sent_date_cap"` // with offset (getCapElevated)
	// Synopsis is what goes on, in a sentence or two (getCapElevated).
	Synopsis string `json:"synopsis"`
	// The position, in degrees, WGS84.
	Latitude  number `json:"latitude"`
	Longitude number `json:"longitude"`
}

// text is a string that may also be written as a number.
type text string

func (t *text) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	switch raw.Kind() {
	case 'n':
		*t = ""
	case '0':
		*t = text(raw)
	case '"':
		b, _ := jsontext.AppendUnquote(nil, raw) // its error is the invalid UTF-8 that was allowed
		*t = text(b)
	default:
		return &unexpected{excerpt(string(raw)), "a string"}
	}
	return nil
}

// number is a number that may be missing, and may also be written as a string.
type number struct {
	value float64
	known bool
}

func (n *number) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var t text
	if err := t.UnmarshalJSONFrom(d); err != nil {
		if bad, ok := errors.AsType[*unexpected](err); ok {
			bad.expected = "a number"
		}
		return err
	}
	s := strings.TrimSpace(string(t))
	if *n = (number{}); s == "" {
		return nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return &unexpected{excerpt(s), "a number"}
	}
	*n = number{v, true}
	return nil
}

// unexpected is a value that is not of the expected type.
type unexpected struct{ found, expected string }

func (e *unexpected) Error() string { return e.found + ", expected " + e.expected }

// maxRejects is how many unreadable records a payload may hold: there are fewer volcanoes than that.
const maxRejects = 1000

// lenient is how the document around the records is read: what is wrong inside one of them is that one's own affair.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Parse reads a list. Records are read one after the other: one that is not of the expected types makes a Reject, and its
// neighbours stay. A record of the catalogue says nothing of a hazard and is ignored.
//
// The batch is Whole if the list was read to its end, and is neither of the catalogue nor of CAP alerts.
// An empty list is Whole: all is quiet. The error, if any, is a *source.PayloadError; what could be read before it is in
// the Batch nevertheless.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{now: now}
	err := list(payload, p.record)
	p.batch.Whole = err == nil && !p.other
	return p.batch, err
}

type parser struct {
	now   hazard.Instant
	batch source.Batch
	other bool // the list has positions: it is another than that of the elevated or monitored volcanoes
	// known are the records of one volcano and notice, to find copies, and those that contradict each other.
	known map[string][]reported
}

// reported is a record and its report's place in the batch.
type reported struct {
	volcano
	at int
}

// list calls read for each element of a JSON array, until it fails.
func list(payload []byte, read func(i int, raw []byte) error) error {
	begin := bytes.TrimSpace(bytes.TrimPrefix(payload, []byte("\ufeff")))
	switch {
	case len(begin) == 0:
		return source.Errorf("an empty payload, expected a JSON array")
	case begin[0] == '<':
		return source.Errorf("HTML or XML (%q), expected a JSON array", excerpt(string(begin)))
	case begin[0] != '[':
		return source.Errorf("begins with %q, expected a JSON array", excerpt(string(begin)))
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(begin), lenient...)
	if _, err := d.ReadToken(); err != nil {
		return broken(d, err)
	}
	for i := 0; d.PeekKind() != ']'; i++ {
		raw, err := d.ReadValue()
		if err != nil {
			return broken(d, err)
		}
		if err := read(i, raw); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return broken(d, err)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return source.Errorf("something follows the list at byte %d", d.InputOffset())
	}
	return nil
}

// broken is the error of a payload that cannot be read further.
func broken(d *jsontext.Decoder, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return &source.PayloadError{Reason: fmt.Sprintf("the payload ends early, at byte %d", d.InputOffset()), Cut: true}
	}
	return source.Errorf("not JSON at byte %d: %s", d.InputOffset(), excerpt(err.Error()))
}

// record reads the i-th record. It fails only when there are too many bad ones.
func (p *parser) record(i int, raw []byte) error {
	p.batch.Read++
	v, err := unmarshal(raw)
	p.other = p.other || v.Latitude.known || v.NameAppended != ""
	var r hazard.Report
	switch {
	case err != nil:
	case v.AlertLevel == "" && v.ColorCode == "" && v.Latitude.known: // of the catalogue
		p.batch.Ignored++
		return nil
	default:
		r, err = v.report(p.now)
	}
	if err != nil {
		return p.reject(i, v, err.Error(), raw)
	}
	// Of two records of one volcano, notice and moment nobody knows which counts.
	id := fmt.Sprintf("%s %s %d", r.Key, r.Part, r.Version)
	for _, other := range p.known[id] {
		if other.volcano == v {
			p.batch.Ignored++ // a copy
			return nil
		}
	}
	if p.known == nil {
		p.known = map[string][]reported{}
	}
	p.known[id] = append(p.known[id], reported{v, len(p.batch.Reports)})
	p.batch.Reports = append(p.batch.Reports, r)
	if same := p.known[id]; len(same) > 1 {
		for _, other := range same {
			if r := &p.batch.Reports[other.at]; !strings.HasSuffix(r.Suspect, clash) {
				r.Suspect = joined("; ", r.Suspect, clash)
			}
		}
	}
	return nil
}

// clash is why nobody can tell which of several records counts.
const clash = "another record of the same volcano and notice says something else"

func (p *parser) reject(i int, v volcano, reason string, raw []byte) error {
	where := fmt.Sprintf("records/%d", i)
	if len(p.batch.Rejects) >= maxRejects {
		return source.Errorf("more than %d unreadable records, the last %s: %s", maxRejects, where, hazard.CleanLine(reason))
	}
	// A record that broke off before its number still may have one.
	vn := cmp.Or(v.number(), (&volcano{Number: text(frame.Scalar(frame.Member(raw, "vnum")))}).number())
	reject := source.Reject{Record: where, Reason: hazard.CleanLine(reason), Raw: source.Keep(raw)}
	if vn != "" {
		reject.Record, reject.Events = vn, []string{vn}
	}
	p.batch.Rejects = append(p.batch.Rejects, reject)
	return nil
}

// unmarshal reads a record. Its error names the member, the value and what was expected.
func unmarshal(raw []byte) (volcano, error) {
	var v volcano
	if len(raw) == 0 || raw[0] != '{' {
		return v, fmt.Errorf("%s, expected an object", excerpt(string(raw)))
	}
	err := json.Unmarshal(raw, &v, jsontext.AllowInvalidUTF8(true))
	if err == nil {
		return v, nil
	}
	if bad, ok := errors.AsType[*unexpected](err); ok {
		if at, ok := errors.AsType[*json.SemanticError](err); ok {
			return v, fmt.Errorf("%s: %w", member(at.JSONPointer), bad)
		}
	}
	if bad, ok := errors.AsType[*json.SemanticError](err); ok {
		want := "a string"
		if bad.GoType != nil && bad.GoType.Kind() != reflect.String {
			want = "another kind of value"
		}
		return v, fmt.Errorf("%s: %s, expected %s", member(bad.JSONPointer), bad.JSONKind, want)
	}
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return v, fmt.Errorf("%s: %v", member(bad.JSONPointer), bad.Err)
	}
	return v, err
}

func member(p jsontext.Pointer) string {
	return cmp.Or(excerpt(strings.TrimPrefix(string(p), "/")), "the record")
}

// maxExcerpt bounds what a reason quotes of a payload, in bytes.
const maxExcerpt = 80

// excerpt is the beginning of s, fit to show on one line.
func excerpt(s string) string {
	s = hazard.CleanLine(clip(s, 4*maxExcerpt))
	if len(s) <= maxExcerpt {
		return s
	}
	return clip(s, maxExcerpt) + "…"
}

// clip cuts s to at most n bytes, between characters, and lets go of the rest.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(strings.TrimSpace(s[:n]))
}
