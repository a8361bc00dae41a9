package gvp

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// item is what the feed says of one volcano in one week (RSS 2.0, GeoRSS Simple).
type item struct {
	title       string // "Name (Country) - Report for 10 September-16 September 2026 - New Eruptive Activity"
	description string // the report, as HTML
	link        string // the page of all reports
	guid        string // the same with "#vn_" and the volcano's number, the only place where that is
	pubDate     string // when the week's reports were published: the same for all
	point       string // georss:point: latitude, longitude
}

// georss is the namespace of the position. A prefix that nobody declared counts as itself.
var georss = []string{"http://www.georss.org/georss", "georss"}

// The limits of an item. A field is a hundred times the longest recorded.
const (
	maxElements = 1000
	maxField    = 256 << 10 // bytes
)

// itemOf reads an item: of several members of one name the first counts.
func itemOf(n *frame.Node) *item {
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

// Parse reads the feed. Items are read one after the other: one that cannot be read makes a Reject, and its neighbours stay.
//
// The error, if any, is a *source.PayloadError. What could be read before it is in the Batch nevertheless.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{now: now}
	text, err := frame.Text(payload, "windows-1252") // the feed declares ISO-8859-1, of which that is the greater part
	if err == nil {
		_, err = frame.XML{Want: "RSS", Roots: []string{"rss"}, Records: []string{"item"}}.Read(text, p.record)
	}
	if err == nil && p.Batch.Read == 0 && !bytes.Contains(text, []byte("<channel")) {
		err = source.Errorf("no channel in rss, expected one")
	}
	return p.Done(), err
}

type parser struct {
	frame.Batch
	now hazard.Instant
	// known are the reports of one volcano, week and moment, to find copies, and those that contradict each other.
	known map[string][]reported
}

// reported is an item and its report's place in the batch.
type reported struct {
	item
	at int
}

// record reads one item.
func (p *parser) record(e frame.Element) {
	where := fmt.Sprintf("items/%d", p.Batch.Read)
	p.Batch.Read++
	n, notes, err := e.Tree(frame.Limits{Elements: maxElements})
	if err != nil {
		p.Reject(frame.At(where), e.Raw, err.Error())
		return
	}
	it := itemOf(n)
	r, err := report(it, p.now)
	if err != nil {
		p.Reject(frame.At(cmp.Or(number(it), where)), e.Raw, err.Error())
		return
	}
	source.Note(&r, notes...)
	// The feed has each volcano once. Of two items of one volcano, week and moment nobody knows which counts.
	id := fmt.Sprintf("%s %s %d", r.Key, r.Part, r.Version)
	for _, other := range p.known[id] {
		if other.item == *it {
			p.Ignored++ // a copy
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
				r.Suspect = frame.Joined("; ", r.Suspect, clash)
			}
		}
	}
}

// clash is why nobody can tell which of several items counts.
const clash = "another item of the same volcano, week and pubDate says something else"
