// Package format writes hazards in other programs' formats: GeoJSON (RFC 7946) for maps and GIS,
// CSV (RFC 4180) for tables, KML 2.2 for globes, Atom (RFC 4287) and RSS 2.0 with GeoRSS for feed
// readers, CAP 1.2 (OASIS) for alerting systems, JSON and NDJSON with the records of the base
// interface.
//
// A Writer takes one Entry at a time and stores none, so that documents of any length need little
// memory. A Cache stores encoded entries. The output depends only on the entries and Options: no
// clock, network or store. Entries must be as readers see them at the moment of the document
// (hazard.Hazard.ExpireAt), and the caller counts the products that the reader may see. An Entry is
// never modified.
//
// In every format a hazard has one geometry: its alert area, or else its impact area, its track or
// its point. Positions are WGS 84. A table's columns, GeoJSON's properties and KML's data are the
// same fields with the same names: those of the base interface, section 2.6, in its order, then
// ours (fields.go).
package format

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/format/headline"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
)

// Format is a form of a document. The zero Format is JSON, the default.
type Format uint8

// The formats.
const (
	JSON    Format = iota // the base interface's records: an array, or one object
	GeoJSON               // a FeatureCollection, or one Feature
	CSV                   // a table with a header; geometry as well-known text in the column WKT
	KML                   // a Document with a Folder for each severity
	Atom                  // a feed that links to the CAP document of each hazard
	CAP                   // one alert; of several hazards an Atom feed that holds the alert of each
	NDJSON                // the base interface's records, one on each line
	RSS                   // a feed, as Atom, for readers that know only RSS 2.0
	formats
)

// info describes a format by its public names.
type info struct {
	name      string // value of the parameter f
	mediaType string // including parameters
	extension string
	aliases   []string // other media types that ask for it
}

var infos = [formats]info{
	JSON:    {"json", "application/json", "json", nil},
	GeoJSON: {"geojson", "application/geo+json", "geojson", []string{"application/vnd.geo+json"}}, // the name before RFC 7946
	CSV:     {"csv", "text/csv; charset=utf-8; header=present", "csv", nil},                       // RFC 7111, section 5.1
	KML:     {"kml", "application/vnd.google-earth.kml+xml", "kml", nil},
	Atom:    {"atom", "application/atom+xml", "atom", nil},
	CAP:     {"cap", "application/cap+xml", "cap.xml", nil},
	NDJSON:  {"ndjson", "application/x-ndjson", "ndjson", []string{"application/ndjson", "application/jsonl"}},
	RSS:     {"rss", "application/rss+xml", "rss", nil},
}

// Names returns the names of the formats, as in the parameter f, in order.
func Names() []string {
	names := make([]string, formats)
	for f := range formats {
		names[f] = infos[f].name
	}
	return names
}

// Parse returns the format with that name, and whether there is one.
func Parse(name string) (Format, bool) {
	i := slices.IndexFunc(infos[:], func(i info) bool { return i.name == name })
	return Format(max(i, 0)), i >= 0
}

// String returns the name of the format, as in the parameter f.
func (f Format) String() string { return infos[f].name }

// MediaType returns the Content-Type for a document of one hazard, or of a list. It differs for
// CAP, which has no lists.
func (f Format) MediaType(single bool) string {
	if f == CAP && !single {
		f = Atom
	}
	return infos[f].mediaType
}

// FileName is name with the extension that the format's documents have.
func (f Format) FileName(name string) string { return name + "." + infos[f].extension }

// Entry is a hazard with its additional data for a document. Read makes one.
type Entry struct {
	Hazard   *hazard.Hazard
	Areas    []hazard.Area // the areas of Hazard.Areas
	Products int           // number of products that the reader may see
	Versions []Version     // for CAP; see Versions
	// Said is the headline in the document's language at its moment; nil means that it is made, which
	// costs more than all else.
	Said *headline.Headline
	// kept is the record of it, if that is known.
	kept *record
}

// Options are the metadata of a document.
type Options struct {
	// Base is the service's public address, without a trailing slash.
	Base string
	// Self is the address of the document, if any.
	Self string
	// Title is the document's, for those who read it in a list of documents.
	Title string
	// Updated is when the content last changed.
	Updated hazard.Instant
	// Links of one hazard stand beside the members of its GeoJSON (RFC 7946, section 6.1).
	Links []Link
	// Page returns the links of a list. It is called once all hazards are written. nil means that
	// the document is the whole list.
	Page func() Page
	// Language is that of the headlines; nil means English.
	Language *words.Language
	// At is the moment of reading, by which headlines tell days. Zero means the last change of each
	// hazard.
	At hazard.Instant
	// Single: the document is of one hazard, and takes exactly one entry.
	Single bool
	// RadiusKm is the radius of the circle that a CAP alert gives where only a point is known. Zero
	// means publisher.DefaultRadiusKm.
	RadiusKm float64
}

// Page is the metadata of a list. GeoJSON has all of it, with the names of OGC API – Features (OGC
// 17-069r4, section 7.16). KML, Atom and RSS link to the next page; other formats cannot.
type Page struct {
	Matched int64          // hazards on all pages
	Time    hazard.Instant // time of the answer; zero leaves it out
	Links   []Link         // the link to the next page has the relation next
}

// next returns the address of the next page, or "" on the last one.
func (p Page) next() string {
	for _, l := range p.Links {
		if l.Rel == "next" {
			return l.Href
		}
	}
	return ""
}

// Link leads to another document (RFC 8288 for Rel; OGC 17-069r4, section 7.2, for the names).
type Link struct {
	Href  string `json:"href"`
	Rel   string `json:"rel"`
	Type  string `json:"type,omitzero"`
	Title string `json:"title,omitzero"`
	// Templated says that Href has variables in braces.
	Templated bool `json:"templated,omitzero"`
}

// Writer writes a document.
type Writer struct {
	out     *bufio.Writer
	encoder encoder
	format  Format
	base    string
	// language and at are those of Options.
	language *words.Language
	at       hazard.Instant
	single   bool
	written  int
	err      error
}

// encoder writes the parts of a document. It need not check errors of the output, because bufio
// keeps them.
type encoder interface {
	begin(out *bufio.Writer) error
	// fragment encodes an entry, wherever it will stand.
	fragment(e *Entry) (fragment, error)
	// add writes the fragment of h, which n others came before.
	add(out *bufio.Writer, h *hazard.Hazard, fr fragment, n int)
	// end ends the document of n hazards.
	end(out *bufio.Writer, n int) error
}

// headline says a hazard in a sentence or two.
func (e *Entry) headline(l *words.Language, at hazard.Instant) headline.Headline {
	if e.Said != nil {
		return *e.Said
	}
	return headline.Make(e.Hazard, headline.AroundOf(e.Hazard, e.shown()...), readerOf(e.Hazard, l, at))
}

// readerOf returns the reader of a headline in a document; see Options.Language and Options.At.
func readerOf(h *hazard.Hazard, l *words.Language, at hazard.Instant) headline.Reader {
	if l == nil {
		l = words.English()
	}
	if at == 0 {
		at = h.LastUpdate
	}
	return headline.Reader{Language: l, At: at}
}

// shown returns the areas of the shown role.
func (e *Entry) shown() (shapes []geo.Shape) {
	for _, a := range e.Areas {
		// What is stored can be read; should it not, the hazard still has its point.
		if s, err := geo.ReadStored(a.Geometry); err == nil && a.Role == e.Hazard.ShownRole() {
			shapes = append(shapes, s)
		}
	}
	return shapes
}

// page returns the metadata of a list of n hazards.
func (o *Options) page(n int) Page {
	if o.Page != nil {
		return o.Page()
	}
	p := Page{Matched: int64(n)}
	if o.Self != "" {
		p.Links = []Link{{Href: o.Self, Rel: "self"}}
	}
	return p
}

// NewWriter begins a document on w. Nothing is written before the first entry, or Close.
func NewWriter(w io.Writer, f Format, o Options) *Writer {
	o.Base = strings.TrimSuffix(o.Base, "/")
	var e encoder
	switch f {
	case GeoJSON:
		e = &geoJSONEncoder{options: o}
	case CSV:
		e = &csvEncoder{options: o}
	case KML:
		e = &kmlEncoder{options: o}
	case Atom:
		e = &atomEncoder{options: o}
	case CAP:
		e = &capEncoder{options: o}
		if !o.Single {
			e = &atomEncoder{options: o, alerts: true}
		}
	case NDJSON:
		e = &jsonEncoder{options: o, lines: true}
	case RSS:
		e = &rssEncoder{o}
	default:
		e = &jsonEncoder{options: o}
	}
	return &Writer{out: bufio.NewWriterSize(w, 32<<10), encoder: e, format: f, base: o.Base, language: o.Language, at: o.At, single: o.Single}
}

var errOne = errors.New("a document of one hazard takes exactly one")

// Write adds a hazard. After an error, either of the output or about the hazard, the document stays
// broken.
func (w *Writer) Write(e *Entry) error {
	fr, err := w.fragment(e)
	if err != nil {
		return err
	}
	return w.add(e.Hazard, fr)
}

func (w *Writer) fragment(e *Entry) (fragment, error) {
	if w.err != nil {
		return fragment{}, w.err
	}
	fr, err := w.encoder.fragment(e)
	if err != nil {
		w.err = fmt.Errorf("hazard %s: %w", e.Hazard.UUID, err)
	}
	return fr, w.err
}

func (w *Writer) add(h *hazard.Hazard, fr fragment) error {
	if w.written == 0 && w.err == nil {
		w.err = w.encoder.begin(w.out)
	}
	if w.single && w.written > 0 && w.err == nil {
		w.err = errOne
	}
	if w.err == nil {
		w.encoder.add(w.out, h, fr, w.written)
		w.written++
		_, w.err = w.out.Write(nil) // returns the earlier error
	}
	return w.err
}

// Close ends the document. It does not close the output.
func (w *Writer) Close() error {
	if w.single && w.written == 0 && w.err == nil {
		w.err = errOne
	}
	if w.written == 0 && w.err == nil {
		w.err = w.encoder.begin(w.out)
	}
	if w.err == nil {
		w.err = w.encoder.end(w.out, w.written)
	}
	if w.err == nil {
		w.err = w.out.Flush()
	}
	return w.err
}
