package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/ingest/sources/official"
)

type sourceCatalogCmd struct {
	Country []string `arg:"" optional:"" help:"Countries, as ISO 3166-1 codes such as de. Default: all."`
	Status  []string `placeholder:"STATUS" help:"Only feeds with these statuses: operating, assumed, unverified, redundant, testing, unreachable, unused."`
	Off     bool     `help:"Only feeds that are not polled by default."`
	sourcesFlag
}

// catalogFeed is a feed of the catalog, as JSON.
type catalogFeed struct {
	official.Feed
	// Default says whether the feed is polled by default, WhyNot why not, and Polled whether the
	// setting names it.
	Default bool   `json:"default"`
	WhyNot  string `json:"why_not"`
	Polled  bool   `json:"polled"`
}

// Validate rejects unknown countries and statuses.
func (l *sourceCatalogCmd) Validate() error {
	for _, s := range l.Status {
		if !slices.Contains(official.Statuses, official.Status(s)) {
			return fmt.Errorf("status: %q is not a status of the catalog; expected one of %s", s, join(official.Statuses))
		}
	}
	for _, c := range l.Country {
		if !slices.ContainsFunc(official.Feeds(), func(f official.Feed) bool { return strings.EqualFold(f.Country, c) }) {
			return fmt.Errorf("country: the catalog has no feed of %q, expected an ISO 3166-1 code such as de", c)
		}
	}
	return l.sourcesFlag.Validate()
}

func join(statuses []official.Status) string {
	var words []string
	for _, s := range statuses {
		words = append(words, string(s))
	}
	return strings.Join(words, ", ")
}

// Run lists the catalog. It needs no network.
func (l *sourceCatalogCmd) Run(c *console) error {
	known, names, err := l.chosen()
	if err != nil {
		return err
	}
	feeds := []catalogFeed{}
	countries, operating, polled := map[string]bool{}, 0, 0
	for _, f := range known.Catalog() {
		shown := catalogFeed{f, f.Default(), f.WhyNot(), slices.Contains(names, f.Name)}
		if len(l.Country) > 0 && !slices.ContainsFunc(l.Country, func(c string) bool { return strings.EqualFold(c, f.Country) }) ||
			len(l.Status) > 0 && !slices.Contains(l.Status, string(f.Status)) || l.Off && shown.Default {
			continue
		}
		feeds = append(feeds, shown)
		countries[f.Country] = true
		if f.Status == official.Operating {
			operating++
		}
		if shown.Polled {
			polled++
		}
	}
	t := newTable("NAME", "COUNTRY", "LANGUAGE", "STATUS", "POLLED", "AUTHORITY", "ADDRESS")
	t.colours[3] = map[string]string{string(official.Operating): green, string(official.Assumed): yellow, string(official.Unverified): dim,
		string(official.Redundant): dim, string(official.Testing): dim, string(official.Unreachable): dim, string(official.Unused): dim}
	for _, f := range feeds {
		what := f.WhyNot
		switch {
		case f.Polled:
			what = "yes"
		case what == "" || what == string(f.Status):
			what = "no"
		}
		t.add(f.Name, f.Country, f.Language, string(f.Status), what, cut(f.Title, maxShownError), f.URL)
	}
	return c.print(feeds, func(w io.Writer) error {
		if err := t.write(w, c.colour); err != nil {
			return err
		}
		delete(countries, "")
		_, err := fmt.Fprintf(w, "%d feeds of %d countries and territories, %d operating, %d polled (--sources).\nFrom the lists of IFRC's Alert Hub (2024) and KDE's FOSS Public Alert Server (2026), after WMO's Register of Alerting Authorities.\n",
			len(feeds), len(countries), operating, polled)
		return err
	})
}
