package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/hazardd/hazardd/internal/files"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/db"
)

// Contents of product files, and when they are removed.
//
// A content is put before a transaction names it, and nothing names it if that fails. The sweep removes such contents, and must not remove one that is being named
// meanwhile: by another process, on another machine, or by one that was stopped for minutes. So a removal begins with a transaction that finds
// in the log that nothing names the content and ends its life: from then on it is put under another name (files.Name). A transaction that would
// name a content which was put under the old one fails (Keep). Write transactions come one after the other; so, whichever of the two is first,
// no name of a life that has ended is ever written, and a removal may come as late as it likes.
// That holds as far as commits do: where a standby takes over that was behind, and has not got the end of a life, a content that was being named
// in just that moment may be gone.

// StagedFile is a content that was received whole, and that no row can name yet.
type StagedFile struct {
	*files.Staged
	store *Store
	name  files.Name // zero until it is put
}

// StageFile receives the content that r gives, at most limit bytes of it. More is a *hazard.InvalidError; a full disk ErrFull. Drop it in
// the end.
func (s *Store) StageFile(_ context.Context, r io.Reader, limit int64) (*StagedFile, error) {
	f, err := s.files.Stage(r, limit)
	if err != nil {
		return nil, err
	}
	return &StagedFile{Staged: f, store: s}, nil
}

// Put makes the content durable where contents are kept. It may take as long as an upload: no transaction should wait for it. What is put and
// not kept is swept.
func (f *StagedFile) Put(ctx context.Context) error {
	row, err := content(ctx, f.store.readQ, f.Digest)
	if err != nil {
		return err
	}
	name := files.Name{Digest: f.Digest, Life: row.Life}
	if err := f.store.files.Put(ctx, f.Staged, name); err != nil {
		return err
	}
	f.name = name
	return nil
}

// Keep must be called in the transaction that names the content. ErrUnavailable if it was swept since it was put; to do all of it again helps.
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

// OpenFile opens the content with that digest, for reading and seeking. ErrNotFound if there is none. A content that is no
// longer what was stored is an error: damage is told, not served.
func (s *Store) OpenFile(ctx context.Context, digest string) (io.ReadSeekCloser, error) {
	row, err := content(ctx, s.readQ, digest)
	if err != nil {
		return nil, err
	}
	return s.files.Open(ctx, files.Name{Digest: digest, Life: row.Life})
}

// content is what is known of a content.
func content(ctx context.Context, q *db.Queries, digest string) (db.ContentRow, error) {
	row, err := q.Content(ctx, digest)
	if none(err) {
		return db.ContentRow{}, nil
	}
	return row, storeError(err)
}

// uploadTime is longer than any upload lasts: the server's read time-out is far below.
const uploadTime = time.Hour

// SweepFiles removes the contents that nothing names, no product and no state in the log, and that were put more than an hour before now; and what
// interrupted uploads to this machine left. It tells how many contents it removed. One process at a time should do it.
// Where the contents are another store's it removes none, ErrConflict.
func (s *Store) SweepFiles(ctx context.Context, now hazard.Instant) (removed int, err error) {
	before := now.Time().Add(-uploadTime)
	if err := s.files.Tidy(before); err != nil {
		return 0, err
	}
	if err := files.Claim(ctx, s.files, "product files", s.epoch); err != nil {
		return 0, err
	}
	for more := true; more; { // in small transactions, before the ones below, which then find little to do
		err := s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *db.Queries) (err error) {
			more, err = nameContents(ctx, q)
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	err = s.files.Each(ctx, func(n files.Name, put time.Time) error {
		if !put.Before(before) {
			return nil
		}
		row, err := content(ctx, s.readQ, n.Digest)
		if err != nil {
			return err
		}
		if n.Life >= row.Life { // else its life has ended, and its removal failed or something came late
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

// endContent ends the life of a content if nothing names it.
func (s *Store) endContent(ctx context.Context, n files.Name) (ended bool, err error) {
	err = s.inTx(ctx, func(ctx context.Context, _ *sql.Tx, q *db.Queries) error {
		for more := true; more; {
			var err error
			if more, err = nameContents(ctx, q); err != nil {
				return err
			}
		}
		rows, err := q.EndContent(ctx, db.EndContentParams{Digest: n.Digest, NextLife: n.Life + 1})
		ended = rows > 0
		return err
	})
	return ended, err
}

// nameContents notes the contents that the next states in the log name, and tells whether there may be more. The log is what counts, whoever wrote it: nothing
// else has to be kept right for a content to stay.
func nameContents(ctx context.Context, q *db.Queries) (more bool, err error) {
	const batch = 1000
	last, err := q.ContentsNamed(ctx)
	if err != nil {
		return false, err
	}
	rows, err := q.ProductStatesSince(ctx, db.ProductStatesSinceParams{After: last, MaxRows: batch})
	if err != nil || len(rows) == 0 {
		return false, err
	}
	for _, row := range rows {
		digest, err := contentOf(row)
		if err != nil {
			return false, err
		}
		if digest == "" {
			continue
		}
		if err := q.NameContent(ctx, digest); err != nil {
			return false, err
		}
	}
	return len(rows) == batch, q.SetContentsNamed(ctx, rows[len(rows)-1].N)
}

// Option is what Open does otherwise than by default.
type Option func(*options)

type options struct{ files files.Settings }

// WithFiles keeps the contents of product files where settings say.
func WithFiles(settings files.Settings) Option {
	return func(o *options) { o.files = settings }
}

// openFiles opens the place of contents; what was left in the folder of dir by uploads that were interrupted is removed.
func openFiles(dir string, more []Option) (files.Place, error) {
	var o options
	for _, set := range more {
		set(&o)
	}
	place, err := files.Open(filepath.Join(dir, "files"), o.files)
	if err != nil {
		return nil, err
	}
	if err := place.Tidy(time.Now().Add(-uploadTime)); err != nil {
		return nil, errors.Join(err, place.Close())
	}
	return place, nil
}

// day is the day of an instant, since 1970 in UTC.
func day(i hazard.Instant) int64 { return i.Time().Unix() / (24 * 60 * 60) }

// CountUpload counts bytes of a file that organization org uploads, and returns how many it has uploaded on this day (UTC), with
// these, on all nodes. -1 counts users without an organization.
func (t *Tx) CountUpload(org, bytes int64) (total int64, err error) {
	today := day(t.Now())
	if err := t.q.ForgetUploads(t.ctx, today); err != nil {
		return 0, err
	}
	return t.q.AddUpload(t.ctx, db.AddUploadParams{OrgID: org, Day: today, Bytes: bytes})
}

// Uploaded returns how many bytes organization org has uploaded on the day of now.
func (s *Store) Uploaded(ctx context.Context, org int64, now hazard.Instant) (int64, error) {
	n, err := s.readQ.Uploaded(ctx, db.UploadedParams{OrgID: org, Day: day(now)})
	if none(err) {
		return 0, nil
	}
	return n, storeError(err)
}
