package mirror

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// row is a hazard as a server of the base interface lists it (section 2.6), as far as a mirror reads it. Servers write dates as strings of
// digits and as numbers, and numbers as strings.
type row struct {
	HazardID     string         `json:"hazard_ID"`
	UUID         string         `json:"uuid"`
	HazardName   string         `json:"hazard_Name"`
	Description  string         `json:"description"`
	TypeID       string         `json:"type_ID"`
	SeverityID   string         `json:"severity_ID"`
	CategoryID   jsontext.Value `json:"category_ID"` // a value, since one that cannot be read is not one that is missing:
	Status       jsontext.Value `json:"status"`      // a drill, and what is over, must not be shown as anything else
	AutoExpire   string         `json:"autoexpire"`
	StartDate    string         `json:"start_Date"`
	EndDate      string         `json:"end_Date"`
	CreateDate   string         `json:"create_Date"`
	LastUpdate   string         `json:"last_Update"`
	UpdateDate   string         `json:"update_Date"`
	Creator      string         `json:"creator"`
	Latitude     frame.Number   `json:"latitude"`
	Longitude    frame.Number   `json:"longitude"`
	ProductTotal string         `json:"product_total"`
	GlideURI     string         `json:"glide_Uri"`
	SncURL       string         `json:"snc_url"`
	CommentText  string         `json:"comment_Text"`
}

// Parse reads hazards in the field names of the base interface, section 2.6: the array that /hazards/active and its two variants answer,
// or a single hazard, as those of the source with that name. Its batch is never Whole: whether a file holds all active hazards or those of a category, it does not say.
func Parse(payload []byte, name string, schemes source.Schemes, now hazard.Instant) (source.Batch, error) {
	l, err := read(payload, name, schemes, now, nobody)
	return l.batch(), err
}

// other names a document of another kind: by its beginning if it is a list, by its head if it is an object.
func other(first []byte, head *frame.Document) string {
	switch kind := head.Word("type"); {
	case frame.Member(first, "product_ID") != nil && frame.Member(first, "type_ID") == nil:
		return "an array of products, which say nothing of their hazard"
	case first != nil:
		return ""
	case kind == "FeatureCollection" || kind == "Feature":
		return "a GeoJSON " + kind
	case kind == "Polygon" || kind == "MultiPolygon":
		return "a GeoJSON geometry"
	case head.Head["Sns"] != nil:
		return "a message pushed to a subscriber, whose hazards have other field names"
	case head.Head["totalByAdmin"] != nil:
		return "an exposure of a hazard"
	}
	return "an object without the member type_ID"
}

// list is what a server says of its hazards, in its order, each once.
type list struct {
	frame.Batch
	records []record
	at      map[uuid.UUID]int // where a hazard is in records
	lost    []hazard.Report   // what was said last of hazards whose records cannot be read now: they go on
	isLost  map[uuid.UUID]bool
}

// record is a hazard of the list.
type record struct {
	row
	report hazard.Report
}

// known gives what was said last of a hazard, by its uuid or else by its number.
type known func(id uuid.UUID, number int64) (hazard.Report, bool)

// nobody is known of a file.
func nobody(uuid.UUID, int64) (hazard.Report, bool) { return hazard.Report{}, false }

// read reads a list of hazards, or one hazard, at now. What was read before an error is good if the error is Cut.
func read(payload []byte, name string, schemes source.Schemes, now hazard.Instant, before known) (*list, error) {
	l := &list{Batch: frame.Batch{ID: recordName}, at: map[uuid.UUID]int{}, isLost: map[uuid.UUID]bool{}}
	l.Events = func(record string, _ []byte) []string {
		id, ok := readUUID(record)
		if last, found := before(id, number(strings.TrimPrefix(record, numbered))); found {
			return []string{last.Key}
		}
		if ok {
			return []string{id.String()}
		}
		return nil
	}
	take := func(where func() string, raw []byte) {
		h, notes := frame.Read[row](&l.Batch, where, raw)
		if h != nil {
			r, reason := report(h, name, schemes, now)
			if reason == "" {
				source.Note(&r, notes...)
				l.add(record{*h, r})
				return
			}
			l.Reject(where, raw, append(notes, reason)...)
		}
		id, _ := readUUID(frame.Word(frame.Member(raw, "uuid")))
		if last, ok := before(id, number(frame.Scalar(frame.Member(raw, "hazard_ID")))); ok && !l.isLost[last.UUID] {
			l.isLost[last.UUID] = true
			l.lost = append(l.lost, last)
		}
	}
	doc, err := frame.JSON(payload)
	if err != nil {
		return l, err
	}
	c := frame.Cursor{Doc: doc}
	if c.Next() != '{' {
		first := frame.Cursor{Doc: doc, At: c.At + 1}
		if first.Next() == '{' && doc[c.At] == '[' {
			if raw, err := first.Value(); err == nil && other(raw, &frame.Document{}) != "" {
				return l, source.Errorf("%s; %s", other(raw, &frame.Document{}), expected)
			}
		}
		return l, frame.List(doc, "hazards", take)
	}
	head, err := frame.Collection{Want: "a hazard", Heads: []string{"type_ID", "type", "Sns", "totalByAdmin"}}.Read(doc, nil)
	switch {
	case err != nil:
		return l, err
	case head.Head["type_ID"] == nil:
		return l, source.Errorf("%s; %s", other(nil, &head), expected)
	}
	take(func() string { return "the hazard" }, head.Object)
	return l, nil
}

const expected = "expected an array of hazards, or a hazard, in the field names of the base interface"

// add adds a hazard. Several rows of one uuid occur (spec, "How clients suffer"): the latest counts.
func (l *list) add(r record) {
	i, twice := l.at[r.report.UUID]
	switch {
	case !twice:
		l.at[r.report.UUID] = len(l.records)
		l.records = append(l.records, r)
		return
	case l.records[i].report.Version < r.report.Version:
		l.records[i] = r
	}
	l.Ignored++
}

// batch is what the list says: its hazards, and those that are lost as they were said last.
func (l *list) batch() source.Batch {
	b := l.Done()
	for i := range l.records {
		b.Reports = append(b.Reports, l.records[i].report)
	}
	for _, last := range l.lost {
		if _, listed := l.at[last.UUID]; !listed {
			b.Reports = append(b.Reports, last)
		}
	}
	return b
}

// numbered begins the name of a record that has no uuid, only a number.
const numbered = "hazard_ID "

// recordName names a record: by its uuid, else its number, if it has one.
func recordName(raw []byte) string {
	name := frame.Scalar(frame.Member(raw, "uuid"))
	if n := frame.Scalar(frame.Member(raw, "hazard_ID")); name == "" && n != "" {
		name = numbered + n
	}
	return name
}

// number is the number of a hazard or product in text; 0 if it is none. Servers count them from 1.
func number(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// readUUID reads a uuid in its usual form.
func readUUID(s string) (uuid.UUID, bool) {
	s = strings.TrimSpace(s)
	id, err := uuid.Parse(s)
	return id, err == nil && len(s) == 36 && id != uuid.Nil && id != uuid.Max
}

// word is the text of a member that must be readable where it is there, as a reason quotes it; empty if it is missing.
func word(raw jsontext.Value) string {
	switch {
	case len(raw) == 0 || raw.Kind() == 'n':
		return ""
	case raw.Kind() == '"':
		return strings.TrimSpace(frame.Word(raw))
	}
	return frame.Excerpt(raw)
}
