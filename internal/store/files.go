package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// The contents of product files, and how they are removed.
//
// A content is stored before the transaction that refers to it; if that fails, nothing refers to
// it. The sweep removes such contents. It must not remove one that is just being referred to by
// another process, on another machine, or by a process that was paused for minutes. So a removal
// begins with a transaction that checks in the log that nothing refers to the content, and ends its
// life: afterwards the same content gets another name (blob.Name). A transaction that refers to a
// content stored under the old name then fails (Keep). Write transactions are serialized, so
// whichever of the two is first, nothing ever refers to an ended life, and the removal itself may
// happen any time later.
//
// This depends on commits being durable. If a lagging standby takes over that has not received the
// end of a life, a content that was referred to at just that moment may be lost.

// StagedFile is a completely received content that no row refers to yet.
type StagedFile struct {
	*blob.Staged
	store *Store
	name  blob.Name // zero until it is stored
}

// Stage receives the content of r, at most limit bytes. A larger one is a *hazard.InvalidError,
// a full disk ErrFull. The caller must call Drop at the end.
func (s *Files) Stage(_ context.Context, r io.Reader, limit int64) (*StagedFile, error) {
	f, err := s.files.Stage(r, limit)
	if err != nil {
		return nil, err
	}
	return &StagedFile{Staged: f, store: s.store}, nil
}

// Put stores the content durably. It may take as long as an upload, so call it outside of
// transactions. The sweep removes contents that are stored but not kept.
func (f *StagedFile) Put(ctx context.Context) error {
	row, err := content(ctx, f.store.readQ, f.Digest)
	if err != nil {
		return err
	}
	name := blob.Name{Digest: f.Digest, Life: row.Life}
	if err := f.store.files.Put(ctx, f.Staged, name); err != nil {
		return err
	}
	f.name = name
	return nil
}

// Keep must be called in the transaction that refers to the content. It returns ErrUnavailable if
// the content was swept since Put; repeating everything helps.
func (f *StagedFile) Keep(tx *Tx) error {
	if f.name.Digest == "" {
		return fmt.Errorf("content %s was not put", f.Digest)
	}
	row, err := content(tx.ctx, tx.q, f.Digest)
	if err != nil {
		return err
	}
	if row.Life != f.name.Life {
		return fmt.Errorf("%w: content %s was swept while it was uploaded", hazard.ErrUnavailable, f.Digest)
	}
	return nil
}

// Open opens the content with that digest for reading and seeking, or returns ErrNotFound. A
// damaged content is an error and is never served.
func (s *Files) Open(ctx context.Context, digest string) (io.ReadSeekCloser, error) {
	row, err := content(ctx, s.readQ, digest)
	if err != nil {
		return nil, err
	}
	return s.files.Open(ctx, blob.Name{Digest: digest, Life: row.Life})
}

// Unseen asks for some of the contents that products refer to, at most limit, and counts those that
// this process does not find where it looks for contents.
func (s *Files) Unseen(ctx context.Context, limit int) (asked, unseen int, err error) {
	rows, err := s.reads.QueryContext(ctx, `SELECT digest FROM contents WHERE named LIMIT $1 + 0`, limit)
	if err != nil {
		return 0, 0, storeError(err)
	}
	defer rows.Close()
	var digests []string
	for rows.Next() {
		var digest string
		if err := rows.Scan(&digest); err != nil {
			return 0, 0, storeError(err)
		}
		digests = append(digests, digest)
	}
	if err := rows.Err(); err != nil {
		return 0, 0, storeError(err)
	}
	for _, digest := range digests {
		f, err := s.Open(ctx, digest)
		switch {
		case err == nil:
			err = f.Close()
		case errors.Is(err, hazard.ErrNotFound):
			unseen, err = unseen+1, nil
		}
		if err != nil {
			return asked, unseen, err
		}
		asked++
	}
	return asked, unseen, nil
}

// content returns the row of a content.
func content(ctx context.Context, q *sqlc.Queries, digest string) (sqlc.ContentRow, error) {
	row, err := q.Content(ctx, digest)
	if none(err) {
		return sqlc.ContentRow{}, nil
	}
	return row, storeError(err)
}

// uploadTime is longer than any upload: the server's read timeout is far shorter.
const uploadTime = time.Hour

// Sweep removes the contents that no product and no state in the log refers to and that were
// stored more than an hour before now. It also removes the remains of interrupted uploads to this
// machine. It returns the number of removed contents. Only one process at a time should call it. If
// the contents belong to another store, it removes nothing and returns ErrConflict.
func (s *Files) Sweep(ctx context.Context, now hazard.Instant) (removed int, err error) {
	before := now.Time().Add(-uploadTime)
	if err := s.files.Tidy(before); err != nil {
		return 0, err
	}
	if err := blob.Claim(ctx, s.files, "product files", s.epoch); err != nil {
		return 0, err
	}
	if _, err := s.nameInSteps(ctx); err != nil {
		return 0, err
	}
	err = s.files.Each(ctx, func(n blob.Name, put time.Time) error {
		if !put.Before(before) {
			return nil
		}
		row, err := content(ctx, s.readQ, n.Digest)
		if err != nil {
			return err
		}
		if n.Life >= row.Life { // otherwise the life has ended, and its removal failed or a file came late
			if row.Named {
				return nil
			}
			if ended, err := s.endContent(ctx, n); err != nil || !ended {
				return err
			}
		}
		if err := s.files.Remove(ctx, n); err != nil {
			return err
		}
		removed++
		return nil
	})
	return removed, err
}

// endContent ends the life of a content if nothing refers to it.
func (s *core) endContent(ctx context.Context, n blob.Name) (ended bool, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) error {
		last, err := q.Counter(ctx, "change")
		if err != nil {
			return storeError(err)
		}
		if err := s.nameContents(ctx, q, last); err != nil {
			return err
		}
		if unread, err := s.unreadContents(ctx, tx, q); err != nil || unread > 0 {
			return err // one of those states may name it
		}
		rows, err := q.EndContent(ctx, sqlc.EndContentParams{Digest: n.Digest, NextLife: n.Life + 1})
		ended = rows > 0
		return err
	})
	return ended, err
}

// nameInSteps indexes the contents that the log refers to now. Each transaction has few changes to
// go through, so that nobody who writes waits for a long log, and the ones of endContent have little
// to do. It returns their number.
func (s *core) nameInSteps(ctx context.Context) (steps int64, err error) {
	const step = 1000
	last, err := s.readQ.Counter(ctx, "change")
	if err != nil {
		return 0, storeError(err)
	}
	for ; ; steps++ {
		named, err := s.readQ.ContentsNamed(ctx)
		if err != nil || named >= last {
			return steps, storeError(err)
		}
		until, err := s.readQ.ChangeFartherOn(ctx, sqlc.ChangeFartherOnParams{After: named, Others: step - 1})
		if none(err) || err == nil && until > last {
			until, err = last, nil
		}
		if err != nil {
			return steps, storeError(err)
		}
		if err := s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries) error { return s.nameContents(ctx, q, until) }); err != nil {
			return steps, err
		}
	}
}

// nameContents indexes the contents that the states in the log up to a change refer to, where that was
// not done. The index is made from the log alone, so nothing else has to be kept correct. A damaged
// state is left out and remembered: while there is one, no content ends.
func (s *core) nameContents(ctx context.Context, q *sqlc.Queries, until int64) error {
	named, err := q.ContentsNamed(ctx)
	if err != nil || named >= until {
		return err
	}
	rows, err := q.ProductStatesSince(ctx, sqlc.ProductStatesSinceParams{After: named, Until: until, MaxRows: math.MaxInt32})
	if err != nil {
		return err
	}
	for _, row := range rows {
		digest, err := contentOf(row)
		if err != nil && s.store.Quarantine.change(row.N, err) {
			if err := q.SetMeta(ctx, sqlc.SetMetaParams{Name: unreadContent + strconv.FormatInt(row.N, 10), Value: "damaged"}); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if digest == "" {
			continue
		}
		if err := q.NameContent(ctx, digest); err != nil {
			return err
		}
	}
	return q.SetContentsNamed(ctx, until)
}

// unreadContent begins the names of rows of meta, each with the number of a product's state that
// nameContents could not read.
const unreadContent = "unread content "

// unreadContents counts the states that nameContents could not read and that are still in the log. It
// names the contents of those that were mended, and forgets them and those that were pruned.
func (s *core) unreadContents(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) (n int, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT name FROM meta WHERE name LIKE $1`, unreadContent+"%")
	if err != nil {
		return 0, storeError(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return 0, storeError(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		return 0, storeError(err)
	}
	for _, name := range names {
		change, err := strconv.ParseInt(strings.TrimPrefix(name, unreadContent), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("row %q of meta: %w", name, err)
		}
		states, err := q.ProductStatesSince(ctx, sqlc.ProductStatesSinceParams{After: change - 1, Until: change, MaxRows: 1})
		if err != nil {
			return 0, err
		}
		if len(states) > 0 && states[0].N == change { // else it was pruned
			digest, err := contentOf(states[0])
			if err != nil {
				n++
				continue
			}
			if digest != "" {
				if err := q.NameContent(ctx, digest); err != nil {
					return 0, err
				}
			}
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM meta WHERE name = $1`, name); err != nil {
			return 0, storeError(err)
		}
	}
	return n, nil
}

// Option changes a default of Open.
type Option func(*options)

type options struct {
	files blob.Settings
	pages int // bytes
	dial  pgconn.DialFunc
}

// WithPages bounds the pages that all connections to an SQLite file cache together, in bytes; 0 means
// the usual 128 MB.
func WithPages(bytes int) Option { return func(o *options) { o.pages = bytes } }

// WithDialer connects to PostgreSQL by dial, for tests with a clock of their own.
func WithDialer(dial func(ctx context.Context, network, address string) (net.Conn, error)) Option {
	return func(o *options) { o.dial = dial }
}

func optionsOf(more []Option) (o options) {
	for _, set := range more {
		set(&o)
	}
	return o
}

// WithFiles stores the contents of product files in the place of settings.
func WithFiles(settings blob.Settings) Option {
	return func(o *options) { o.files = settings }
}

// openFiles opens the storage of contents, or waits for its folder. It removes the remains of interrupted uploads from the
// folder.
func openFiles(dir string, settings blob.Settings) (blob.Place, error) {
	place, err := blob.Open(filepath.Join(dir, "files"), settings)
	if err != nil {
		return nil, err
	}
	_ = place.Tidy(time.Now().Add(-uploadTime)) // it only helps: on a disk that cannot be written they stay
	return place, nil
}

// day returns the number of the day since 1970, in UTC.
func day(i hazard.Instant) int64 { return i.Time().Unix() / (24 * 60 * 60) }

// CountUpload adds bytes to what organization org has uploaded today (UTC) on all nodes, and
// returns the total. -1 counts users without an organization.
func (t *Tx) CountUpload(org, bytes int64) (total int64, err error) {
	today := day(t.Now())
	if err := t.q.ForgetUploads(t.ctx, today); err != nil {
		return 0, err
	}
	return t.q.AddUpload(t.ctx, sqlc.AddUploadParams{OrgID: org, Day: today, Bytes: bytes})
}

// Uploaded returns how many bytes organization org has uploaded on the day of now.
func (s *Files) Uploaded(ctx context.Context, org int64, now hazard.Instant) (int64, error) {
	n, err := s.readQ.Uploaded(ctx, sqlc.UploadedParams{OrgID: org, Day: day(now)})
	if none(err) {
		return 0, nil
	}
	return n, storeError(err)
}
