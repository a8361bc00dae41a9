package cap

import (
	"cmp"
	"slices"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Lives are how long alerts last if they state no end.
var Lives = []source.Life{{Of: "an alert without an end", For: endless}}

// Source describes the feed. Its default rank is that of a national authority, which is above
// models, responders and curators. places are the shapes of places that the alerts name only by
// codes.
func (c Config) Source(places Places) source.Source {
	rank := source.Ranks{"": source.National}
	for t, r := range c.Rank {
		rank[t] = r
	}
	s := source.Source{
		Name: c.Name, Title: cmp.Or(c.Title, "CAP alerts of "+c.Name), Warns: true, Shared: c.Shared,
		Parse:   func(payload []byte, now hazard.Instant) (source.Batch, error) { return Parse(c, payload, now) },
		Covers:  "alerts in the Common Alerting Protocol",
		License: "see the publisher's terms", Attribution: cmp.Or(c.Title, c.Name),
		Rank:       rank,
		Countries:  c.Countries,
		Hosts:      c.Hosts,
		Lists:      c.Practice.lists(),
		Lives:      Lives,
		Repeats:    c.Practice.Identity == ByUnknown,
		PlaceCodes: "UGC", // for counties and zones of the United States
		Places:     func(source.Kept) source.Places { return places },
	}
	if c.URL != "" { // without a URL, payloads only come from files
		s.Feeds = []source.Feed{{URL: c.URL, Every: cmp.Or(c.Every, 5*time.Minute), Fastest: c.fastest(), MaxBytes: cmp.Or(c.MaxBytes, 64<<20)}}
	}
	if len(c.Push) > 0 {
		s.Pushes, s.Eased, s.Announces = c.pushes(), easedFactor*cmp.Or(c.Every, 5*time.Minute), c.announces
		for _, base := range c.Archive {
			s.Hosts = append(slices.Clip(s.Hosts), archiveHost(base))
		}
	}
	if c.Countries == nil {
		s.Coverage = []source.Coverage{{Role: source.RoleUnknown, Cite: "the setting of the feed names no country"}}
	}
	if c.Language != "" {
		s.Languages = []string{c.Language}
	}
	return s
}

// fastest returns the interval of the feed while it changes. A stated interval is never undercut,
// unless Fastest says so.
func (c *Config) fastest() time.Duration {
	if c.Fastest == 0 && c.Every == 0 && !c.Shared {
		return 30 * time.Second
	}
	return c.Fastest
}
