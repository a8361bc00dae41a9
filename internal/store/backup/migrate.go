package backup

import (
	"context"
	"errors"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Migrate fills an empty store with the content of another. The history stays the same in the new
// database: epoch and numbers do not change, so that clients can continue. The source cannot be
// written during the migration or afterwards (store.Frozen); a source in use by a running server is
// refused. If files is set, the product files are copied; otherwise the target must already have
// them in its place. If Migrate returns nil, the target is complete: each table was read back and
// compared. Until then it cannot be opened as a store. Another call continues an interrupted one.
func Migrate(ctx context.Context, from *store.Store, into Into, files bool, now time.Time, progress Progress) (result *Result, err error) {
	source, err := from.Freeze(ctx)
	if err != nil {
		return nil, err
	}
	frozen := true
	defer func() {
		if frozen {
			err = errors.Join(err, source.Thaw())
		}
	}()
	if to, err := from.MovedTo(ctx); err != nil || to != "" && to != into.name() {
		return nil, errors.Join(err, &store.MovedError{To: to})
	}
	d, err := from.Dump(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	target, err := into.open(ctx, d.Schema, "migrate", d.Installation+" "+d.Epoch)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	m := &mover{dump: d, target: target, contents: contents{}, progress: progress}
	m.result.Resumed = target.Resumed
	if err := m.tables(ctx); err != nil {
		return nil, err
	}
	progress.report("searches", 0, 0)
	if err := target.Update(ctx); err != nil {
		return nil, err
	}
	if files {
		if err := m.files(ctx, from); err != nil {
			return nil, err
		}
	}
	// From here on nobody can write to the source. Otherwise a forgotten server could still write
	// to it, and its clients would lose acknowledged data.
	frozen = false
	if err := source.Move(ctx, into.name()); err != nil {
		return nil, err
	}
	progress.report("finish", 0, 0)
	if err := target.Finish(ctx, false, hazard.At(now)); err != nil {
		return nil, err
	}
	return &m.result, nil
}

// mover copies the content of a store to another.
type mover struct {
	dump     *store.Dump
	target   *store.Target
	contents contents
	progress Progress
	done     int64 // copied rows
	total    int64
	result   Result
}

func (m *mover) tables(ctx context.Context) error {
	for i := range m.dump.Tables {
		n, err := m.dump.Count(ctx, &m.dump.Tables[i])
		if err != nil {
			return err
		}
		m.total += n
	}
	for i := range m.dump.Tables {
		t := &m.dump.Tables[i]
		done := m.done
		err := m.table(ctx, t)
		if _, differs := errors.AsType[*store.DifferentError](err); differs && m.target.Resumed {
			// The source has changed since the last run, so the rows of this table in the target
			// would be of two moments.
			m.done = done
			if err := m.target.Clear(ctx, t); err != nil {
				return err
			}
			err = m.table(ctx, t)
		}
		if err != nil {
			return err
		}
	}
	return m.dump.Damage(ctx, m.result.damage)
}

func (m *mover) table(ctx context.Context, t *store.Table) (err error) {
	f, err := m.target.Fill(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for row, err := range m.dump.Rows(ctx, t) {
		if err == nil && m.result.intact(t, row) {
			err = m.contents.note(t, row)
		}
		if err == nil {
			err = f.Put(ctx, row)
		}
		if err != nil {
			return err
		}
		m.done++
		m.progress.report("rows", m.done, m.total)
	}
	rows, sum, err := f.End(ctx)
	if err != nil {
		return err
	}
	m.result.Altered += f.Altered
	m.result.Tables = append(m.result.Tables, TableTotal{t.Name, rows, sum})
	return nil
}

// files copies the contents that rows refer to.
func (m *mover) files(ctx context.Context, from *store.Store) error {
	for i, digest := range m.contents.sorted() {
		m.progress.report("files", int64(i), int64(len(m.contents)))
		size, err := m.file(ctx, from, digest)
		if isLost(err) {
			m.result.Missing = append(m.result.Missing, digest)
			continue
		}
		if err != nil {
			return err
		}
		m.result.Files++
		m.result.Bytes += size
	}
	return nil
}

func (m *mover) file(ctx context.Context, from *store.Store, digest string) (size int64, err error) {
	r, err := openContent(ctx, from, digest)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if size, err = sizeOf(r); err != nil {
		return 0, err
	}
	return size, m.target.Put(ctx, digest, size, r)
}
