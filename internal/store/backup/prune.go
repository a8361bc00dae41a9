package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/blob"
)

// Pruned describes what was removed from a store and is in this archive.
type Pruned struct {
	What   store.Prunable `json:"what"`
	Before time.Time      `json:"before"` // all rows in it are older
	Number int64          `json:"number"` // number of the last row
}

// Shortest is the minimum time for which history and audit trail are kept, because streams can be
// resumed for 30 days.
const Shortest = 31 * 24 * time.Hour

// Pruning is the result of pruning a store, or the expected result.
type Pruning struct {
	What       store.Prunable `json:"what"`
	Before     time.Time      `json:"before"`
	Rows       int64          `json:"rows"`
	Geometries int64          `json:"areas"` // geometries that no state refers to any more
	Files      int64          `json:"files"` // product files that no state refers to any more; the next sweep removes them
	Archives   []string       `json:"archives"`
	Bytes      int64          `json:"bytes"` // total size of the archives
}

// rowsOfArchive limits one archive, and so the memory and time that it needs. Tests lower it.
var rowsOfArchive = 500_000

// Prune moves rows older than before from a store to archives in to. It writes each archive and
// reads it back completely before it removes anything, and it removes only the rows that it read
// back. A server may run at the same time: it never waits for more than a few rows.
func Prune(ctx context.Context, s *store.Store, to Keep, what store.Prunable, before time.Time, program string, now time.Time, progress Progress) (*Pruning, error) {
	if now.Sub(before) < Shortest {
		return nil, fmt.Errorf("rows younger than %d days are never pruned", Shortest/(24*time.Hour))
	}
	p := &pruning{store: s, to: to, program: program, now: now, progress: progress, Pruning: Pruning{What: what, Before: before.UTC().Truncate(time.Millisecond), Archives: []string{}}}
	h, err := s.Pruning.HorizonAt(ctx, what, hazard.At(p.Before))
	for more := true; err == nil && more; {
		more, err = p.round(ctx, h)
	}
	return &p.Pruning, err
}

// Prunable counts what Prune would remove.
func Prunable(ctx context.Context, s *store.Store, what store.Prunable, before time.Time) (*Pruning, error) {
	p := &Pruning{What: what, Before: before.UTC().Truncate(time.Millisecond), Archives: []string{}}
	h, err := s.Pruning.HorizonAt(ctx, what, hazard.At(p.Before))
	if err != nil {
		return nil, err
	}
	for numbers, err := range s.Pruning.Superseded(ctx, what, h) {
		if err != nil {
			return nil, err
		}
		p.Rows += int64(len(numbers))
	}
	return p, nil
}

type pruning struct {
	Pruning
	store    *store.Store
	to       Keep
	program  string
	now      time.Time
	progress Progress
}

// round writes one archive and removes what it holds. more reports whether there may be more to prune.
func (p *pruning) round(ctx context.Context, h store.Horizon) (more bool, err error) {
	any := false
	for _, err := range p.store.Pruning.Superseded(ctx, p.What, h) {
		if err != nil {
			return false, err
		}
		any = true
		break
	}
	if !any {
		return false, nil
	}
	id := uuid.NewString()
	var totals *Totals
	kept, err := p.to.keep(ctx, fmt.Sprintf("hazardd-%s-%s-%s.tar.zst", p.What, p.now.UTC().Format("20060102T150405Z"), id[:8]), func(w io.Writer) (err error) {
		totals, more, err = p.write(ctx, w, id, h)
		return err
	}, func(r io.Reader) error {
		_, _, err := Verify(ctx, r, nil)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("archive the rows to prune: %w", err)
	}
	p.Archives, p.Bytes = append(p.Archives, kept.name), p.Bytes+kept.size
	h.Archive = filepath.Base(kept.name)
	if err := p.store.Pruning.Note(ctx, p.What, h, totals.Tables[0].Rows, hazard.At(p.now)); err != nil {
		return false, err
	}
	in, err := kept.open(ctx)
	if err != nil {
		return false, err
	}
	defer in.Close()
	remove := &remover{Pruner: p.store.Pruning.Start(p.What, h), progress: p.progress, of: totals.Tables[0].Rows}
	if _, _, err = read(ctx, in, remove, nil); err == nil {
		err = remove.End(ctx)
	}
	p.Rows += remove.Removed
	p.Geometries += remove.Geometries
	p.Files += remove.Files
	return more && remove.Removed > 0, err
}

// write writes the archive of one round.
func (p *pruning) write(ctx context.Context, w io.Writer, id string, h store.Horizon) (totals *Totals, more bool, err error) {
	m := &Manifest{Format: format, ID: id, Program: p.program, Made: p.now.UTC().Truncate(time.Second), Schema: store.Schema(), Epoch: p.store.Epoch(), Change: h.Number,
		Pruned: &Pruned{What: p.What, Before: p.Before, Number: h.Number}}
	names := []string{p.What.Table()}
	if p.What == store.History {
		names = append(names, "geometries")
	}
	for _, name := range names {
		t, err := p.store.Pruning.Table(ctx, name)
		if err != nil {
			return nil, false, err
		}
		m.Tables = append(m.Tables, t)
	}
	out, err := newWriter(w, m.Made)
	if err == nil {
		err = out.document(manifestName, m)
	}
	if err != nil {
		return nil, false, err
	}
	totals = &Totals{}
	named, geometries, done := contents{}, map[string]struct{}{}, int64(0)
	t := &m.Tables[0]
	rows := func(yield func([]any, error) bool) {
		n := 0
		for numbers, err := range p.store.Pruning.Superseded(ctx, p.What, h) {
			if err != nil {
				yield(nil, err)
				return
			}
			if more = n > 0 && n+len(numbers) > rowsOfArchive; more {
				return
			}
			n += len(numbers)
			for row, err := range p.store.Pruning.RowsOf(ctx, t, numbers) {
				if !yield(row, err) {
					return
				}
			}
		}
	}
	written, err := out.table(t, rows, func(row []any) error {
		done++
		p.progress.report("archive", done, 0)
		if err := t.Intact(row); err != nil {
			return err
		}
		if p.What != store.History {
			return nil
		}
		digests, _, err := t.Named(row)
		for _, digest := range digests {
			geometries[digest] = struct{}{}
		}
		return errors.Join(err, named.note(t, row))
	})
	if err != nil {
		return nil, false, err
	}
	totals.Tables = append(totals.Tables, written)
	if p.What == store.History {
		written, err := out.table(&m.Tables[1], p.geometries(ctx, &m.Tables[1], geometries), m.Tables[1].Intact)
		if err != nil {
			return nil, false, err
		}
		totals.Tables = append(totals.Tables, written)
	}
	if err := out.contents(ctx, p.store, named, totals, p.progress); err != nil {
		return nil, false, err
	}
	if err := out.document(totalsName, totals); err != nil {
		return nil, false, err
	}
	return totals, more, out.close()
}

// geometries reads the geometries that the rows of an archive refer to.
func (p *pruning) geometries(ctx context.Context, t *store.Table, digests map[string]struct{}) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for names := range slices.Chunk(slices.Sorted(maps.Keys(digests)), 200) {
			for row, err := range p.store.Pruning.RowsOf(ctx, t, names) {
				if !yield(row, err) {
					return
				}
			}
		}
	}
}

// remover removes from the store the rows of the first table of an archive.
type remover struct {
	nothing
	*store.Pruner
	progress Progress
	done, of int64
	tables   int
	open     *store.Table
}

func (r *remover) table(_ context.Context, t *store.Table) error {
	r.tables++
	r.open = t
	return nil
}

func (r *remover) row(ctx context.Context, row []any) error {
	if r.tables > 1 {
		return nil
	}
	r.done++
	r.progress.report("prune", r.done, r.of)
	return r.Remove(ctx, r.open, row)
}

// Keep is where archives of pruned rows are stored: in a folder or in a bucket.
type Keep struct {
	Dir    string        // the folder; with a bucket, the folder for unfinished archives
	Bucket blob.Settings // zero: the folder is used
}

// kept is an archive that is on disk or in the bucket, and was read back.
type kept struct {
	name string
	size int64
	open func(context.Context) (io.ReadCloser, error)
}

// keep writes an archive and reads it back. If it returns an error, it leaves no archive there.
func (k Keep) keep(ctx context.Context, name string, write func(io.Writer) error, verify func(io.Reader) error) (kept, error) {
	if k.Bucket.URL != "" {
		return k.put(ctx, write, verify)
	}
	if err := os.MkdirAll(k.Dir, 0o700); err != nil {
		return kept{}, err
	}
	a := kept{name: filepath.Join(k.Dir, name)}
	a.open = func(context.Context) (io.ReadCloser, error) { return os.Open(a.name) }
	part, err := os.OpenFile(a.name+".part", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return a, err
	}
	err = write(blob.Steady(part))
	if err == nil {
		err = part.Sync()
	}
	if err == nil {
		a.size, err = part.Seek(0, io.SeekEnd)
	}
	if err == nil {
		_, err = part.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = verify(part)
	}
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), a.name)
	}
	if err != nil {
		if gone := os.Remove(part.Name()); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		return a, err
	}
	return a, syncDir(k.Dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// maxArchive is the maximum size of an archive in a bucket, in bytes.
const maxArchive = 1 << 40

// put writes an archive to the bucket, under its SHA-256.
func (k Keep) put(ctx context.Context, write func(io.Writer) error, verify func(io.Reader) error) (a kept, err error) {
	place, err := blob.Open(k.Dir, k.Bucket)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	in, out := io.Pipe()
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		out.CloseWithError(write(out))
	}()
	staged, err := place.Stage(in, maxArchive)
	in.CloseWithError(err)
	<-wrote
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, staged.Drop()) }()
	name := blob.Name{Digest: staged.Digest}
	a = kept{name: place.String() + staged.Digest[:2] + "/" + staged.Digest, size: staged.Size}
	if err := place.Put(ctx, staged, name); err != nil {
		return a, err
	}
	a.open = func(ctx context.Context) (io.ReadCloser, error) {
		place, err := blob.Open(k.Dir, k.Bucket)
		if err != nil {
			return nil, err
		}
		r, err := place.Open(ctx, name)
		if err != nil {
			return nil, errors.Join(err, place.Close())
		}
		return &placed{r, place}, nil
	}
	r, err := a.open(ctx)
	if err == nil {
		err = errors.Join(verify(r), r.Close())
	}
	if err != nil { // it is not a complete archive, and the next one gets another name
		err = errors.Join(err, place.Remove(context.WithoutCancel(ctx), name))
	}
	return a, err
}

// placed is a reader that also closes its place.
type placed struct {
	io.ReadCloser
	place blob.Place
}

func (p *placed) Close() error { return errors.Join(p.ReadCloser.Close(), p.place.Close()) }
