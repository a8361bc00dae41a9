package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Evidence is what sources sent, as received. Its rows are here; package evidence stores the
// contents.

// Payload is a content that a source sent. A repeated content is stored once.
type Payload struct {
	SHA256 string // of the content as received
	// File and Life name the compressed file (blob.Name). No other payload ever has the same name.
	File  string
	Life  int64
	Bytes int64 // as received
	Kept  int64 // bytes as stored
	Last  hazard.Instant
}

// Receipt records what was done with a payload, or without one, at some moment. Its kinds are
// defined in package evidence.
type Receipt struct {
	ID      int64
	Source  string
	Kind    string
	Feed    string         // identifies the feed without its address; empty if it is not from a feed
	Address string         // without secrets
	Subject string         // the event or place it is about; empty if only the payload says it
	Payload string         // SHA-256; empty if there was none
	Read    hazard.Instant // the time that was passed to the parser
	Taken   hazard.Instant // when it was processed
	Kept    hazard.Instant // when the receipt was written
	Again   bool           // its events were processed again
	Cut     string         // why the end of the payload is missing; empty if complete
	Error   string         // why it was unusable, or only partly usable
}

// Payload returns a payload, or ErrNotFound if it is not stored.
func (s *Evidence) Payload(ctx context.Context, sha256 string) (Payload, error) {
	row, err := s.readQ.Payload(ctx, sha256)
	if err != nil {
		return Payload{}, found(err, "payload %.64q: it was not stored, its retention is over, or it was redacted", sha256)
	}
	return payloadOf(row), nil
}

func payloadOf(row sqlc.Payload) Payload {
	return Payload{SHA256: row.Sha256, File: row.File, Life: row.Life, Bytes: row.Bytes, Kept: row.Kept, Last: hazard.Instant(row.LastMs)}
}

// AddReceipt writes a receipt as of r.Kept, and sets its number. new is its payload if it was just
// stored; if another process was faster, the earlier row stays. Without new, it returns ErrNotFound
// if the payload is no longer stored.
func (s *Evidence) AddReceipt(ctx context.Context, r *Receipt, new *Payload) error {
	return s.inSmallTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		if new != nil {
			err := q.AddPayload(ctx, sqlc.AddPayloadParams{Sha256: new.SHA256, File: new.File, Life: new.Life, Bytes: new.Bytes, Kept: new.Kept, LastMs: int64(r.Kept)})
			if err != nil {
				return err
			}
		}
		if r.Payload != "" {
			n, err := q.CamePayload(ctx, sqlc.CamePayloadParams{Sha256: r.Payload, LastMs: int64(r.Kept)})
			if err != nil {
				return err
			}
			if n == 0 {
				return fmt.Errorf("%w: payload %s", hazard.ErrNotFound, r.Payload)
			}
		}
		last, err := q.LastReceipt(ctx)
		if err != nil {
			return err
		}
		r.ID = last + 1
		return q.AddReceipt(ctx, sqlc.AddReceiptParams{ID: r.ID, Source: r.Source, Kind: r.Kind, Feed: r.Feed, Address: r.Address, Subject: r.Subject,
			Payload: r.Payload, ReadMs: int64(r.Read), TakenMs: int64(r.Taken), KeptMs: int64(r.Kept), Again: r.Again, Cut: r.Cut, Error: r.Error})
	})
}

// Receipts lists at most limit receipts above a number, in order.
func (s *Evidence) Receipts(ctx context.Context, after int64, limit int) ([]Receipt, error) {
	rows, err := s.readQ.Receipts(ctx, sqlc.ReceiptsParams{After: after, MaxRows: int32(limit)})
	if err != nil {
		return nil, storeError(err)
	}
	list := make([]Receipt, len(rows))
	for i, r := range rows {
		list[i] = receiptOf(r)
	}
	return list, nil
}

// ReceiptsOf lists at most limit receipts of a source below a number, the latest first.
func (s *Evidence) ReceiptsOf(ctx context.Context, source string, before int64, limit int) ([]Receipt, error) {
	rows, err := s.readQ.ReceiptsOf(ctx, sqlc.ReceiptsOfParams{Before: before, Source: source, MaxRows: int32(limit)})
	if err != nil {
		return nil, storeError(err)
	}
	list := make([]Receipt, len(rows))
	for i, r := range rows {
		list[i] = receiptOf(r)
	}
	return list, nil
}

// LastReceiptOf returns the latest receipt of a payload, or ErrNotFound.
func (s *Evidence) LastReceiptOf(ctx context.Context, sha256 string) (Receipt, error) {
	row, err := s.readQ.LastReceiptOf(ctx, sha256)
	if err != nil {
		return Receipt{}, found(err, "receipt of payload %.64q", sha256)
	}
	return receiptOf(row), nil
}

// FirstReceiptOf returns the first receipt of a payload from a source, or ErrNotFound.
func (s *Evidence) FirstReceiptOf(ctx context.Context, sha256, source string) (Receipt, error) {
	row, err := s.readQ.FirstReceiptOf(ctx, sqlc.FirstReceiptOfParams{Payload: sha256, Source: source})
	if err != nil {
		return Receipt{}, found(err, "receipt of payload %.64q of %s", sha256, source)
	}
	return receiptOf(row), nil
}

func receiptOf(r sqlc.Receipt) Receipt {
	return Receipt{ID: r.ID, Source: r.Source, Kind: r.Kind, Feed: r.Feed, Address: r.Address, Subject: r.Subject, Payload: r.Payload,
		Read: hazard.Instant(r.ReadMs), Taken: hazard.Instant(r.TakenMs), Kept: hazard.Instant(r.KeptMs), Again: r.Again, Cut: r.Cut, Error: r.Error}
}

// EvidenceUsage is the amount of stored evidence.
type EvidenceUsage struct {
	Payloads int64
	Bytes    int64          // as received, each payload once
	Kept     int64          // bytes as stored
	Oldest   hazard.Instant // the first receipt; 0 if there is none
}

// Usage counts the evidence.
func (s *Evidence) Usage(ctx context.Context) (EvidenceUsage, error) {
	row, err := s.readQ.EvidenceUsage(ctx)
	if err != nil {
		return EvidenceUsage{}, storeError(err)
	}
	oldest, err := s.readQ.OldestReceipt(ctx)
	if none(err) {
		oldest, err = 0, nil
	}
	return EvidenceUsage{Payloads: row.Payloads, Bytes: row.Bytes, Kept: row.Kept, Oldest: hazard.Instant(oldest)}, storeError(err)
}

// How many rows one call of Evidence.Drop removes at most, because other writers wait for it.
const (
	maxPayloads = 200
	maxReceipts = 2000
)

// Drop removes old evidence: payloads last received before a moment, and further ones,
// oldest first, until over bytes are removed. It returns the payloads whose contents can now be
// deleted, and whether there is more to do.
func (s *Evidence) Drop(ctx context.Context, before hazard.Instant, over int64) (gone []Payload, more bool, err error) {
	err = s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		until := before
		if over > 0 {
			until = hazard.MaxInstant
		}
		rows, err := q.PayloadsBefore(ctx, sqlc.PayloadsBeforeParams{BeforeMs: int64(until), MaxRows: maxPayloads})
		if err != nil {
			return err
		}
		gone = nil
		for _, row := range rows {
			if hazard.Instant(row.LastMs) >= before && over <= 0 {
				break
			}
			over -= row.Kept
			before = max(before, hazard.Instant(row.LastMs)+1)
			gone = append(gone, payloadOf(row))
			if err := q.DropPayload(ctx, row.Sha256); err != nil {
				return err
			}
		}
		n, err := q.DropReceipts(ctx, sqlc.DropReceiptsParams{BeforeMs: int64(before), MaxRows: maxReceipts})
		more = n == maxReceipts || len(gone) == maxPayloads
		return err
	})
	return gone, more, err
}

// NamesPayload reports whether a payload is stored under that name.
func (s *Evidence) NamesPayload(ctx context.Context, file string, life int64) (bool, error) {
	n, err := s.readQ.PayloadOfFile(ctx, sqlc.PayloadOfFileParams{File: file, Life: life})
	return n > 0, storeError(err)
}

// CopyPlaces copies the shapes of places that were fetched before a moment to another store.
func (s *Evidence) CopyPlaces(ctx context.Context, to *Store, before hazard.Instant) error {
	const page = 50
	last := sqlc.PlacesAfterParams{BeforeMs: int64(before), MaxRows: page}
	for {
		rows, err := s.readQ.PlacesAfter(ctx, last)
		if err != nil {
			return storeError(err)
		}
		for _, p := range rows {
			if err := to.Sources.SavePlace(ctx, p.Source, p.Code, p.Name, p.Geojson, hazard.Instant(p.FetchedMs)); err != nil {
				return err
			}
			last.Source, last.Code = p.Source, p.Code
		}
		if len(rows) < page {
			return nil
		}
	}
}

// LastReceipt returns the number of the latest receipt, or 0 if there is none.
func (s *Evidence) LastReceipt(ctx context.Context) (int64, error) {
	n, err := s.readQ.LastReceipt(ctx)
	return n, storeError(err)
}

// Redact removes payloads for good, and returns them, so that their contents can be deleted. Their
// receipts stay.
func (s *Evidence) Redact(ctx context.Context, digests []string) (gone []Payload, err error) {
	err = s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error {
		gone = nil
		for _, digest := range digests {
			row, err := q.Payload(ctx, digest)
			if none(err) {
				continue
			}
			if err != nil {
				return err
			}
			gone = append(gone, payloadOf(row))
			if err := q.DropPayload(ctx, digest); err != nil {
				return err
			}
		}
		return nil
	})
	return gone, err
}
