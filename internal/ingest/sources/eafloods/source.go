package eafloods

import (
	"time"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Name is the source's name in reports.
const Name = "eafloods"

// api is the address of the list and of the flood areas.
const api = "https://environment.data.gov.uk/flood-monitoring/id/"

// Source describes the source. The agency renews the list every 15 minutes, and asks for one call
// in that time.
func Source() source.Source {
	return source.Source{
		Name: Name, Title: "Environment Agency flood warnings", Parse: Parse, Warns: true,
		Feeds:  []source.Feed{{URL: api + "floods", Every: 15 * time.Minute, MaxBytes: 16 << 20}},
		Covers: "flood warnings and flood alerts for rivers, coasts and groundwater of England; shapes of flood areas, once each",
		Types:  []hazard.Type{hazard.Flood}, Countries: []string{"GB"}, Languages: []string{"en"},
		Home: "https://environment.data.gov.uk/flood-monitoring/doc/reference", OID: "2.49.0.0.826.4",
		License: "OGL-UK-3.0", Attribution: "this uses Environment Agency flood and river level data from the real-time data API (Beta)",
		Rank: source.Ranks{hazard.Flood: source.Responsible},
		Coverage: []source.Coverage{{Role: source.RoleResponsible, Countries: []string{"GB"}, Within: []source.Area{england},
			Cite: "Environment Act 1995, schedule 22, and Water Resources Act 1991, section 166: the agency runs the flood warning system of England"}},
		Lists: source.Lists{InForce: source.Yes, Complete: source.Yes, Identity: "code of the flood area", NoEnd: "until level 4, or until it leaves the list",
			Cite: "https://environment.data.gov.uk/flood-monitoring/doc/reference: floods are all current warnings and alerts; level 4 is shown for a day"},
		PlaceURL: PlaceURL, ParsePlace: ParsePlace, PlaceCodes: "EA",
		Places: func(kept source.Kept) source.Places { return kept },
	}
}

// england is England as a coarse polygon: at the borders with Scotland and Wales it ends up to 10 km
// before them, so that nothing beyond counts as covered.
var england = func() source.Area {
	s, err := geo.ParseWKT("POLYGON((-2.05 55.8,-2.3 55.6,-2.2 55.42,-2.5 55.28,-2.65 55.15,-3.05 55.0,-3.4 54.88,-3.7 54.55,-3.4 54,-3.3 53.5,-3.2 53.37," +
		"-2.9 53.15,-2.65 53,-2.65 52.88,-2.95 52.85,-2.98 52.6,-2.95 52.4,-2.95 52.2,-3 52.05,-2.9 51.95,-2.6 51.8,-2.6 51.6,-2.8 51.48,-3.1 51.27,-4.5 51.2," +
		"-6.5 50,-6.5 49.8,1 50.4,1.9 51,2 52.8,0.5 53.4,0.3 53.8,-1.2 55.3,-1.7 55.8,-2.05 55.8))")
	if err != nil {
		panic(err) // a constant
	}
	return source.Area{Name: "England", Shape: s}
}()
