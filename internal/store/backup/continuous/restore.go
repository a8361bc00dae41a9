package continuous

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/zstd"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/blob"
	"github.com/hazardd/hazardd/internal/store/sqlite/pagesum"
)

// Found describes the content of a backup, or the result of a restore.
type Found struct {
	Generation string
	Segments   int64
	// Made is the moment up to which the backup is complete. Change is the number of a change that
	// it contains, with all changes before it. After a restore it is the last change.
	Made   time.Time
	Change int64
	Epoch  string
	Files  int64
	// Missing lists the product files that are missing or damaged in the backup.
	Missing []string
	// Broken says why later segments cannot be used; nil if they can. Unused is the number of these
	// segments.
	Broken error
	Unused int
	// Earlier says why moments of earlier generations cannot be restored. Only Verify sets it.
	Earlier []error
}

// maxPage is the largest page size of SQLite, in bytes. maxHead is the maximum size of the first
// line of a segment.
const (
	maxPage = 1 << 16
	maxHead = 1 << 12
)

// ErrNone means that a place has no backup, or none that is old enough.
var ErrNone = errors.New("no backup")

// Progress is called as segments are read.
type Progress func(what string, done, total int64)

// Verify reads the backup that Restore would use, the generations before it, and all product files
// in its place. It writes nothing. It cannot know which files are missing, so Missing lists only
// damaged files.
func Verify(ctx context.Context, shelf blob.Shelf, at time.Time, progress Progress) (*Found, error) {
	of, err := generations(ctx, shelf)
	if err != nil {
		return nil, err
	}
	found, err := read(ctx, shelf, of, at, nil, progress)
	if err != nil {
		return nil, err
	}
	if found.Earlier, err = verifyEarlier(ctx, shelf, of, found.Generation, progress); err != nil {
		return nil, err
	}
	err = shelf.Names(ctx, contentsPrefix, func(name string, _ time.Time) error {
		digest := path.Base(name)
		if len(digest) != 2*sha256.Size || contentName(digest) != name {
			return nil
		}
		found.Files++
		progress("files", found.Files, 0)
		r, err := Content(ctx, shelf, digest)
		if errors.Is(err, hazard.ErrNotFound) { // it was removed meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, r)
		if hex.EncodeToString(sum.Sum(nil)) != digest {
			found.Missing = append(found.Missing, digest)
		}
		return errors.Join(err, r.Close())
	})
	return found, err
}

// verifyEarlier reads the generations before the newest, and returns the errors of each.
func verifyEarlier(ctx context.Context, shelf blob.Shelf, of map[string]map[int64]bool, newest string, progress Progress) (faults []error, err error) {
	for _, id := range slices.Sorted(maps.Keys(of)) {
		if id >= newest || !of[id][0] {
			continue
		}
		g := &generationReader{ctx: ctx, shelf: shelf, id: id, Found: Found{Generation: id}}
		err := g.read(of[id], progress)
		if ctx.Err() != nil || errors.Is(err, hazard.ErrUnavailable) {
			return nil, err
		}
		if err == nil && g.Broken == nil {
			continue
		}
		if left, err := generations(ctx, shelf); err != nil {
			return nil, err
		} else if len(left[id]) < len(of[id]) { // the server is removing it, because it is too old
			continue
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("no moment of generation %s can be restored: %w", id, err))
		} else {
			faults = append(faults, fmt.Errorf("generation %s can only be restored up to %s: %w", id, g.Made.UTC().Format(time.RFC3339), g.Broken))
		}
	}
	return faults, nil
}

// Restore turns a backup into a store, as of at, or as of its end if at is zero. dir is the folder
// of the store and must be empty. settings say where its product files go. The store has a new
// history from there on, as of now. Until it is complete it is in a folder beside dir.
func Restore(ctx context.Context, shelf blob.Shelf, at time.Time, dir string, settings blob.Settings, now time.Time, progress Progress) (found *Found, err error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty: name a folder that does not exist yet", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	part := filepath.Clean(dir) + ".restoring"
	if err := os.RemoveAll(part); err != nil { // left by an interrupted restore
		return nil, err
	}
	if err := os.MkdirAll(part, 0o700); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(part))
		}
	}()
	file, err := os.OpenFile(filepath.Join(part, store.FileName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	of, err := generations(ctx, shelf)
	if err == nil {
		found, err = read(ctx, shelf, of, at, &database{file: file}, progress)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	if err := revive(ctx, shelf, part, settings, now, found, progress); err != nil {
		return nil, err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return found, os.Rename(part, dir)
}

// revive turns the database in dir into a store, with its product files.
func revive(ctx context.Context, shelf blob.Shelf, dir string, settings blob.Settings, now time.Time, found *Found, progress Progress) (err error) {
	s, err := store.Open(ctx, dir, "", store.WithFiles(settings))
	if err != nil {
		return fmt.Errorf("open the restored store: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	f, err := s.Follow(ctx)
	if err != nil {
		return err
	}
	done := map[string]bool{}
	err = f.Contents(ctx, func(digest string) error {
		if done[digest] {
			return nil
		}
		done[digest] = true
		progress("files", int64(len(done)), 0)
		ok, err := content(ctx, shelf, s, digest)
		if !ok {
			found.Missing = append(found.Missing, digest)
		} else {
			found.Files++
		}
		return err
	})
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if found.Change, err = s.Log.Last(ctx); err != nil {
		return err
	}
	_, err = s.Revive(ctx, hazard.At(now))
	return err
}

// Content opens the product file with that digest in a backup. It returns hazard.ErrNotFound if
// there is none. The reader must compare it with the digest.
func Content(ctx context.Context, shelf blob.Shelf, digest string) (io.ReadCloser, error) {
	return shelf.OpenAs(ctx, contentName(digest))
}

// content restores a product file. ok is false if the file is missing or damaged in the backup.
func content(ctx context.Context, shelf blob.Shelf, s *store.Store, digest string) (ok bool, err error) {
	r, err := Content(ctx, shelf, digest)
	if errors.Is(err, hazard.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	ok, err = s.BringFile(ctx, digest, r, true)
	return ok, errors.Join(err, r.Close())
}

// Pages calls take with each copy of each page in a backup, in SQLite's form, until it returns
// false. It starts with the newest generation, and with the first copy in each. It skips damaged
// segments, and returns an error for them after reading the rest.
func Pages(ctx context.Context, shelf blob.Shelf, take func(number uint32, page []byte) (more bool), progress Progress) error {
	of, err := generations(ctx, shelf)
	if err != nil {
		return err
	}
	if len(of) == 0 {
		return fmt.Errorf("%w of hazardd in %v", ErrNone, shelf)
	}
	var damaged error
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(of))) {
		g := &generationReader{ctx: ctx, shelf: shelf, id: id, to: taking(take), Found: Found{Generation: id}}
		err := g.read(of[id], progress)
		if errors.Is(err, errEnough) || errors.Is(g.Broken, errEnough) {
			return nil
		}
		if err != nil && (ctx.Err() != nil || errors.Is(err, hazard.ErrUnavailable)) {
			return err
		}
		damaged = errors.Join(damaged, err, g.Broken)
	}
	return damaged
}

// errEnough ends the reading of a backup when no more is needed.
var errEnough = errors.New("enough")

// taking is a target that passes pages on to a function.
type taking func(number uint32, page []byte) (more bool)

func (take taking) page(number uint32, page []byte) error {
	if !take(number, page) {
		return errEnough
	}
	return nil
}

func (taking) end(int64) error { return nil }

// target receives the pages of a segment, in SQLite's form, and the size of the database in bytes
// after it.
type target interface {
	page(number uint32, page []byte) error
	end(size int64) error
}

// database is a database file under construction.
type database struct {
	file *os.File
	sums bool // the pages have checksums
}

func (d *database) page(number uint32, page []byte) error {
	if number == 1 {
		d.sums = pagesum.Has(page)
	}
	if d.sums {
		pagesum.Seal(page, number)
	}
	_, err := d.file.WriteAt(page, int64(number-1)*int64(len(page)))
	return err
}

func (d *database) end(size int64) error { return d.file.Truncate(size) }

// generations lists the segments of each generation.
func generations(ctx context.Context, shelf blob.Shelf) (map[string]map[int64]bool, error) {
	of := map[string]map[int64]bool{}
	err := shelf.Names(ctx, "", func(name string, _ time.Time) error {
		id, rest, _ := strings.Cut(name, "/")
		number, err := strconv.ParseInt(rest, 10, 64)
		if begunAt(id).IsZero() || err != nil || segmentName(id, number) != name {
			return nil
		}
		if of[id] == nil {
			of[id] = map[int64]bool{}
		}
		of[id][number] = true
		return nil
	})
	return of, err
}

// read reads the newest generation that began before at, up to at, and passes its pages to a
// target, if there is one.
func read(ctx context.Context, shelf blob.Shelf, of map[string]map[int64]bool, at time.Time, to target, progress Progress) (*Found, error) {
	var failed error
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(of))) {
		if !of[id][0] || !at.IsZero() && begunAt(id).After(at) {
			continue // the server ended before all pages were uploaded
		}
		g := &generationReader{ctx: ctx, shelf: shelf, id: id, at: at, to: to, Found: Found{Generation: id}}
		err := g.read(of[id], progress)
		if errors.Is(err, errLater) {
			continue
		}
		if err != nil { // an earlier generation may be complete
			failed = errors.Join(failed, err)
			continue
		}
		if failed != nil && g.Broken == nil {
			g.Broken = failed
		}
		return &g.Found, nil
	}
	switch {
	case failed != nil:
		return nil, failed
	case len(of) == 0:
		return nil, fmt.Errorf("%w of hazardd in %v", ErrNone, shelf)
	}
	ids := slices.Sorted(maps.Keys(of))
	return nil, fmt.Errorf("%w in %v that began before %s; the first one there began at %s", ErrNone, shelf, at.UTC().Format(time.RFC3339), begunAt(ids[0]).Format(time.RFC3339))
}

// generationReader builds a database from a generation.
type generationReader struct {
	Found
	ctx    context.Context
	shelf  blob.Shelf
	id     string
	at     time.Time
	to     target
	before string // SHA-256 of the segment before
}

// errLater ends the reading of a segment from after the wanted moment.
var errLater = errors.New("later")

// read reads the segments in order. It fails if the first one cannot be used.
func (g *generationReader) read(there map[int64]bool, progress Progress) error {
	for number := int64(0); ; number++ {
		progress("segments", number, int64(len(there)))
		err := fmt.Errorf("segment %s is missing", segmentName(g.id, number))
		if there[number] {
			if err = g.segment(number); err == nil {
				continue
			}
		}
		switch {
		case number > 0 && (errors.Is(err, errLater) || g.Segments == int64(len(there))):
			return nil
		case number == 0, g.ctx.Err() != nil, errors.Is(err, hazard.ErrUnavailable):
			return err
		}
		g.Broken, g.Unused = err, len(there)-int(number)
		return nil
	}
}

// segment reads one segment. It writes the pages only after it has verified the whole segment.
func (g *generationReader) segment(number int64) error {
	name := segmentName(g.id, number)
	h, digest, err := g.scan(name, number, false)
	if err == nil && g.to != nil {
		h, digest, err = g.scan(name, number, true)
	}
	switch {
	case errors.Is(err, errLater), errors.Is(err, hazard.ErrUnavailable):
		return err
	case err != nil:
		return fmt.Errorf("segment %s is damaged: %w", name, err)
	}
	g.before = digest
	g.Segments, g.Made, g.Change, g.Epoch = number+1, h.Made, h.Change, h.Epoch
	return nil
}

// scan reads a segment to its end.
func (g *generationReader) scan(name string, number int64, write bool) (h head, digest string, err error) {
	r, err := g.shelf.OpenAs(g.ctx, name)
	if err != nil {
		return h, "", err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	sum := sha256.New()
	raw := io.TeeReader(r, sum)
	zip, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return h, "", err
	}
	defer zip.Close()
	in := bufio.NewReaderSize(zip, maxPage)
	line, err := in.ReadSlice('\n')
	if err != nil {
		return h, "", err
	}
	if err := json.Unmarshal(bytes.TrimSpace(line), &h); err != nil {
		return h, "", err
	}
	switch {
	case h.Format != format:
		return h, "", fmt.Errorf("its format is %d, but this program reads %d: use a later version", h.Format, format)
	case h.Generation != g.id || h.Number != number:
		return h, "", fmt.Errorf("its header says that it is %s", segmentName(h.Generation, h.Number))
	case h.Before != g.before:
		return h, "", errors.New("it does not continue the segment before it")
	case h.PageSize < 512 || h.PageSize > maxPage:
		return h, "", fmt.Errorf("its pages have %d bytes, which no SQLite database has", h.PageSize)
	case !g.at.IsZero() && h.Read.After(g.at):
		return h, "", errLater
	}
	page := make([]byte, h.PageSize)
	var of [4]byte
	for range h.Count {
		if _, err := io.ReadFull(in, of[:]); err != nil {
			return h, "", err
		}
		if _, err := io.ReadFull(in, page); err != nil {
			return h, "", err
		}
		n := binary.BigEndian.Uint32(of[:])
		if n == 0 {
			return h, "", errors.New("it has a page 0")
		}
		if !write || n > h.Pages.Pages {
			continue
		}
		if err := g.to.page(n, page); err != nil {
			return h, "", err
		}
	}
	if n, err := io.Copy(io.Discard, in); err != nil || n > 0 {
		return h, "", errors.Join(err, errors.New("data follows its end"))
	}
	if _, err := io.Copy(io.Discard, raw); err != nil {
		return h, "", err
	}
	if write {
		err = g.to.end(int64(h.Pages.Pages) * int64(h.PageSize))
	}
	return h, hex.EncodeToString(sum.Sum(nil)), err
}
