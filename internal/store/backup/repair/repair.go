// Package repair repairs data that a check of a store has found damaged, from a backup: product
// files, states, held reports, geometries and shapes, and the pages of an SQLite file. It touches
// nothing else, and never guesses. A copy is used only if it matches the digest or the stored
// checksum, which the damaged data still has (pagesum.Was, store.Mend).
package repair

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup"
	"github.com/hazardd/hazardd/internal/store/backup/continuous"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/store/sqlite/pagesum"
)

// Backup is the place of intact copies: an archive or a continuous backup.
type Backup struct {
	// Open opens the archive. It is called twice.
	Open func() (io.ReadCloser, error)
	// Shelf is the place of the continuous backup.
	Shelf blob.Shelf
}

// Pages repairs the pages of an SQLite file from a continuous backup, and returns the numbers of
// the repaired pages. Without write, it returns those that it would repair. An archive contains no
// pages. It returns pagesum.ErrInUse if a server is running.
func Pages(ctx context.Context, path string, from Backup, write bool) (mended []uint32, err error) {
	if from.Shelf == nil {
		return nil, nil
	}
	file, err := pagesum.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	damaged, err := file.Damaged(ctx)
	if err != nil || len(damaged) == 0 {
		return nil, err
	}
	found := map[uint32][]byte{}
	err = continuous.Pages(ctx, from.Shelf, func(number uint32, page []byte) bool {
		if was, ok := damaged[number]; ok && pagesum.Was(was, page, number) {
			found[number] = slices.Clone(page)
			delete(damaged, number)
		}
		return len(damaged) > 0
	}, func(string, int64, int64) {})
	if len(found) == 0 {
		return nil, err
	}
	for _, number := range slices.Sorted(maps.Keys(found)) {
		if write {
			if err := file.Put(number, found[number]); err != nil {
				return mended, err
			}
		}
		mended = append(mended, number)
	}
	return mended, nil
}

// Parts repairs the parts of a store that a check has found damaged, and returns the repaired
// parts. Without write, it returns those that it would repair. by is for the audit trail.
func Parts(ctx context.Context, s *store.Store, damaged []store.Part, from Backup, write bool, by auth.Audit) ([]store.Part, error) {
	m := &mender{ctx: ctx, store: s, write: write, by: by, open: map[store.Part]bool{}}
	for _, p := range damaged {
		m.open[p] = true
		if p.Kind != store.FilePart {
			copies, err := s.Copies(ctx, p)
			if err != nil {
				return m.mended, err
			}
			for _, c := range copies {
				if err := m.row(p, c); err != nil {
					return m.mended, err
				}
			}
		}
	}
	if len(m.open) == 0 {
		return m.mended, nil
	}
	if from.Shelf != nil {
		return m.mended, m.shelf(from.Shelf)
	}
	return m.mended, m.archive(from.Open)
}

type mender struct {
	ctx    context.Context
	store  *store.Store
	write  bool
	by     auth.Audit
	open   map[store.Part]bool // parts still damaged
	mended []store.Part
}

func (m *mender) done(p store.Part) {
	delete(m.open, p)
	m.mended = append(m.mended, p)
}

func (m *mender) audit(p store.Part) auth.Audit {
	a := m.by
	a.Subject = p.String()
	return a
}

// row repairs a row from a copy. A row on a damaged page is not changed.
func (m *mender) row(p store.Part, content []byte) error {
	if !m.open[p] {
		return nil
	}
	ok, err := m.store.Mend(m.ctx, p, content, m.write, m.audit(p))
	if ok {
		m.done(p)
	}
	if errors.Is(err, hazard.ErrUnavailable) {
		return m.ctx.Err()
	}
	return err
}

func (m *mender) file(p store.Part, r io.Reader) error {
	ok, err := m.store.BringFile(m.ctx, p.Key, r, m.write)
	if err != nil || !ok {
		return err
	}
	m.done(p)
	if !m.write {
		return nil
	}
	return m.store.Accounts.AddAudit(m.ctx, m.audit(p))
}

func (m *mender) shelf(from blob.Shelf) error {
	for _, p := range slices.Collect(maps.Keys(m.open)) {
		if p.Kind != store.FilePart {
			continue
		}
		r, err := continuous.Content(m.ctx, from, p.Key)
		if errors.Is(err, hazard.ErrNotFound) {
			continue
		}
		if err == nil {
			err = errors.Join(m.file(p, r), r.Close())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

// archive reads the damaged parts from an archive, after verifying the archive.
func (m *mender) archive(open func() (io.ReadCloser, error)) (err error) {
	in, err := open()
	if err != nil {
		return err
	}
	_, _, err = backup.Verify(m.ctx, in, nil)
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	if in, err = open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return backup.Pick(m.ctx, in, func(t *store.Table, row []any) error {
		p, content, ok := t.PartOf(row)
		if !ok {
			return nil
		}
		return m.row(p, content)
	}, func(digest string, r io.Reader) error {
		if p := (store.Part{Kind: store.FilePart, Key: digest}); m.open[p] {
			return m.file(p, r)
		}
		return nil
	})
}
