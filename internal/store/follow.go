package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/files"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/db"
	"github.com/hazardd/hazardd/internal/store/wal"
)

// Follower gives the pages of an SQLite file, and then, again and again, those that were committed since. It misses none: a read transaction
// is always open, so that SQLite neither overwrites a frame of its write-ahead log that was not read, nor begins that log anew twice
// (sqlite.org/wal.html, section 3.1; walRestartLog and walTryBeginRead in wal.c). It is for one goroutine.
type Follower struct {
	store      *Store
	log        *os.File
	held, next *sql.Conn
	at         wal.Position
	kept       []kept // what Shorten has read and nobody has taken yet
	named      int64  // the last change of which Contents has given what it names
}

// Pages are pages of a database as of one commit.
type Pages struct {
	PageSize int `json:"page_size"` // bytes
	// Pages is how many the database has then, Count how many of them are given.
	Pages uint32 `json:"pages"`
	Count int    `json:"count"`
	// Change is a change that the database holds then, and none before it is missing. It may hold later ones too.
	Change int64  `json:"change"`
	Epoch  string `json:"epoch"`
}

// kept is what was read in a hurry.
type kept struct {
	Pages
	numbers []uint32
	content []byte
}

func (k *kept) each(yield func(uint32, []byte) bool) {
	for i, number := range k.numbers {
		if !yield(number, k.content[i*k.PageSize:][:k.PageSize]) {
			return
		}
	}
}

// Take takes pages by their numbers, from 1. Their contents are good until the next one. The bytes that hold a checksum are zeros.
type Take func(Pages, iter.Seq2[uint32, []byte]) error

// OneFile reports whether the store is on SQLite.
func (s *Store) OneFile() bool { return s.file != "" }

// Follow begins to follow a store on SQLite. Close ends it.
func (s *Store) Follow(ctx context.Context) (*Follower, error) {
	if !s.OneFile() {
		return nil, errors.New("only a store on SQLite can be followed by its pages; PostgreSQL has tools of its own: pg_basebackup and an archive of its log")
	}
	f := &Follower{store: s}
	var err error
	// SQLite has no lock on this file: closing it drops none.
	if f.log, err = os.Open(s.file + "-wal"); err != nil {
		return nil, fmt.Errorf("follow %s: %w", s.file, err)
	}
	if f.held, err = s.fresh.Conn(ctx); err == nil {
		f.next, err = s.fresh.Conn(ctx)
	}
	if err != nil {
		return nil, errors.Join(storeError(err), f.Close())
	}
	return f, nil
}

// Close ends it.
func (f *Follower) Close() error {
	var errs []error
	for _, c := range []*sql.Conn{f.held, f.next} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(append(errs, f.log.Close())...)
}

// begin opens the next read transaction, beside the one that is held.
func (f *Follower) begin(ctx context.Context, c *sql.Conn) (p Pages, err error) {
	if _, err := c.ExecContext(ctx, `BEGIN`); err != nil {
		return p, storeError(err)
	}
	p.Epoch = f.store.epoch
	err = c.QueryRowContext(ctx, `SELECT (SELECT value FROM counters WHERE name = 'change'), (SELECT page_count FROM pragma_page_count), (SELECT page_size FROM pragma_page_size)`).
		Scan(&p.Change, &p.Pages, &p.PageSize)
	if err != nil {
		return p, errors.Join(storeError(err), end(c))
	}
	return p, nil
}

// end ends a read transaction, whatever has become of the work.
func end(c *sql.Conn) error {
	_, err := c.ExecContext(context.Background(), `ROLLBACK`)
	return storeError(err)
}

// All gives all pages. It must be the first; Next goes on from there.
func (f *Follower) All(ctx context.Context, take Take) error {
	p, err := f.begin(ctx, f.held)
	if err != nil {
		return err
	}
	// Where in the log the transaction sees to, SQLite does not tell, and the log may hold a commit that is not to be seen yet. So Next begins
	// with all that is in the log, and gives some of it once more.
	f.at = wal.Position{}
	p.Count = int(p.Pages)
	var failed error
	err = take(p, func(yield func(uint32, []byte) bool) {
		for number := uint32(1); number <= p.Pages; number++ {
			var page []byte
			if failed = f.held.QueryRowContext(ctx, `SELECT data FROM sqlite_dbpage WHERE pgno = $1`, number).Scan(&page); failed != nil {
				failed = fmt.Errorf("page %d: %w", number, storeError(failed))
				return
			}
			if !yield(number, page) {
				return
			}
		}
	})
	return errors.Join(failed, err)
}

// Next gives the pages that were committed since the last time, if any. If take fails, they are given again the next time, with what has come meanwhile.
// Between two calls the write-ahead log grows by what is written.
func (f *Follower) Next(ctx context.Context, take Take) error {
	for len(f.kept) > 0 {
		if err := take(f.kept[0].Pages, f.kept[0].each); err != nil {
			return err
		}
		f.kept = f.kept[1:]
	}
	return f.step(ctx, take)
}

// step gives the pages that were committed since the last step.
func (f *Follower) step(ctx context.Context, take Take) error {
	p, err := f.begin(ctx, f.next)
	if err != nil {
		return err
	}
	c, err := wal.Since(f.log, f.at)
	if err == nil && c.Len() > 0 {
		p.PageSize, p.Pages, p.Count = c.PageSize, c.Pages, c.Len()
		page := make([]byte, c.PageSize)
		var failed error
		err = take(p, func(yield func(uint32, []byte) bool) {
			for _, number := range c.Numbers() {
				if failed = c.Read(f.log, number, page); failed != nil || !yield(number, page) {
					return
				}
			}
		})
		err = errors.Join(failed, err)
	}
	if err != nil {
		return errors.Join(err, end(f.next))
	}
	f.at = c.To
	f.held, f.next = f.next, f.held
	return end(f.next)
}

// longLog is the length of a write-ahead log, in bytes, from which on Shorten does something. Tests lower it.
var longLog = 32 << 20

// Shorten lets SQLite begin its write-ahead log anew, if that is long: under steady writing there would never be a moment at which all of it is
// in the database and nobody reads it. Writers wait while the pages since the last call of Next are read into memory, and moved; it does nothing if they are more than a
// few. Next gives them.
func (f *Follower) Shorten(ctx context.Context) error {
	if f.at.Frames()*pageSize < int64(longLog) {
		return nil
	}
	if err := f.checkpoint(ctx); err != nil { // most of it, while others write
		return err
	}
	return f.store.inTurn(ctx, func(ctx context.Context, _ *sql.Tx, _ *db.Queries) error {
		c, err := wal.Since(f.log, f.at)
		if err != nil || c.Len()*c.PageSize > longLog/4 {
			return err
		}
		if err := f.step(ctx, f.keep); err != nil {
			return err
		}
		if err := f.checkpoint(ctx); err != nil {
			return err
		}
		return f.step(ctx, f.keep) // its transaction is at the end of a log of which all was moved, and does not keep it
	})
}

func (f *Follower) keep(p Pages, pages iter.Seq2[uint32, []byte]) error {
	k := kept{Pages: p}
	for number, page := range pages {
		k.numbers, k.content = append(k.numbers, number), append(k.content, page...)
	}
	f.kept = append(f.kept, k)
	return nil
}

// checkpoint moves what it can from the log to the database file, and waits for nobody.
func (f *Follower) checkpoint(ctx context.Context) error {
	var busy, frames, moved int
	return storeError(f.next.QueryRowContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`).Scan(&busy, &frames, &moved))
}

// Contents gives the digests of the product files that the log names and that were not given yet; some more than once. What it gives includes whatever is named in the pages
// that were given before it was called. Those in a bucket are kept there, and are not given.
func (f *Follower) Contents(ctx context.Context, give func(digest string) error) error {
	if files.InBucket(f.store.files) {
		return nil
	}
	if err := f.settle(ctx); err != nil {
		return err
	}
	last, err := f.store.Last(ctx)
	if err != nil {
		return err
	}
	for {
		rows, err := f.store.readQ.ProductStatesSince(ctx, db.ProductStatesSinceParams{After: f.named, MaxRows: 1000})
		if err != nil {
			return storeError(err)
		}
		if len(rows) == 0 {
			f.named = max(f.named, last)
			return nil
		}
		for _, row := range rows {
			digest, err := contentOf(row)
			if err == nil && digest != "" {
				err = give(digest)
			}
			if err != nil {
				return err
			}
			f.named = row.N
		}
	}
}

// settle waits, for a second at most, until nobody is just committing: the log may hold a commit that readers do not see before it is on the disk.
// It does not wait for its turn as a writer does: one who empties the log after a redaction waits for this goroutine.
func (f *Follower) settle(ctx context.Context) (err error) {
	// The lock of writers is taken and given back. A connection that may only read does not get it.
	if _, err := f.next.ExecContext(ctx, `PRAGMA query_only = 0; PRAGMA busy_timeout = 50`); err != nil {
		return storeError(err)
	}
	defer func() {
		_, failed := f.next.ExecContext(ctx, `PRAGMA query_only = 1`)
		err = errors.Join(err, storeError(failed))
	}()
	for range 20 {
		_, err := f.next.ExecContext(ctx, `BEGIN IMMEDIATE`)
		if err == nil {
			return end(f.next)
		}
		if ctx.Err() != nil || !errors.Is(storeError(err), hazard.ErrUnavailable) {
			return storeError(err)
		}
	}
	return nil // what is being written for so long names nothing yet that anybody was told of
}

// contentOf is the digest of the file that a state of a product names; empty: none, or it was redacted.
func contentOf(row db.ProductStatesSinceRow) (string, error) {
	var state struct {
		File *struct {
			Digest string `json:"digest"`
		} `json:"file"`
	}
	if err := json.Unmarshal([]byte(row.Body), &state); err != nil {
		return "", fmt.Errorf("change %d: %w", row.N, err)
	}
	if state.File == nil {
		return "", nil
	}
	return state.File.Digest, nil
}

// Revive makes a store of a database file that was put together of the pages of another: its history is another from now on, as after a restore, and what holds
// for one machine alone is removed.
func (s *Store) Revive(ctx context.Context, now hazard.Instant) (Fork, error) {
	err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx, _ *db.Queries) error {
		for _, table := range passing {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Fork{}, err
	}
	return s.Fork(ctx, now, Restored)
}
