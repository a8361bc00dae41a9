// Package format writes hazards in the formats of other programs: GeoJSON (RFC 7946) for maps and GIS, CSV (RFC 4180) for tables, KML
// 2.2 for globes, Atom (RFC 4287) and RSS 2.0 with GeoRSS for readers of feeds, CAP 1.2 (OASIS) for alerting systems, JSON and NDJSON with the
// records of the base interface.
//
// A Writer takes one Entry at a time and keeps none, so that a document of any length needs no memory. A Cache keeps what entries were
// encoded to. What it writes depends on
// the entries and Options alone: no clock, no network, no store. Entries must be shown as readers see them at the moment of the
// document (hazard.Hazard.ExpireAt); which products the reader may know of, the caller has counted. An Entry is only read.
//
// In every format the geometry of a hazard is one: its alert area, else where the impact is, else its track, else its point. Positions
// are WGS 84. A table's columns, GeoJSON's properties and KML's data are the same fields under the same names: those of the
// base interface, section 2.6, in its order, and then ours (fields.go).
package format

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
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

// info is what the world calls a format.
type info struct {
	name      string // value of the parameter f
	mediaType string // with parameters
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

// Names are the formats as the parameter f names them, in their order.
func Names() []string {
	names := make([]string, formats)
	for f := range formats {
		names[f] = infos[f].name
	}
	return names
}

// Parse is the format that the parameter f names, and whether it names one.
func Parse(name string) (Format, bool) {
	i := slices.IndexFunc(infos[:], func(i info) bool { return i.name == name })
	return Format(max(i, 0)), i >= 0
}

// String is the format's name, as the parameter f has it.
func (f Format) String() string { return infos[f].name }

// MediaType is the Content-Type of a document of one hazard, or of a list. It differs for CAP, which has no lists.
func (f Format) MediaType(single bool) string {
	if f == CAP && !single {
		f = Atom
	}
	return infos[f].mediaType
}

// FileName is name with the extension that the format's documents have.
func (f Format) FileName(name string) string { return name + "." + infos[f].extension }

// Entry is a hazard and what a document says of it. Read makes one.
type Entry struct {
	Hazard   *hazard.Hazard
	Areas    []hazard.Area // those that Hazard.Areas names
	Products int           // that the reader may know of
	Versions []Version     // for CAP: see Versions
}

// Options are what a document says of itself.
type Options struct {
	// Base is the service's public address, without a slash at its end.
	Base string
	// Self is the address of the document, if it has one.
	Self string
	// Title is the document's, for those who read it in a list of documents.
	Title string
	// Updated is when what the document says last changed.
	Updated hazard.Instant
	// Links of one hazard stand beside the members of its GeoJSON (RFC 7946, section 6.1).
	Links []Link
	// Page says how a list goes on. It is asked once all hazards of the list are written. nil: the document is the whole list.
	Page func() Page
	// Single: the document is of one hazard, and takes exactly one entry.
	Single bool
}

// Page is what a list says of itself. GeoJSON has all of it, under the names of OGC API – Features (OGC 17-069r4, section 7.16); KML, Atom
// and RSS lead to the next page; the other formats have no place for it.
type Page struct {
	Matched int64          // hazards on all pages
	Time    hazard.Instant // of the answer; zero: it is not said
	Links   []Link         // that of the next page, if there is one, has the relation next
}

// next is the address of the next page; empty: this is the last.
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
}

// Writer writes a document.
type Writer struct {
	out     *bufio.Writer
	encoder encoder
	format  Format
	base    string
	single  bool
	written int
	err     error
}

// encoder writes the parts of a document. Errors of the output need not be looked at: bufio keeps them.
type encoder interface {
	begin(out *bufio.Writer) error
	// fragment encodes an entry, wherever it will stand.
	fragment(e *Entry) (Fragment, error)
	// add writes the fragment of h, which n others came before.
	add(out *bufio.Writer, h *hazard.Hazard, fr Fragment, n int)
	// end ends the document of n hazards.
	end(out *bufio.Writer, n int) error
}

// page is what a list of n hazards says of itself.
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
	return &Writer{out: bufio.NewWriterSize(w, 32<<10), encoder: e, format: f, base: o.Base, single: o.Single}
}

var errOne = errors.New("a document of one hazard takes exactly one")

// Write adds a hazard. After an error, which is that of the output or says what of the hazard cannot be written, the document is
// broken and stays so.
func (w *Writer) Write(e *Entry) error {
	fr, err := w.fragment(e)
	if err != nil {
		return err
	}
	return w.add(e.Hazard, fr)
}

func (w *Writer) fragment(e *Entry) (Fragment, error) {
	if w.err != nil {
		return Fragment{}, w.err
	}
	fr, err := w.encoder.fragment(e)
	if err != nil {
		w.err = fmt.Errorf("hazard %s: %w", e.Hazard.UUID, err)
	}
	return fr, w.err
}

func (w *Writer) add(h *hazard.Hazard, fr Fragment) error {
	if w.written == 0 && w.err == nil {
		w.err = w.encoder.begin(w.out)
	}
	if w.single && w.written > 0 && w.err == nil {
		w.err = errOne
	}
	if w.err == nil {
		w.encoder.add(w.out, h, fr, w.written)
		w.written++
		_, w.err = w.out.Write(nil) // what failed before
	}
	return w.err
}

// Close ends the document. It does not close what it was written to.
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
