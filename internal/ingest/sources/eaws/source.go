package eaws

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "eaws"

// Source describes the source: the bulletins of Switzerland, and those of Tyrol, South Tyrol and
// Trentino. They are published at 17:00, and sometimes again at 08:00. The other services' addresses
// change with the date, or their form was not seen.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "Avalanche bulletins (EAWS)", Parse: Parse, Warns: true,
		Feeds: []source.Feed{
			{URL: "https://aws.slf.ch/api/bulletin/caaml/en/json", Every: 30 * time.Minute, MaxBytes: 16 << 20},
			{URL: "https://static.avalanche.report/bulletins/latest/EUREGIO_en_CAAMLv6.json", Every: 30 * time.Minute, MaxBytes: 16 << 20},
		},
		Covers: "avalanche danger of level 3 (considerable) and above in Switzerland, Tyrol, South Tyrol and Trentino",
		Types:  []hazard.Type{hazard.Avalanche}, Countries: []string{"AT", "CH", "IT"}, Languages: []string{"en"},
		Home:    "https://www.avalanches.org/",
		License: "SLF: CC-BY-4.0; avalanche.report: a Creative Commons license", Attribution: "WSL Institute for Snow and Avalanche Research SLF; avalanche.report (Tyrol, South Tyrol, Trentino)",
		Rank: source.Ranks{hazard.Avalanche: source.Responsible},
		Coverage: []source.Coverage{{Role: source.RoleResponsible, Countries: []string{"CH"}, From: "level 3", Feed: "https://aws.slf.ch/api/bulletin/caaml/en/json",
			Cite: "Ordinance of Switzerland on alerting (ABCN-Einsatzverordnung, SR 520.12): the SLF issues the avalanche warnings"},
			{Role: source.RoleResponsible, Countries: []string{"AT", "IT"}, From: "level 3", Within: []source.Area{source.Box("Tyrol, South Tyrol and Trentino", 10.7, 46.25, 11.8, 47.25)},
				Feed: "https://static.avalanche.report/bulletins/latest/EUREGIO_en_CAAMLv6.json", Cite: "https://avalanche.report: the joint warning service of Tyrol, South Tyrol and Trentino"}},
		Lists: source.Lists{Complete: source.Yes, Confirm: 1, Identity: "first region of the bulletin in its service", NoEnd: "a day",
			Cite: "the recordings of 16 and 17 January 2019: a document has all regions of its service, each in one bulletin"},
		PlaceCodes: "EAWS",
	}
}
