// Package official is the catalog of the official CAP feeds of the world: who warns in which
// country, at which address, in which language, and whether the feed worked at the last check.
//
// The catalog is a table of facts, feeds.tsv, collected from the lists of IFRC's Alert Hub (2024)
// and of KDE's FOSS Public Alert Server (June 2026), which come from WMO's Register of Alerting
// Authorities (https://alertingauthority.wmo.int). Each feed is a source of the CAP adapter. The
// package reads the table once and sends no requests.
package official

import (
	_ "embed"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
)

// Status is the state of a feed according to the lists.
type Status string

// The statuses.
const (
	Operating   Status = "operating"
	Assumed     Status = "assumed"     // not checked lately, but its country has no other readable feed
	Unverified  Status = "unverified"  // not checked lately
	Redundant   Status = "redundant"   // another feed of the catalog contains the alerts of this authority
	Testing     Status = "testing"     // it contains tests, or is being set up
	Unreachable Status = "unreachable" // its server did not respond
	Unused      Status = "unused"      // it responds, but contains no alerts or no CAP
	Dispatches  Status = "dispatches"  // its entries are calls of ambulances and fire engines, not warnings of danger
)

// Statuses lists all statuses; those that are polled by default come first.
var Statuses = []Status{Operating, Assumed, Unverified, Redundant, Testing, Unreachable, Unused, Dispatches}

// Feed is one feed of the catalog.
type Feed struct {
	// Name is the name of the source: country, authority and language, as in the lists.
	Name string `json:"name"`
	// Country is an ISO 3166-1 alpha-2 code; empty if the feed belongs to no single country.
	Country  string `json:"country"`
	Language string `json:"language"` // RFC 5646
	Title    string `json:"title"`    // the country, and the authority in its own language
	// Format is "index" (RSS or Atom with links to CAP documents), "edxl", "embedded" (CAP inside
	// an index), or a format other than CAP.
	Format string `json:"format"`
	Status Status `json:"status"`
	// Read says whether a public server could read the feed when the list was made: "ok", "failed",
	// or empty if unknown.
	Read string `json:"read"`
	// OID is the authority's number in WMO's register, without "urn:oid:"; empty if unknown.
	OID string `json:"oid"`
	// License is an SPDX identifier; empty if unknown.
	License string `json:"license"`
	// Hosts are further hosts that the feed links to: "*.example.org" means the domain and all
	// hosts below it.
	Hosts []string `json:"hosts"`
	// By is the built-in source that has the alerts of the feed in another form; empty if there is
	// none.
	By     string   `json:"by"`
	Listed []string `json:"listed"` // the lists that contain it: "ifrc", "fpas"
	URL    string   `json:"url"`
}

// every is how often a feed of the catalog is polled.
const every = 5 * time.Minute

// fastest is the interval of a feed of the catalog while it changes, if no other feed is at its domain.
// Hardly any publisher says what it allows, so it is longer than that of other sources.
const fastest = time.Minute

// pushes are the connections that also push the alerts of a feed, by the feed's address. archives
// are where each of these alerts can be fetched. Canada's NAAD System only offers both without
// encryption (LMD User Guide).
var (
	pushes = map[string][]string{
		"https://rss.naad-adna.pelmorex.com/": {"tcp://streaming1.naad-adna.pelmorex.com:8080", "tcp://streaming2.naad-adna.pelmorex.com:8080"},
	}
	archives = map[string][]string{
		"https://rss.naad-adna.pelmorex.com/": {"http://capcp1.naad-adna.pelmorex.com", "http://capcp2.naad-adna.pelmorex.com"},
	}
)

// maxBytes bounds an index or document: the largest indexes have 2 or 3 MB.
const maxBytes = 16 << 20

// formats are the formats that the CAP adapter reads.
var formats = map[string]bool{"index": true, "edxl": true, "embedded": true}

// Readable reports whether the feed is CAP in a supported format.
func (f *Feed) Readable() bool { return formats[f.Format] }

// Default reports whether the feed is polled by default: it works, is readable, and no built-in
// source has its alerts.
func (f *Feed) Default() bool {
	return (f.Status == Operating || f.Status == Assumed) && f.Readable() && f.By == ""
}

// WhyNot says why the feed is not polled by default; it is empty if the feed is polled.
func (f *Feed) WhyNot() string {
	switch {
	case f.By != "":
		return "the source " + f.By + " has its alerts"
	case !f.Readable():
		return "its format " + f.Format + " is not CAP"
	case f.Default():
		return ""
	case f.Status == Dispatches:
		return "its entries are calls of ambulances and fire engines, not warnings"
	}
	return string(f.Status)
}

// Source returns the description of the feed. Its alerts have the rank of a national authority if
// it has a country.
func (f *Feed) Source() source.Source {
	s := cap.Config{Name: f.Name, Title: f.Title, URL: f.URL, Every: every, Fastest: f.fastest(), MaxBytes: maxBytes, Hosts: f.Hosts, Shared: true,
		Countries: f.countries(), Spoken: f.Language, Siblings: f.siblings(), Push: pushes[f.URL], Archive: archives[f.URL],
		Practice: PracticeOf(f.URL)}.Source(cap.Places{})
	s.OID = f.OID
	s.Covers = "official alerts of " + f.Title
	s.Coverage = f.coverage()
	if f.Country == "" {
		s.Rank = source.Ranks{"": source.Curator} // a feed without a country passes on the alerts of others
	}
	if f.Language != "" {
		s.Languages = []string{f.Language}
	}
	if f.License != "" {
		s.License = f.License
	}
	return s
}

// fastest returns the interval while the feed changes; 0 if many feeds share its server.
func (f *Feed) fastest() time.Duration {
	if domains()[domain(f.URL)] > 1 {
		return 0
	}
	return fastest
}

// domains counts the feeds of each domain.
var domains = sync.OnceValue(func() map[string]int {
	count := map[string]int{}
	for _, f := range Feeds() {
		count[domain(f.URL)]++
	}
	return count
})

// domain returns the last two names of an address's host. Hosts below one domain are often one server.
func domain(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err) // from feeds.tsv
	}
	names := strings.Split(u.Hostname(), ".")
	return strings.Join(names[max(0, len(names)-2):], ".")
}

// siblings returns the languages of all feeds of the country, because its authorities issue each
// alert once in each language.
func (f *Feed) siblings() []string {
	if all := languages()[f.Country]; len(all) > 1 {
		return all
	}
	return nil
}

// languages returns the languages of the feeds of each country.
var languages = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for _, f := range Feeds() {
		if f.Country != "" && f.Language != "" && !slices.Contains(all[f.Country], f.Language) {
			all[f.Country] = append(all[f.Country], f.Language)
		}
	}
	return all
})

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
		panic(err) // the table is built in, and a test reads it
	}
	return feeds
})

// Feeds returns the catalog, ordered by name. The caller must not change it.
func Feeds() []Feed { return read() }

// parse parses the table.
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
