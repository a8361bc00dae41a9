package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/db"
)

// Evidence is what sources gave, as received. Its rows are here, its contents where package evidence keeps them.

// Payload is a content that a source gave. One that came several times is kept once.
type Payload struct {
	SHA256 string // of what was received
	// File and Life are the name of what is kept, compressed (files.Name). No other payload has or will have it.
	File  string
	Life  int64
	Bytes int64 // as received
	Kept  int64 // bytes that are kept
	Last  hazard.Instant
}

// Receipt says what was done with a payload, or without one, at some moment. Its kinds are those of package evidence.
type Receipt struct {
	ID      int64
	Source  string
	Kind    string
	Feed    string         // names the feed without telling its address; empty: it is not one of a feed
	Address string         // without what may be secret
	Subject string         // the event or the place that it is about; empty: what is in the payload
	Payload string         // SHA-256; empty: there was none
	Read    hazard.Instant // that the parser was told
	Taken   hazard.Instant // when it was taken in
	Kept    hazard.Instant // when the receipt was written
	Again   bool           // its events were taken together anew
	Cut     string         // why the end of the payload is missing; empty: it is not
	Error   string         // why it could not be used, or not whole
}

// Payload finds a content. ErrNotFound if it is not kept.
func (s *Store) Payload(ctx context.Context, sha256 string) (Payload, error) {
	row, err := s.readQ.Payload(ctx, sha256)
	if err != nil {
		return Payload{}, found(err, "payload %.64q: it was not kept, or its time is over", sha256)
	}
	return payloadOf(row), nil
}

func payloadOf(row db.Payload) Payload {
	return Payload{SHA256: row.Sha256, File: row.File, Life: row.Life, Bytes: row.Bytes, Kept: row.Kept, Last: hazard.Instant(row.LastMs)}
}

// AddReceipt writes a receipt as of r.Kept, and sets its number. new is its payload, if that was put just now; if another was
// faster, that one's stays. Without new, ErrNotFound if the payload is not kept any more.
func (s *Store) AddReceipt(ctx context.Context, r *Receipt, new *Payload) error {
	return s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *db.Queries) error {
		if new != nil {
			err := q.AddPayload(ctx, db.AddPayloadParams{Sha256: new.SHA256, File: new.File, Life: new.Life, Bytes: new.Bytes, Kept: new.Kept, LastMs: int64(r.Kept)})
			if err != nil {
				return err
			}
		}
		if r.Payload != "" {
			n, err := q.CamePayload(ctx, db.CamePayloadParams{Sha256: r.Payload, LastMs: int64(r.Kept)})
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
		return q.AddReceipt(ctx, db.AddReceiptParams{ID: r.ID, Source: r.Source, Kind: r.Kind, Feed: r.Feed, Address: r.Address, Subject: r.Subject,
			Payload: r.Payload, ReadMs: int64(r.Read), TakenMs: int64(r.Taken), KeptMs: int64(r.Kept), Again: r.Again, Cut: r.Cut, Error: r.Error})
	})
}

// Receipts lists the receipts above a number, in order, at most limit.
func (s *Store) Receipts(ctx context.Context, after int64, limit int) ([]Receipt, error) {
	rows, err := s.readQ.Receipts(ctx, db.ReceiptsParams{After: after, MaxRows: int32(limit)})
	if err != nil {
		return nil, storeError(err)
	}
	list := make([]Receipt, len(rows))
	for i, r := range rows {
		list[i] = receiptOf(r)
	}
	return list, nil
}

// LastReceiptOf finds the latest receipt of a payload. ErrNotFound if there is none.
func (s *Store) LastReceiptOf(ctx context.Context, sha256 string) (Receipt, error) {
	row, err := s.readQ.LastReceiptOf(ctx, sha256)
	if err != nil {
		return Receipt{}, found(err, "receipt of payload %.64q", sha256)
	}
	return receiptOf(row), nil
}

// FirstReceiptOf finds the first receipt of a payload of a source. ErrNotFound if there is none.
func (s *Store) FirstReceiptOf(ctx context.Context, sha256, source string) (Receipt, error) {
	row, err := s.readQ.FirstReceiptOf(ctx, db.FirstReceiptOfParams{Payload: sha256, Source: source})
	if err != nil {
		return Receipt{}, found(err, "receipt of payload %.64q of %s", sha256, source)
	}
	return receiptOf(row), nil
}

func receiptOf(r db.Receipt) Receipt {
	return Receipt{ID: r.ID, Source: r.Source, Kind: r.Kind, Feed: r.Feed, Address: r.Address, Subject: r.Subject, Payload: r.Payload,
		Read: hazard.Instant(r.ReadMs), Taken: hazard.Instant(r.TakenMs), Kept: hazard.Instant(r.KeptMs), Again: r.Again, Cut: r.Cut, Error: r.Error}
}

// EvidenceUsage is how much evidence there is.
type EvidenceUsage struct {
	Payloads int64
	Bytes    int64          // as received, each once
	Kept     int64          // bytes that are kept
	Oldest   hazard.Instant // the first receipt; 0: there is none
}

// EvidenceUsage counts the evidence.
func (s *Store) EvidenceUsage(ctx context.Context) (EvidenceUsage, error) {
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

// The most rows that one call of DropEvidence removes: other writers wait for it.
const (
	mostPayloads = 200
	mostReceipts = 2000
)

// DropEvidence forgets some of the oldest evidence: what came last before a moment, and as many more payloads, oldest first, as have
// over bytes together. It returns those whose contents can be removed, and whether there is more to do.
func (s *Store) DropEvidence(ctx context.Context, before hazard.Instant, over int64) (gone []Payload, more bool, err error) {
	err = s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *db.Queries) error {
		until := before
		if over > 0 {
			until = hazard.MaxInstant
		}
		rows, err := q.PayloadsBefore(ctx, db.PayloadsBeforeParams{BeforeMs: int64(until), MaxRows: mostPayloads})
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
		n, err := q.DropReceipts(ctx, db.DropReceiptsParams{BeforeMs: int64(before), MaxRows: mostReceipts})
		more = n == mostReceipts || len(gone) == mostPayloads
		return err
	})
	return gone, more, err
}

// NamesPayload reports whether a payload is kept under that name.
func (s *Store) NamesPayload(ctx context.Context, file string, life int64) (bool, error) {
	n, err := s.readQ.PayloadOfFile(ctx, db.PayloadOfFileParams{File: file, Life: life})
	return n > 0, storeError(err)
}

// CopyPlaces gives another store the shapes of places that were fetched before a moment.
func (s *Store) CopyPlaces(ctx context.Context, to *Store, before hazard.Instant) error {
	const page = 50
	last := db.PlacesAfterParams{BeforeMs: int64(before), MaxRows: page}
	for {
		rows, err := s.readQ.PlacesAfter(ctx, last)
		if err != nil {
			return storeError(err)
		}
		for _, p := range rows {
			if err := to.SavePlace(ctx, p.Source, p.Code, p.Name, p.Geojson, hazard.Instant(p.FetchedMs)); err != nil {
				return err
			}
			last.Source, last.Code = p.Source, p.Code
		}
		if len(rows) < page {
			return nil
		}
	}
}

// LastReceipt is the number of the latest receipt; 0 if there is none.
func (s *Store) LastReceipt(ctx context.Context) (int64, error) {
	n, err := s.readQ.LastReceipt(ctx)
	return n, storeError(err)
}
