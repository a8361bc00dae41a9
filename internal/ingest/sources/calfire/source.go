package calfire

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "calfire"

// site is the address of the incidents' pages.
const site = "https://www.fire.ca.gov"

// Source describes the source. The list with inactive incidents contains all incidents of the year,
// and so shows the end of each fire.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "CAL FIRE incidents", Parse: Parse,
		Feeds:  []source.Feed{{URL: "https://incidents.fire.ca.gov/umbraco/api/IncidentApi/GeoJsonList?inactive=true", Every: 10 * time.Minute, MaxBytes: 8 << 20}},
		Covers: "wildfires of California, with size and containment",
		Types:  []hazard.Type{hazard.Wildfire}, Countries: []string{"US"}, Languages: []string{"en"},
		Home:    "https://www.fire.ca.gov/incidents",
		License: "public, with attribution", Attribution: "California Department of Forestry and Fire Protection (CAL FIRE)",
		Rank: source.Ranks{hazard.Wildfire: source.National},
		Coverage: []source.Coverage{{Role: source.RoleResponsible, Countries: []string{"US"}, Within: []source.Area{source.Box("California", -124.5, 32.5, -114.1, 42)}, From: "10 acres",
			Cite: "https://www.fire.ca.gov/incidents: incidents of 10 acres and more, and others of interest"}},
		Lists: source.Lists{InForce: source.No, Complete: source.No, Identity: "UniqueId", NoEnd: "two weeks from the last change",
			Cite: "the recordings: all incidents of the year, with those over; a new list begins with the year"},
		Lives: []source.Life{{Of: "an incident", For: life}},
	}
}
