package mirror

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// row is a hazard in the list of a server of the base interface (section 2.6), with the members
// that a mirror reads. Servers write dates as strings of digits or as numbers, and numbers as
// strings.
type row struct {
	HazardID     string         `json:"hazard_ID"`
	UUID         string         `json:"uuid"`
	HazardName   string         `json:"hazard_Name"`
	Description  string         `json:"description"`
	TypeID       string         `json:"type_ID"`
	SeverityID   string         `json:"severity_ID"`
	CategoryID   jsontext.Value `json:"category_ID"` // raw values, to distinguish unreadable members from missing ones
	Status       jsontext.Value `json:"status"`      // a drill, or an ended hazard, must not be shown as anything else
	AutoExpire   string         `json:"autoexpire"`
	StartDate    string         `json:"start_Date"`
	EndDate      string         `json:"end_Date"`
	CreateDate   string         `json:"create_Date"`
	LastUpdate   string         `json:"last_Update"`
	UpdateDate   string         `json:"update_Date"`
	Creator      string         `json:"creator"`
	Latitude     lenient.Number `json:"latitude"`
	Longitude    lenient.Number `json:"longitude"`
	ProductTotal string         `json:"product_total"`
	GlideURI     string         `json:"glide_Uri"`
	SncURL       string         `json:"snc_url"`
	CommentText  string         `json:"comment_Text"`
}

// Parse reads hazards with the field names of the base interface, section 2.6, as reports of the
// source with that name. The payload is the array of /hazards/active or of its two variants, or a
// single hazard. The batch is never Whole, because a file does not say whether it contains all
// active hazards or only those of a category.
func Parse(payload []byte, name string, schemes source.Schemes, now hazard.Instant) (source.Batch, error) {
	l, err := read(payload, name, schemes, now, nobody)
	return l.batch(), err
}

// other describes a document of another kind: by its beginning if it is a list, by its head if it
// is an object.
func other(first []byte, head *lenient.Document) string {
	switch kind := head.Word("type"); {
	case lenient.Member(first, "product_ID") != nil && lenient.Member(first, "type_ID") == nil:
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

// list holds a server's hazards in its order, each once.
type list struct {
	lenient.Batch
	records []record
	at      map[uuid.UUID]int // index of each hazard in records
	lost    []hazard.Report   // the last reports of hazards whose records are unreadable now, so that they do not end
	isLost  map[uuid.UUID]bool
}

// record is a hazard of the list.
type record struct {
	row
	report hazard.Report
}

// known returns the last report of a hazard, by its UUID or else by its number.
type known func(id uuid.UUID, number int64) (hazard.Report, bool)

// nobody is for files, for which there are no earlier reports.
func nobody(uuid.UUID, int64) (hazard.Report, bool) { return hazard.Report{}, false }

// read reads a list of hazards, or a single hazard, at now. If the error is Cut, the part before it
// is good.
func read(payload []byte, name string, schemes source.Schemes, now hazard.Instant, before known) (*list, error) {
	l := &list{Batch: lenient.Batch{ID: recordName}, at: map[uuid.UUID]int{}, isLost: map[uuid.UUID]bool{}}
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
		h, notes := lenient.Read[row](&l.Batch, where, raw)
		if h != nil {
			r, reason := report(h, name, schemes, now)
			if reason == "" {
				source.Note(&r, notes...)
				l.add(record{*h, r})
				return
			}
			l.Reject(where, raw, append(notes, reason)...)
		}
		id, _ := readUUID(lenient.Word(lenient.Member(raw, "uuid")))
		if last, ok := before(id, number(lenient.Scalar(lenient.Member(raw, "hazard_ID")))); ok && !l.isLost[last.UUID] {
			l.isLost[last.UUID] = true
			l.lost = append(l.lost, last)
		}
	}
	doc, err := lenient.JSON(payload)
	if err != nil {
		return l, err
	}
	c := lenient.Cursor{Doc: doc}
	if c.Next() != '{' {
		first := lenient.Cursor{Doc: doc, At: c.At + 1}
		if first.Next() == '{' && doc[c.At] == '[' {
			if raw, err := first.Value(); err == nil && other(raw, &lenient.Document{}) != "" {
				return l, source.Errorf("%s; %s", other(raw, &lenient.Document{}), expected)
			}
		}
		return l, lenient.List(doc, "hazards", take)
	}
	head, err := lenient.Collection{Want: "a hazard", Heads: []string{"type_ID", "type", "Sns", "totalByAdmin"}}.Read(doc, nil)
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

// add adds a hazard. Several rows with the same UUID occur (spec, "How clients suffer"): the latest
// counts.
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
	l.Ignore(r.report.UUID.String(), "another row of the same hazard in the same list; the latest counts", r.report.Key)
}

// batch returns the list's hazards, and the last reports of those with unreadable records.
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

// numbered is the prefix for the name of a record without a UUID, before its number.
const numbered = "hazard_ID "

// recordName returns the name of a record: its UUID, or else its number, if it has one.
func recordName(raw []byte) string {
	name := lenient.Scalar(lenient.Member(raw, "uuid"))
	if n := lenient.Scalar(lenient.Member(raw, "hazard_ID")); name == "" && n != "" {
		name = numbered + n
	}
	return name
}

// number parses the number of a hazard or product; it returns 0 if text is not one. Servers count
// from 1.
func number(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// readUUID parses a UUID in its usual form.
func readUUID(s string) (uuid.UUID, bool) {
	s = strings.TrimSpace(s)
	id, err := uuid.Parse(s)
	return id, err == nil && len(s) == 36 && id != uuid.Nil && id != uuid.Max
}

// word returns the text of a member that must be readable if it is present, as a reason quotes it.
// It is empty if the member is missing.
func word(raw jsontext.Value) string {
	switch {
	case len(raw) == 0 || raw.Kind() == 'n':
		return ""
	case raw.Kind() == '"':
		return strings.TrimSpace(lenient.Word(raw))
	}
	return lenient.Excerpt(raw)
}
