package ign

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// Name is the source's name in reports.
const Name = "ign"

// Source describes the source: one feed of the last ten days. The network updates it when it has
// located an earthquake.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "IGN earthquakes", Parse: Parse,
		Feeds:  []source.Feed{{URL: "https://www.ign.es/ign/RssTools/sismologia.xml", Every: 2 * time.Minute, MaxBytes: 2 << 20}},
		Covers: "earthquakes in and around Spain, and on the Canary Islands",
		Types:  []hazard.Type{hazard.Earthquake}, Countries: []string{"ES"}, Languages: []string{"es"},
		Home:    "https://www.ign.es/web/ign/portal/sis-area-sismicidad",
		License: "CC-BY-4.0", Attribution: "Instituto Geográfico Nacional de España",
		Slight: seismic.Slight,
		Rank:   source.Ranks{hazard.Earthquake: source.National},
		Coverage: []source.Coverage{{Role: source.RoleResponsible, Countries: []string{"ES"}, From: "M 2.5",
			Cite: "Real Decreto 645/2020, article 17: the institute runs the national seismic network and tells the institutions of earthquakes"}},
		Lists: source.Lists{InForce: source.No, Complete: source.No, Identity: "evid", NoEnd: seismic.NoEnd,
			Cite: "the recording: ten days; small earthquakes leave sooner"},
		Lives: seismic.Lives,
	}
}
