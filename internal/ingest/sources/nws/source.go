package nws

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "nws"

// states are the United States, their territories, and the freely associated states, for which the
// service warns (StateTerritoryCode of the interface).
var states = []string{"US", "PR", "VI", "GU", "AS", "MP", "FM", "MH", "PW"}

// coastalWaters is the width of the coastal marine zones in kilometers: 60 nautical miles. Some
// offshore zones extend further, and are not counted.
const coastalWaters = 111

// Source describes the source: one list with every alert in force, and the last cancellations, which
// that list never contains (openapi.json, /alerts: message_type). They say why and when an alert
// ended that the list no longer contains. The service updates both within
// seconds. It publishes no limit, but has blocked clients with frequent requests (weather-gov/api
// issues 85 and 86), for as long as the requests went on. Integrations in wide use poll the alerts
// every 30 seconds, and caches keep them for about as long.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "US National Weather Service alerts", Parse: Parse, Warns: true,
		Feeds: []source.Feed{
			{URL: api + "alerts/active", Every: time.Minute, Fastest: 30 * time.Second, MaxBytes: 16 << 20},
			{URL: api + "alerts?status=actual&message_type=cancel&limit=200", Every: 2 * time.Minute, MaxBytes: 16 << 20, Messages: true},
		},
		Covers:    "watches, warnings and advisories; shapes of zones, once each",
		Countries: states, Languages: []string{"en"},
		Home:    "https://www.weather.gov/documentation/services-web-api",
		License: "public domain", Attribution: "U.S. National Weather Service",
		Rank: source.Ranks{
			"": source.Responsible,
			// The hurricane centers, the fire agencies and the tsunami warning centers are
			// responsible for these.
			hazard.Cyclone: source.Specialist, hazard.Wildfire: source.Specialist, hazard.Tsunami: source.Specialist,
			// The service only broadcasts the reports of civil authorities and observatories on
			// these.
			hazard.Earthquake: source.National, hazard.Volcano: source.National,
		},
		Coverage: []source.Coverage{{Role: source.RoleResponsible, Countries: states, Sea: coastalWaters, Feed: api + "alerts/active",
			Types: []hazard.Type{
				hazard.Avalanche, hazard.ExtremeTemperature, hazard.Flood, hazard.HighSurf, hazard.HighWind, hazard.Landslide, hazard.Marine, hazard.Storm,
				hazard.Tornado, hazard.Cyclone, hazard.Tsunami, hazard.Wildfire, hazard.WinterStorm,
			},
			Cite: "https://api.weather.gov/openapi.json: StateTerritoryCode and MarineAreaCode; NWS Directive 10-302: coastal waters reach 60 nautical miles"}},
		Lists: source.Lists{InForce: source.Yes, Complete: source.Yes, Confirm: 1,
			Identity: "VTEC; without it references, else office, event, zones", NoEnd: "until further notice: `expires` is when it should be renewed",
			Cite: "https://api.weather.gov/openapi.json: /alerts/active; weather-gov/api issues 15 and 190; 15 recorded lists in which no listed message is referenced by another"},
		Lives:    []source.Life{{Of: "an alert without an end, from when it should be renewed", For: grace}},
		PlaceURL: PlaceURL, ParsePlace: parseZone, PlaceCodes: "UGC",
		Places: func(kept source.Kept) source.Places { return Places{Kept: kept} },
	}
}
