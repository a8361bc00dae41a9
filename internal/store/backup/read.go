package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/zstd"

	"github.com/hazardd/hazardd/internal/store"
)

// DamagedError means that an archive differs from what was written.
type DamagedError struct {
	Entry string // the entry that was being read; empty: before the first
	Err   error
}

func (e *DamagedError) Error() string {
	if e.Entry == "" {
		return fmt.Sprintf("not an archive of hazardd, or damaged at its beginning: %v", e.Err)
	}
	return fmt.Sprintf("the archive is damaged at %s: %v; use another one", e.Entry, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Verify reads an archive to its end and returns what it contains. The error is a *DamagedError if
// the archive differs from what was written.
func Verify(ctx context.Context, r io.Reader, progress Progress) (*Manifest, *Totals, error) {
	return read(ctx, r, nothing{}, progress)
}

// taker receives the content of an archive in order. If it returns an error, reading ends.
type taker interface {
	begin(context.Context, *Manifest) error
	table(context.Context, *store.Table) error
	row(context.Context, []any) error
	// ended is called after the last row of a table.
	ended(context.Context, *store.Table) error
	// filled is called after the last row of the last table.
	filled(context.Context) error
	// file receives a content. r ends with an error if the content does not match the digest.
	file(ctx context.Context, digest string, size int64, r io.Reader) error
}

// nothing is a taker that ignores everything.
type nothing struct{}

func (nothing) begin(context.Context, *Manifest) error    { return nil }
func (nothing) table(context.Context, *store.Table) error { return nil }
func (nothing) row(context.Context, []any) error          { return nil }
func (nothing) ended(context.Context, *store.Table) error { return nil }
func (nothing) filled(context.Context) error              { return nil }
func (nothing) file(_ context.Context, _ string, _ int64, r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

// reader reads an archive.
type reader struct {
	tar      *tar.Reader
	taker    taker
	progress Progress
	entry    string // the entry that is being read
	manifest Manifest
	totals   Totals    // what was found
	open     int       // the table that is being read: index in manifest.Tables, -1 before the first
	part     int       // number of its last part
	sum      hash.Hash // hash of the table
	inTable  int64     // rows in the table
	rows     int64     // rows in all tables
	sums     []byte    // expected content of SHA256SUMS
	stage    stage
}

// stage is the kind of the last entry.
type stage int

const (
	atManifest stage = iota
	atTables
	atFiles
	atTotals
	atSums
)

// takerError is an error of the taker, not of the archive.
type takerError struct{ error }

// maxEntry is the maximum size in bytes of a row, and of an entry that is read as a whole.
// PostgreSQL has no longer rows, and SHA256SUMS has a hundred bytes per product file.
const maxEntry = 1 << 30

func read(ctx context.Context, r io.Reader, t taker, progress Progress) (*Manifest, *Totals, error) {
	zip, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return nil, nil, err
	}
	defer zip.Close()
	in := &reader{tar: tar.NewReader(zip), taker: t, progress: progress, open: -1}
	err = in.entries(ctx)
	if err == nil {
		// After the end of the tar file there may only be zeros up to the end of its block.
		err = in.tail(zip)
	}
	if err == nil {
		return &in.manifest, &in.totals, nil
	}
	if own, ok := errors.AsType[*takerError](err); ok {
		return nil, nil, own.error
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if _, ok := errors.AsType[*VersionError](err); ok {
		return nil, nil, err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = errors.New("it ends too early")
	}
	return nil, nil, &DamagedError{in.entry, err}
}

func (in *reader) tail(r io.Reader) error {
	in.entry = "its end"
	rest := bufio.NewReader(r)
	for {
		b, err := rest.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if b != 0 {
			return errors.New("unexpected data follows it")
		}
	}
}

// entries reads all entries.
func (in *reader) entries(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		head, err := in.tar.Next()
		if errors.Is(err, io.EOF) && in.stage == atSums {
			return nil
		}
		if err != nil {
			return err
		}
		in.entry = cleanName(head.Name)
		if err := in.take(ctx, head); err != nil {
			return err
		}
	}
}

// take reads one entry.
func (in *reader) take(ctx context.Context, head *tar.Header) error {
	content := &summed{r: in.tar, sum: sha256.New()}
	table, part := parsePart(head.Name)
	digest := parseFile(head.Name)
	var err error
	switch {
	case head.Typeflag != tar.TypeReg:
		err = errors.New("it is not a regular file")
	case digest == "" && head.Size > maxEntry:
		err = fmt.Errorf("it has %d bytes", head.Size)
	case head.Name == manifestName && in.stage == atManifest && in.manifest.Format == 0:
		err = in.readManifest(ctx, content)
	case in.manifest.Format == 0:
		err = errors.New("the first entry is not " + manifestName)
	case part > 0 && in.stage <= atTables:
		in.stage = atTables
		err = in.readPart(ctx, table, part, content)
	case digest != "" && in.stage <= atFiles:
		if err = in.endTables(ctx); err == nil {
			in.stage = atFiles
			err = in.readFile(ctx, digest, head.Size, content)
		}
	case head.Name == totalsName && in.stage <= atFiles:
		if err = in.endTables(ctx); err == nil {
			in.stage = atTotals
			err = in.readTotals(content)
		}
	case head.Name == sumsName && in.stage == atTotals:
		in.stage = atSums
		return in.readSums(content)
	default:
		err = errors.New("this entry is not expected here")
	}
	if err != nil {
		return err
	}
	in.sums = fmt.Appendf(in.sums, "%x  %s\n", content.sum.Sum(nil), head.Name)
	return nil
}

// VersionError means that this program cannot read an archive of a later release.
type VersionError struct{ Program string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the archive was written by a later release, hazardd %s: use that one, or a later one", e.Program)
}

func (in *reader) readManifest(ctx context.Context, r io.Reader) error {
	if err := readDocument(r, &in.manifest); err != nil {
		return err
	}
	if in.manifest.Format > format || in.manifest.Schema > store.Schema() {
		return &VersionError{in.manifest.Program}
	}
	if in.manifest.Format < 1 || in.manifest.ID == "" {
		return errors.New("it has no format or no id")
	}
	if err := in.taker.begin(ctx, &in.manifest); err != nil {
		return &takerError{err}
	}
	return nil
}

func readDocument(r io.Reader, into any) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// begin opens the tables up to the one at index i, and ends those before it.
func (in *reader) begin(ctx context.Context, i int) error {
	for in.open < i {
		if err := in.endTable(ctx); err != nil {
			return err
		}
		in.open++
		in.part, in.inTable, in.sum = 0, 0, sha256.New()
		if in.open == len(in.manifest.Tables) {
			if err := in.taker.filled(ctx); err != nil {
				return &takerError{err}
			}
			return nil
		}
		if err := in.taker.table(ctx, &in.manifest.Tables[in.open]); err != nil {
			return &takerError{err}
		}
	}
	return nil
}

func (in *reader) endTable(ctx context.Context) error {
	if in.open < 0 || in.open >= len(in.manifest.Tables) {
		return nil
	}
	t := &in.manifest.Tables[in.open]
	in.totals.Tables = append(in.totals.Tables, TableTotal{t.Name, in.inTable, hex.EncodeToString(in.sum.Sum(nil))})
	if err := in.taker.ended(ctx, t); err != nil {
		return &takerError{err}
	}
	return nil
}

// endTables ends all tables, because no more rows follow.
func (in *reader) endTables(ctx context.Context) error { return in.begin(ctx, len(in.manifest.Tables)) }

// readPart reads a part of a table.
func (in *reader) readPart(ctx context.Context, name string, part int, r io.Reader) error {
	i := slices.IndexFunc(in.manifest.Tables, func(t store.Table) bool { return t.Name == name })
	if i < in.open || i < 0 {
		return errors.New("this entry is not expected here")
	}
	if err := in.begin(ctx, i); err != nil {
		return err
	}
	if in.part++; part != in.part {
		return fmt.Errorf("part %d is missing before it", in.part)
	}
	lines := bufio.NewReaderSize(io.TeeReader(r, in.sum), 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return errors.New("its last line is incomplete")
		}
		if err != nil {
			return err
		}
		row, err := in.manifest.Tables[i].ParseRow(line)
		if err != nil {
			return err
		}
		if err := in.taker.row(ctx, row); err != nil {
			return &takerError{err}
		}
		in.inTable++
		in.rows++
		in.progress.report("rows", in.rows, 0)
	}
}

// readFile reads a content.
func (in *reader) readFile(ctx context.Context, digest string, size int64, content *summed) error {
	content.want = digest
	err := in.taker.file(ctx, digest, size, content)
	if content.failed != nil {
		return content.failed // an error of the content, not of the taker
	}
	if err != nil {
		return &takerError{err}
	}
	in.totals.Files++
	in.totals.Bytes += size
	in.progress.report("files", in.totals.Files, 0)
	return nil
}

// readTotals compares the written totals with those found.
func (in *reader) readTotals(r io.Reader) error {
	var written Totals
	if err := readDocument(r, &written); err != nil {
		return err
	}
	in.totals.Missing, in.totals.Damaged = written.Missing, written.Damaged
	for i, t := range written.Tables {
		if i >= len(in.totals.Tables) {
			return fmt.Errorf("table %s is missing", t.Name)
		}
		if found := in.totals.Tables[i]; found != t {
			return fmt.Errorf("table %s has %d rows with SHA-256 %s, expected table %s with %d rows and %s", found.Name, found.Rows, found.SHA256, t.Name, t.Rows, t.SHA256)
		}
	}
	if len(written.Tables) != len(in.totals.Tables) || written.Files != in.totals.Files || written.Bytes != in.totals.Bytes {
		return fmt.Errorf("%d tables and %d files of %d bytes were written, but there are %d and %d of %d", len(written.Tables), written.Files, written.Bytes,
			len(in.totals.Tables), in.totals.Files, in.totals.Bytes)
	}
	return nil
}

// readSums compares the checksums of all entries.
func (in *reader) readSums(r io.Reader) error {
	list, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(list) {
		rest, ok := bytes.CutPrefix(in.sums, line)
		if !ok {
			found, _, _ := bytes.Cut(in.sums, []byte("\n"))
			return fmt.Errorf("SHA256SUMS has %q, but the entries give %q", bytes.TrimSpace(line), found)
		}
		in.sums = rest
	}
	if len(in.sums) > 0 {
		return errors.New("it ends too early")
	}
	return nil
}

// summed computes the SHA-256 of everything read through it. At the end it returns an error if the
// checksum differs from the wanted one.
type summed struct {
	r      io.Reader
	sum    hash.Hash
	want   string // empty: any checksum
	failed error
}

func (s *summed) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.sum.Write(p[:n])
	if errors.Is(err, io.EOF) && s.want != "" && hex.EncodeToString(s.sum.Sum(nil)) != s.want {
		err = errors.New("the SHA-256 of its content differs from its name")
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	return n, err
}

// cleanName makes the name of an unknown entry safe for an error message.
func cleanName(name string) string {
	if len(name) > 120 {
		name = name[:120]
	}
	return fmt.Sprintf("%q", name)
}
