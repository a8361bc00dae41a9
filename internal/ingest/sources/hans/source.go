package hans

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "hans"

// Source describes the source: the single list with every volcano above NORMAL. getCapElevated only
// contains those at WATCH and WARNING. It is not polled, because that would end the others each
// time: an empty list looks the same in both.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "USGS volcano notices", Parse: Parse, Warns: true,
		Feeds:  []source.Feed{{URL: api + "getElevatedVolcanoes", Every: 10 * time.Minute, MaxBytes: 4 << 20}},
		Covers: "notices of the volcano observatories",
		Types:  []hazard.Type{hazard.Volcano}, Countries: []string{"US", "MP", "AS"}, Languages: []string{"en"},
		Home:    "https://volcanoes.usgs.gov/hans-public/api/",
		License: "public domain", Attribution: "U.S. Geological Survey, Volcano Hazards Program",
		Rank: source.Ranks{hazard.Volcano: source.Responsible},
		Coverage: []source.Coverage{{Role: source.RoleResponsible, Countries: []string{"US", "MP", "AS"},
			Cite: "Stafford Act, 42 U.S.C. 5132, delegated to USGS; https://volcanoes.usgs.gov/hans-public/: notices of its observatories"}},
		Lists: source.Lists{Complete: source.Yes, Confirm: 1, Identity: "volcano", NoEnd: "a notice counts for its life",
			Cite: "https://volcanoes.usgs.gov/hans-public/api/: a volcano that leaves the list of elevated ones is back to NORMAL"},
		Lives:    []source.Life{{Of: "a notice", For: life}},
		PlaceURL: PlaceURL, ParsePlace: ParsePlace,
		Places: func(kept source.Kept) source.Places { return Places{Kept: kept} },
	}
}
