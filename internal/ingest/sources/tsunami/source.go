package tsunami

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "tsunami"

// Source describes the source: the indexes of both centers. They change with an event, and a delay
// of more than a minute is too long for a tsunami. No limit is published. They are small files, and change for
// a few hours a month, so they are polled every 30 seconds only then.
func Source() source.Source {
	var feeds []source.Feed
	index := func(center string) string { return "https://www.tsunami.gov/events/xml/" + center + "Atom.xml" }
	for _, center := range []string{"PAAQ", "PHEB"} {
		feeds = append(feeds, source.Feed{URL: index(center), Every: time.Minute, Fastest: 30 * time.Second, MaxBytes: 4 << 20})
	}
	const areas = "https://www.tsunami.gov/?page=tsunamiFAQ: the areas of responsibility of both centers"
	return source.Source{
		Name: Name, Title: "US tsunami warning centres", Parse: Parse, Feeds: feeds, Warns: true,
		Hosts:  []string{"tsunami.gov"},
		Covers: "bulletins of the tsunami warning centers at Palmer and Honolulu, for the coasts of the Pacific, the Atlantic and the Caribbean",
		Types:  []hazard.Type{hazard.Tsunami}, Languages: []string{"en"},
		Home:    "https://www.tsunami.gov/",
		License: "public domain", Attribution: "NOAA / U.S. tsunami warning centers",
		Rank: source.Ranks{hazard.Tsunami: source.Responsible},
		Coverage: []source.Coverage{
			{Role: source.RoleResponsible, Countries: []string{"US", "CA"}, Sea: 370, Within: []source.Area{
				source.Box("the north", 165, 30, -50, 84), source.Box("the Gulf of Mexico and the Atlantic", -115, 24, -50, 30),
			}, Feed: index("PAAQ"), Cite: areas},
			{Role: source.RoleResponsible, Countries: []string{"US"}, Sea: 370, Within: []source.Area{source.Box("Hawaii", 176, 15, -152, 30)}, Feed: index("PHEB"), Cite: areas},
			{Role: source.RoleResponsible, Countries: []string{"PR", "VI", "VG", "GU", "AS", "MP", "UM", "FM", "MH", "PW"}, Sea: 370, Feed: index("PHEB"), Cite: areas},
			{Role: source.RoleWatches, Areas: []source.Area{
				source.Box("western Pacific and its seas", 100, -60, 180, 66), source.Box("eastern Pacific", -180, -60, -66, 66), source.Box("Caribbean", -100, 5, -50, 33),
			}, From: "M 6.5, as advice to national authorities", Feed: index("PHEB"),
				Cite: "User's Guide for the Pacific Tsunami Warning Center Enhanced Products (IOC Technical Series 105); CARIBE-EWS (135)"},
		},
		Schemes: []source.Scheme{{Name: "quake", Type: hazard.Earthquake, CausedBy: "usgs"}},
		Lists: source.Lists{InForce: source.No, Complete: source.No, Identity: "incidents of each center", NoEnd: "a day from the last message",
			Cite: "the recordings: an index keeps the last message"},
		Lives:      []source.Life{{Of: "a message", For: life}, {Of: "a message of no threat", For: lifeOfInformation}},
		PlaceCodes: "UGC", // the centers use the weather service's codes for coasts
	}
}
