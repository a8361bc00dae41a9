package nga

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "nga"

// Source describes the source. Messages come at any hour, 10 to 30 a day.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "NGA broadcast warnings", Parse: Parse, Warns: true,
		Feeds:  []source.Feed{{URL: "https://msi.nga.mil/api/publications/broadcast-warn?output=json", Every: 15 * time.Minute, MaxBytes: 16 << 20}},
		Covers: "what endangers ships: mines, attacks, firing and rocket launches, derelicts and drifting objects, dangerous wrecks, ice, volcanoes (NAVAREA IV and XII, HYDROLANT, HYDROPAC, HYDROARC)",
		Types:  []hazard.Type{hazard.Marine}, Languages: []string{"en"},
		Home:    "https://msi.nga.mil/NavWarnings",
		License: "public domain", Attribution: "National Geospatial-Intelligence Agency, Maritime Safety Office",
		Rank: source.Ranks{hazard.Marine: source.Specialist},
		// Weather at sea is of the same type, and others warn of it.
		Coverage: []source.Coverage{{Role: source.RoleUnknown, Cite: "https://msi.nga.mil/NavWarnings: navigational warnings only, and those of coasts are the states' own"}},
		Lists: source.Lists{InForce: source.Yes, Complete: source.Yes, Silence: 24 * time.Hour, Identity: "area, number and year", NoEnd: "until it leaves the list, or another message cancels it",
			Cite: "https://msi.nga.mil/api/swagger-ui.html: broadcast-warn gives the warnings in force; ten recorded days of 2026"},
		Lives: []source.Life{{Of: "a message without an end of its own, as long as it is listed", For: life}},
	}
}

// life is how long a message without an end lasts once no list can be read.
const life = 42 * 24 * time.Hour
