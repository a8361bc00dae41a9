// Package source holds what all source adapters have in common. An adapter is a package below this one, named after its
// feed: it knows the feed's addresses and rhythm, reads its payloads, and maps its words to ours in one table with a
// citation per row.
//
// A parser is a pure function of bytes and time: no network, no store, no goroutine, no panic, and memory in proportion to
// the payload. One bad record never drops its neighbours.
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

// Batch is what one payload says.
type Batch struct {
	Reports []hazard.Report
	Rejects []Reject
	// Ignored counts the records that are no hazard by the mapping table: nothing is wrong with them.
	Ignored int
	// Read counts the records of the payload: len(Reports) differs from it where a record makes several reports or none.
	Read int
	// Links lead to the documents that hold the reports, if the payload is an index of them: the newest first. Each is read once, and again
	// when the index says that it has changed. Those of a detail are read once after it.
	Links []Link
	// Whole: the payload is a list of everything that the source holds to be going on, read to its end, so that an event that
	// is missing in it is over by the source's own contract. Records that were rejected are in it: see Reject.Events.
	Whole bool
	// Lasting are the keys of the events that go on because this list, read to its end, names them; nil: the payload is no
	// such list. Of other events it says nothing.
	Lasting []string
	// Drawings are the cones, tracks, contours and the like of events: those of the reports, or of events that are known.
	Drawings []Drawing
	// Current: what the reports say depends on when the payload was read, since it lists what goes on.
	Current bool
}

// Drawing is what one document of a source draws of one event. A later one of the same part takes its place; one without shapes takes it
// away.
type Drawing struct {
	Key     string // a name of the event, as in Report.Key or Report.Aliases
	Part    string // as in hazard.ShapesRef
	Version int64  // as in hazard.ShapesRef
	// Shapes are in the order in which people read them: at most hazard.MaxShapes, each with a role and a time.
	// From is 0 where a shape holds from the beginning of the event, which the document does not tell.
	Shapes []hazard.Shape
}

// Link is an entry of an index that leads to a document.
type Link struct {
	URL string // https or http; or a reference that is relative to the address of the feed
	ID  string // the entry's own name for what is there, mostly the identifier of an alert; empty if it has none
	// Updated is when the entry was written by its own account, and Expires when what is there expires; nil if it does not say.
	Updated, Expires *hazard.Instant
}

// Reject is a record that could not be read, or is not to be believed. It is counted and kept, never dropped silently.
type Reject struct {
	// Record names the record: its id if it has one, else its place in the payload ("features/12").
	Record string
	// Reason names the field, the value and what was expected.
	Reason string
	// Raw is the record as received, cut to MaxKept bytes.
	Raw []byte
	// Events are the names (Report.Key, Report.Aliases) of the events that the record may be about, as far as it can be
	// read: these go on, although no report names them. nil means any event; empty, none beside those of the batch.
	Events []string
}

// MaxKept bounds what is kept of a rejected record or payload, in bytes: enough to see what is wrong with it.
const MaxKept = 16 << 10

// Keep cuts raw to what is kept of it, in memory of its own.
func Keep(raw []byte) []byte { return append([]byte(nil), raw[:min(len(raw), MaxKept)]...) }

// MaxRejects bounds the rejects of one payload that are kept one by one: a list whose every record is unreadable says no more
// by its ten-thousandth. Those beyond it are counted.
const MaxRejects = 1000

// Rejects collects the rejected records of one payload.
type Rejects struct {
	kept    []Reject
	further int
}

// Full reports whether no more rejects are kept: then nobody need say why either.
func (r *Rejects) Full() bool { return len(r.kept) >= MaxRejects }

// Add keeps a reject, or counts it if there are too many.
func (r *Rejects) Add(reject Reject) {
	if r.Full() {
		r.further++
		return
	}
	r.kept = append(r.kept, reject)
}

// List is what is kept, and one more reject that tells how many are not.
func (r *Rejects) List() []Reject {
	if r.further == 0 {
		return r.kept
	}
	return append(r.kept, Reject{Record: "the rest", Reason: fmt.Sprintf("%d further records could not be read", r.further)})
}

// maxNote bounds a note, in bytes, and maxNotes how many there are on one report.
const (
	maxNote  = 300
	maxNotes = 10
)

// Note tells the readers of a report what of it could not be read: each fault names a field, its value and what was expected. A report
// with a note is shown, where a Suspect one is held.
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

// Measure adds what a source measured to its report, in the unit of the quantity, rounded to three decimals; a value that is not
// believed is noted instead. Nothing is added where the source says nothing (known is false).
func Measure(r *hazard.Report, q hazard.Quantity, value float64, known bool) {
	info, ok := q.Info()
	if !ok {
		panic("no quantity " + string(q))
	}
	low, high := info.Range()
	switch {
	case !known:
	case !(value >= low && value <= high): // NaN too
		Note(r, fmt.Sprintf("%s: %v, expected %v to %v", q, value, low, high))
	default:
		if value = math.Round(value*1000) / 1000; value == 0 {
			value = 0 // not -0
		}
		r.Measurements = slices.DeleteFunc(r.Measurements, func(m hazard.Measurement) bool { return m.Name == q })
		r.Measurements = append(r.Measurements, hazard.Measurement{Name: q, Value: value})
		slices.SortFunc(r.Measurements, func(a, b hazard.Measurement) int { return cmp.Compare(a.Name, b.Name) })
	}
}

// Rate adds how a source rates the event by a scale of words. A word that is not in the scale adds nothing: UNASSIGNED, Unknown.
func Rate(r *hazard.Report, q hazard.Quantity, word string) {
	info, _ := q.Info()
	value, known := info.Value(word)
	Measure(r, q, value, known)
}

// Units that sources use.
const (
	KmhPerKnot = 1.852
	KmhPerMph  = 1.609344
	HaPerAcre  = 0.40468564224 // the international acre
	MmPerInch  = 25.4
)

// PayloadError says that a payload as a whole is not what the source publishes.
type PayloadError struct {
	Reason string // names what was found and what was expected
	// Cut: the payload ends early, or its end is no part of it; what was read before is good, and nothing can be concluded from what
	// is missing.
	Cut bool
}

func (e *PayloadError) Error() string { return e.Reason }

// Errorf makes a PayloadError.
func Errorf(format string, args ...any) error {
	return &PayloadError{Reason: fmt.Sprintf(format, args...)}
}

// Feed is one address of a source that is polled.
type Feed struct {
	URL string
	// Every is the time between two polls, as the source's etiquette allows.
	Every time.Duration
	// MaxBytes bounds the payload after decompression.
	MaxBytes int64
}
