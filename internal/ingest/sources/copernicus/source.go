package copernicus

import (
	"time"

	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name.
const Name = "copernicus"

// Source describes the source: the list of activations, newest first. The list has pages, and only
// the first is read: the hundred newest activations are those of half a year, and none of the older
// ones is still open.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "Copernicus EMS activations", Parse: Parse,
		Feeds:     []source.Feed{{URL: api + "public-activations-info/?limit=100", Every: 30 * time.Minute, MaxBytes: 16 << 20}},
		Covers:    "activations of the satellite mapping service of the European Union, worldwide",
		Languages: []string{"en"},
		Home:      "https://rapidmapping.emergency.copernicus.eu/",
		License:   "CC-BY-4.0", Attribution: "European Union, Copernicus Emergency Management Service",
		Rank: source.Ranks{"": source.Responder},
		Coverage: []source.Coverage{{Role: source.RoleUnknown,
			Cite: "it is activated on request, and warns of nothing: https://rapidmapping.emergency.copernicus.eu/"}},
		Schemes:    []source.Scheme{{Name: "cems"}, {Name: "charter"}},
		Responds:   true,
		PlaceCodes: "ISO3166-1", // a position that is far from the named countries is not used
		Lists: source.Lists{InForce: source.No, Complete: source.No, Identity: "code of the activation", NoEnd: "until it is closed, two weeks at most",
			Cite: "the recordings: a page of all activations, newest first, with closed ones"},
		Lives: []source.Life{{Of: "an open activation", For: life}},
	}
}
