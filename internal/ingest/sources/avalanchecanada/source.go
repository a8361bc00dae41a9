package avalanchecanada

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "avalanchecanada"

// Source describes the source. Forecasts are issued once a day, about 16:00 in the west.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "Avalanche Canada forecasts", Parse: Parse,
		Feeds:  []source.Feed{{URL: "https://api.avalanche.ca/forecasts/en/products", Every: 30 * time.Minute, MaxBytes: 32 << 20}},
		Covers: "avalanche danger of the forecast areas of Canada, from level 3 (considerable)",
		Types:  []hazard.Type{hazard.Avalanche}, Countries: []string{"CA"}, Languages: []string{"en"},
		Home:    "https://docs.avalanche.ca/",
		License: "free public API; no license is named. Name the forecaster, and link to the forecast", Attribution: "Avalanche Canada, and the forecaster that each hazard names",
		Rank: source.Ranks{hazard.Avalanche: source.Specialist},
		// Most mountains are in no forecast area, and an area without a rating is not safe.
		Coverage: []source.Coverage{{Role: source.RoleUnknown, Cite: "the recordings: areas without a rating are listed for months"}},
		Lists: source.Lists{Complete: source.Yes, Identity: "first subregion of the title", NoEnd: "a day",
			Cite: "docs.avalanche.ca: products are the forecasts of today's areas, which cover all subregions"},
		PlaceCodes: "ISO3166-1", // a title with no known subregion is somewhere in Canada
		Lives:      []source.Life{{Of: "a forecast without an end", For: life}},
	}
}
