package vaac

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "vaac"

// Source describes the source: one list for all centers. Advisories are issued every six hours, and
// when an eruption begins.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "Volcanic ash advisories", Parse: Parse,
		Feeds:  []source.Feed{{URL: "https://tgftp.nws.noaa.gov/data/raw/fv/", Every: 10 * time.Minute, MaxBytes: 1 << 20}},
		Covers: "ash in the air above volcanoes of the world, with the clouds as observed and as expected",
		Types:  []hazard.Type{hazard.Volcano}, Languages: []string{"en"},
		Home:    "https://www.ospo.noaa.gov/products/atmosphere/vaac/",
		License: "public domain", Attribution: "the Volcanic Ash Advisory Center that each advisory names, by the U.S. National Weather Service",
		// The gateway only relays the centers, and their advisories are not about danger on the
		// ground.
		Rank: source.Ranks{hazard.Volcano: source.Relay},
		Coverage: []source.Coverage{{Role: source.RoleWatches, World: true, From: "ash in the air, as satellites see it",
			Cite: "ICAO Annex 3, 3.5: the areas of responsibility of the nine centers"}},
		Lists: source.Lists{InForce: source.No, Complete: source.No, Identity: "number of the volcano", NoEnd: "until 3 h after the next one is due",
			Cite: "the gateway keeps the latest text of each bulletin, however old; the last of a series says so (ICAO Annex 3, appendix 2)"},
		Lives: []source.Life{{Of: "an advisory that does not say when the next one is due", For: life}},
	}
}
