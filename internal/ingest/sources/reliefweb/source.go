package reliefweb

import (
	"time"

	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "reliefweb"

// Source describes the source. A few disasters are added a week. ReliefWeb repeats what national
// authorities and agencies report, so everybody else counts before it.
func Source() source.Source {
	s := source.Source{
		Name: Name, Title: "ReliefWeb disasters", Parse: Parse,
		Feeds:  []source.Feed{{URL: "https://reliefweb.int/disasters/rss.xml", Every: time.Hour, MaxBytes: 8 << 20, Messages: true}},
		Off:    "a flood or an epidemic that GDACS or WHO report without its GLIDE number would be shown twice",
		Covers: "disasters with a GLIDE number, by country: epidemics, floods, droughts, landslides, storms, complex emergencies and more",
		Home:   "https://reliefweb.int/disasters", Languages: []string{"en"},
		License: "texts belong to their sources: only titles, GLIDE numbers and links are kept", Attribution: "ReliefWeb, UN OCHA",
		Rank:       source.Ranks{},
		Coverage:   []source.Coverage{{Role: source.RoleUnknown, Cite: "https://reliefweb.int/disasters: disasters that its editors have chosen"}},
		Lists:      source.Lists{Identity: "GLIDE number", NoEnd: "the life of its kind", Cite: "the recording of 27 June 2026: the list has the latest disasters, and no status"},
		PlaceCodes: "ISO3166-1",
		Lives:      []source.Life{{Of: "a sudden disaster, after its day", For: sudden}, {Of: "an epidemic, a drought, a complex emergency and other slow ones", For: slow}},
	}
	for _, k := range kinds {
		if k.typ != "" && s.Rank[k.typ] == 0 {
			s.Types, s.Rank[k.typ] = append(s.Types, k.typ), source.Relay
		}
	}
	return s
}
