package format

import (
	"bufio"
	"encoding/xml"
	"net/url"

	"github.com/hazardd/hazardd/internal/hazard"
)

// atomEncoder writes an Atom feed (RFC 4287) with GeoRSS.
type atomEncoder struct {
	options Options
	// alerts: each entry holds its CAP document. The document stands without a server then.
	alerts bool
}

type atomEntry struct {
	XMLName    xml.Name       `xml:"entry"`
	Language   string         `xml:"xml:lang,attr,omitempty"`
	ID         string         `xml:"id"`
	Title      string         `xml:"title"`
	Updated    string         `xml:"updated"`
	Published  string         `xml:"published"`
	Author     *atomPerson    `xml:"author,omitempty"`
	Links      []atomLink     `xml:"link"`
	Categories []atomCategory `xml:"category"`
	Summary    string         `xml:"summary,omitempty"`
	geoRSS
	Content *atomContent `xml:"content,omitempty"`
}

type atomPerson struct {
	Name string `xml:"name"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr,omitempty"`
	Href string `xml:"href,attr"`
}

type atomCategory struct {
	Scheme string `xml:"scheme,attr,omitempty"`
	Term   string `xml:"term,attr"`
	Label  string `xml:"label,attr,omitempty"`
}

type atomContent struct {
	Type  string `xml:"type,attr"`
	Alert *alert `xml:"alert"`
}

func (a *atomEncoder) begin(out *bufio.Writer) error {
	o := a.options
	out.WriteString(header + `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:georss="http://www.georss.org/georss">`)
	// Section 4.2.6: the id must never change, wherever the feed is stored.
	id := o.Self
	if id == "" {
		id = o.Base + "/hazards"
	}
	out.WriteString(`<id>` + escaped(id) + `</id><title>` + escaped(o.Title) + `</title><updated>` + rfc3339(o.Updated) + `</updated>`)
	out.WriteString(`<author><name>` + escaped(hostOf(o.Base)) + `</name></author><generator>hazardd</generator>`)
	if o.Self != "" {
		out.WriteString(`<link rel="self" type="application/atom+xml" href="` + escaped(o.Self) + `"/>`)
	}
	out.WriteString(`<link rel="alternate" type="text/html" href="` + escaped(o.Base+"/") + `"/>`)
	return nil
}

func (a *atomEncoder) fragment(e *Entry) (fragment, error) {
	h, base := e.Hazard, a.options.Base
	entry := atomEntry{
		ID: "urn:uuid:" + h.UUID.String(), Title: clean(e.headline(a.options.Language, a.options.At).Headline), Updated: h.LastUpdate.String(), Published: h.Created.String(),
		Links: []atomLink{
			{"alternate", "text/html", pageURL(base, h)},
			{"related", "application/cap+xml", capURL(base, h)},
			{"related", "application/geo+json", hazardURL(base, h) + "?f=geojson"},
		},
		Categories: []atomCategory{
			{base + "/hazards/types", string(h.Type), typeName(h.Type)},
			{base + "/hazards/severities", h.Severity.String(), severityName(h.Severity)},
			{base + "/hazards/categories", string(h.Category), ""},
			{"", string(h.Status), map[hazard.Status]string{hazard.Active: "Active", hazard.Expired: "Expired"}[h.Status]},
		},
		Summary: clean(h.Description),
	}
	if t := h.Says(); t != nil {
		entry.Language = clean(t.Language)
	}
	if link := webURL(base, h); link != pageURL(base, h) {
		entry.Links = append(entry.Links, atomLink{"via", "", link})
	}
	if h.Creator != "" {
		entry.Author = &atomPerson{clean(h.Creator)}
	}
	entry.geoRSS = e.geoRSS()
	if a.alerts {
		entry.Content = &atomContent{"application/cap+xml", newAlert(e, base, 0)}
	}
	return xmlFragment(&entry)
}

func (a *atomEncoder) add(out *bufio.Writer, _ *hazard.Hazard, fr fragment, _ int) {
	out.Write(fr.text)
}

func (a *atomEncoder) end(out *bufio.Writer, n int) error {
	if next := a.options.page(n).next(); next != "" { // RFC 5005, section 3
		out.WriteString(`<link rel="next" type="application/atom+xml" href="` + escaped(next) + `"/>`)
	}
	out.WriteString("</feed>\n")
	return nil
}

// hazardURL returns the address of a hazard's record.
func hazardURL(base string, h *hazard.Hazard) string { return base + "/hazards/" + h.UUID.String() }

// capURL returns the address of a hazard's CAP document.
func capURL(base string, h *hazard.Hazard) string { return hazardURL(base, h) + "?f=" + CAP.String() }

// hostOf returns the host of the service's public address, with a given port.
func hostOf(base string) string {
	if u, err := url.Parse(base); err == nil && u.Host != "" {
		return u.Host
	}
	return "localhost"
}
