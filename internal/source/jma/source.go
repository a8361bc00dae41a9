package jma

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/seismic"
)

// Name is the source's name in reports.
const Name = "jma"

// schemeOfQuakes is the scheme by which a tsunami names its earthquakes among those of the source.
const schemeOfQuakes = "jma-quake"

// Source describes the source: the index that is renewed by the minute and goes back ten minutes at least, and the one that is renewed by the
// hour and goes back some days, for what was issued while this server did not run.
func Source() source.Source {
	const feed = "https://www.data.jma.go.jp/developer/xml/feed/"
	return source.Source{
		Name: Name, Title: "JMA tsunami warnings and earthquakes", Parse: Parse, Warns: true,
		Feeds: []source.Feed{
			{URL: feed + "eqvol.xml", Every: time.Minute, MaxBytes: 4 << 20},
			{URL: feed + "eqvol_l.xml", Every: 30 * time.Minute, MaxBytes: 16 << 20},
		},
		Covers: "tsunami warnings, advisories and forecasts for the coasts of Japan; earthquakes felt in Japan, with the agency's intensity",
		Types:  []hazard.Type{hazard.Tsunami, hazard.Earthquake}, Countries: []string{"JP"}, Languages: []string{"ja"},
		Home:    "https://xml.kishou.go.jp/xmlpull.html",
		License: "Public Data License 1.0 of Japan, compatible with CC-BY-4.0", Attribution: "Japan Meteorological Agency",
		Rank: source.Ranks{hazard.Tsunami: source.National, hazard.Earthquake: source.National},
		Coverage: []source.Coverage{
			{Role: source.RoleResponsible, Types: []hazard.Type{hazard.Tsunami}, Countries: []string{"JP"},
				Cite: "Meteorological Service Act of Japan, article 13: the agency issues the warnings of tsunamis"},
			{Role: source.RoleResponsible, Types: []hazard.Type{hazard.Earthquake}, Countries: []string{"JP"}, From: "felt, with a hypocenter",
				Cite: "Meteorological Service Act of Japan, article 11: the agency tells the public what it observes of earthquakes"},
		},
		Schemes:    []source.Scheme{{Name: schemeOfQuakes, Type: hazard.Earthquake, CausedBy: Name}},
		Lives:      append([]source.Life{{Of: "a tsunami document without an end of its own", For: life}}, seismic.Lives...),
		PlaceCodes: "JMA",
	}
}
