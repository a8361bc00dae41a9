// Package source holds what all source adapters have in common. An adapter is a package below this
// one, named after its feed. It knows the feed's addresses and polling interval, parses its
// payloads, and maps its terms to ours in one table with a citation per row.
//
// A parser is a pure function of bytes and time: no network, no store, no goroutine, no panic, and
// memory proportional to the payload. One bad record never drops its neighbors.
package source

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Batch is the content of one payload.
type Batch struct {
	Reports []hazard.Report
	Rejects []Reject
	// Ignored counts the records that are not hazards by the mapping table, although they are
	// valid.
	Ignored int
	// Ignores say which these are, by which rule, at most MaxIgnores. They explain; nothing is
	// decided by them.
	Ignores []Ignore `json:",omitzero"`
	// Read counts the records of the payload. len(Reports) may differ, because a record may make
	// several reports or none.
	Read int
	// Further counts the records that only add to the event of another record of the payload, such as
	// the positions of a track.
	Further int `json:",omitzero"`
	// Links are the documents with the reports, if the payload is an index, newest first. Each is
	// read once, and again when the index shows a change. The links of a detail are read once,
	// after it.
	Links []Link
	// Whole means that the payload lists everything that the source considers active, and that it
	// was read to its end. So a missing event is over, by the source's own contract. Rejected
	// records count as listed; see Reject.Events.
	Whole bool
	// Listed are names of events (Report.Key, Report.Aliases) or of messages (Report.Part) that the
	// list contains besides those of Reports: entries of an index, ignored records.
	Listed []string
	// Made is when the list was made according to itself; nil if it does not say. A list that
	// stands still longer than Lists.Silence says nothing beyond its entries.
	Made *hazard.Instant
	// Lasting are the keys of the events that last only as long as this list contains them. The
	// list was read to its end. It says nothing about other events. nil means that the payload is
	// not such a list.
	Lasting []string
	// Drawings are the cones, tracks, contours and the like of events in the reports or of known
	// events.
	Drawings []Drawing
	// Current means that the reports depend on the time of reading, because the payload lists
	// present events.
	Current bool
}

// Drawing is what one document of a source draws for one event. A later drawing of the same part
// replaces it; one without shapes removes it.
type Drawing struct {
	Key     string // a name of the event, as in Report.Key or Report.Aliases
	Part    string // as in hazard.ShapesRef
	Version int64  // as in hazard.ShapesRef
	// Shapes are in the order for readers: at most hazard.MaxShapes, each with a role and a time.
	// From is 0 if the shape is valid from the beginning of the event, whose time the document does
	// not contain.
	Shapes []hazard.Shape
}

// Link is an entry of an index that leads to a document.
type Link struct {
	URL string // https or http; or a reference that is relative to the address of the feed
	ID  string // the entry's own name for the document, usually the identifier of an alert; may be empty
	// Updated is when the entry was written, Expires when its document expires, both according to
	// the entry; nil if it does not say.
	Updated, Expires *hazard.Instant
}

// Reject is a record that is unreadable or implausible. It is counted and stored, never dropped
// silently.
type Reject struct {
	// Record names the record: its id if it has one, otherwise its position in the payload
	// ("features/12").
	Record string
	// Reason names the field, the value and what was expected.
	Reason string
	// Raw is the record as received, truncated to MaxKept bytes.
	Raw []byte
	// Events are the names (Report.Key, Report.Aliases) of the events that the record may be about,
	// as far as it is readable. These events do not end, although no report contains them. nil
	// means any event; an empty list means only those of the batch.
	Events []string
}

// Ignore is a valid record that is not a hazard by the mapping table.
type Ignore struct {
	// Record names the record, as Reject.Record.
	Record string
	// Names are the other names of the record at its source, such as that of its event.
	Names []string `json:",omitzero"`
	// Rule is a clause that says why it is not a hazard: "a prescribed fire, lit on purpose".
	Rule string
}

// MaxIgnores bounds Batch.Ignores.
const MaxIgnores = 5000

// Ignore counts a record that is not a hazard, and records its names and the rule.
func (b *Batch) Ignore(record, rule string, names ...string) {
	b.Ignored++
	if len(b.Ignores) < MaxIgnores {
		b.Ignores = append(b.Ignores, Ignore{record, names, rule})
	}
}

// Ignoring begins the reason of a record that is ignored, and not rejected. The rule follows.
const Ignoring = "ignored: "

// MaxKept bounds the stored part of a rejected record or payload, in bytes: enough to see the
// fault.
const MaxKept = 16 << 10

// Keep copies the part of raw that is stored.
func Keep(raw []byte) []byte { return append([]byte(nil), raw[:min(len(raw), MaxKept)]...) }

// MaxRejects bounds the individually stored rejects of one payload: after a thousand unreadable
// records, more add nothing. Further ones are only counted.
const MaxRejects = 1000

// Rejects collects the rejected records of one payload.
type Rejects struct {
	kept    []Reject
	further int
}

// Full reports whether no more rejects are stored individually, so that their reasons are not
// needed.
func (r *Rejects) Full() bool { return len(r.kept) >= MaxRejects }

// Add stores a reject, or counts it if there are too many.
func (r *Rejects) Add(reject Reject) {
	if r.Full() {
		r.further++
		return
	}
	r.kept = append(r.kept, reject)
}

// List returns the stored rejects, and one more that says how many were only counted.
func (r *Rejects) List() []Reject {
	if r.further == 0 {
		return r.kept
	}
	return append(r.kept, Reject{Record: "the rest", Reason: fmt.Sprintf("%d further records could not be read", r.further)})
}

// maxNote bounds a note in bytes, and maxNotes the number of notes on one report.
const (
	maxNote  = 300
	maxNotes = 10
)

// Note adds faults to the notes for a report's readers. Each fault names a field, its value and
// what was expected. A report with a note is shown; one with Suspect is held.
func Note(r *hazard.Report, faults ...string) {
	for _, f := range faults {
		f = hazard.CleanLine(f)
		if len(f) > maxNote {
			f = strings.ToValidUTF8(f[:maxNote], "") + "…"
		}
		if len(r.Notes) < maxNotes {
			r.Notes = append(r.Notes, "Could not be read: "+f+".")
		}
	}
}

// Measure adds a measurement to a report, in the unit of the quantity, rounded to three decimals.
// An implausible value is noted instead. Nothing is added if the source gives no value (known is
// false).
func Measure(r *hazard.Report, q hazard.Quantity, value float64, known bool) {
	info, ok := q.Info()
	if !ok {
		panic("no quantity " + string(q))
	}
	low, high := info.Range()
	switch {
	case !known:
	case !(value >= low && value <= high): // also true for NaN
		Note(r, fmt.Sprintf("%s: %v, expected %v to %v", q, value, low, high))
	default:
		if value = math.Round(value*1000) / 1000; value == 0 {
			value = 0 // replaces -0
		}
		r.Measurements = slices.DeleteFunc(r.Measurements, func(m hazard.Measurement) bool { return m.Name == q })
		r.Measurements = append(r.Measurements, hazard.Measurement{Name: q, Value: value})
		slices.SortFunc(r.Measurements, func(a, b hazard.Measurement) int { return cmp.Compare(a.Name, b.Name) })
	}
}

// Rate adds the source's rating of the event on a scale of words. It ignores words that are not on
// the scale, such as UNASSIGNED or Unknown.
func Rate(r *hazard.Report, q hazard.Quantity, word string) {
	info, _ := q.Info()
	value, known := info.Value(word)
	Measure(r, q, value, known)
}

// Units of sources.
const (
	KmhPerKnot = 1.852
	KmhPerMph  = 1.609344
	HaPerAcre  = 0.40468564224 // the international acre
	MmPerInch  = 25.4
)

// PayloadError says that a payload as a whole is not in the source's format.
type PayloadError struct {
	Reason string // what was found and what was expected
	// Cut means that the payload is cut off, or that something else follows. The part before is
	// good, but nothing can be concluded from what is missing.
	Cut bool
}

func (e *PayloadError) Error() string { return e.Reason }

// Errorf returns a PayloadError.
func Errorf(format string, args ...any) error {
	return &PayloadError{Reason: fmt.Sprintf(format, args...)}
}

// Feed is an address of a source that is polled.
type Feed struct {
	URL string
	// Every is the interval between two polls, as the source allows it.
	Every time.Duration
	// Fastest is the interval while the feed changes, as short as the source allows. 0 means Every.
	Fastest time.Duration
	// MaxBytes bounds the payload after decompression.
	MaxBytes int64
	// Messages means that the feed is no list of what is in force: nothing is concluded from what
	// it lacks.
	Messages bool
}
