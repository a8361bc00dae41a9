package gvp

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// item is the feed's report about one volcano in one week (RSS 2.0, GeoRSS Simple).
type item struct {
	title       string // "Name (Country) - Report for 10 September-16 September 2026 - New Eruptive Activity"
	description string // the report, as HTML
	link        string // the page of all reports
	guid        string // like link, with "#vn_" and the volcano's number, which is nowhere else
	pubDate     string // when the week's reports were published; the same for all of them
	point       string // georss:point: latitude, longitude
}

// georss is the namespace of the position. A prefix without a declaration is accepted too.
var georss = []string{"http://www.georss.org/georss", "georss"}

// Limits of an item. maxField is a hundred times the longest recorded field.
const (
	maxElements = 1000
	maxField    = 256 << 10 // bytes
)

// itemOf reads an item. Of several elements with the same name, the first counts.
func itemOf(n *lenient.Node) *item {
	get := func(space, name string) string {
		text := n.Child(space, name).Text
		return strings.ToValidUTF8(text[:min(len(text), maxField)], "")
	}
	it := &item{title: get("", "title"), description: get("", "description"), link: get("", "link"), guid: get("", "guid"), pubDate: get("", "pubDate")}
	for _, space := range georss {
		it.point = cmp.Or(it.point, get(space, "point"))
	}
	return it
}

// Parse reads the feed. It reads each item separately: an unreadable one becomes a Reject and does
// not affect its neighbors.
//
// The error, if any, is a *source.PayloadError. The Batch still contains the part before the error.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{now: now}
	text, err := lenient.Text(payload, "windows-1252") // the feed declares ISO-8859-1, most of which is the same
	if err == nil {
		_, err = lenient.XML{Want: "RSS", Roots: []string{"rss"}, Records: []string{"item"}}.Read(text, p.record)
	}
	if err == nil && p.Batch.Read == 0 && !bytes.Contains(text, []byte("<channel")) {
		err = source.Errorf("no channel in rss, expected one")
	}
	return p.Done(), err
}

type parser struct {
	lenient.Batch
	now hazard.Instant
	// known holds the reports by volcano, week and time, to find copies and contradictions.
	known map[string][]reported
}

// reported is an item with the index of its report in the batch.
type reported struct {
	item
	at int
}

// record reads one item.
func (p *parser) record(e lenient.Element) {
	where := fmt.Sprintf("items/%d", p.Batch.Read)
	p.Batch.Read++
	n, notes, err := e.Tree(lenient.Limits{Elements: maxElements})
	if err != nil {
		p.Reject(lenient.At(where), e.Raw, err.Error())
		return
	}
	it := itemOf(n)
	r, err := report(it, p.now)
	if err != nil {
		p.Reject(lenient.At(cmp.Or(number(it), where)), e.Raw, err.Error())
		return
	}
	source.Note(&r, notes...)
	// The feed contains each volcano once. If two different items have the same volcano, week and
	// time, it is unclear which one counts.
	id := fmt.Sprintf("%s %s %d", r.Key, r.Part, r.Version)
	for _, other := range p.known[id] {
		if other.item == *it {
			p.Ignore(cmp.Or(number(it), where), "a copy of another item in the list", r.Key)
			return
		}
	}
	if p.known == nil {
		p.known = map[string][]reported{}
	}
	p.known[id] = append(p.known[id], reported{*it, len(p.Reports)})
	p.Reports = append(p.Reports, r)
	if same := p.known[id]; len(same) > 1 {
		for _, other := range same {
			if r := &p.Reports[other.at]; !strings.HasSuffix(r.Suspect, clash) {
				r.Suspect = lenient.Joined("; ", r.Suspect, clash)
			}
		}
	}
}

// clash is the reason for holding contradictory items.
const clash = "another item of the same volcano, week and pubDate says something else"
