package nswrfs

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "nswrfs"

// Source describes the source. The service updates the list every 5 to 30 minutes. It is the only
// authority that warns of bush fires in New South Wales (Rural Fires Act 1997).
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "NSW Rural Fire Service incidents", Parse: Parse, Warns: true,
		Feeds:  []source.Feed{{URL: "https://www.rfs.nsw.gov.au/feeds/majorIncidents.json", Every: 5 * time.Minute, MaxBytes: 32 << 20}},
		Covers: "bush and grass fires of New South Wales, Australia, with the level of the Australian Warning System",
		Types:  []hazard.Type{hazard.Wildfire}, Countries: []string{"AU"}, Languages: []string{"en"},
		Home:    "https://www.rfs.nsw.gov.au/news-and-media/stay-up-to-date/feeds",
		License: "with attribution, see the terms of the NSW Rural Fire Service", Attribution: "NSW Rural Fire Service, State of New South Wales",
		Rank: source.Ranks{hazard.Wildfire: source.Responsible},
		Coverage: []source.Coverage{{Role: source.RoleResponsible, Countries: []string{"AU"}, Within: []source.Area{source.Box("New South Wales", 141, -37.6, 153.7, -28.1)},
			Cite: "Rural Fires Act 1997 (NSW), section 9: functions of the service"}},
		Lists: source.Lists{InForce: source.Yes, Complete: source.Yes, Identity: "number of the incident", NoEnd: "until it leaves the list",
			Cite: "the recordings: an incident that leaves the list is over; seevee/cap_alerts observed the same"},
		Lives: []source.Life{{Of: "an incident", For: life}},
	}
}
