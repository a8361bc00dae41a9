package nws

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
)

// Name is the source's name in reports.
const Name = "nws"

// states are the United States, their territories, and the states in free association with them, for which
// the service warns (StateTerritoryCode of the interface).
var states = []string{"US", "PR", "VI", "GU", "AS", "MP", "FM", "MH", "PW"}

// coastalWaters is how far the coastal marine zones reach, in kilometres: 60 nautical miles. Offshore
// zones reach further in places, and are not counted.
const coastalWaters = 111

// Source describes the source: one list that holds every alert in force. The service renews it within seconds and
// publishes no limit, but has blocked clients that ask often (weather-gov/api issue 86).
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "US National Weather Service alerts", Parse: Parse, Warns: true,
		Feeds:     []source.Feed{{URL: api + "alerts/active", Every: time.Minute, MaxBytes: 16 << 20}},
		Covers:    "watches, warnings and advisories; shapes of zones, once each",
		Countries: states, Languages: []string{"en"},
		Home:    "https://www.weather.gov/documentation/services-web-api",
		License: "public domain", Attribution: "U.S. National Weather Service",
		Rank: source.Ranks{
			"": source.Responsible,
			// The hurricane centers, the fire agencies and the tsunami warning centers have these.
			hazard.Cyclone: source.Specialist, hazard.Wildfire: source.Specialist, hazard.Tsunami: source.Specialist,
			// It broadcasts what civil authorities and observatories say of these.
			hazard.Earthquake: source.National, hazard.Volcano: source.National,
		},
		Coverage: []source.Coverage{{Role: source.RoleResponsible, Countries: states, Sea: coastalWaters,
			Types: []hazard.Type{
				hazard.Avalanche, hazard.ExtremeTemperature, hazard.Flood, hazard.HighSurf, hazard.HighWind, hazard.Landslide, hazard.Marine, hazard.Storm,
				hazard.Tornado, hazard.Cyclone, hazard.Tsunami, hazard.Wildfire, hazard.WinterStorm,
			},
			Cite: "https://api.weather.gov/openapi.json: StateTerritoryCode and MarineAreaCode; NWS Directive 10-302: coastal waters reach 60 nautical miles"}},
		Absence:  source.AbsenceEnds, // the list is of all that is in force
		PlaceURL: PlaceURL, ParsePlace: ParseZone, PlaceCodes: "UGC",
		Places: func(kept source.Kept) source.Places { return Places{Kept: kept} },
	}
}
