package jma

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
)

// Name is the source's name in reports.
const Name = "jma"

// Source describes the source: the index that is renewed by the minute and goes back ten minutes at least, and the one that is renewed by the
// hour and goes back some days, for what was issued while this server did not run.
func Source() source.Source {
	const feed = "https://www.data.jma.go.jp/developer/xml/feed/"
	return source.Source{
		Name: Name, Title: "JMA tsunami warnings", Parse: Parse, Warns: true,
		Feeds: []source.Feed{
			{URL: feed + "eqvol.xml", Every: time.Minute, MaxBytes: 4 << 20},
			{URL: feed + "eqvol_l.xml", Every: 30 * time.Minute, MaxBytes: 16 << 20},
		},
		Covers: "tsunami warnings, advisories and forecasts for the coasts of Japan",
		Types:  []hazard.Type{hazard.Tsunami}, Countries: []string{"JP"}, Languages: []string{"ja"},
		Home:    "https://xml.kishou.go.jp/xmlpull.html",
		License: "Public Data License 1.0 of Japan, compatible with CC-BY-4.0", Attribution: "Japan Meteorological Agency",
		Rank: source.Ranks{hazard.Tsunami: source.National},
		Coverage: []source.Coverage{{Role: source.RoleResponsible, Countries: []string{"JP"},
			Cite: "Meteorological Service Act of Japan, article 13: the agency issues the warnings of tsunamis"}},
		Lives:      []source.Life{{Of: "a document without an end of its own", For: life}},
		PlaceCodes: "JMA",
	}
}
