package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hazardd/hazardd/internal/files"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Into names the store that is filled, as store.Open has it: it must be empty, or be what an earlier run has left.
type Into struct {
	Dir, Database string
	Files         files.Settings
}

func (i Into) open(ctx context.Context, schema int, by, of string) (*store.Target, error) {
	return store.OpenTarget(ctx, i.Dir, i.Database, schema, by, of, store.WithFiles(i.Files))
}

// name returns the store for people.
func (i Into) name() string {
	if i.Database == "" {
		return "the data folder " + i.Dir
	}
	return store.RedactURL(i.Database)
}

// Result is what a transfer has come to.
type Result struct {
	Totals
	// Altered counts rows with a text that the database cannot hold: its characters 0, and what is no UTF-8, became U+FFFD.
	Altered int64
	// Resumed tells that an earlier run had begun.
	Resumed bool
}

// Restore fills an empty store with what an archive holds. The store is whole when it returns nil: the archive was read to its end and found
// undamaged, and the rows were read back from the database and are those of the archive. Its history is another from the latest change on, as of
// now: clients that know later changes, which the archive does not hold, are told so. Until then nobody can open the store;
// the same call with the same archive goes on.
func Restore(ctx context.Context, r io.Reader, into Into, now time.Time, tell Progress) (*Manifest, *Result, error) {
	f := &filler{into: into, tell: tell}
	m, totals, err := read(ctx, r, f, tell)
	if err == nil {
		tell.tell("finish", 0, 0)
		err = f.target.Finish(ctx, true, hazard.At(now))
	}
	if err = errors.Join(err, f.close()); err != nil {
		return nil, nil, err
	}
	f.result.Totals = *totals
	return m, &f.result, nil
}

// filler fills a store with what is read of an archive.
type filler struct {
	into   Into
	tell   Progress
	target *store.Target
	rows   *store.Filler // of the table that is being read
	result Result
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
	f.tell.tell("searches", 0, 0)
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
