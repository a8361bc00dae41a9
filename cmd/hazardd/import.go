package main

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/store"
)

// maxPayload bounds one payload after decompression, in bytes, because it is parsed in memory. It
// is four times the largest payload that polling accepts.
const maxPayload = 256 << 20

// maxNamed is how many rejected records are listed per file: further ones rarely say anything new.
const maxNamed = 20

type importCmd struct {
	Source string    `placeholder:"NAME" help:"Source that published the files."`
	AsOf   time.Time `placeholder:"TIME" help:"Import the files as if received at that time (RFC 3339). Default: now."`
	List   string    `placeholder:"FILE" help:"Replay the files that FILE lists, one a line: time (RFC 3339), source (or the address of its feed) and path. Each is imported as if polled at its time, in order of time. Hazards end in between when their end is due, or when a list no longer contains them."`
	knownFlags
	evidenceFlags
	Files []string `arg:"" optional:"" name:"file" help:"Files to import, in this order; gzip is decompressed, - is standard input."`
}

// Validate reports contradicting flags, and a time in the future: its changes would be later than
// all that follow.
func (i *importCmd) Validate() error {
	switch {
	case i.List != "" && (i.Source != "" || !i.AsOf.IsZero() || len(i.Files) > 0):
		return errors.New("--list: the list already has files, sources and times; do not combine it with --source, --as-of or files")
	case i.List == "" && i.Source == "":
		return errors.New("missing flags: --source=NAME, or --list=FILE")
	case i.List == "" && len(i.Files) == 0:
		return errors.New(`expected "<file> ..."`)
	case i.AsOf.After(time.Now()):
		return fmt.Errorf("--as-of: %s is in the future", i.AsOf.Format(time.RFC3339))
	}
	return i.knownFlags.Validate()
}

// payload is a file to import.
type payload struct {
	file   string
	source poll.Source
	feed   string         // address of its feed; empty if unknown
	at     hazard.Instant // the time of receipt to assume; 0 means when it is read
	// recorded is the time of its changes: at, or the time of the store's last change if that is
	// later.
	recorded hazard.Instant
}

// inOrder sets recorded. The history only grows at its end.
func (p *payload) inOrder(ctx context.Context, c *console, s *store.Store) error {
	if p.at == 0 {
		return nil
	}
	last, err := s.Log.LastMoment(ctx)
	if p.recorded = max(p.at, min(last, c.instant())); p.recorded > p.at {
		c.note("%s: the store already has changes of %s, so the file is recorded as of then, not of %s", oneLine(p.file), last, p.at)
	}
	return err
}

// clock returns the clock for the payload's changes.
func (p *payload) clock(c *console) hazard.Clock {
	if p.at == 0 {
		return hazard.ClockFunc(c.instant)
	}
	return p.recorded
}

// Run imports the files. A fault in one file does not stop the others.
func (i *importCmd) Run(ctx context.Context, c *console, g *globals) error {
	known, err := i.known()
	if err != nil {
		return err
	}
	payloads, err := i.payloads(known)
	if err != nil {
		return err
	}
	var files []*imported
	cfg := app.Config{Logger: c.logger()}
	i.evidenceFlags.set(&cfg)
	err = g.withStore(ctx, func(s *store.Store) (err error) {
		keeper, err := g.evidence(s, cfg)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, keeper.Close()) }()
		in := known.Intake(s)
		take := func(p *payload, content []byte, cut *poll.Failure) (fuse.Result, error) {
			read, clock := cmp.Or(p.at, c.instant()), p.clock(c)
			kept := poll.Saved(&p.source, cut, read, clock.Now())
			res, err := poll.Import(ctx, in, &p.source, content, cut, read, clock, fuse.Options{History: true})
			if fail, ok := errors.AsType[*poll.Failure](err); ok {
				kept.Error = fail.Text
			}
			if err == nil || kept.Error != "" {
				kept.Kept = c.instant()
				keeper.Note(ctx, kept, content)
			}
			return res, err
		}
		if i.List != "" {
			last, err := s.Log.LastMoment(ctx)
			if err != nil {
				return err
			}
			replay := poll.NewReplay(s, in, min(last, c.instant()), slog.New(slog.DiscardHandler))
			replay.Keep(func(kept store.Receipt, content []byte) {
				kept.Kept = c.instant()
				keeper.Note(ctx, kept, content)
			})
			take = func(p *payload, content []byte, cut *poll.Failure) (fuse.Result, error) {
				return replay.Take(ctx, &p.source, p.feed, content, cut, p.at)
			}
		}
		bar := newProgress(c, payloads)
		defer bar.end()
		for n := range payloads {
			p := &payloads[n]
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := p.inOrder(ctx, c, s); err != nil {
				return err
			}
			bar.begin(p.file)
			f, err := p.take(c, take)
			files = append(files, f)
			if err != nil {
				return err
			}
			bar.done(p.file)
		}
		return nil
	})
	return errors.Join(err, i.report(c, files))
}

// payloads returns the files to import, in order.
func (i *importCmd) payloads(known *app.Sources) ([]payload, error) {
	if i.List != "" {
		return readList(i.List, known, time.Now())
	}
	src, err := known.Find(i.Source)
	if err != nil {
		return nil, err
	}
	var list []payload
	for _, name := range i.Files {
		p := payload{file: name, source: src}
		if !i.AsOf.IsZero() {
			p.at = hazard.At(i.AsOf)
		}
		list = append(list, p)
	}
	return list, nil
}

// readList parses a list of files with their sources and times, and sorts it by time. Paths are
// relative to the list's folder. It skips empty lines and lines that begin with #.
func readList(name string, known *app.Sources, now time.Time) ([]payload, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("--list: %w", err)
	}
	var list []payload
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fault := func(format string, args ...any) ([]payload, error) {
			return nil, fmt.Errorf("--list: %s, line %d: %w", name, number, fmt.Errorf(format, args...))
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return fault("%.200q, expected a time, a source and a path", line)
		}
		at, err := time.Parse(time.RFC3339, fields[0])
		if err != nil {
			return fault("time: %.60q, expected one as in RFC 3339, such as 2026-08-15T12:07:36Z", fields[0])
		}
		if at.After(now) {
			return fault("time: %s is in the future", fields[0])
		}
		src, feed, err := known.FindFeed(fields[1])
		if err != nil {
			return fault("%w", err)
		}
		path := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(strings.TrimPrefix(line, fields[0])), fields[1])) // a path may contain blanks
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(name), path)
		}
		list = append(list, payload{file: path, source: src, feed: feed, at: hazard.At(at)})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("--list: %s lists no files", name)
	}
	slices.SortStableFunc(list, func(a, b payload) int { return cmp.Compare(a.at, b.at) })
	return list, nil
}

// imported is the result of one file.
type imported struct {
	File   string `json:"file"`
	Source string `json:"source"`
	poll.Counts
	Rejects []reject `json:"rejects,omitzero"`
	Error   string   `json:"error,omitzero"`
}

type reject struct {
	Record string `json:"record"`
	Reason string `json:"reason"`
}

// take imports one file. It returns errors of the store; faults in the file are part of the result.
func (p *payload) take(c *console, take func(p *payload, content []byte, cut *poll.Failure) (fuse.Result, error)) (*imported, error) {
	f := &imported{File: p.file, Source: p.source.Name}
	content, err := readPayload(c, p.file, maxPayload)
	var cut *poll.Failure
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		cut = &poll.Failure{Class: poll.ClassIncomplete, Text: err.Error()}
	case err != nil:
		f.Error = err.Error()
		return f, nil
	}
	res, err := take(p, content, cut)
	f.Counts = counts(&res)
	for _, r := range res.Rejects {
		f.Rejects = append(f.Rejects, reject{r.Record, r.Reason})
	}
	fail, ok := errors.AsType[*poll.Failure](err)
	switch {
	case ok && fail.Class == poll.ClassInternal:
		f.Error = fmt.Sprintf("the parser of %s failed on this file, which is a fault in hazardd: %s", f.Source, fail.Text)
	case ok:
		f.Error = fail.Text
	case err != nil:
		f.Error = err.Error()
		return f, err
	}
	return f, nil
}

func counts(r *fuse.Result) poll.Counts {
	return poll.Counts{Read: int64(r.Read), New: int64(r.New), Updated: int64(r.Updated), Unchanged: int64(r.Unchanged),
		Ignored: int64(r.Ignored), Held: int64(r.Held), Rejected: int64(r.Rejected)}
}

// readPayload reads a whole file of at most limit bytes. If a gzip stream is cut off, it returns
// the readable part and io.ErrUnexpectedEOF.
func readPayload(c *console, name string, limit int64) (_ []byte, err error) {
	tooLarge := fmt.Errorf("%s is larger than the limit of %d MiB; split it", name, limit>>20)
	var r io.Reader = c.in
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		if info, err := file.Stat(); err == nil && info.IsDir() {
			return nil, fmt.Errorf("%s is a folder; name the files in it", name)
		} else if err == nil && info.Size() > limit {
			return nil, tooLarge
		}
		r = file
	}
	// Look at the content, not the name: standard input has none, and names can be wrong. No
	// source's payload begins like gzip.
	buffered := bufio.NewReader(r)
	r = buffered
	if magic, _ := buffered.Peek(2); string(magic) == "\x1f\x8b" {
		if r, err = gzip.NewReader(buffered); err != nil {
			return nil, fmt.Errorf("decompress %s: %w", name, err)
		}
	}
	payload, err := io.ReadAll(io.LimitReader(r, limit+1))
	if int64(len(payload)) > limit {
		return nil, tooLarge
	}
	if err != nil {
		err = fmt.Errorf("read %s: %w", name, err)
	}
	return payload, err
}

// report prints the results. It returns an error if anything was rejected.
func (i *importCmd) report(c *console, files []*imported) error {
	total := imported{File: "total"}
	t := newTable("FILE", "READ", "NEW", "UPDATED", "UNCHANGED", "IGNORED", "HELD", "REJECTED")
	row := func(f *imported) {
		cells := []string{oneLine(f.File)}
		for _, n := range []int64{f.Read, f.New, f.Updated, f.Unchanged, f.Ignored, f.Held, f.Rejected} {
			cells = append(cells, strconv.FormatInt(n, 10))
		}
		t.add(cells...)
	}
	bad := 0
	for _, f := range files {
		row(f)
		total.Read, total.New, total.Updated, total.Unchanged = total.Read+f.Read, total.New+f.New, total.Updated+f.Updated, total.Unchanged+f.Unchanged
		total.Ignored, total.Held, total.Rejected = total.Ignored+f.Ignored, total.Held+f.Held, total.Rejected+f.Rejected
		if f.Error != "" {
			bad++
			c.note("%s: %s", oneLine(f.File), oneLine(f.Error))
		}
		for _, r := range f.Rejects[:min(len(f.Rejects), maxNamed)] {
			c.note("%s: %s: %s", oneLine(f.File), oneLine(r.Record), oneLine(r.Reason))
		}
		if more := len(f.Rejects) - maxNamed; more > 0 {
			c.note("%s: and %d more", oneLine(f.File), more)
		}
	}
	if len(files) > 1 {
		row(&total)
	}
	result := struct {
		Source string      `json:"source,omitzero"`
		Files  []*imported `json:"files"`
		Total  poll.Counts `json:"total"`
	}{i.Source, files, total.Counts}
	if err := c.print(result, func(w io.Writer) error { return t.write(w, false) }); err != nil {
		return err
	}
	if total.Held > 0 {
		c.note("%d reports are held until an editor decides about them: hazardd source errors %s", total.Held, cmp.Or(i.Source, "NAME"))
	}
	switch {
	case bad > 0 && total.Rejected > 0:
		return fmt.Errorf("%d of %d files could not be read completely, %d records were rejected", bad, len(files), total.Rejected)
	case bad > 0:
		return fmt.Errorf("%d of %d files could not be read completely", bad, len(files))
	case total.Rejected > 0:
		return fmt.Errorf("%d records were rejected", total.Rejected)
	}
	return nil
}

// progress shows the progress of an import on a terminal, by bytes of the files.
type progress struct {
	bar   *progressbar.ProgressBar // nil without a terminal
	sizes map[string]int64
}

func newProgress(c *console, payloads []payload) *progress {
	p := &progress{sizes: map[string]int64{}}
	if c.json || !c.errTerminal {
		return p
	}
	total := int64(0)
	for i := range payloads {
		name := payloads[i].file
		if info, err := os.Stat(name); err == nil {
			p.sizes[name] = info.Size()
			total += info.Size()
		}
	}
	if total == 0 {
		total = -1 // unknown total: the bar shows activity only
	}
	p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(c.err), progressbar.OptionShowBytes(true), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(false))
	return p
}

func (p *progress) begin(name string) {
	if p.bar != nil {
		p.bar.Describe(cut(filepath.Base(name), 40))
	}
}

func (p *progress) done(name string) {
	if p.bar != nil {
		_ = p.bar.Add64(p.sizes[name]) // ignore errors: a missing bar must not stop the import
	}
}

func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
