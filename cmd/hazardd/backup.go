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

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup"
	"github.com/hazardd/hazardd/internal/store/blob"
)

type backupCmd struct {
	Check bool   `name:"verify" help:"Do not write: read the backup FILE to its end, or the continuous backup in a folder or bucket, and say whether it is undamaged."`
	File  string `arg:"" placeholder:"FILE" help:"File to write, - for standard output. A file is replaced once the backup is whole."`
}

// backupResult is the result of a backup, a restore or a migration.
type backupResult struct {
	File     string    `json:"file,omitzero"`
	ID       string    `json:"id,omitzero"`
	Made     time.Time `json:"made,omitzero"`
	Epoch    string    `json:"epoch,omitzero"`
	Change   int64     `json:"change"`
	Rows     int64     `json:"rows"`
	Files    int64     `json:"files"`
	Bytes    int64     `json:"bytes,omitzero"` // size of the backup
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

// Run writes a backup, or with --verify checks one. A server may be running.
func (b *backupCmd) Run(ctx context.Context, c *console, g *globals) error {
	if b.Check {
		return b.verify(ctx, c, g)
	}
	if b.File == "-" && c.outTerminal {
		return errors.New("a backup cannot be written to a terminal: name a file, or pipe standard output to a program")
	}
	return g.withOldStore(ctx, func(s *store.Store) error {
		begin := time.Now()
		out, err := openBackup(c, b.File)
		if err != nil {
			return err
		}
		bar := newBar(c, b.File == "-" && c.outTerminal)
		m, totals, err := backup.Write(ctx, s, out, about().Version, c.now(), bar.tell)
		bar.end()
		if err = out.close(err); err != nil {
			return err
		}
		r := summary(b.File, m, totals, begin)
		r.Bytes = out.written
		r.sentence = fmt.Sprintf("%s: change %d, %d rows and %d product files in %s", b.File, r.Change, r.Rows, r.Files, size(r.Bytes))
		if b.File == "-" {
			c.note("%s", r.sentence) // standard output is taken by the backup
		} else if err := c.print(r, r.write); err != nil {
			return err
		}
		return errors.Join(c.keep(ctx, s, g.Data), missing(r.Missing, r.Damaged))
	})
}

// keep says which keys to keep beside a backup of a store.
func (c *console) keep(ctx context.Context, s *store.Store, data string) error {
	needed, err := app.KeysNeededBeside(ctx, s, data)
	for _, k := range needed {
		c.note("in it: %d %s, and not that key: keep %s apart from the backup. Without it these %s after a restore.", k.Count, k.What, k.Keep(data), k.Without)
	}
	return err
}

// keepApart says that a backup, whose rows are not read, may need a key.
func (c *console) keepApart(k app.Key) {
	c.note("in it may be %s, and not that key: %s must be kept apart from it (hazardd check says which are needed).", k.What, k.Keep(""))
}

// bring says which keys a restored or moved store needs and does not find in a data folder.
func (c *console) bring(ctx context.Context, s *store.Store, data, database string) error {
	needed, err := app.KeysNeededBeside(ctx, s, data)
	for _, k := range needed {
		if k.Missing > 0 {
			c.note("in it: %d %s, and that key is not in %s: %s. Without it these %s.", k.Count, k.What, data, k.Bring(data, database != ""), k.Without)
		}
	}
	return err
}

func summary(file string, m *backup.Manifest, totals *backup.Totals, begin time.Time) *backupResult {
	return &backupResult{File: file, ID: m.ID, Made: m.Made, Epoch: m.Epoch, Change: m.Change, Rows: totals.Rows(), Files: totals.Files, Missing: totals.Missing, Damaged: totals.Damaged,
		Seconds: time.Since(begin).Seconds()}
}

// missing returns the error for product files that the store has lost or damaged.
func missing(digests, damaged []string) error {
	if len(damaged) > 0 {
		return fmt.Errorf("%s%s is damaged, in the store and so in its copy; keep the earlier backups, and see hazardd check", damaged[0],
			map[bool]string{true: " (and more)"}[len(damaged) > 1])
	}
	if len(digests) == 0 {
		return nil
	}
	return fmt.Errorf("the backup is complete except for %d product files that are lost or damaged in the store: %s%s; restore them from an earlier backup", len(digests), digests[0],
		map[bool]string{true: " and others"}[len(digests) > 1])
}

// verify reads a whole backup and checks it.
func (b *backupCmd) verify(ctx context.Context, c *console, g *globals) error {
	if isContinuous(b.File) {
		return verifyContinuous(ctx, c, g, b.File)
	}
	begin := time.Now()
	in, err := openArchive(c, b.File)
	if err != nil {
		return err
	}
	defer in.Close()
	bar := newBar(c, false)
	m, totals, err := backup.Verify(ctx, in, bar.tell)
	bar.end()
	if err != nil {
		return fmt.Errorf("%s: %w", b.File, err)
	}
	r := summary(b.File, m, totals, begin)
	r.sentence = fmt.Sprintf("%s is undamaged: change %d as of %s, %d rows and %d product files", b.File, m.Change, m.Made.Format(time.RFC3339), r.Rows, r.Files)
	if err := c.print(r, r.write); err != nil {
		return err
	}
	for _, k := range app.Keys {
		if slices.ContainsFunc(totals.Tables, func(t backup.TableTotal) bool { return t.Name == k.Table && t.Rows > 0 }) {
			c.keepApart(k)
		}
	}
	return missing(r.Missing, r.Damaged)
}

type restoreCmd struct {
	At   time.Time `placeholder:"TIME" help:"Restore a continuous backup as of this time, such as 2026-11-21T12:00:00Z. Default: its end."`
	File string    `arg:"" placeholder:"FILE|DIR|URL" help:"Backup to restore, - for standard input; or the folder or bucket of a continuous backup, as in --backup-to of serve."`
}

// Run fills an empty store with a backup.
func (r *restoreCmd) Run(ctx context.Context, c *console, g *globals) error {
	begin := time.Now()
	if isContinuous(r.File) {
		return r.continuous(ctx, c, g)
	}
	if !r.At.IsZero() {
		return errors.New("--at: needs a continuous backup (a folder or a bucket); a backup file holds only one moment")
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
		// A damaged backup fails here, before anything is written.
		bar := newBar(c, false)
		_, _, err := backup.Verify(ctx, file, bar.tell)
		bar.end()
		if err == nil {
			_, err = file.Seek(0, io.SeekStart)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.File, err)
		}
	}
	bar := newBar(c, false)
	m, result, err := backup.Restore(ctx, in, into, c.now(), bar.tell)
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
	return errors.Join(g.withStore(ctx, func(s *store.Store) error { return c.bring(ctx, s, g.Data, g.Database) }), missing(result.Missing, result.Damaged))
}

func noteAltered(c *console, rows int64) {
	if rows > 0 {
		c.note("%d rows had a text that PostgreSQL cannot hold: a character 0, or what is no UTF-8. These became U+FFFD.", rows)
	}
}

// into returns the store that the flags name.
func (g *globals) into() (backup.Into, error) {
	place, err := g.files()
	return backup.Into{Dir: g.Data, Database: g.Database, Files: place}, err
}

type migrateCmd struct {
	From    string `required:"" placeholder:"URL" help:"Database to move from: sqlite:PATH (sqlite: for the file in the data folder), or postgres://…"`
	To      string `required:"" placeholder:"URL" help:"Database to move to. It must be empty, or left by an earlier run that was interrupted."`
	ToData  string `placeholder:"DIR" help:"Data folder of the moved store; the product files are copied there. Without it and --to-files they stay where they are."`
	ToFiles string `placeholder:"URL" help:"Bucket to copy the product files to, in the form of --files."`
}

// Validate reports contradicting flags.
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
		result, err := backup.Migrate(ctx, s, into, m.ToData != "" || m.ToFiles != "", c.now(), bar.tell)
		bar.end()
		if err != nil {
			return err
		}
		last, err := s.Log.Last(ctx)
		if err != nil {
			return err
		}
		out := &backupResult{Epoch: s.Epoch(), Change: last, Rows: result.Rows(), Files: result.Files, Missing: result.Missing, Damaged: result.Damaged, Altered: result.Altered, Resumed: result.Resumed,
			Seconds: time.Since(begin).Seconds()}
		flags, data := to.flags(), to.Data
		if to.Database != "" { // which has no default for the key
			data = from.Data
			needed, err := app.KeysNeededBeside(ctx, s, data)
			if err != nil {
				return err
			}
			for _, k := range needed {
				if k.File != "" { // others are not known here, and bring names them
					flags += " " + k.Setting + " " + k.Keep(data)
				}
			}
		}
		out.sentence = fmt.Sprintf("moved change %d and %d rows, compared on both sides: start the servers with hazardd serve%s", last, out.Rows, flags)
		if err := c.print(out, out.write); err != nil {
			return err
		}
		c.note("The history is the same, so clients continue where they were. Never start a server on the old database again: it would give the same numbers to other changes.")
		noteAltered(c, result.Altered)
		return errors.Join(c.bring(ctx, s, data, to.Database), missing(result.Missing, result.Damaged))
	})
}

// backupFile is the destination of a backup: standard output, or a file that gets its name only
// when it is complete and on disk. Only its owner can read it, because it holds signing keys and
// password hashes.
type backupFile struct {
	io.Writer
	name    string
	part    *os.File // nil for standard output
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
	if err := os.Remove(name + ".part"); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a killed run; others may be able to read it
		return nil, b.explain(err)
	}
	var err error
	if b.part, err = os.OpenFile(name+".part", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, b.explain(err)
	}
	b.Writer = blob.Steady(b.part)
	return b, nil
}

func (b *backupFile) Write(p []byte) (int, error) {
	n, err := b.Writer.Write(p)
	b.written += int64(n)
	return n, b.explain(err)
}

// close ends the backup. If nothing failed, the file is synced and gets its name.
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

// explain makes clear that the error concerns the backup, not the data folder.
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
			return nil, errors.New("a backup cannot be read from a terminal: name a file, or pipe one to standard input")
		}
		return c.in, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %v; name a backup that hazardd backup wrote", name, errors.Unwrap(err))
	}
	return f, nil
}

// size formats a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

// bar shows the progress of a transfer, if a terminal is attached.
type bar struct {
	c   *console
	off bool
	bar *progressbar.ProgressBar
	of  string // the unit of the counts
}

func newBar(c *console, off bool) *bar { return &bar{c: c, off: off || c.json || !c.errTerminal} }

func (b *bar) tell(what string, done, total int64) {
	if b.off {
		return
	}
	if what != b.of {
		b.end()
		if total == 0 {
			total = -1 // unknown total: the bar shows activity only
		}
		b.of = what
		b.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(b.c.err), progressbar.OptionSetDescription(what), progressbar.OptionShowCount(),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	_ = b.bar.Set64(done) // ignore errors: a missing bar must not stop the transfer
}

func (b *bar) end() {
	if b.bar != nil {
		_ = b.bar.Clear()
		b.bar, b.of = nil, ""
	}
}
