package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/schollz/progressbar/v3"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tongue"
)

type exportCmd struct {
	Format formatName `default:"json" placeholder:"NAME" help:"Form of the document: ${formats}. With cap it is an Atom feed that holds the alert of each hazard."`
	Active bool       `help:"Only the active hazards."`
	searchFlags
	Lang   tongues `placeholder:"TAG,…" help:"Languages that the authorities' words are wished in, the best first, such as fr-CA,fr; CAP has all languages, whatever you wish."`
	Output string  `short:"o" default:"-" placeholder:"FILE" help:"File to write, - for standard output. A file is replaced once the document is whole."`
	addressFlags
}

// formatName is a format by its name.
type formatName struct {
	format.Format
	// Package, if not empty, is the form of the document in place of the Format.
	Package format.PackageForm
}

// exportFormats are the names of all that can be exported.
func exportFormats() []string {
	names := format.Names()
	for _, form := range format.PackageForms() {
		names = append(names, string(form))
	}
	return names
}

// UnmarshalText reads the name.
func (f *formatName) UnmarshalText(text []byte) error {
	if form, ok := format.ParsePackage(string(text)); ok {
		f.Package, f.Format = form, format.GeoJSON // whose properties are its columns
		return nil
	}
	named, ok := format.Parse(string(text))
	if !ok {
		return fmt.Errorf("%.60q is no format; these are: %s", text, strings.Join(exportFormats(), ", "))
	}
	f.Format = named
	return nil
}

// Run writes the document: hazards as they are, each at its turn, with the products that everybody may know of.
func (e *exportCmd) Run(ctx context.Context, c *console, g *globals) error {
	return g.withOldStore(ctx, func(s *store.Store) error {
		out, err := openOutput(c, e.Output)
		if err != nil {
			return err
		}
		return out.close(e.write(ctx, c, s, out))
	})
}

func (e *exportCmd) write(ctx context.Context, c *console, s *store.Store, out *output) error {
	now := c.instant()
	title := "Hazards"
	if e.Active {
		title = "Active hazards"
	}
	doc, err := e.document(ctx, out, title, now)
	if err != nil {
		return err
	}
	err = e.fill(ctx, c, s, now, doc)
	if err != nil {
		return errors.Join(err, doc.Discard())
	}
	return doc.Close()
}

// document is what hazards are written to. It is closed, or discarded.
type document interface {
	Write(e *format.Entry) error
	Close() error
	Discard() error
}

func (e *exportCmd) document(ctx context.Context, out *output, title string, now hazard.Instant) (document, error) {
	base := cmp.Or(e.url(), "http://localhost")
	if form := e.Format.Package; form != "" {
		p, err := format.NewPackage(ctx, form, title, base, now)
		return packageDocument{p, out}, err
	}
	return plainDocument{format.NewWriter(out, e.Format.Format, format.Options{Base: base, Title: title, Updated: now})}, nil
}

// plainDocument is written as it comes: of a broken one nothing is left to discard.
type plainDocument struct{ *format.Writer }

func (plainDocument) Discard() error { return nil }

// packageDocument goes to the output when it is whole.
type packageDocument struct {
	*format.Package
	out io.Writer
}

// Close ends the file, and copies it to where it belongs.
func (p packageDocument) Close() error {
	return p.Finish(func(_ int64, file io.ReadSeeker) error {
		_, err := io.Copy(p.out, file)
		return err
	})
}

// fill writes the hazards: without filters each as it is at its turn, with them as they were when the search began.
func (e *exportCmd) fill(ctx context.Context, c *console, s *store.Store, now hazard.Instant, doc document) error {
	if len(e.values()) > 0 {
		return e.fillFound(ctx, c, s, now, doc)
	}
	ids, err := e.chosen(ctx, s, now)
	if err != nil {
		return err
	}
	bar := newExportBar(c, e.Output, len(ids))
	defer bar.end()
	reader := tongue.Wish(e.Lang).Reader()
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		entry, err := e.read(ctx, s, id, reader, now)
		if err != nil {
			return err
		}
		if entry != nil {
			if err := doc.Write(entry); err != nil {
				return err
			}
		}
		bar.step()
	}
	return nil
}

// fillFound writes the hazards that a search finds.
func (e *exportCmd) fillFound(ctx context.Context, c *console, s *store.Store, now hazard.Instant, doc document) error {
	q, none, err := e.query(e.Active)
	if err != nil || none {
		return err
	}
	if q.At != nil && *q.At > now {
		return fmt.Errorf("--at: %s has not come", *q.At)
	}
	total, _, err := s.Count(ctx, q, now)
	if err != nil {
		return err
	}
	bar := newExportBar(c, e.Output, int(total))
	defer bar.end()
	reader := tongue.Wish(e.Lang).Reader()
	return each(ctx, s, q, now, func(h *hazard.Hazard, products int) error {
		entry, err := format.Read(ctx, s, e.Format.Format, reader.Of(h), products)
		if err != nil {
			return err
		}
		bar.step()
		return doc.Write(entry)
	})
}

// chosen are the numbers of the hazards, in the order of lists.
func (e *exportCmd) chosen(ctx context.Context, s *store.Store, now hazard.Instant) ([]int64, error) {
	if !e.Active {
		return s.HazardIDs(ctx)
	}
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(snap.Hazards, hazard.Compare)
	var ids []int64
	for _, h := range snap.Hazards {
		if h.ActiveAt(now) {
			ids = append(ids, h.ID)
		}
	}
	return ids, nil
}

// read reads what the document says of a hazard; nil if it is over by now, and only active ones are asked for.
func (e *exportCmd) read(ctx context.Context, s *store.Store, id int64, reader *tongue.Reader, now hazard.Instant) (*format.Entry, error) {
	h, err := s.Hazard(ctx, id)
	if err != nil {
		return nil, err
	}
	if e.Active && !h.ActiveAt(now) {
		return nil, nil
	}
	products, err := s.Products(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	return format.Read(ctx, s, e.Format.Format, reader.Of(h.ExpireAt(now)), len(products))
}

// output is where a document goes: standard output, or a file that takes its name when it is whole.
type output struct {
	io.Writer
	name string
	part *os.File // nil: there is nothing to name
}

func openOutput(c *console, name string) (*output, error) {
	if name == "-" {
		return &output{Writer: c.out}, nil
	}
	o := &output{name: name}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil, fmt.Errorf("--output: %s is a folder; name a file", name)
	}
	var err error
	if o.part, err = os.Create(name + ".part"); err != nil {
		return nil, o.explain(err)
	}
	o.Writer = o.part
	return o, nil
}

// close ends the document: whole if nothing failed.
func (o *output) close(failed error) error {
	if o.part == nil {
		return failed
	}
	err := errors.Join(failed, o.explain(o.part.Close()))
	if err == nil {
		return o.explain(os.Rename(o.part.Name(), o.name))
	}
	return errors.Join(err, o.explain(os.Remove(o.part.Name())))
}

// explain says that it is the output that is at fault, and not the data folder.
func (o *output) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write %s: %v; choose another file with --output", o.name, err)
}

// exportBar shows how far an export is, to whoever is looking, unless the document itself goes to the screen.
type exportBar struct{ bar *progressbar.ProgressBar }

func newExportBar(c *console, output string, hazards int) *exportBar {
	if c.json || !c.errTerminal || output == "-" && c.outTerminal {
		return &exportBar{}
	}
	return &exportBar{progressbar.NewOptions(hazards, progressbar.OptionSetWriter(c.err), progressbar.OptionSetDescription("hazards"), progressbar.OptionShowCount(),
		progressbar.OptionClearOnFinish())}
}

func (b *exportBar) step() {
	if b.bar != nil {
		_ = b.bar.Add(1) // a bar that cannot be drawn is no reason to stop
	}
}

func (b *exportBar) end() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}
