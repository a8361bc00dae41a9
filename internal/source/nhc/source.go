package nhc

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
)

// Name is the source's name.
const Name = "nhc"

// Source describes the source: the list, and the RSS of each basin, which has the text of the forecast/advisories and
// stands in for the list when that fails. The graphical outlook (gtwo.xml) is not polled: it names areas in words, which
// nothing can be made of.
func Source() source.Source {
	s := source.Source{
		Name: Name, Title: "NHC tropical cyclones", Parse: Parse, Warns: true,
		Covers: "tropical cyclones of the Atlantic, the eastern and the central Pacific",
		Types:  []hazard.Type{hazard.Cyclone}, Languages: []string{"en"},
		Home:    "https://www.nhc.noaa.gov/aboutrss.shtml",
		License: "public domain", Attribution: "NOAA / U.S. National Hurricane Center",
		Rank:    source.Ranks{hazard.Cyclone: source.Responsible},
		Schemes: []source.Scheme{{Name: "atcf", Type: hazard.Cyclone}},
		Absence: source.AbsenceEnds, // the lists are of all storms
		Lives:   []source.Life{{Of: "an advisory", For: life}},
	}
	for _, file := range []string{"CurrentStorms.json", "index-at.xml", "index-ep.xml", "index-cp.xml"} {
		s.Feeds = append(s.Feeds, source.Feed{URL: site + file, Every: 10 * time.Minute, MaxBytes: maxBytes})
	}
	return s
}
