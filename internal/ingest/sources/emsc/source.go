package emsc

import (
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// Name is the source's name.
const Name = "emsc"

// Source describes the source. It polls the last 200 earthquakes of M 4 and more, about four days.
// An earthquake is a hazard from M 4.5, so this also contains those whose magnitude was too high at
// first and was corrected later.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "EMSC earthquakes", Parse: Parse,
		Feeds: []source.Feed{{
			URL:   "https://www.seismicportal.eu/fdsnws/event/1/query?format=json&limit=200&minmag=4&orderby=time",
			Every: time.Minute, MaxBytes: maxBytes,
		}},
		// The push connection sends every new and changed solution, of any magnitude, within
		// seconds (https://www.seismicportal.eu/realtime.html). There is no heartbeat except the
		// answers to our pings. A message has about 700 bytes.
		Pushes: []source.Push{{URL: "wss://www.seismicportal.eu/standing_order/websocket", Silence: time.Minute, MaxBytes: 1 << 20}},
		Eased:  5 * time.Minute,
		Covers: "earthquakes of M 4 and more",
		Types:  []hazard.Type{hazard.Earthquake}, Languages: []string{"en"},
		Home:    "https://www.seismicportal.eu/fdsn-wsevent.html",
		License: "with attribution, see the terms of EMSC", Attribution: "European-Mediterranean Seismological Centre (EMSC)",
		Slight: seismic.Slight,
		Rank:   source.Ranks{hazard.Earthquake: source.Specialist},
		Coverage: []source.Coverage{{Role: source.RoleWatches, World: true, From: "M 4.5",
			Cite: "https://www.seismicportal.eu/fdsn-wsevent.html: minmag=4 is what is polled; M 4.5 makes a hazard"}},
		Lists: source.Lists{InForce: source.No, Complete: source.No, Identity: "unid", NoEnd: seismic.NoEnd,
			Cite: "https://www.seismicportal.eu/fdsn-wsevent.html: the answer to a query of a span of time"},
		Lives: seismic.Lives,
	}
}
