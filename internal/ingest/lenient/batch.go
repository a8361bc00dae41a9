package lenient

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Batch collects the results of the records of a payload.
type Batch struct {
	source.Batch
	// ID returns the name of a record, even of an unreadable one, or "" if it has none. It is used
	// to name rejects.
	ID func(raw []byte) string
	// Events returns the names of the events that a rejected record may be about (source.Reject).
	// record is its ID, raw its bytes as received. If Events is nil, the record may be about any
	// event.
	Events  func(record string, raw []byte) []string
	rejects source.Rejects
}

// OneEvent is the Events of sources of which a record is one event with the record's name: a rejected
// record is about no event if its name has not the form.
func OneEvent(form *regexp.Regexp) func(string, []byte) []string {
	return func(record string, _ []byte) []string {
		if form.MatchString(record) {
			return []string{record}
		}
		return nil
	}
}

// Done returns the batch with its rejects.
func (b *Batch) Done() source.Batch {
	b.Rejects = b.rejects.List()
	return b.Batch
}

// Clear removes everything that was collected, because the document turned out to be something
// else.
func (b *Batch) Clear() { *b = Batch{ID: b.ID, Events: b.Events} }

// Reject adds an unreadable record to the rejects, with reasons. It is named by its ID, or
// otherwise by its position.
func (b *Batch) Reject(where func() string, raw []byte, reasons ...string) {
	reject := source.Reject{}
	if !b.rejects.Full() {
		reject = source.Reject{Reason: hazard.CleanLine(strings.Join(reasons, "; ")), Raw: source.Keep(raw)}
		if b.ID != nil {
			reject.Record = ExcerptText(b.ID(raw))
		}
		reject.Record = cmp.Or(reject.Record, where())
		if b.Events != nil {
			reject.Events = b.Events(reject.Record, raw)
		}
	}
	b.rejects.Add(reject)
}

// Decline ignores a record if the reason begins with source.Ignoring, and rejects it otherwise.
func (b *Batch) Decline(where func() string, raw []byte, reason string, notes ...string) {
	rule, ignored := strings.CutPrefix(reason, source.Ignoring)
	if !ignored {
		b.Reject(where, raw, append(notes, reason)...)
		return
	}
	record := ""
	if b.ID != nil {
		record = ExcerptText(b.ID(raw))
	}
	b.Ignore(cmp.Or(record, where()), rule)
}

// Add adds rejects from elsewhere.
func (b *Batch) Add(bad ...source.Reject) {
	for _, r := range bad {
		b.rejects.Add(r)
	}
}

// At returns a function that returns where, for a record whose position is already known.
func At(where string) func() string { return func() string { return where } }

// Read decodes a JSON record as a T, with notes on its unreadable parts. If the record is
// unreadable as a whole, Read rejects it and returns nil.
func Read[T any](b *Batch, where func() string, raw []byte) (record *T, notes []string) {
	b.Batch.Read++
	record = new(T)
	notes, err := Decode(raw, record)
	if err == nil {
		return record, notes
	}
	reason := ""
	if !b.rejects.Full() { // no more reasons are stored
		reason = Fault(err, raw)
	}
	b.Reject(where, raw, reason)
	return nil, nil
}

// Record decodes a JSON record as a T, and adds the report that the function report makes of it,
// with notes on unreadable parts. report returns nil and a reason if the record is rejected, or ignored
// (source.Ignoring).
func Record[T any](b *Batch, where func() string, raw []byte, report func(*T) (r *hazard.Report, reason string)) {
	record, notes := Read[T](b, where, raw)
	if record == nil {
		return
	}
	switch r, reason := report(record); {
	case reason != "":
		b.Decline(where, raw, reason, notes...)
	case r == nil:
		b.Decline(where, raw, source.Ignoring+"not a hazard by the source's mapping table")
	default:
		source.Note(r, notes...)
		b.Keep(r)
	}
}

// Keep adds a report.
func (b *Batch) Keep(r *hazard.Report) {
	if len(b.Reports) == cap(b.Reports) { // append would copy the reports, which are large, more often
		b.Reports = slices.Grow(b.Reports, len(b.Reports)+1)
	}
	b.Reports = append(b.Reports, *r)
}

// Features reads a FeatureCollection of things, or a single Feature as the record "feature". If the
// document turns out to be something else, it clears b. See Read.
func (k Collection) Features(payload []byte, things string, b *Batch, record func(where func() string, raw []byte)) (Document, error) {
	k.Want, k.Lists = "GeoJSON", []string{"features"}
	k.Heads = append(append([]string{"type"}, k.Heads...), Complaints...)
	doc, err := k.Read(payload, record)
	kind := doc.Word("type")
	if kind != "FeatureCollection" && (kind != "" || err == nil) {
		b.Clear()
	}
	if kind == "Feature" && doc.Object != nil && doc.Listed == "" {
		record(func() string { return "feature" }, doc.Object)
		return doc, err
	}
	if err != nil || kind == "FeatureCollection" && doc.Listed != "" {
		return doc, err
	}
	if complaint := doc.Complaint(); complaint != "" {
		return doc, source.Errorf("an error message instead of %s: %s", things, complaint)
	}
	if kind == "FeatureCollection" {
		return doc, source.Errorf("features: %s, expected an array", cmp.Or(Excerpt(doc.Head["features"]), "missing"))
	}
	return doc, source.Errorf("type: %s, expected FeatureCollection or Feature", cmp.Or(Excerpt(doc.Head["type"]), "missing"))
}

// Shapes reads the geometries of a FeatureCollection that describes one place. each sees the
// properties of every feature. A feature that cannot be read is an error, because an incomplete shape
// would leave people out.
func Shapes[P any](payload []byte, things string, each func(*P)) ([]geo.Shape, error) {
	type feature struct {
		Geometry   jsontext.Value `json:"geometry"`
		Properties P              `json:"properties"`
	}
	var b Batch
	var shapes []geo.Shape
	_, err := Collection{}.Features(payload, things, &b, func(where func() string, raw []byte) {
		f, _ := Read[feature](&b, where, raw)
		if f == nil {
			return
		}
		s, bad := geo.ParseLoose(f.Geometry)
		if bad != nil {
			b.Reject(where, raw, bad.Error())
			return
		}
		shapes = append(shapes, s)
		each(&f.Properties)
	})
	if bad := b.Done().Rejects; err == nil && len(bad) > 0 {
		err = source.Errorf("%s: %s", bad[0].Record, bad[0].Reason)
	}
	return shapes, err
}
