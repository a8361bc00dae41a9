package bmkg

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// Name is the source's name in reports.
const Name = "bmkg"

// Source describes the source. The agency allows 60 requests per minute and IP address: both lists
// every 30 seconds are four.
func Source() source.Source {
	const data = "https://data.bmkg.go.id/DataMKG/TEWS/"
	s := source.Source{
		Name: Name, Title: "BMKG earthquakes", Parse: Parse, Warns: true,
		Feeds: []source.Feed{
			{URL: data + "gempaterkini.json", Every: time.Minute, Fastest: 30 * time.Second, MaxBytes: 1 << 20},
			{URL: data + "gempadirasakan.json", Every: 2 * time.Minute, Fastest: 30 * time.Second, MaxBytes: 1 << 20},
		},
		Covers: "earthquakes in Indonesia of M 5 and more, or felt with an intensity of IV and more, and whether a tsunami may come",
		Types:  []hazard.Type{hazard.Earthquake, hazard.Tsunami}, Countries: []string{"ID"}, Languages: []string{"id"},
		Home:    "https://data.bmkg.go.id/gempabumi/",
		License: "open data with attribution", Attribution: "BMKG (Badan Meteorologi, Klimatologi, dan Geofisika)",
		Slight: seismic.Slight,
		Rank:   source.Ranks{hazard.Earthquake: source.National, hazard.Tsunami: source.National},
		Coverage: []source.Coverage{
			{Role: source.RoleResponsible, Types: []hazard.Type{hazard.Earthquake}, Countries: []string{"ID"}, From: "M 5, or felt",
				Cite: "https://data.bmkg.go.id/gempabumi/: the list of M 5.0 and more, and that of felt earthquakes"},
			{Role: source.RoleUnknown, Types: []hazard.Type{hazard.Tsunami}, Cite: "a sentence on an earthquake; the warnings themselves are not in this data"},
		},
		Lists: source.Lists{InForce: source.No, Complete: source.No, Identity: "time of origin and place", NoEnd: seismic.NoEnd + "; a tsunami 6 h",
			Cite: "https://data.bmkg.go.id/gempabumi/: the latest fifteen, without numbers"},
		Lives: append([]source.Life{{Of: "the chance of a tsunami", For: tsunamiLife}}, seismic.Lives...),
	}
	return s
}
