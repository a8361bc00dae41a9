package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/blob"
)

// Into is the store to fill, in the form that store.Open takes. It must be empty, or left by an
// interrupted run.
type Into struct {
	Dir, Database string
	Files         blob.Settings
}

func (i Into) open(ctx context.Context, schema int, by, of string) (*store.Target, error) {
	return store.OpenTarget(ctx, i.Dir, i.Database, schema, by, of, store.WithFiles(i.Files))
}

// name returns a name of the store for people.
func (i Into) name() string {
	if i.Database == "" {
		return "the data folder " + i.Dir
	}
	return store.RedactURL(i.Database)
}

// Result is the result of a transfer.
type Result struct {
	Totals
	// Altered is the number of rows with a text that the database cannot store: NUL characters and
	// invalid UTF-8 were replaced by U+FFFD.
	Altered int64
	// Resumed reports that the run continued an interrupted one.
	Resumed bool
}

// Restore fills an empty store with the content of an archive. If it returns nil, the store is
// complete: the archive was read to its end without damage, and the rows read back from the
// database equal those of the archive. The store gets a new history after its latest change, as of
// now, so that clients with later changes, which the archive lacks, learn that these no longer count.
// Until then the store cannot be opened. Another call with the same archive continues an
// interrupted one.
func Restore(ctx context.Context, r io.Reader, into Into, now time.Time, progress Progress) (*Manifest, *Result, error) {
	f := &filler{into: into, progress: progress}
	m, totals, err := read(ctx, r, f, progress)
	if err == nil {
		progress.report("finish", 0, 0)
		err = f.target.Finish(ctx, true, hazard.At(now))
	}
	if err = errors.Join(err, f.close()); err != nil {
		return nil, nil, err
	}
	f.result.Totals = *totals
	return m, &f.result, nil
}

// filler fills a store with the content of an archive.
type filler struct {
	into     Into
	progress Progress
	target   *store.Target
	rows     *store.Filler // for the table that is being read
	result   Result
}

func (f *filler) begin(ctx context.Context, m *Manifest) (err error) {
	if m.Pruned != nil {
		return fmt.Errorf("the archive holds rows pruned from a store before %s, not a whole store: restore a backup", m.Pruned.Before.Format(time.RFC3339))
	}
	f.target, err = f.into.open(ctx, m.Schema, "restore", m.ID)
	if err != nil {
		return err
	}
	if f.result.Resumed = f.target.Resumed; f.result.Resumed {
		return nil
	}
	for _, t := range f.target.Tables {
		if !slices.ContainsFunc(m.Tables, func(given store.Table) bool { return given.Name == t.Name }) {
			return fmt.Errorf("the archive has no table %s, which stores of schema %d have", t.Name, m.Schema)
		}
	}
	return nil
}

func (f *filler) table(ctx context.Context, t *store.Table) (err error) {
	f.rows, err = f.target.Fill(ctx, t)
	return err
}

func (f *filler) row(ctx context.Context, row []any) error { return f.rows.Put(ctx, row) }

func (f *filler) ended(ctx context.Context, _ *store.Table) error {
	_, _, err := f.rows.End(ctx)
	f.result.Altered += f.rows.Altered
	return errors.Join(err, f.endTable())
}

func (f *filler) filled(ctx context.Context) error {
	f.progress.report("searches", 0, 0)
	return f.target.Update(ctx)
}

func (f *filler) endTable() error {
	if f.rows == nil {
		return nil
	}
	err := f.rows.Close()
	f.rows = nil
	return err
}

func (f *filler) file(ctx context.Context, digest string, size int64, r io.Reader) error {
	return f.target.Put(ctx, digest, size, r)
}

func (f *filler) close() error {
	if f.target == nil {
		return nil
	}
	return errors.Join(f.endTable(), f.target.Close())
}
