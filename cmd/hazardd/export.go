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
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/store"
)

type exportCmd struct {
	Format formatName `default:"json" placeholder:"NAME" help:"Format of the document: ${formats}. cap is an Atom feed with the alert of each hazard."`
	Active bool       `help:"Only the active hazards."`
	searchFlags
	Lang   tongues `placeholder:"TAG,…" help:"Preferred languages of the authorities' texts, best first, such as fr-CA,fr. CAP always has all languages."`
	Output string  `short:"o" default:"-" placeholder:"FILE" help:"File to write, - for standard output. A file is replaced only when the document is complete."`
	addressFlags
}

// formatName is the name of an export format.
type formatName struct {
	format.Format
	// Package, if not empty, is a packaged format such as GeoPackage; Format then says how a
	// record's columns are named.
	Package format.PackageForm
}

// exportFormats returns the names of all export formats.
func exportFormats() []string {
	names := format.Names()
	for _, form := range format.PackageForms() {
		names = append(names, string(form))
	}
	return names
}

// UnmarshalText parses the name.
func (f *formatName) UnmarshalText(text []byte) error {
	if form, ok := format.ParsePackage(string(text)); ok {
		f.Package, f.Format = form, format.GeoJSON // its properties are the columns
		return nil
	}
	named, ok := format.Parse(string(text))
	if !ok {
		return fmt.Errorf("%.60q is not a format; the formats are: %s", text, strings.Join(exportFormats(), ", "))
	}
	f.Format = named
	return nil
}

// Run writes the document. Each hazard is read when its turn comes, with its unrestricted products.
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

// document collects hazards. Call either Close or discard at the end.
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

// plainDocument writes each hazard at once, so there is nothing to discard.
type plainDocument struct{ *format.Writer }

func (plainDocument) Discard() error { return nil }

// packageDocument is copied to the output once it is complete.
type packageDocument struct {
	*format.Package
	out io.Writer
}

// Close completes the file and copies it to the output.
func (p packageDocument) Close() error {
	return p.Finish(func(_ int64, file io.ReadSeeker) error {
		_, err := io.Copy(p.out, file)
		return err
	})
}

// fill writes the hazards. Without filters, each is as of its own turn; with filters, all are as of
// the start of the search.
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
	reader := lang.Wish(e.Lang).Reader()
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

// fillFound writes the hazards that match the filters.
func (e *exportCmd) fillFound(ctx context.Context, c *console, s *store.Store, now hazard.Instant, doc document) error {
	q, none, err := e.query(e.Active)
	if err != nil || none {
		return err
	}
	if q.At != nil && *q.At > now {
		return fmt.Errorf("--at: %s is in the future", *q.At)
	}
	total, _, err := s.Search.Count(ctx, q, now)
	if err != nil {
		return err
	}
	bar := newExportBar(c, e.Output, int(total))
	defer bar.end()
	reader := lang.Wish(e.Lang).Reader()
	return each(ctx, s, q, now, func(h *hazard.Hazard, products int) error {
		entry, err := format.Read(ctx, s.Log, e.Format.Format, reader.Of(h), products)
		if err != nil {
			return err
		}
		bar.step()
		return doc.Write(entry)
	})
}

// chosen returns the ids of the hazards, in the order of lists.
func (e *exportCmd) chosen(ctx context.Context, s *store.Store, now hazard.Instant) ([]int64, error) {
	if !e.Active {
		return s.Hazards.IDs(ctx)
	}
	snap, err := s.Log.Snapshot(ctx)
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

// read returns the content of the document for one hazard. It returns nil if the hazard has ended
// meanwhile and only active hazards are exported.
func (e *exportCmd) read(ctx context.Context, s *store.Store, id int64, reader *lang.Reader, now hazard.Instant) (*format.Entry, error) {
	h, err := s.Hazards.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if e.Active && !h.ActiveAt(now) {
		return nil, nil
	}
	products, err := s.Hazards.Products(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	return format.Read(ctx, s.Log, e.Format.Format, reader.Of(h.ExpireAt(now)), len(products))
}

// output is the destination of a document: standard output, or a file that gets its name only when
// it is complete.
type output struct {
	io.Writer
	name string
	part *os.File // nil for standard output
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

// close ends the document. If nothing failed, the file gets its name.
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

// explain makes clear that the error concerns the output, not the data folder.
func (o *output) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write %s: %v; choose another file with --output", o.name, err)
}

// exportBar shows the progress of an export on a terminal, unless the document itself goes there.
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
		_ = b.bar.Add(1) // ignore errors: a missing bar must not stop the export
	}
}

func (b *exportBar) end() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}
