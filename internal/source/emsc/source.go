package emsc

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/seismic"
)

// Name is the source's name.
const Name = "emsc"

// Source describes the source. Polled are the last 200 earthquakes of M 4 and more, which are about four days. That
// reaches below M 4.5, from which an earthquake makes a hazard, so that one which was overrated at first is seen again
// with what it really had.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "EMSC earthquakes", Parse: Parse,
		Feeds: []source.Feed{{
			URL:   "https://www.seismicportal.eu/fdsnws/event/1/query?format=json&limit=200&minmag=4&orderby=time",
			Every: time.Minute, MaxBytes: maxBytes,
		}},
		Covers: "earthquakes of M 4 and more",
		Types:  []hazard.Type{hazard.Earthquake}, Languages: []string{"en"},
		Home:    "https://www.seismicportal.eu/fdsn-wsevent.html",
		License: "with attribution, see the terms of EMSC", Attribution: "European-Mediterranean Seismological Centre (EMSC)",
		Rank: source.Ranks{hazard.Earthquake: source.Specialist},
		Coverage: []source.Coverage{{Role: source.RoleWatches, World: true, From: "M 4.5",
			Cite: "https://www.seismicportal.eu/fdsn-wsevent.html: minmag=4 is what is polled; M 4.5 makes a hazard"}},
		Lives: seismic.Lives,
	}
}
