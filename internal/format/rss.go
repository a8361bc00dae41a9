package format

import (
	"bufio"
	"encoding/xml"
	"html"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// rssEncoder writes an RSS 2.0 feed with GeoRSS, by the rules of the RSS Advisory Board's profile: the address of the feed is a link of
// Atom, the guid of an item never changes, and its text is HTML. What RSS has no word for is said by Atom: when an item was updated,
// and its CAP document.
type rssEncoder struct{ options Options }

type rssItem struct {
	XMLName     xml.Name      `xml:"item"`
	Title       string        `xml:"title"`
	Link        string        `xml:"link"`
	GUID        rssGUID       `xml:"guid"`
	Published   string        `xml:"pubDate"`
	Updated     string        `xml:"atom:updated"`
	Author      string        `xml:"dc:creator,omitempty"`
	Language    string        `xml:"dc:language,omitempty"`
	Categories  []rssCategory `xml:"category"`
	Description string        `xml:"description,omitempty"`
	Related     []atomLink    `xml:"atom:link"`
	geoRSS
}

type rssGUID struct {
	Permanent bool   `xml:"isPermaLink,attr"`
	Text      string `xml:",chardata"`
}

type rssCategory struct {
	Domain string `xml:"domain,attr,omitempty"`
	Term   string `xml:",chardata"`
}

func (e *rssEncoder) begin(out *bufio.Writer) error {
	o := e.options
	out.WriteString(rssHeader(` xmlns:georss="http://www.georss.org/georss"`, o.Title, o.Base+"/", o.Updated))
	out.WriteString(`<ttl>1</ttl>`) // minutes until a reader looks again: sources are read each minute at best
	if o.Self != "" {
		rssLink(out, "self", o.Self)
	}
	return nil
}

// rssHeader begins the document of a channel up to its items, with more namespaces.
func rssHeader(namespaces, title, link string, updated hazard.Instant) string {
	return header + `<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/"` + namespaces + `><channel><title>` + escaped(title) +
		`</title><link>` + escaped(link) + `</link><description>` + escaped(title) + `</description><lastBuildDate>` + rfc1123(updated) + `</lastBuildDate><generator>hazardd</generator>`
}

const rssFooter = "</channel></rss>\n"

func rssLink(out *bufio.Writer, rel, href string) {
	out.WriteString(`<atom:link rel="` + rel + `" type="application/rss+xml" href="` + escaped(href) + `"/>`)
}

func (e *rssEncoder) fragment(entry *Entry) (fragment, error) {
	h, base := entry.Hazard, e.options.Base
	item := rssItem{
		Title: clean(entry.headline(e.options.Language, e.options.At).Headline), Link: pageURL(base, h), GUID: rssGUID{Text: "urn:uuid:" + h.UUID.String()},
		Published: rfc1123(h.Created), Updated: h.LastUpdate.String(), Author: clean(h.Creator),
		Categories: []rssCategory{
			{base + "/hazards/types", string(h.Type)},
			{base + "/hazards/severities", h.Severity.String()},
			{base + "/hazards/categories", string(h.Category)},
			{"", string(h.Status)},
		},
		Description: strings.ReplaceAll(html.EscapeString(clean(h.Description)), "\n", "<br/>\n"),
		Related:     []atomLink{{"related", "application/cap+xml", capURL(base, h)}},
		geoRSS:      entry.geoRSS(),
	}
	if t := h.Says(); t != nil {
		item.Language = clean(t.Language)
	}
	return xmlFragment(&item)
}

func (e *rssEncoder) add(out *bufio.Writer, _ *hazard.Hazard, fr fragment, _ int) {
	out.Write(fr.text)
}

func (e *rssEncoder) end(out *bufio.Writer, n int) error {
	if next := e.options.page(n).next(); next != "" { // RFC 5005, section 3
		rssLink(out, "next", next)
	}
	out.WriteString(rssFooter)
	return nil
}

// rfc1123 is a moment in whole seconds, UTC, as RSS has dates (RFC 822, with the year in four digits).
func rfc1123(i hazard.Instant) string { return i.Time().UTC().Format(time.RFC1123Z) }
