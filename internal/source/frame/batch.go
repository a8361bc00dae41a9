package frame

import (
	"cmp"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
)

// Batch collects what the records of a payload say.
type Batch struct {
	source.Batch
	// ID is the name that a record has by itself, readable or not; empty if it has none. Rejects are named by it.
	ID func(raw []byte) string
	// Events names the events that a rejected record may be about (source.Reject): record is its ID, raw what was received. If Events is nil, it may be about any event.
	Events  func(record string, raw []byte) []string
	rejects source.Rejects
}

// Done is the batch with its rejects.
func (b *Batch) Done() source.Batch {
	b.Rejects = b.rejects.List()
	return b.Batch
}

// Clear takes out all that was collected: the document is something else.
func (b *Batch) Clear() { *b = Batch{ID: b.ID, Events: b.Events} }

// Reject keeps a record that could not be read, for reasons. It goes by its ID, else by its place.
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

// Add keeps rejects that somebody else made.
func (b *Batch) Add(bad ...source.Reject) {
	for _, r := range bad {
		b.rejects.Add(r)
	}
}

// At is the place of a record that is known already.
func At(where string) func() string { return func() string { return where } }

// Read reads a record of JSON as a T, with notes on what could not be read; nil if it could not be read at all, and was rejected.
func Read[T any](b *Batch, where func() string, raw []byte) (record *T, notes []string) {
	b.Batch.Read++
	record = new(T)
	notes, err := Decode(raw, record)
	if err == nil {
		return record, notes
	}
	reason := ""
	if !b.rejects.Full() { // else nobody need say why
		reason = Fault(err, raw)
	}
	b.Reject(where, raw, reason)
	return nil, nil
}

// Record reads a record of JSON as a T and adds the report that is made of it, with notes on what could not be read. Report returns
// nil for what is no hazard, and a reason if there can be no report.
func Record[T any](b *Batch, where func() string, raw []byte, report func(*T) (r *hazard.Report, reason string)) {
	record, notes := Read[T](b, where, raw)
	if record == nil {
		return
	}
	switch r, reason := report(record); {
	case reason != "":
		b.Reject(where, raw, append(notes, reason)...)
	case r == nil:
		b.Ignored++
	default:
		source.Note(r, notes...)
		b.Reports = append(b.Reports, *r)
	}
}

// Features reads a FeatureCollection of things, or one Feature, as the record "feature". If the document turns out to be something else, b
// is cleared. See Read.
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
	if said := doc.Complaint(); said != "" {
		return doc, source.Errorf("an error message instead of %s: %s", things, said)
	}
	if kind == "FeatureCollection" {
		return doc, source.Errorf("features: %s, expected an array", cmp.Or(Excerpt(doc.Head["features"]), "missing"))
	}
	return doc, source.Errorf("type: %s, expected FeatureCollection or Feature", cmp.Or(Excerpt(doc.Head["type"]), "missing"))
}
