package official

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/publicsuffix"
	"golang.org/x/text/language"

	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Each line of the catalog is a source that can be polled, with a unique name.
func TestEveryFeedOfTheCatalogIsASource(t *testing.T) {
	feeds, err := parse(table)
	if err != nil {
		t.Fatal(err)
	}
	if len(feeds) != 303 {
		t.Errorf("%d feeds, want the 303 of the lists", len(feeds))
	}
	names, addresses := map[string]bool{}, map[string]string{}
	oid := regexp.MustCompile(`^(|2\.49(\.[0-9]+)+)$`)
	for i := range feeds {
		f := &feeds[i]
		if i > 0 && feeds[i-1].Name >= f.Name {
			t.Errorf("%s stands after %s", f.Name, feeds[i-1].Name)
		}
		src := f.Source()
		if err := src.Check(); err != nil {
			t.Error(err)
		}
		if names[f.Name] {
			t.Errorf("%s is there twice", f.Name)
		}
		names[f.Name] = true
		u, err := url.Parse(f.URL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			t.Errorf("%s: %q is not an address", f.Name, f.URL)
			continue
		}
		if !slices.Contains(Statuses, f.Status) {
			t.Errorf("%s: status %q", f.Name, f.Status)
		}
		if f.Country != "" {
			if r, err := language.ParseRegion(f.Country); err != nil || r.String() != f.Country {
				t.Errorf("%s: %q is not a country", f.Name, f.Country)
			}
		}
		if _, err := language.Parse(f.Language); err != nil {
			t.Errorf("%s: %q is not a language: %v", f.Name, f.Language, err)
		}
		if !oid.MatchString(f.OID) {
			t.Errorf("%s: OID %q", f.Name, f.OID)
		}
		if f.Title == "" || len(f.Listed) == 0 || f.Country == "" && f.Default() && !strings.HasPrefix(f.Name, "int-") {
			t.Errorf("%s: title %q, country %q, listed by %q", f.Name, f.Title, f.Country, f.Listed)
		}
		// Two feeds that are polled by default must not have the same address, because they would
		// have the same alerts.
		bare := u.Host + strings.TrimSuffix(u.RequestURI(), "/")
		if other := addresses[bare]; other != "" && f.Default() {
			t.Errorf("%s has the address of %s", f.Name, other)
		}
		if f.Default() {
			addresses[bare] = f.Name
		}
		// If all hosts of a domain may be followed, the domain must belong to the feed's publisher.
		for _, h := range f.Hosts {
			domain, ok := strings.CutPrefix(h, "*.")
			if suffix, _ := publicsuffix.PublicSuffix(domain); !ok || suffix == domain || !strings.HasSuffix("."+u.Hostname(), "."+domain) {
				t.Errorf("%s: %q, expected the own domain of %s", f.Name, h, u.Hostname())
			}
		}
	}
}

// Feeds that work are polled by default, and each has the rank of a national authority.
func TestWhatOperatesIsOnByDefault(t *testing.T) {
	on := 0
	for i := range Feeds() {
		f := &Feeds()[i]
		if f.Default() {
			on++
		}
		if f.Default() != (f.WhyNot() == "") {
			t.Errorf("%s: default %v, why not %q", f.Name, f.Default(), f.WhyNot())
		}
		if f.Status == Operating && f.Readable() && f.By == "" && !f.Default() {
			t.Errorf("%s operates and is off", f.Name)
		}
		if s := f.Source(); f.Country != "" && s.Rank[""] != source.National {
			t.Errorf("%s: rank %v", f.Name, s.Rank)
		}
	}
	if on < 200 {
		t.Errorf("%d feeds are on", on)
	}
}

// Feeds that share a server are never polled faster than usual; the others are, while they change.
func TestOnlyAFeedAloneAtItsDomainIsPolledFaster(t *testing.T) {
	for name, want := range map[string]time.Duration{
		"ag-ms-en":       0,           // one of several at capews.com
		"al-igewe-en":    0,           // one of many in a bucket
		"at-zamg-xx":     0,           // one of many of MeteoAlarm
		"ar-smn-es":      time.Minute, // an office's own server
		"au-tas-dpac-en": 0,           // *.gov.au, of which it is not known whether they are one
	} {
		i := slices.IndexFunc(Feeds(), func(f Feed) bool { return f.Name == name })
		if i < 0 {
			t.Fatalf("no feed %s", name)
		}
		if got := Feeds()[i].fastest(); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
