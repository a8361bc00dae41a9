package jtwc

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Patterns for the HTML of an item about one ocean. It contains a heading and a list of links for
// each warning, or the words that there are none.
var (
	heading  = regexp.MustCompile(`(?i)\b(\d{2})([A-Z])\s+\([^()<>]{1,60}\)\s+(?:[A-Z]+\s+){0,2}warning\s*#?\s*(\d{1,3}[A-Z]?)\b`)
	textLink = regexp.MustCompile(`(?i)["'](https?://[^"'<>\s]{1,200}/([a-z]{2})(\d{2})(\d{2})web\.txt)["']`)
	issue    = regexp.MustCompile(`(?i)\b(?:re)?issued\s+at\s+(\d{2}/\d{4}Z)`)
	none     = "no current tropical cyclone warnings"
)

// basins are the center's basins by the letter after a storm's number (JTWC, "Frequently Asked
// Questions").
var basins = map[string]string{"W": "wp", "A": "io", "B": "io", "S": "sh", "P": "sh"}

// guests are the basins of storms that keep their letter when they cross the date line. From there
// on, they belong to this center.
var guests = map[string]string{"C": "cp", "E": "ep"}

// places are the names of the basins.
var places = map[string]string{"wp": "western North Pacific", "io": "North Indian Ocean", "sh": "Southern Hemisphere",
	"cp": "central North Pacific", "ep": "eastern North Pacific"}

// index reads the RSS index.
func (p *parser) index(payload []byte) error {
	text, err := lenient.Text(payload, "")
	if err != nil {
		return err
	}
	p.Lasting = []string{}
	oceans := 0
	_, err = lenient.XML{Want: "RSS", Roots: []string{"rss"}, Records: []string{"item"}}.Read(text, func(e lenient.Element) {
		where := fmt.Sprintf("items/%d", p.Batch.Read)
		p.Batch.Read++
		n, notes, err := e.Tree(lenient.Limits{Elements: 100})
		if err == nil && len(notes) > 0 {
			err = fmt.Errorf("%s", strings.Join(notes, "; "))
		}
		if err == nil && !strings.HasSuffix(strings.ToUpper(n.Get("", "guid")), "-WARNINGS") && !heading.MatchString(n.Get("", "description")) {
			p.Ignore(where, "the list of advisories, which are polled directly")
			return
		}
		if err == nil {
			oceans++
			err = p.ocean(n.Get("", "description"), strings.HasPrefix(strings.ToUpper(n.Get("", "guid")), "NWPAC"))
		}
		if err != nil {
			p.unsure = true // it is unknown which storms the item is about
			p.Reject(func() string { return where }, e.Raw, err.Error())
		}
	})
	if err != nil || oceans == 0 || p.unsure {
		p.Lasting = nil
	}
	if err == nil && p.Batch.Read == 0 {
		err = source.Errorf("no item in rss, expected one for each ocean")
	}
	return err
}

// ocean reads an item about one ocean, with a link for each warning. west says that the ocean is
// west of the date line. The error describes the unreadable parts; the rest is used.
func (p *parser) ocean(html string, west bool) error {
	headings := heading.FindAllStringSubmatchIndex(html, maxStorms)
	if len(headings) == 0 {
		if !strings.Contains(strings.ToLower(html), none) && !onlyAlerts(html) {
			return fmt.Errorf("description: %q, expected a warning, or that there is none", lenient.ExcerptText(html))
		}
		p.Ignore("item", "the item says that the ocean has no cyclone, or links formation alerts alone")
		return nil
	}
	var faults []error
	for i, h := range headings {
		until := len(html)
		if i+1 < len(headings) {
			until = headings[i+1][0]
		}
		letter := strings.ToUpper(html[h[4]:h[5]])
		basin := basins[letter]
		if west && basin == "" {
			basin = guests[letter]
		}
		if basin == "" {
			p.Ignore(html[h[2]:h[3]]+letter, otherCenter)
			continue
		}
		part := html[h[0]:until]
		m := textLink.FindStringSubmatch(part)
		if m == nil || !strings.EqualFold(m[2], basin) || m[3] != html[h[2]:h[3]] {
			faults = append(faults, fmt.Errorf("description: %q, expected the address of its text", lenient.ExcerptText(html[h[0]:h[1]])))
			continue
		}
		p.Lasting = append(p.Lasting, basin+m[3]+"20"+m[4])
		link := source.Link{URL: m[1], ID: basin + m[3] + m[4] + " " + html[h[6]:h[7]]}
		if at := issue.FindStringSubmatch(part); at != nil {
			link.ID += " " + at[1]
			if t, ok := latest(strings.Trim(strings.ReplaceAll(at[1], "/", ""), "zZ"), p.now); ok {
				link.Updated = &t
			}
		}
		p.Links = append(p.Links, link)
	}
	return errors.Join(faults...)
}

// onlyAlerts reports whether all linked texts are about disturbances: their formation alerts.
func onlyAlerts(html string) bool {
	links := textLink.FindAllStringSubmatch(html, maxStorms)
	for _, m := range links {
		if m[3] < "90" {
			return false
		}
	}
	return len(links) > 0
}

// maxStorms bounds the storms of a payload: there were never more than six at once.
const maxStorms = 50
