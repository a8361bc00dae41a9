package nifc

import (
	"net/url"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "nifc"

// Source describes the source: the two services, wildfires and the complexes of their locations. A response has at most 2,000
// records, the last modified ones first. So in the worst seasons, only the quiet fires are left
// out. Perimeters are requested with a precision of about 20 m (0.0002°), because the edges of
// large fires are mapped to the meter and have more positions than a shape may have.
func Source() source.Source {
	feed := func(service, prefix, kinds string, more url.Values) source.Feed {
		query := url.Values{
			"where":         {prefix + "IncidentTypeCategory" + kinds},
			"outFields":     {"*"},
			"orderByFields": {prefix + "ModifiedOnDateTime_dt DESC"},
			"f":             {"geojson"},
		}
		for name, values := range more {
			query[name] = values
		}
		return source.Feed{URL: services + service + "/FeatureServer/0/query?" + query.Encode(), Every: 15 * time.Minute, MaxBytes: 64 << 20}
	}
	return source.Source{
		Name: Name, Title: "NIFC wildfires", Parse: Parse,
		Feeds: []source.Feed{
			feed("WFIGS_Incident_Locations_Current", "", " IN ('WF','CX')", nil),
			feed("WFIGS_Interagency_Perimeters_Current", attr, "='WF'", url.Values{"geometryPrecision": {"5"}, "maxAllowableOffset": {"0.0002"}}),
		},
		Covers: "wildfires of the interagency fire center, with perimeters",
		Types:  []hazard.Type{hazard.Wildfire}, Countries: []string{"US"}, Languages: []string{"en"},
		Home:    "https://data-nifc.opendata.arcgis.com/",
		License: "public domain", Attribution: "U.S. National Interagency Fire Center",
		Rank: source.Ranks{hazard.Wildfire: source.Responsible},
		Coverage: []source.Coverage{{Role: source.RoleResponsible, Countries: []string{"US"}, From: "fires reported through IRWIN",
			Cite: "https://data-nifc.opendata.arcgis.com/: WFIGS, wildland fires of the United States"}},
		Schemes: []source.Scheme{{Name: "irwin", Type: hazard.Wildfire}},
		Lists: source.Lists{Complete: source.Yes, Identity: "IRWIN number", NoEnd: "a week after the last change",
			Cite: "the recordings: a fire that leaves the list is out, or was declared out before"},
		Lives: []source.Life{{Of: "a fire", For: life}},
	}
}
