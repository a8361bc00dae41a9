package nhc

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name.
const Name = "nhc"

// Source describes the source: the list and the RSS of each basin. The RSS contains the text of the
// forecast/advisories, and replaces the list when that fails. The graphical outlook (gtwo.xml) is
// not polled: it describes areas only in words, which cannot be used.
func Source() source.Source {
	s := source.Source{
		Name: Name, Title: "NHC tropical cyclones", Parse: Parse, Warns: true,
		Covers: "tropical cyclones of the Atlantic, the eastern and the central Pacific",
		Types:  []hazard.Type{hazard.Cyclone}, Languages: []string{"en"},
		Home:    "https://www.nhc.noaa.gov/aboutrss.shtml",
		License: "public domain", Attribution: "NOAA / U.S. National Hurricane Center",
		Rank: source.Ranks{hazard.Cyclone: source.Responsible},
		// The areas exclude Africa and Europe, where the centers do not warn of cyclones. They end
		// where the centers pass storms on that are no longer tropical.
		Coverage: []source.Coverage{
			{Role: source.RoleResponsible, Areas: []source.Area{
				source.Box("North Atlantic and eastern North Pacific", -140, 0, -10, 60), source.Box("central North Pacific", -180, 0, -140, 60),
			}, Cite: "WMO Hurricane Operational Plan (WMO-No. 1163): RSMC Miami to 140° W, RSMC Honolulu from 140° W to 180°, north of the equator"},
		},
		Schemes: []source.Scheme{{Name: "atcf", Type: hazard.Cyclone}},
		Lists: source.Lists{Complete: source.Yes, Confirm: 1, Identity: "ATCF number", NoEnd: "until the next advisory is overdue",
			Cite: "https://www.nhc.noaa.gov/aboutrss.shtml: the lists contain all storms"},
		Lives: []source.Life{{Of: "an advisory", For: life}},
	}
	for _, file := range []string{"CurrentStorms.json", "index-at.xml", "index-ep.xml", "index-cp.xml"} {
		s.Feeds = append(s.Feeds, source.Feed{URL: site + file, Every: 10 * time.Minute, MaxBytes: maxBytes})
	}
	return s
}
