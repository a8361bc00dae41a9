// Package official is the catalog of the official CAP feeds of the world: who warns in which country,
// at which address, in which language, and whether the feed operated when it was last looked at.
//
// The catalog is a table of facts, feeds.tsv, collected from the lists of IFRC's Alert Hub (2024) and
// of KDE's FOSS Public Alert Server (June 2026), which come from WMO's Register of Alerting Authorities
// (https://alertingauthority.wmo.int). Each feed is a source of the CAP adapter. The package reads the
// table once, holds nothing else, and asks nobody.
package official

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/cap"
)

// Status is what the lists say of a feed.
type Status string

// The statuses.
const (
	Operating   Status = "operating"
	Assumed     Status = "assumed"     // nobody looked lately, but its country would have no other feed that can be read
	Unverified  Status = "unverified"  // nobody looked lately
	Redundant   Status = "redundant"   // another feed of the catalog has the alerts of this authority
	Testing     Status = "testing"     // it holds tests, or is being set up
	Unreachable Status = "unreachable" // its server did not answer
	Unused      Status = "unused"      // it answers, and holds no alerts, or no CAP
)

// Statuses are all of them, those that are polled by default first.
var Statuses = []Status{Operating, Assumed, Unverified, Redundant, Testing, Unreachable, Unused}

// Feed is one feed of the catalog.
type Feed struct {
	// Name is that of the source: country, authority and language, as the lists have it.
	Name string `json:"name"`
	// Country is an ISO 3166-1 alpha-2 code; empty: of no one country.
	Country  string `json:"country"`
	Language string `json:"language"` // RFC 5646
	Title    string `json:"title"`    // the country and the authority, in its own language
	// Format is "index" (RSS or Atom that leads to CAP documents), "edxl", "embedded" (CAP inside of an index), or one that is not CAP.
	Format string `json:"format"`
	Status Status `json:"status"`
	// Read is whether a public server could read the feed at the time of the list: "ok", "failed", or empty if that is not known.
	Read string `json:"read"`
	// OID is the authority's number in WMO's register, without "urn:oid:"; empty if it is not known.
	OID string `json:"oid"`
	// License is an SPDX identifier; empty if it is not known.
	License string `json:"license"`
	// Hosts are further hosts that the feed leads to: "*.example.org" stands for the domain and all hosts below it.
	Hosts []string `json:"hosts"`
	// By is the built-in source that has the alerts of the feed in another form; empty: there is none.
	By     string   `json:"by"`
	Listed []string `json:"listed"` // by whom: "ifrc", "fpas"
	URL    string   `json:"url"`
}

// Every is how often a feed of the catalog is polled.
const Every = 5 * time.Minute

// pushes are the connections on which alerts of a feed are pushed too, by its address, and archives where each of these alerts
// can be read by itself. Both of Canada are in plain text, as its NAAD System has them (LMD User Guide).
var (
	pushes = map[string][]string{
		"https://rss.naad-adna.pelmorex.com/": {"tcp://streaming1.naad-adna.pelmorex.com:8080", "tcp://streaming2.naad-adna.pelmorex.com:8080"},
	}
	archives = map[string][]string{
		"https://rss.naad-adna.pelmorex.com/": {"http://capcp1.naad-adna.pelmorex.com", "http://capcp2.naad-adna.pelmorex.com"},
	}
)

// maxBytes bounds one index or document: the largest indexes have 2 or 3 MB.
const maxBytes = 16 << 20

// formats are those that the CAP adapter reads.
var formats = map[string]bool{"index": true, "edxl": true, "embedded": true}

// Readable reports whether the feed is CAP in a form that can be read.
func (f *Feed) Readable() bool { return formats[f.Format] }

// Default reports whether the feed is polled unless an operator says otherwise: it operates, can be
// read, and no built-in source has its alerts.
func (f *Feed) Default() bool {
	return (f.Status == Operating || f.Status == Assumed) && f.Readable() && f.By == ""
}

// WhyNot says why the feed is not polled by default, empty if it is.
func (f *Feed) WhyNot() string {
	switch {
	case f.By != "":
		return "the source " + f.By + " has its alerts"
	case !f.Readable():
		return "its format " + f.Format + " is not CAP"
	case f.Default():
		return ""
	}
	return string(f.Status)
}

// Source returns the description of the feed. Its alerts count as those of a national authority, if it has a country.
func (f *Feed) Source() source.Source {
	s := cap.Config{Name: f.Name, Title: f.Title, URL: f.URL, Every: Every, MaxBytes: maxBytes, Hosts: f.Hosts, Shared: true,
		Countries: f.countries(), Spoken: f.Language, Siblings: f.siblings(), Push: pushes[f.URL], Archive: archives[f.URL]}.Source(cap.Places{})
	s.OID = f.OID
	s.Covers = "official alerts of " + f.Title
	s.Coverage = f.coverage()
	if f.Country == "" {
		s.Rank = source.Ranks{"": source.Curator} // of no country: it passes on what others say
	}
	if f.Language != "" {
		s.Languages = []string{f.Language}
	}
	if f.License != "" {
		s.License = f.License
	}
	return s
}

// siblings are the languages of the feeds of the country: its authorities give each alert once in each.
func (f *Feed) siblings() []string {
	if f.Country == "" {
		return nil
	}
	var all []string
	for i := range Feeds() {
		if o := &Feeds()[i]; o.Country == f.Country && o.Language != "" && !slices.Contains(all, o.Language) {
			all = append(all, o.Language)
		}
	}
	if len(all) < 2 {
		return nil
	}
	return all
}

func (f *Feed) countries() []string {
	if f.Country == "" {
		return nil
	}
	return []string{f.Country}
}

//go:embed feeds.tsv
var table string

var read = sync.OnceValue(func() []Feed {
	feeds, err := parse(table)
	if err != nil {
		panic(err) // our own table, which a test reads
	}
	return feeds
})

// Feeds returns the catalog, ordered by name. The caller must not change it.
func Feeds() []Feed { return read() }

// parse reads the table.
func parse(text string) ([]Feed, error) {
	var feeds []Feed
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "name\t") {
			continue
		}
		c := strings.Split(line, "\t")
		if len(c) != 13 {
			return nil, fmt.Errorf("feeds.tsv:%d: %d values, expected 13", n, len(c))
		}
		feeds = append(feeds, Feed{Name: c[0], Country: c[1], Language: c[2], Title: c[3], Format: c[4], Status: Status(c[5]), Read: c[6], OID: c[7],
			License: c[8], Hosts: list(c[9]), By: c[10], Listed: list(c[11]), URL: c[12]})
	}
	return feeds, nil
}

func list(text string) []string {
	if text == "" {
		return []string{}
	}
	return strings.Split(text, ",")
}
