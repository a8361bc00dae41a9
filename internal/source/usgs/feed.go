package usgs

import (
	"cmp"
	"math"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// feature is an earthquake as a summary feed, the FDSN query and the detail document give it
// (earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php and geojson_detail.php). Members that are not named here are
// not read.
type feature struct {
	// ID is network and code of the preferred origin. It may change while the event goes on: properties.ids then has both.
	ID         string     `json:"id"`
	Properties properties `json:"properties"`
	Geometry   geometry   `json:"geometry"`
}

type geometry struct {
	Type string `json:"type"`
	// Coordinates are longitude and latitude in degrees, and the depth in km below sea level: negative above it. Each of them may be null,
	// and the depth may be missing.
	Coordinates []frame.Number `json:"coordinates"`
}

type properties struct {
	// Mag may be negative (very small events), and null until there is one. MagType is its kind: ml, mb, mww …
	Mag     frame.Number `json:"mag"`
	MagType string       `json:"magType"`
	// Place is "12 km NE of X, Country", a region's name, or the event's own name once it was given one
	// ("2025 Southern Tibetan Plateau Earthquake"). Title is "M 7.1 - " and the place; until 2013 it could be missing.
	Place string `json:"place"`
	Title string `json:"title"`
	// Time and Updated are milliseconds since 1970, negative before it.
	Time    frame.Number `json:"time"`
	Updated frame.Number `json:"updated"`
	URL     string       `json:"url"`
	// Detail is the address of the detail document; the detail document itself does not have it.
	Detail string `json:"detail"`
	// Felt counts the reports of "Did You Feel It?", CDI is the strongest intensity among them. The feeds of 2013 write 0 for
	// none.
	Felt frame.Number `json:"felt"`
	CDI  frame.Number `json:"cdi"`
	// MMI is the greatest intensity that ShakeMap estimates (Modified Mercalli).
	MMI frame.Number `json:"mmi"`
	// Alert is the colour of PAGER, null as long as PAGER has said nothing: of most events it never says anything.
	Alert string `json:"alert"`
	// Status is "automatic", "reviewed" or "deleted"; in capitals in 2013.
	Status string `json:"status"`
	// Tsunami is 1 for great events in oceanic regions: look at tsunami.gov. It does not say that there is a tsunami.
	Tsunami frame.Number `json:"tsunami"`
	// IDs has the ids of all networks that know the event, Types the kinds of its products, both between commas: ",us1,nc2,".
	IDs   string `json:"ids"`
	Types string `json:"types"`
	// Type is "earthquake", "quarry blast" (in 2013 also "quarry"), "explosion", "ice quake" …: seismic events of all sorts.
	Type string `json:"type"`
	// Products is there in the detail alone: kind → array of product, the preferred first. It is read product by product.
	Products jsontext.Value `json:"products"`
}

// product is a revision of one product, from one contributor.
type product struct {
	UpdateTime frame.Number `json:"updateTime"`
	// Status is "UPDATE", "DELETE", or free: ground-failure writes "WARNING" there, which is no level of a hazard.
	Status string `json:"status"`
	// Properties are strings, numbers too ("9.212"), and those that are not known may be "nan".
	Properties jsontext.Value `json:"properties"`
	// Contents is path → content; an empty array when there is none. The path "" holds its bytes inline.
	Contents jsontext.Value `json:"contents"`
}

func (p *product) deleted() bool { return strings.EqualFold(p.Status, "DELETE") }

type content struct {
	URL   string `json:"url"`
	Bytes string `json:"bytes"`
}

// instant is the number as milliseconds, and whether it is a moment that can be.
func instant(n frame.Number) (hazard.Instant, bool) {
	ok := n.Known && n.Value >= float64(hazard.MinInstant) && n.Value <= float64(hazard.MaxInstant)
	if !ok {
		return 0, false
	}
	return hazard.Instant(math.Floor(n.Value)), true
}

// Parse reads a FeatureCollection (a summary feed, or an answer of the FDSN query) or a single Feature (a detail), told
// apart by their type.
//
// The error, if any, is a *source.PayloadError. What could be read before it is in the Batch nevertheless.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	if areContours(payload) {
		if key := contourEvent(payload); key != "" {
			return readContours(payload, key, now)
		}
	}
	b := frame.Batch{ID: idIn}
	doc, err := frame.Collection{Heads: []string{"metadata"}}.Features(payload, "earthquakes", &b, func(where func() string, raw []byte) {
		frame.Record(&b, where, raw, func(f *feature) (*hazard.Report, string) {
			return report(&b, f, where() == detail, now)
		})
	})
	if err == nil {
		err = failure(doc.Head["metadata"])
	}
	return b.Done(), err
}

// detail is the place of a feature that is a document of its own.
const detail = "feature"

// failure is the error that a FeatureCollection carries in its metadata: so a query may say that it failed.
func failure(raw []byte) error {
	var metadata struct {
		Status frame.Number `json:"status"`
		Title  string       `json:"title"`
		Error  string       `json:"error"`
	}
	if _, err := frame.Decode(raw, &metadata); err != nil || !metadata.Status.Known || metadata.Status.Value == 200 {
		return nil // nothing depends on the rest of it
	}
	return source.Errorf("metadata/status: %v (%s), expected 200", metadata.Status.Value,
		frame.ExcerptText(cmp.Or(metadata.Error, metadata.Title)))
}

// idIn finds the id of a feature that could not be read as a whole; empty if it has none.
func idIn(raw []byte) string { return eventID(frame.Word(frame.Member(raw, "id"))) }
