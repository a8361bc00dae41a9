package geonet

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// Name is the source's name in reports.
const Name = "geonet"

// Source describes the source: the latest hundred earthquakes that may have been felt with an
// intensity of MMI 3 or more. GeoNet updates them every minute.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "GeoNet earthquakes", Parse: Parse,
		Feeds:  []source.Feed{{URL: "https://api.geonet.org.nz/quake?MMI=3", Every: time.Minute, MaxBytes: 4 << 20}},
		Covers: "earthquakes in New Zealand, of an intensity of MMI 3 and more",
		Types:  []hazard.Type{hazard.Earthquake}, Countries: []string{"NZ"}, Languages: []string{"en"},
		Home:    "https://api.geonet.org.nz/",
		License: "CC-BY-3.0-NZ", Attribution: "GeoNet, New Zealand",
		Slight: seismic.Slight,
		Rank:   source.Ranks{hazard.Earthquake: source.National},
		Coverage: []source.Coverage{{Role: source.RoleResponsible, Countries: []string{"NZ"}, Sea: 370, From: "MMI 3",
			Cite: "https://api.geonet.org.nz/: quakes in the New Zealand region that may have caused shaking of that intensity"}},
		Lists: source.Lists{InForce: source.No, Complete: source.No, Identity: "publicID", NoEnd: seismic.NoEnd,
			Cite: "https://api.geonet.org.nz/: at most the latest hundred; a deleted one is listed as such"},
		Lives: seismic.Lives,
	}
}
