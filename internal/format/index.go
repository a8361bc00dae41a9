package format

import (
	"bytes"
	"encoding/xml"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Index is a feed of CAP messages, or a piece of one (RFC 5005, section 4): what is no longer in the feed is in archives, of which each leads
// to the one before.
type Index struct {
	Self, ID, Title, Author string
	Updated                 hazard.Instant
	// Current is the address of the feed itself, where this is an archive; Older and Newer are those of the archives around it; empty: none.
	Current, Older, Newer string
}

// IndexEntry is a message in an index.
type IndexEntry struct {
	Address                    string // of the message: the id of the entry
	Title, Author              string
	Updated, Expires           hazard.Instant
	Kind, Status, Event, Level string // msgType, status, event and severity of the message
}

type indexAtom struct {
	XMLName xml.Name   `xml:"entry"`
	ID      string     `xml:"id"`
	Title   string     `xml:"title"`
	Updated string     `xml:"updated"`
	Author  string     `xml:"author>name"`
	Link    []atomLink `xml:"link"`
	indexCAP
}

// indexCAP are elements of CAP in an entry: readers need not fetch what they do not want.
type indexCAP struct {
	Status   string `xml:"cap:status"`
	Kind     string `xml:"cap:msgType"`
	Event    string `xml:"cap:event"`
	Severity string `xml:"cap:severity"`
	Expires  string `xml:"cap:expires"`
}

type indexRSS struct {
	XMLName xml.Name `xml:"item"`
	Title   string   `xml:"title"`
	Link    string   `xml:"link"`
	GUID    string   `xml:"guid"`
	Date    string   `xml:"pubDate"`
	Author  string   `xml:"dc:creator"`
	indexCAP
}

const indexNamespaces = ` xmlns:fh="http://purl.org/syndication/history/1.0" xmlns:cap="urn:oasis:names:tc:emergency:cap:1.2"`

func (e *IndexEntry) cap() indexCAP {
	return indexCAP{e.Status, e.Kind, clean(e.Event), e.Level, capTime(e.Expires)}
}

// longestTitle bounds the title of an entry, in runes.
const longestTitle = 120

func (e *IndexEntry) title() string {
	title := clean(hazard.CleanLine(e.Title))
	if r := []rune(title); len(r) > longestTitle {
		title = string(r[:longestTitle-1]) + "…"
	}
	if e.Status != "Actual" {
		title = e.Status + ": " + title
	}
	if e.Kind == "Cancel" {
		title = "Cancelled: " + title
	}
	return title
}

// AtomEntry is an entry of an Atom feed (RFC 4287).
func (e *IndexEntry) AtomEntry() ([]byte, error) {
	return xml.Marshal(&indexAtom{ID: e.Address, Title: e.title(), Updated: rfc3339(e.Updated), Author: clean(e.Author),
		Link: []atomLink{{"alternate", "application/cap+xml", e.Address}}, indexCAP: e.cap()})
}

// RSSEntry is an item of an RSS 2.0 feed.
func (e *IndexEntry) RSSEntry() ([]byte, error) {
	return xml.Marshal(&indexRSS{Title: e.title(), Link: e.Address, GUID: e.Address, Date: rfc1123(e.Updated), Author: clean(e.Author), indexCAP: e.cap()})
}

// links are those of an index: RFC 5005, sections 3 and 4. Paging and archives are the same documents.
func (x *Index) links(b *bytes.Buffer, element, mediaType string) {
	link := func(rel, href string) {
		if href != "" {
			b.WriteString(`<` + element + ` rel="` + rel + `" type="` + mediaType + `" href="` + escaped(href) + `"/>`)
		}
	}
	link("self", x.Self)
	link("current", x.Current)
	link("next", x.Older)
	link("prev-archive", x.Older)
	link("previous", x.Newer)
	link("next-archive", x.Newer)
	if x.Current != "" {
		b.WriteString(`<fh:archive/>`)
	}
}

// Atom is the index as an Atom feed of the entries that AtomEntry made.
func (x *Index) Atom(entries [][]byte) []byte {
	var b bytes.Buffer
	b.WriteString(header + `<feed xmlns="http://www.w3.org/2005/Atom"` + indexNamespaces + `><id>` + escaped(x.ID) + `</id><title>` + escaped(x.Title) +
		`</title><updated>` + rfc3339(x.Updated) + `</updated><author><name>` + escaped(x.Author) + `</name></author><generator>hazardd</generator>`)
	x.links(&b, "link", "application/atom+xml")
	for _, e := range entries {
		b.Write(e)
		b.WriteByte('\n')
	}
	b.WriteString("</feed>\n")
	return b.Bytes()
}

// RSS is the index as an RSS 2.0 feed of the entries that RSSEntry made.
func (x *Index) RSS(entries [][]byte) []byte {
	var b bytes.Buffer
	b.WriteString(rssHeader(indexNamespaces, x.Title, x.ID, x.Updated))
	x.links(&b, "atom:link", "application/rss+xml")
	for _, e := range entries {
		b.Write(e)
		b.WriteByte('\n')
	}
	b.WriteString(rssFooter)
	return b.Bytes()
}
