package poll

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
)

// receipt begins the receipt of the present step; read is the time passed to the parser.
func (w *worker) receipt(kind, feed string, read hazard.Instant) store.Receipt {
	r := store.Receipt{Source: w.src.Name, Kind: kind, Feed: evidence.FeedID(feed), Read: read, Taken: w.p.now()}
	if feed != "" {
		r.Address = w.src.shown(feed)
	}
	return r
}

// Saved begins the receipt of a payload from a file, as if received at read and processed at taken.
// See Import for cutBy.
func Saved(src *Source, cutBy *Failure, read, taken hazard.Instant) store.Receipt {
	r := store.Receipt{Source: src.Name, Kind: evidence.Saved, Read: read, Taken: taken}
	if cutBy != nil {
		r.Cut = cut(cutBy.Text)
	}
	return r
}

// keep stores the receipt r of processing the response a, which is nil if there was none, with the
// resulting error err. It stores nothing if a stop or an error of our own store interrupted the
// work: then the work is repeated, and its receipt is stored after that.
func (w *worker) keep(ctx context.Context, r store.Receipt, a *answer, err error) {
	if errors.Is(err, errStopped) {
		return
	}
	var fail *Failure
	if err != nil {
		if fail = asFailure(err); fail.Class == ClassStore {
			return
		}
		r.Error = cut(fail.Text)
	}
	var payload []byte
	if a != nil {
		if payload = a.payload; a.cut != nil {
			r.Cut = cut(a.cut.Text)
		}
	}
	r.Kept = w.p.now()
	w.p.keeper.Note(ctx, r, payload)
}

// savedBatch is a batch as stored in evidence. It is for a source that is read in several requests
// and so has no payload.
type savedBatch struct {
	Batch    source.Batch
	Suspects map[int]string `json:",omitzero"` // why reports are suspect, by index; the JSON of a report does not contain this
}

func batchAnswer(b *source.Batch) (*answer, error) {
	saved := savedBatch{Batch: *b, Suspects: map[int]string{}}
	for i := range b.Reports {
		if why := b.Reports[i].Suspect; why != "" {
			saved.Suspects[i] = why
		}
	}
	text, err := json.Marshal(saved, json.Deterministic(true), json.FormatNilSliceAsNull(true), jsontext.AllowInvalidUTF8(true))
	return &answer{payload: text}, err
}

// ReadBatch parses the payload of a receipt of the kind evidence.Batch, the output of batchAnswer.
func ReadBatch(text []byte) (source.Batch, error) {
	var saved savedBatch
	err := json.Unmarshal(text, &saved)
	for i, why := range saved.Suspects {
		if i < 0 || i >= len(saved.Batch.Reports) {
			return source.Batch{}, failf(ClassUnreadable, "suspects: %d of %d reports", i, len(saved.Batch.Reports))
		}
		saved.Batch.Reports[i].Suspect = why
	}
	return saved.Batch, err
}
