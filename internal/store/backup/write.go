package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Write writes all content of a store to w, as of the time of the call, while others continue to
// write to the store. program is the version of this program, now the current time. Lost or damaged
// content is listed in the totals and is not an error, because the rest is worth keeping.
func Write(ctx context.Context, s *store.Store, w io.Writer, program string, now time.Time, progress Progress) (m *Manifest, totals *Totals, err error) {
	d, err := s.Dump(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	m = &Manifest{Format: format, ID: uuid.NewString(), Program: program, Made: now.UTC().Truncate(time.Second), Schema: d.Schema, Epoch: d.Epoch,
		Installation: d.Installation, Change: d.Number, Tables: d.Tables}
	total := int64(0)
	for i := range d.Tables {
		n, err := d.Count(ctx, &d.Tables[i])
		if err != nil {
			return nil, nil, err
		}
		total += n
	}
	out, err := newWriter(w, m.Made)
	if err != nil {
		return nil, nil, err
	}
	if err := out.document(manifestName, m); err != nil {
		return nil, nil, err
	}
	totals = &Totals{}
	contents := contents{}
	done := int64(0)
	for i := range d.Tables {
		t := &d.Tables[i]
		written, err := out.table(t, d.Rows(ctx, t), func(row []any) error {
			done++
			progress.report("rows", done, total)
			if !totals.intact(t, row) {
				return nil
			}
			return contents.note(t, row)
		})
		if err != nil {
			return nil, nil, err
		}
		totals.Tables = append(totals.Tables, written)
	}
	if err := d.Damage(ctx, totals.damage); err != nil {
		return nil, nil, err
	}
	if err := d.Close(); err != nil { // contents never change, and writing them may take long
		return nil, nil, err
	}
	if err := out.contents(ctx, s, contents, totals, progress); err != nil {
		return nil, nil, err
	}
	if err := out.document(totalsName, totals); err != nil {
		return nil, nil, err
	}
	return m, totals, out.close()
}

// writer writes the entries of an archive.
type writer struct {
	zip  *zstd.Encoder
	tar  *tar.Writer
	made time.Time
	sums []byte // lines of SHA256SUMS
}

func newWriter(w io.Writer, made time.Time) (*writer, error) {
	zip, err := zstd.NewWriter(w, zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, err
	}
	return &writer{zip: zip, tar: tar.NewWriter(zip), made: made}, nil
}

// entry writes the content of r, which has the given size and SHA-256.
func (w *writer) entry(name string, r io.Reader, size int64, sum string) error {
	if err := w.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: w.made}); err != nil {
		return err
	}
	if _, err := io.Copy(w.tar, r); err != nil {
		return err
	}
	w.sums = fmt.Appendf(w.sums, "%s  %s\n", sum, name)
	// Flush, so that a later reader of a cut or damaged archive can read all of this entry, and can
	// name the damaged one.
	return errors.Join(w.tar.Flush(), w.zip.Flush())
}

// bytes writes an entry from memory.
func (w *writer) bytes(name string, content []byte) error {
	sum := sha256.Sum256(content)
	return w.entry(name, bytes.NewReader(content), int64(len(content)), hex.EncodeToString(sum[:]))
}

// document writes an entry with indented JSON.
func (w *writer) document(name string, v any) error {
	text, err := json.Marshal(v, jsontext.WithIndent("  "), json.FormatNilSliceAsNull(false))
	if err != nil {
		return err
	}
	return w.bytes(name, append(text, '\n'))
}

// table writes rows of a table and calls each for each of them.
func (w *writer) table(t *store.Table, rows iter.Seq2[[]any, error], each func([]any) error) (total TableTotal, err error) {
	total.Name = t.Name
	sum := sha256.New()
	var part []byte
	number := 0
	flush := func() error {
		number++
		sum.Write(part)
		err := w.bytes(partName(t.Name, number), part)
		part = part[:0]
		return err
	}
	for row, err := range rows {
		if err == nil {
			err = each(row)
		}
		if err == nil {
			part, err = t.AppendRow(part, row)
		}
		if err == nil && len(part) >= partBytes {
			err = flush()
		}
		if err != nil {
			return total, err
		}
		total.Rows++
	}
	if len(part) > 0 {
		if err := flush(); err != nil {
			return total, err
		}
	}
	total.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return total, nil
}

// contents writes the contents of product files. It records in totals their number, and the files
// that are missing or damaged in the store.
func (w *writer) contents(ctx context.Context, s *store.Store, named contents, totals *Totals, progress Progress) error {
	for i, digest := range named.sorted() {
		progress.report("files", int64(i), int64(len(named)))
		size, err := w.content(ctx, s, digest)
		switch {
		case isLost(err):
			totals.Missing = append(totals.Missing, digest)
			continue
		case err != nil:
			return err
		}
		totals.Files++
		totals.Bytes += size
	}
	return nil
}

// content writes the content of a product file. If the content is missing or damaged, it writes
// nothing and returns a *lostError.
func (w *writer) content(ctx context.Context, s *store.Store, digest string) (size int64, err error) {
	f, err := openContent(ctx, s, digest)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if size, err = sizeOf(f); err != nil {
		return 0, err
	}
	sum := sha256.New()
	if err := w.entry(fileName(digest), io.TeeReader(f, sum), size, digest); err != nil {
		return 0, err
	}
	if hex.EncodeToString(sum.Sum(nil)) != digest {
		return 0, fmt.Errorf("the product file %s changed while it was read: try again", digest)
	}
	return size, nil
}

// close writes the last entry and ends the archive.
func (w *writer) close() error {
	if err := w.bytes(sumsName, w.sums); err != nil {
		return err
	}
	return errors.Join(w.tar.Close(), w.zip.Close())
}

// contents is the set of the digests of product files in rows.
type contents map[string]struct{}

func (c contents) note(t *store.Table, row []any) error {
	digest, err := t.Content(row)
	if digest != "" {
		c[digest] = struct{}{}
	}
	return err
}

func (c contents) sorted() []string { return slices.Sorted(maps.Keys(c)) }

// lostError means that a content is missing or damaged in the store.
type lostError struct{ error }

func isLost(err error) bool {
	_, lost := errors.AsType[*lostError](err)
	return lost
}

// openContent opens a content of a store at its beginning.
func openContent(ctx context.Context, s *store.Store, digest string) (io.ReadSeekCloser, error) {
	f, err := s.Files.Open(ctx, digest)
	if err != nil && ctx.Err() == nil && !errors.Is(err, hazard.ErrUnavailable) {
		return nil, &lostError{err}
	}
	return f, err
}

// sizeOf returns the size in bytes and leaves s at its beginning.
func sizeOf(s io.Seeker) (int64, error) {
	size, err := s.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = s.Seek(0, io.SeekStart)
	}
	return size, err
}
