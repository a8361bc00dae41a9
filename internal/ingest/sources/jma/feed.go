package jma

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// maxElements bounds the elements of a document. One for all coasts has about 1,500, one with
// advisories for 52 towns 3,000.
const maxElements = 60_000

// kindsOfDocuments are parts of the names of the documents that are read (JMA, list of information
// types): tsunami warnings, advisories and forecasts; the hypocenter of an earthquake; hypocenter
// and intensities. For weather warnings, see weatherFile.
var kindsOfDocuments = []string{"_VTSE41_", "_" + partHypocenter + "_", "_" + partIntensity + "_"}

// weatherFile matches the end of the name of a document with weather warnings: the time of sending,
// its kind, and the office's area.
var weatherFile = regexp.MustCompile(`(\d{14})_\d+_(VPWW(?:5[5-9]|6[01]))_(\d{6})\.xml$`)

// restated is how many documents with weather warnings are read for each kind and area. Each
// contains everything in force, so one would be enough, but the last one may be a drill, and the
// one before it real.
const restated = 2

// titleOfTsunami is the Control/Title of documents about tsunamis.
const titleOfTsunami = "津波警報・注意報・予報"

// titles are the Control/Titles of the documents that are read, or prefixes of them.
var titles = []string{titleOfTsunami, titleOfHypocenter, titleOfIntensity, titleOfWeather, titleOfRiver}

// Parse reads an index or documents, as of now. The error is a *source.PayloadError. If its Cut is
// true, the records before the error are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{now: now}
	text, err := lenient.Text(payload, "")
	if err != nil {
		return p.Done(), err
	}
	root, err := lenient.XML{Want: "an Atom feed or a Report", Records: []string{"entry", "Report"}}.Read(text, p.record)
	if err == nil && p.Batch.Read == 0 && root != "feed" {
		err = source.Errorf("the root element is %q, expected feed or Report", lenient.ExcerptText(root))
	}
	p.newest()
	return p.Done(), err
}

type parser struct {
	lenient.Batch
	now hazard.Instant
}

// newest removes links to weather warnings that are repeated by later documents of the index.
func (p *parser) newest() {
	sent := map[string][]string{} // by kind and area
	of := func(l source.Link) (series, at string) {
		if m := weatherFile.FindStringSubmatch(l.URL); m != nil {
			return m[2] + m[3], m[1]
		}
		return "", ""
	}
	for _, l := range p.Links {
		if series, at := of(l); series != "" {
			sent[series] = append(sent[series], at)
		}
	}
	for _, times := range sent {
		slices.Sort(times)
	}
	p.Links = slices.DeleteFunc(p.Links, func(l source.Link) bool {
		series, at := of(l)
		times := sent[series]
		old := len(times) > restated && at < times[len(times)-restated]
		if old {
			p.Ignore(l.ID, "a weather warning that later documents of the same office state again", l.URL)
		}
		return old
	})
}

func (p *parser) record(e lenient.Element) {
	where := fmt.Sprintf("records/%d", p.Batch.Read)
	p.Batch.Read++
	reject := func(reason string) { p.Reject(func() string { return where }, e.Raw, reason) }
	n, notes, err := e.Tree(lenient.Limits{Elements: maxElements})
	if err != nil {
		reject(err.Error())
		return
	}
	if e.Name == "entry" {
		p.entry(n)
		return
	}
	reports, reason := p.report(n)
	if len(reports) == 0 {
		reason = cmp.Or(reason, source.Ignoring+"a document without an earthquake, a tsunami or a warning in force")
	}
	if rule, ignored := strings.CutPrefix(reason, source.Ignoring); ignored {
		p.Ignore(where, rule, strings.Fields(get(n, "Head", "EventID"))...)
	} else if reason != "" {
		reject(reason)
	}
	for i := range reports {
		source.Note(&reports[i], notes...)
		p.Reports = append(p.Reports, reports[i])
	}
}

// entry reads an entry of the index. Its link leads to the document, whose name contains its kind.
func (p *parser) entry(n *lenient.Node) {
	address := ""
	for _, l := range all(n, "link") {
		if address == "" || isRead(l.Attr("href")) {
			address = strings.TrimSpace(l.Attr("href"))
		}
	}
	if !isRead(address) {
		p.Ignore(get(n, "id"), "a document of a kind that is not about an earthquake, a tsunami, a river or a weather warning", address)
		return
	}
	link := source.Link{URL: address, ID: get(n, "id")}
	if at, _, err := lenient.Time(get(n, "updated"), nil); err == nil {
		link.Updated = &at
	}
	p.Links = append(p.Links, link)
}

// isRead reports whether the document at an address is of a kind that this package reads.
func isRead(address string) bool {
	return slices.ContainsFunc(kindsOfDocuments, func(kind string) bool { return strings.Contains(address, kind) }) ||
		weatherFile.MatchString(address) || riverFile.MatchString(address)
}

// all returns the children with that local name. Namespaces are ignored, because the local names
// are sufficient.
func all(n *lenient.Node, name string) (found []*lenient.Node) {
	for _, k := range n.Kids {
		if k.Name == name {
			found = append(found, k)
		}
	}
	return found
}

// at returns the first descendant along the local names, or an empty node if there is none.
func at(n *lenient.Node, names ...string) *lenient.Node {
	for _, name := range names {
		kids := all(n, name)
		if len(kids) == 0 {
			return &lenient.Node{}
		}
		n = kids[0]
	}
	return n
}

// get returns the text of that descendant on one line.
func get(n *lenient.Node, names ...string) string { return hazard.CleanLine(at(n, names...).Text) }
