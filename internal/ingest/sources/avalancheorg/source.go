package avalancheorg

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "avalancheorg"

// Source describes the source. Most centers publish once a day; the map itself is read every half
// hour by the centers' own pages.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "avalanche.org danger map", Parse: Parse,
		Feeds:  []source.Feed{{URL: "https://api.avalanche.org/v2/public/products/map-layer", Every: 30 * time.Minute, MaxBytes: 32 << 20}},
		Covers: "avalanche danger of the forecast zones of the United States, from level 3 (considerable)",
		Types:  []hazard.Type{hazard.Avalanche}, Countries: []string{"US"}, Languages: []string{"en"},
		Home:    "https://github.com/NationalAvalancheCenter/Avalanche.org-Public-API-Docs",
		License: "free public API; no license is named. Show zone, center, issue and expiry, and link to the center", Attribution: "avalanche.org, and the avalanche center that each hazard names",
		Rank: source.Ranks{hazard.Avalanche: source.Specialist},
		// A zone without a rating is no safe zone, and most mountains are in no zone.
		Coverage: []source.Coverage{{Role: source.RoleUnknown, Cite: "the map layer: 22 of 94 zones of 28 December 2025 have no rating"}},
		Lists: source.Lists{Complete: source.Yes, Identity: "number of the zone", NoEnd: "a day",
			Cite: "the documentation of the API: the layer has every zone; a rating is taken down when it expires"},
	}
}
