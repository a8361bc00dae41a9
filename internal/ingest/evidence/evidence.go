// Package evidence keeps the payloads of sources as received: each once, compressed, up to an age
// and a size, with a receipt for each time that it was processed. It shows what a report was made
// from, and lets package replay repeat every decision.
//
// Contents are stored by package blob in a separate place, a folder or a part of the bucket; their
// rows are in the store. A content is stored before a transaction refers to it, under a name that
// is used once, and its row is deleted before it is. So nothing that a row refers to is ever
// removed. A payload is kept after it was processed, so it delays no warning, and a failure to keep
// it stops none. If the process dies in between, the payload is missing.
//
// Backups leave evidence out: it may be larger than everything else, it expires within days, and no
// hazard depends on it.
package evidence

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/blob"
)

// The kinds of receipts.
const (
	Begun    = "begun"    // a process began to poll the source: what it knew of lists before is forgotten
	Feed     = "feed"     // the answer of a feed was taken in
	Document = "document" // a detail, or a document that an index announced, was taken in
	Gone     = "gone"     // there is nothing any more at the address of an event: Subject
	Place    = "place"    // the shape of a place was kept: Subject
	Settled  = "settled"  // the last answer of a feed was taken in once more, since places had become known
	Saved    = "saved"    // a payload from a file was taken in
	Batch    = "batch"    // what a source says that is asked in steps was taken in: the payload is source.Batch as JSON, not what came
)

// Digest returns the SHA-256 of a payload in hexadecimal.
func Digest(payload []byte) string {
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:])
}

// FeedID identifies a feed without its address, which may contain a key.
func FeedID(address string) string {
	if address == "" {
		return ""
	}
	return Digest([]byte(address))[:16]
}

// Limits bounds what is kept.
type Limits struct {
	Age   time.Duration // for how long a payload is kept after it came last; 0: none is kept
	Bytes int64         // of compressed payloads; the oldest go first. The next sweep sees to it, so there may be more for SweepEvery
}

// SweepEvery is the recommended interval of Sweep. One of the processes that share a store should
// call it.
const SweepEvery = 10 * time.Minute

// Compressed payloads.
const (
	// window is how far back the compression sees. It is what each reading needs, in bytes.
	window = 4 << 20
	// maxPayload bounds a payload as received, in bytes: more than any source may send.
	maxPayload = 512 << 20
)

// patience bounds the time for keeping one payload, because the source's next poll waits for it.
const patience = 30 * time.Second

// orphanAge is the age at which a content without a row is deleted. Between writing it and its row,
// seconds pass.
const orphanAge = time.Hour

// Keeper keeps evidence. It is safe for concurrent use. A nil Keeper keeps nothing.
type Keeper struct {
	store  *store.Store
	place  blob.Place
	limits Limits
	zip    *zstd.Encoder
	log    *slog.Logger
	failed prometheus.Counter
	warned atomic.Bool
}

// Open opens the evidence of a store. dir is its local folder; if set names a bucket, the contents
// are there, in the folder "evidence". log may be nil.
func Open(s *store.Store, dir string, set blob.Settings, limits Limits, log *slog.Logger) (*Keeper, error) {
	place, err := blob.Open(dir, set.Below("evidence"))
	if err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, errors.Join(err, place.Close())
	}
	s.Quarantine.Watch("the folder of evidence", func() error { return blob.Missing(place) })
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Keeper{store: s, place: place, limits: limits, zip: zip, log: log, failed: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "hazardd_evidence_failures_total", Help: "Payloads and receipts that could not be stored as evidence."})}, nil
}

// Close closes the blob store, not the store.
func (k *Keeper) Close() error {
	if k == nil {
		return nil
	}
	return k.place.Close()
}

// Metrics returns the keeper's own metrics.
func (k *Keeper) Metrics() []prometheus.Collector { return []prometheus.Collector{k.failed} }

// on reports whether evidence is kept.
func (k *Keeper) on() bool { return k != nil && k.limits.Age > 0 }

// Note does the same as Keep, but logs and counts errors, because nothing depends on evidence.
func (k *Keeper) Note(ctx context.Context, r store.Receipt, payload []byte) {
	if !k.on() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience) // what was taken in is kept also when we are being stopped
	defer cancel()
	err := k.Keep(ctx, r, payload)
	if err == nil {
		k.warned.Store(false)
		return
	}
	k.failed.Inc()
	if !k.warned.Swap(true) {
		k.log.Warn("cannot store a payload as evidence; a replay will lack it", "source", r.Source, "error", err)
	}
}

// Keep stores a receipt, and its payload unless that is nil. It sets r.Payload from the payload.
// r.Kept must be the time.
func (k *Keeper) Keep(ctx context.Context, r store.Receipt, payload []byte) error {
	if !k.on() {
		return nil
	}
	if payload == nil {
		r.Payload = ""
		return k.store.Evidence.AddReceipt(ctx, &r, nil)
	}
	r.Payload = Digest(payload)
	if _, err := k.store.Evidence.Payload(ctx, r.Payload); err == nil {
		if err = k.store.Evidence.AddReceipt(ctx, &r, nil); !errors.Is(err, hazard.ErrNotFound) {
			return err
		} // else it was swept in between
	} else if !errors.Is(err, hazard.ErrNotFound) {
		return err
	}
	began := time.Now()
	kept, err := k.put(ctx, payload)
	if err != nil {
		return err
	}
	if time.Since(began) > orphanAge/2 { // the process was stopped: it may have been swept
		return fmt.Errorf("%w: it took %v to put a payload", hazard.ErrUnavailable, time.Since(began).Round(time.Second))
	}
	kept.SHA256 = r.Payload
	return k.store.Evidence.AddReceipt(ctx, &r, kept)
}

// put compresses a payload and stores it under a new name.
func (k *Keeper) put(ctx context.Context, payload []byte) (*store.Payload, error) {
	if len(payload) > maxPayload {
		return nil, fmt.Errorf("a payload of %d bytes, at most %d are allowed", len(payload), maxPayload)
	}
	small := k.zip.EncodeAll(payload, nil)
	staged, err := k.place.Stage(bytes.NewReader(small), int64(len(small)))
	if err != nil {
		return nil, err
	}
	p := &store.Payload{File: staged.Digest, Life: rand.Int64(), Bytes: int64(len(payload)), Kept: staged.Size}
	err = k.place.Put(ctx, staged, blob.Name{Digest: p.File, Life: p.Life})
	return p, errors.Join(err, staged.Drop())
}

// Open opens a payload as received. The error is ErrNotFound if it is not kept.
func (k *Keeper) Open(ctx context.Context, digest string) (io.ReadCloser, store.Payload, error) {
	if k == nil {
		return nil, store.Payload{}, fmt.Errorf("%w: payload %.64q: no evidence is kept", hazard.ErrNotFound, digest)
	}
	p, err := k.store.Evidence.Payload(ctx, digest)
	if err != nil {
		return nil, p, err
	}
	f, err := k.place.Open(ctx, blob.Name{Digest: p.File, Life: p.Life})
	if err != nil {
		return nil, p, err
	}
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(2*window))
	if err != nil {
		return nil, p, errors.Join(err, f.Close())
	}
	return &content{z, f}, p, nil
}

// content is a payload that is being read.
type content struct {
	*zstd.Decoder
	file io.Closer
}

func (c *content) Close() error {
	c.Decoder.Close()
	return c.file.Close()
}

// Read returns a whole payload after checking its digest.
func (k *Keeper) Read(ctx context.Context, digest string) (_ []byte, err error) {
	r, p, err := k.Open(ctx, digest)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	payload := make([]byte, min(p.Bytes, maxPayload))
	if _, err := io.ReadFull(r, payload); err != nil {
		return nil, fmt.Errorf("payload %s: %w", digest, err)
	}
	if Digest(payload) != digest {
		return nil, fmt.Errorf("payload %s is damaged in %v", digest, k.place)
	}
	return payload, nil
}

// Beginning returns the first n bytes of a payload, or none if it is not kept.
func (k *Keeper) Beginning(ctx context.Context, digest string, n int64) ([]byte, error) {
	if digest == "" || k == nil {
		return nil, nil
	}
	r, _, err := k.Open(ctx, digest)
	if errors.Is(err, hazard.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	head, err := io.ReadAll(io.LimitReader(r, n))
	return head, errors.Join(err, r.Close())
}

// Sweep deletes evidence that is older than allowed at now, then the oldest beyond the size limit.
// One process at a time should call it.
func (k *Keeper) Sweep(ctx context.Context, now hazard.Instant) (removed int, err error) {
	if k == nil {
		return 0, nil
	}
	use, err := k.store.Evidence.Usage(ctx)
	if err != nil {
		return 0, err
	}
	over := int64(0)
	if k.limits.Bytes > 0 {
		over = use.Kept - k.limits.Bytes
	}
	for more := true; more; {
		var gone []store.Payload
		if gone, more, err = k.store.Evidence.Drop(ctx, now.Add(-k.limits.Age), over); err != nil {
			return removed, err
		}
		for _, p := range gone {
			over -= p.Kept
			// One that stays now is removed by Tidy.
			if err := k.place.Remove(ctx, blob.Name{Digest: p.File, Life: p.Life}); err != nil {
				return removed, err
			}
			removed++
		}
	}
	return removed, nil
}

// Tidy deletes contents without a row: those of a process that died, and those that could not be
// deleted before. One process at a time should call it, once a day. If the contents belong to
// another store, it deletes none and returns ErrConflict.
func (k *Keeper) Tidy(ctx context.Context, now hazard.Instant) (removed int, err error) {
	if k == nil {
		return 0, nil
	}
	before := now.Time().Add(-orphanAge)
	if err := k.place.Tidy(before); err != nil {
		return 0, err
	}
	owner, err := k.place.Owner(ctx, k.store.Epoch())
	if err != nil {
		return 0, err
	}
	if owner != k.store.Epoch() {
		return 0, fmt.Errorf("%w: the evidence in %v is that of another store (%s, this is %s): give each store a place of its own, or remove the file or object %q there "+
			"if this store has taken the other's place", hazard.ErrConflict, k.place, owner, k.store.Epoch(), blob.OwnerName)
	}
	err = k.place.Each(ctx, func(n blob.Name, put time.Time) error {
		if !put.Before(before) {
			return nil
		}
		named, err := k.store.Evidence.NamesPayload(ctx, n.Digest, n.Life)
		if err != nil || named {
			return err
		}
		removed++
		return k.place.Remove(ctx, n)
	})
	return removed, err
}

// Redact deletes the payloads of some sources that hold what is redacted, as hold reports, whose
// receipts are above a number. It returns how many, and the number of the latest receipt. The
// receipts stay. It may be repeated.
func (k *Keeper) Redact(ctx context.Context, sources []string, after int64, hold func(digest string, payload []byte) bool) (removed int, last int64, err error) {
	if k == nil {
		return 0, after, nil
	}
	looked := map[string]bool{"": true}
	for last = after; ; {
		const page = 500
		receipts, err := k.store.Evidence.Receipts(ctx, last, page)
		if err != nil {
			return removed, last, err
		}
		var found []string
		for _, r := range receipts {
			last = r.ID
			if looked[r.Payload] || !slices.Contains(sources, r.Source) {
				continue
			}
			looked[r.Payload] = true
			payload, err := k.Read(ctx, r.Payload)
			switch {
			case errors.Is(err, hazard.ErrNotFound):
			case ctx.Err() != nil || errors.Is(err, hazard.ErrUnavailable):
				return removed, last, errors.Join(err, ctx.Err())
			case err != nil || hold(r.Payload, payload): // one that is damaged may hold it
				found = append(found, r.Payload)
			}
		}
		gone, err := k.store.Evidence.Redact(ctx, found)
		for _, p := range gone {
			err = errors.Join(err, k.place.Remove(ctx, blob.Name{Digest: p.File, Life: p.Life}))
		}
		if removed += len(gone); err != nil || len(receipts) < page {
			return removed, last, err
		}
	}
}
