package jma

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// Name is the source's name in reports.
const Name = "jma"

// weatherTypes are the types of weather warnings.
var weatherTypes = []hazard.Type{hazard.Flood, hazard.Landslide, hazard.HighWind, hazard.WinterStorm, hazard.HighSurf, hazard.Storm, hazard.Avalanche, hazard.ExtremeTemperature, hazard.Occurrence}

// schemeOfQuakes is the scheme of a tsunami's references to its earthquakes.
const schemeOfQuakes = "jma-quake"

// Source describes the source. For earthquakes and tsunamis, and for weather, it polls two indexes
// each. One is updated every minute and goes back at least ten minutes. The other is updated every
// hour and goes back several days, for documents that were issued while this server was not
// running.
func Source() source.Source {
	const feed = "https://www.data.jma.go.jp/developer/xml/feed/"
	return source.Source{
		Name: Name, Title: "JMA warnings and earthquakes", Parse: Parse, Warns: true,
		Feeds: []source.Feed{
			{URL: feed + "eqvol.xml", Every: time.Minute, MaxBytes: 4 << 20},
			{URL: feed + "eqvol_l.xml", Every: 30 * time.Minute, MaxBytes: 16 << 20},
			{URL: feed + "extra.xml", Every: time.Minute, MaxBytes: 8 << 20},
			{URL: feed + "extra_l.xml", Every: 30 * time.Minute, MaxBytes: 32 << 20},
		},
		Covers: "tsunami warnings, advisories and forecasts for the coasts of Japan; weather warnings and advisories for its municipalities; floods of designated rivers; earthquakes felt in Japan, with the agency's intensity",
		Types:  append([]hazard.Type{hazard.Tsunami, hazard.Earthquake}, weatherTypes...), Countries: []string{"JP"}, Languages: []string{"ja"},
		Home:    "https://xml.kishou.go.jp/xmlpull.html",
		License: "Public Data License 1.0 of Japan, compatible with CC-BY-4.0", Attribution: "Japan Meteorological Agency",
		Slight: "an earthquake below an intensity of 3, or a warning that is only lifted",
		Rank:   source.Ranks{"": source.National},
		Coverage: []source.Coverage{
			{Role: source.RoleResponsible, Types: []hazard.Type{hazard.Tsunami}, Countries: []string{"JP"},
				Cite: "Meteorological Service Act of Japan, article 13: the agency issues the warnings of tsunamis"},
			{Role: source.RoleResponsible, Types: []hazard.Type{hazard.Earthquake}, Countries: []string{"JP"}, From: "felt, with a hypocenter",
				Cite: "Meteorological Service Act of Japan, article 11: the agency tells the public what it observes of earthquakes"},
			{Role: source.RoleResponsible, Types: weatherTypes, Countries: []string{"JP"},
				Cite: "Meteorological Service Act of Japan, articles 13, 13-2 and 14-2: the agency issues the advisories, warnings and emergency warnings of weather, waves and storm surges"},
		},
		Schemes: []source.Scheme{{Name: schemeOfQuakes, Type: hazard.Earthquake, CausedBy: Name}},
		Lists: source.Lists{InForce: source.No, Complete: source.No, Identity: "EventID; of weather, office and phenomenon; of a river, its forecast area", NoEnd: "by the kind of document",
			Cite: "https://xml.kishou.go.jp/xmlpull.html: an index has the latest documents, not what is in force"},
		Lives: append([]source.Life{{Of: "a tsunami document without an end of its own", For: life}, {Of: "a document of weather warnings", For: lifeOfWarning},
			{Of: "one of advisories alone", For: lifeOfAdvisory}}, seismic.Lives...),
		PlaceCodes: "JMA_AREA",
	}
}
