package whodon

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "whodon"

// life is how long an event goes on after the last report about it: two incubation periods of Ebola
// disease, after which WHO declares an outbreak over, are 42 days.
const life = 42 * 24 * time.Hour

// Source describes the source. The default order of the list is not that of time, so it is stated.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "WHO Disease Outbreak News", Parse: Parse,
		Feeds: []source.Feed{{URL: "https://www.who.int/api/emergencies/diseaseoutbreaknews?$orderby=PublicationDateAndTime%20desc&$expand=EmergencyEvent&$top=20",
			Every: time.Hour, MaxBytes: 16 << 20, Messages: true}},
		Covers: "outbreaks of diseases by country, as WHO reports them: title, date and link",
		Types:  []hazard.Type{hazard.Biomedical}, Languages: []string{"en"},
		Home:    "https://www.who.int/emergencies/disease-outbreak-news",
		License: "CC-BY-NC-SA-3.0-IGO for the texts, of which only titles are kept", Attribution: "World Health Organization, Disease Outbreak News",
		Rank:       source.Ranks{hazard.Biomedical: source.Specialist},
		Coverage:   []source.Coverage{{Role: source.RoleUnknown, Cite: "International Health Regulations (2005), article 11: WHO tells the public of some events, not of each"}},
		Lists:      source.Lists{Identity: "emergency event, else disease and country", NoEnd: "six weeks after the last report", Cite: "the recordings: three reports are one outbreak of Marburg disease"},
		PlaceCodes: "ISO3166-1",
		Lives:      []source.Life{{Of: "an outbreak, after the last report", For: life}},
	}
}
