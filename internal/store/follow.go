package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/store/sqlc"
	"github.com/hazardd/hazardd/internal/store/sqlite/wal"
)

// Follower returns all pages of an SQLite file, and then repeatedly the pages committed since. It
// misses none: a read transaction is always open, so that SQLite neither overwrites an unread frame
// of its write-ahead log nor restarts the log twice (sqlite.org/wal.html, section 3.1;
// walRestartLog and walTryBeginRead in wal.c). It is for one goroutine.
type Follower struct {
	store      *Store
	log        *os.File
	held, next *sql.Conn
	at         wal.Position
	kept       []kept // pages that Shorten has read and that were not passed on yet
	named      int64  // the last change whose product files Contents has returned
}

// Pages are pages of a database as of one commit.
type Pages struct {
	PageSize int `json:"page_size"` // bytes
	// Pages is the size of the database as of then, Count the number of given pages.
	Pages uint32 `json:"pages"`
	Count int    `json:"count"`
	// Change is a change such that the database holds it and all earlier ones. It may hold later
	// ones too.
	Change int64  `json:"change"`
	Epoch  string `json:"epoch"`
}

// kept holds pages that were read in advance.
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

// Take receives pages by number, from 1. The content of a page is valid until the next one. The
// bytes of checksums are zero.
type Take func(Pages, iter.Seq2[uint32, []byte]) error

// OneFile reports whether the store is on SQLite.
func (s *Store) OneFile() bool { return s.file != "" }

// Follow starts following a store on SQLite. Close ends it.
func (s *Store) Follow(ctx context.Context) (*Follower, error) {
	if !s.OneFile() {
		return nil, errors.New("only a store on SQLite can be followed by its pages; PostgreSQL has tools of its own: pg_basebackup and an archive of its log")
	}
	f := &Follower{store: s}
	var err error
	// SQLite holds no lock on this file, so closing it releases none.
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

// begin opens the next read transaction beside the one that is held.
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

// end ends a read transaction, even after an error.
func end(c *sql.Conn) error {
	_, err := c.ExecContext(context.Background(), `ROLLBACK`)
	return storeError(err)
}

// All passes on all pages. It must be the first call; Next continues from there.
func (f *Follower) All(ctx context.Context, take Take) error {
	p, err := f.begin(ctx, f.held)
	if err != nil {
		return err
	}
	// SQLite does not tell which part of the log the transaction sees, and the log may hold a
	// commit that is not visible yet. So Next begins with everything in the log, and passes on some
	// pages again.
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

// Next passes on the pages committed since the last call, if any. If take fails, the next call
// passes them on again, together with newer ones. The write-ahead log grows between two calls.
func (f *Follower) Next(ctx context.Context, take Take) error {
	for len(f.kept) > 0 {
		if err := take(f.kept[0].Pages, f.kept[0].each); err != nil {
			return err
		}
		f.kept = f.kept[1:]
	}
	return f.step(ctx, take)
}

// step passes on the pages committed since the last step.
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

// longLog is the length of the write-ahead log in bytes above which Shorten acts. Tests lower it.
var longLog = 32 << 20

// Shorten lets SQLite restart a long write-ahead log. Under steady writing there would otherwise
// never be a moment at which the whole log is in the database file and nobody reads it. Background
// work waits while the pages since the last Next are read into memory and moved; people wait only if
// they have left no pause until the log is longer by a fourth. With too many pages, Shorten does
// nothing. The next call of Next passes them on.
func (f *Follower) Shorten(ctx context.Context) error {
	if f.at.Frames()*pageSize < int64(longLog) {
		return nil
	}
	if _, err := f.checkpoint(ctx); err != nil { // moves most of it while others write
		return err
	}
	whole := false
	err := f.store.peopleOnly(ctx, func() (err error) {
		for tries := 0; tries < 5 && !whole && err == nil; tries++ { // people may write meanwhile
			whole, err = f.shorten(ctx)
		}
		return err
	})
	if err != nil || f.at.Frames()*pageSize < int64(longLog)*5/4 {
		return err
	}
	return f.store.inTurn(ctx, nil, func(ctx context.Context, _ *sql.Tx, _ *sqlc.Queries) error { // people leave no pause
		_, err := f.shorten(ctx)
		return err
	})
}

// shorten moves the rest of the log, if it is short enough to be kept in memory. whole reports whether
// that was all.
func (f *Follower) shorten(ctx context.Context) (whole bool, err error) {
	c, err := wal.Since(f.log, f.at)
	if err != nil || c.Len()*c.PageSize > longLog/4 {
		return false, err
	}
	if err := f.step(ctx, f.keep); err != nil {
		return false, err
	}
	if whole, err = f.checkpoint(ctx); err != nil {
		return false, err
	}
	// Its transaction is at the end of a fully moved log, and does not keep the log in use.
	return whole, f.step(ctx, f.keep)
}

func (f *Follower) keep(p Pages, pages iter.Seq2[uint32, []byte]) error {
	k := kept{Pages: p}
	for number, page := range pages {
		k.numbers, k.content = append(k.numbers, number), append(k.content, page...)
	}
	f.kept = append(f.kept, k)
	return nil
}

// checkpoint moves what it can from the log to the database file without waiting. whole reports whether
// that was all.
func (f *Follower) checkpoint(ctx context.Context) (whole bool, err error) {
	f.store.moving.Lock()
	defer f.store.moving.Unlock()
	var busy, frames, moved int
	err = f.next.QueryRowContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`).Scan(&busy, &frames, &moved)
	return frames == moved, storeError(err)
}

// Contents passes on the digests of product files that the log refers to and that were not passed
// on yet; some repeatedly. It includes all references in pages that were passed on before the call.
// It leaves out files in a bucket, because they stay there.
func (f *Follower) Contents(ctx context.Context, give func(digest string) error) error {
	if blob.InBucket(f.store.files) {
		return nil
	}
	if err := f.settle(ctx); err != nil {
		return err
	}
	last, err := f.store.Log.Last(ctx)
	if err != nil {
		return err
	}
	for {
		rows, err := f.store.readQ.ProductStatesSince(ctx, sqlc.ProductStatesSinceParams{After: f.named, Until: last, MaxRows: 1000})
		if err != nil {
			return storeError(err)
		}
		if len(rows) == 0 {
			f.named = max(f.named, last)
			return nil
		}
		for _, row := range rows {
			digest, err := contentOf(row)
			if err != nil && f.store.Quarantine.change(row.N, err) {
				digest, err = "", nil // its file is passed on if another state names it
			}
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

// settle waits up to a second until no commit is in progress: the log may hold a commit that
// readers cannot see until it is on disk. It does not queue as a writer, because a writer that
// empties the log after a redaction waits for this goroutine.
func (f *Follower) settle(ctx context.Context) (err error) {
	// Take and release the write lock. A read-only connection cannot.
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
	return nil // such a long commit holds nothing that was acknowledged
}

// contentOf returns the digest of the file in a product's state; "" if there is none, or if it was
// redacted.
func contentOf(row sqlc.ProductStatesSinceRow) (string, error) {
	if err := intact(row.N, []byte(row.Body)); err != nil {
		return "", err
	}
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

// Revive opens a store on a database file that was assembled from pages of another. Its history
// differs from now on, as after a restore. State that only applies to the old machine is removed.
func (s *Store) Revive(ctx context.Context, now hazard.Instant) (Fork, error) {
	err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx, _ *sqlc.Queries) error {
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
