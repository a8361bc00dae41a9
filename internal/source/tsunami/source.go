package tsunami

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
)

// Name is the source's name in reports.
const Name = "tsunami"

// Source describes the source: the indexes of both centers. They change with an event, which nobody may miss for longer
// than a minute.
func Source() source.Source {
	var feeds []source.Feed
	for _, center := range []string{"PAAQ", "PHEB"} {
		feeds = append(feeds, source.Feed{URL: "https://www.tsunami.gov/events/xml/" + center + "Atom.xml", Every: time.Minute, MaxBytes: 4 << 20})
	}
	return source.Source{
		Name: Name, Title: "US tsunami warning centres", Parse: Parse, Feeds: feeds, Warns: true,
		Hosts:  []string{"tsunami.gov"},
		Covers: "bulletins of the tsunami warning centers at Palmer and Honolulu, for the coasts of the Pacific, the Atlantic and the Caribbean",
		Types:  []hazard.Type{hazard.Tsunami}, Languages: []string{"en"},
		Home:    "https://www.tsunami.gov/",
		License: "public domain", Attribution: "NOAA / U.S. tsunami warning centers",
		Rank:       source.Ranks{hazard.Tsunami: source.Responsible},
		Schemes:    []source.Scheme{{Name: "quake", Type: hazard.Earthquake, CausedBy: "usgs"}},
		Lives:      []source.Life{{Of: "a message", For: life}, {Of: "a message of no threat", For: lifeOfInformation}},
		PlaceCodes: "UGC", // the centers name the coasts by the codes of the weather service
	}
}
