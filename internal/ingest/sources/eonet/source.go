package eonet

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name.
const Name = "eonet"

// Source describes the source: the list of all events that were open or closed in the last 30 days.
// EONET is updated within hours. Closed events must be in the list, because otherwise their end
// would be unknown.
func Source() source.Source {
	s := source.Source{
		Name: Name, Title: "NASA EONET natural events", Parse: Parse,
		Feeds:     []source.Feed{{URL: api + "?status=all&days=30", Every: 30 * time.Minute, MaxBytes: maxBytes}},
		Covers:    "storms, fires, volcanoes, floods and more of the world, curated",
		Languages: []string{"en"},
		Home:      "https://eonet.gsfc.nasa.gov/docs/v3",
		License:   "public domain", Attribution: "NASA Earth Observatory Natural Event Tracker (EONET)",
		Rank: source.Ranks{"": source.Curator},
		Coverage: []source.Coverage{{Role: source.RoleWatches, World: true, From: "what its curators choose",
			Cite: "https://eonet.gsfc.nasa.gov/what-is-eonet: a curated list, for pictures of events"}},
		PlaceCodes: "ISO3166-1", // a position that is far from the named countries is not used
		Lists: source.Lists{InForce: source.No, Complete: source.No, Identity: "id of the event", NoEnd: "by its kind, from the last position",
			Cite: "https://eonet.gsfc.nasa.gov/docs/v3: all of 30 days, with the date of those closed"},
	}
	for _, r := range rows {
		if r.typ != "" {
			s.Types = append(s.Types, r.typ)
			s.Lives = append(s.Lives, source.Life{Of: r.word, For: r.life})
		}
	}
	s.Types = append(s.Types, hazard.Cyclone) // storms that are cyclones: see isCyclone in report.go
	return s
}
