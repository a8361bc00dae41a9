package gdacs

import (
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// Name is the source's name.
const Name = "gdacs"

// Source describes the source. The feeds are polled as often as GDACS updates them: the events of
// its own map, and the RSS feed, which has less detail but is produced separately. SEARCH is not
// polled, because it returns at most 100 events and does not say that there are more.
func Source() source.Source {
	s := source.Source{
		Name: Name, Title: "GDACS disaster alerts", Parse: Parse,
		Feeds: []source.Feed{
			{URL: site + "gdacsapi/api/events/geteventlist/EVENTS4APP", Every: 6 * time.Minute, MaxBytes: maxBytes},
			{URL: site + "xml/rss.xml", Every: 6 * time.Minute, MaxBytes: maxBytes},
		},
		Covers:    "earthquakes, cyclones, floods, volcanoes, droughts and wildfires of the world, with their areas",
		Languages: []string{"en"},
		Home:      "https://www.gdacs.org/feed_reference.aspx",
		License:   "CC-BY-4.0", Attribution: "Global Disaster Alert and Coordination System (GDACS)",
		Slight: seismic.Slight,
		Rank:   source.Ranks{"": source.Model},
		Coverage: []source.Coverage{{Role: source.RoleWatches, World: true, From: "what may need international help, and more that it lists as Green",
			Cite: "https://www.gdacs.org/Knowledge/overview.aspx: the models of each type of disaster"}},
		Schemes:    []source.Scheme{{Name: "glide"}},
		PlaceCodes: "ISO3166-1", // a position that is far from the named countries is not used
		Lists: source.Lists{InForce: source.No, Complete: source.No, Identity: "type and number", NoEnd: "by the age of the data; an earthquake at Orange or Red lasts while it is called current",
			Cite: "the recordings: what is over stays listed for days, and volcanoes that go on are not current; S observed 46 of 192 that were not current"},
		Lasts: lasts,
	}
	for _, k := range kinds {
		if !slices.Contains(s.Types, k.typ) {
			s.Types = append(s.Types, k.typ)
		}
		s.Lives = append(s.Lives, source.Life{Of: k.label, For: k.life})
	}
	s.Lives = append(s.Lives, source.Life{Of: "Earthquake at Red", For: redQuakeLife})
	return s
}

// lasts reports whether the event with that key and start lasts only as long as GDACS lists it as
// current and Orange or Red. That is so for an earthquake after the end of its normal life.
func lasts(key string, start, now hazard.Instant) bool {
	return strings.HasPrefix(key, "EQ") && now >= start.Add(kindOf("EQ").life)
}
