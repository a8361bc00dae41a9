package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/hazardd/hazardd/internal/archive"
	"github.com/hazardd/hazardd/internal/files"
	"github.com/hazardd/hazardd/internal/store"
)

type backupCmd struct {
	Check bool   `name:"verify" help:"Do not write: read the backup FILE to its end, or the continuous backup in a folder or bucket, and say whether it is undamaged."`
	File  string `arg:"" placeholder:"FILE" help:"File to write, - for standard output. A file is replaced once the backup is whole."`
}

// backupResult is what a backup, a restore or a migration has come to.
type backupResult struct {
	File     string    `json:"file,omitzero"`
	ID       string    `json:"id,omitzero"`
	Made     time.Time `json:"made,omitzero"`
	Epoch    string    `json:"epoch,omitzero"`
	Change   int64     `json:"change"`
	Rows     int64     `json:"rows"`
	Files    int64     `json:"files"`
	Bytes    int64     `json:"bytes,omitzero"` // of the backup
	Missing  []string  `json:"missing,omitzero"`
	Damaged  []string  `json:"damaged,omitzero"`
	Altered  int64     `json:"altered,omitzero"`
	Resumed  bool      `json:"resumed,omitzero"`
	Seconds  float64   `json:"seconds"`
	sentence string
}

func (r *backupResult) write(w io.Writer) error {
	_, err := fmt.Fprintln(w, r.sentence)
	return err
}

// Run writes a backup, while a server may be running, or checks one.
func (b *backupCmd) Run(ctx context.Context, c *console, g *globals) error {
	if b.Check {
		return b.verify(ctx, c, g)
	}
	if b.File == "-" && c.outTerminal {
		return errors.New("a backup is not for a terminal: name a file, or send standard output to a program")
	}
	return g.withOldStore(ctx, func(s *store.Store) error {
		begin := time.Now()
		out, err := openBackup(c, b.File)
		if err != nil {
			return err
		}
		bar := newBar(c, b.File == "-" && c.outTerminal)
		m, totals, err := archive.Write(ctx, s, out, about().Version, c.now(), bar.tell)
		bar.end()
		if err = out.close(err); err != nil {
			return err
		}
		r := summary(b.File, m, totals, begin)
		r.Bytes = out.written
		r.sentence = fmt.Sprintf("%s: change %d, %d rows and %d product files in %s", b.File, r.Change, r.Rows, r.Files, size(r.Bytes))
		if b.File == "-" {
			c.note("%s", r.sentence) // standard output has the backup
		} else if err := c.print(r, r.write); err != nil {
			return err
		}
		return missing(r.Missing, r.Damaged)
	})
}

func summary(file string, m *archive.Manifest, totals *archive.Totals, begin time.Time) *backupResult {
	return &backupResult{File: file, ID: m.ID, Made: m.Made, Epoch: m.Epoch, Change: m.Change, Rows: totals.Rows(), Files: totals.Files, Missing: totals.Missing, Damaged: totals.Damaged,
		Seconds: time.Since(begin).Seconds()}
}

// missing is the error of what a store has lost or damaged.
func missing(digests, damaged []string) error {
	if len(damaged) > 0 {
		return fmt.Errorf("%s%s is damaged, in the store and so in its copy; keep the earlier backups, and see hazardd check", damaged[0],
			map[bool]string{true: " (and more)"}[len(damaged) > 1])
	}
	if len(digests) == 0 {
		return nil
	}
	return fmt.Errorf("all is there but %d product files that the store has lost or damaged: %s%s; restore them from an earlier backup", len(digests), digests[0],
		map[bool]string{true: " and others"}[len(digests) > 1])
}

// verify reads a backup to its end.
func (b *backupCmd) verify(ctx context.Context, c *console, g *globals) error {
	if continuous(b.File) {
		return verifyContinuous(ctx, c, g, b.File)
	}
	begin := time.Now()
	in, err := openArchive(c, b.File)
	if err != nil {
		return err
	}
	defer in.Close()
	bar := newBar(c, false)
	m, totals, err := archive.Verify(ctx, in, bar.tell)
	bar.end()
	if err != nil {
		return fmt.Errorf("%s: %w", b.File, err)
	}
	r := summary(b.File, m, totals, begin)
	r.sentence = fmt.Sprintf("%s is undamaged: change %d as of %s, %d rows and %d product files", b.File, m.Change, m.Made.Format(time.RFC3339), r.Rows, r.Files)
	if err := c.print(r, r.write); err != nil {
		return err
	}
	return missing(r.Missing, r.Damaged)
}

type restoreCmd struct {
	At   time.Time `placeholder:"TIME" help:"Moment to go back to, such as 2026-11-21T12:00:00Z, of a continuous backup; without it, its end."`
	File string    `arg:"" placeholder:"FILE|DIR|URL" help:"Backup to bring back, - for standard input; or the folder or bucket of a continuous backup, as --backup-to of serve names it."`
}

// Run fills an empty store with a backup.
func (r *restoreCmd) Run(ctx context.Context, c *console, g *globals) error {
	begin := time.Now()
	if continuous(r.File) {
		return r.continuous(ctx, c, g)
	}
	if !r.At.IsZero() {
		return errors.New("--at: a backup in a file is of one moment; only a continuous backup, in a folder or a bucket, holds several")
	}
	into, err := g.into()
	if err != nil {
		return err
	}
	in, err := openArchive(c, r.File)
	if err != nil {
		return err
	}
	defer in.Close()
	if file, ok := in.(*os.File); ok && file != c.in {
		// A damaged one is found before anything is written.
		bar := newBar(c, false)
		_, _, err := archive.Verify(ctx, file, bar.tell)
		bar.end()
		if err == nil {
			_, err = file.Seek(0, io.SeekStart)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.File, err)
		}
	}
	bar := newBar(c, false)
	m, result, err := archive.Restore(ctx, in, into, c.now(), bar.tell)
	bar.end()
	if err != nil {
		return fmt.Errorf("%s: %w", r.File, err)
	}
	out := summary(r.File, m, &result.Totals, begin)
	out.Epoch, out.Altered, out.Resumed = "", result.Altered, result.Resumed
	out.sentence = fmt.Sprintf("restored change %d as of %s, %d rows and %d product files, into %s: start the server with hazardd serve%s", m.Change, m.Made.Format(time.RFC3339),
		out.Rows, out.Files, g.place(), g.flags())
	if err := c.print(out, out.write); err != nil {
		return err
	}
	c.note("The history goes on under new numbers. What was committed after the backup is not there: streams, pages and webhooks that know it are told.")
	noteAltered(c, result.Altered)
	return missing(result.Missing, result.Damaged)
}

func noteAltered(c *console, rows int64) {
	if rows > 0 {
		c.note("%d rows had a text that PostgreSQL cannot hold: a character 0, or what is no UTF-8. These became U+FFFD.", rows)
	}
}

// into is the store that the flags name.
func (g *globals) into() (archive.Into, error) {
	place, err := g.files()
	return archive.Into{Dir: g.Data, Database: g.Database, Files: place}, err
}

type migrateCmd struct {
	From    string `required:"" placeholder:"URL" help:"Database to move from: sqlite:PATH (sqlite: for the file in the data folder), or postgres://…"`
	To      string `required:"" placeholder:"URL" help:"Database to move to. It must be empty, or be what an earlier run has left."`
	ToData  string `placeholder:"DIR" help:"Data folder of the moved store, to which the product files are copied; without it and --to-files they stay where they are."`
	ToFiles string `placeholder:"URL" help:"Bucket to copy the product files to, as --files names one."`
}

// Validate refuses what cannot be meant.
func (m *migrateCmd) Validate() error {
	if m.From == m.To && (m.ToData == "" || m.From != "sqlite:") {
		return errors.New("--from and --to name the same database")
	}
	for flag, name := range map[string]string{"--from": m.From, "--to": m.To} {
		if scheme, _, ok := strings.Cut(name, ":"); !ok || !slices.Contains([]string{"sqlite", "postgres", "postgresql"}, scheme) {
			return fmt.Errorf("%s: %q is neither sqlite:PATH nor postgres://HOST/NAME", flag, redacted(name))
		}
	}
	return nil
}

// Run moves a store to another database.
func (m *migrateCmd) Run(ctx context.Context, c *console, g *globals) error {
	begin := time.Now()
	from, to := *g, *g
	from.Database, to.Database = m.From, m.To
	if m.ToData != "" {
		to.Data, to.Files = m.ToData, ""
	}
	to.Files = cmp.Or(m.ToFiles, to.Files)
	into, err := to.into()
	if err != nil {
		return err
	}
	return from.withOldStore(ctx, func(s *store.Store) error {
		bar := newBar(c, false)
		result, err := archive.Migrate(ctx, s, into, m.ToData != "" || m.ToFiles != "", c.now(), bar.tell)
		bar.end()
		if err != nil {
			return err
		}
		last, err := s.Last(ctx)
		if err != nil {
			return err
		}
		out := &backupResult{Epoch: s.Epoch(), Change: last, Rows: result.Rows(), Files: result.Files, Missing: result.Missing, Damaged: result.Damaged, Altered: result.Altered, Resumed: result.Resumed,
			Seconds: time.Since(begin).Seconds()}
		out.sentence = fmt.Sprintf("moved change %d and %d rows, compared on both sides: start the servers with hazardd serve%s", last, out.Rows, to.flags())
		if err := c.print(out, out.write); err != nil {
			return err
		}
		c.note("It is the same history, so clients go on where they were. Start no server on the old database any more: it would give the same numbers to other changes.")
		noteAltered(c, result.Altered)
		return missing(result.Missing, result.Damaged)
	})
}

// backupFile is where a backup goes: standard output, or a file that takes its name when it is whole and on disk. Its mode lets nobody else read it: it
// holds the keys that sign tokens, and hashes of passwords.
type backupFile struct {
	io.Writer
	name    string
	part    *os.File // nil: there is nothing to name
	written int64
}

func openBackup(c *console, name string) (*backupFile, error) {
	if name == "-" {
		return &backupFile{Writer: c.out}, nil
	}
	b := &backupFile{name: name}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder; name a file", name)
	}
	if err := os.Remove(name + ".part"); err != nil && !errors.Is(err, fs.ErrNotExist) { // of one that was killed, and others may read it
		return nil, b.explain(err)
	}
	var err error
	if b.part, err = os.OpenFile(name+".part", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, b.explain(err)
	}
	b.Writer = files.Steady(b.part)
	return b, nil
}

func (b *backupFile) Write(p []byte) (int, error) {
	n, err := b.Writer.Write(p)
	b.written += int64(n)
	return n, b.explain(err)
}

// close ends the backup: it is on disk under its name if nothing failed.
func (b *backupFile) close(failed error) error {
	if b.part == nil {
		return failed
	}
	err := cmp.Or(failed, b.explain(b.part.Sync()))
	err = cmp.Or(err, b.explain(b.part.Close()))
	if err != nil {
		return errors.Join(err, b.explain(os.Remove(b.part.Name())))
	}
	if err := os.Rename(b.part.Name(), b.name); err != nil {
		return b.explain(err)
	}
	dir, err := os.Open(filepath.Dir(b.name))
	if err != nil {
		return b.explain(err)
	}
	return b.explain(errors.Join(dir.Sync(), dir.Close()))
}

// explain says that it is the backup that is at fault, and not the data folder.
func (b *backupFile) explain(err error) error {
	if err == nil || b.part == nil && b.name == "" {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write %s: %v; make the folder first, or choose another file", b.name, err)
	}
	return fmt.Errorf("write %s: %v; choose another file", b.name, err)
}

// openArchive opens a backup for reading.
func openArchive(c *console, name string) (io.ReadCloser, error) {
	if name == "-" {
		if c.inTerminal {
			return nil, errors.New("a backup does not come from a terminal: name a file, or send one to standard input")
		}
		return c.in, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %v; name a backup that hazardd backup wrote", name, errors.Unwrap(err))
	}
	return f, nil
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

// bar shows how far a transfer is, to whoever is looking.
type bar struct {
	c   *console
	off bool
	bar *progressbar.ProgressBar
	of  string // what is counted
}

func newBar(c *console, off bool) *bar { return &bar{c: c, off: off || c.json || !c.errTerminal} }

func (b *bar) tell(what string, done, total int64) {
	if b.off {
		return
	}
	if what != b.of {
		b.end()
		if total == 0 {
			total = -1 // not known: it only moves
		}
		b.of = what
		b.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(b.c.err), progressbar.OptionSetDescription(what), progressbar.OptionShowCount(),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	_ = b.bar.Set64(done) // a bar that cannot be drawn is no reason to stop
}

func (b *bar) end() {
	if b.bar != nil {
		_ = b.bar.Clear()
		b.bar, b.of = nil, ""
	}
}
