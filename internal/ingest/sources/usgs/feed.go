package usgs

import (
	"cmp"
	"math"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// feature is an earthquake as in a summary feed, the FDSN query and the detail document
// (earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php and geojson_detail.php). Members without a
// field here are not read.
type feature struct {
	// ID is the network and code of the preferred origin. It may change during the event;
	// properties.ids then contains both.
	ID         string     `json:"id"`
	Properties properties `json:"properties"`
	Geometry   geometry   `json:"geometry"`
}

type geometry struct {
	Type string `json:"type"`
	// Coordinates are longitude and latitude in degrees, and the depth in km below sea level
	// (negative above it). Each of them may be null, and the depth may be missing.
	Coordinates []lenient.Number `json:"coordinates"`
}

type properties struct {
	// Mag may be negative (very small events), and is null until it is known. MagType is its type:
	// ml, mb, mww …
	Mag     lenient.Number `json:"mag"`
	MagType string         `json:"magType"`
	// Place is "12 km NE of X, Country", the name of a region, or the event's own name if it has
	// one ("2025 Southern Tibetan Plateau Earthquake"). Title is "M 7.1 - " and the place; until
	// 2013 it could be missing.
	Place string `json:"place"`
	Title string `json:"title"`
	// Time and Updated are milliseconds since 1970, negative before that.
	Time    lenient.Number `json:"time"`
	Updated lenient.Number `json:"updated"`
	URL     string         `json:"url"`
	// Detail is the address of the detail document. It is missing in the detail document itself.
	Detail string `json:"detail"`
	// Felt counts the reports of "Did You Feel It?", and CDI is the strongest intensity among them.
	// The feeds of 2013 write 0 for no reports.
	Felt lenient.Number `json:"felt"`
	CDI  lenient.Number `json:"cdi"`
	// MMI is the highest intensity that ShakeMap estimates (Modified Mercalli).
	MMI lenient.Number `json:"mmi"`
	// Alert is the color of PAGER, or null before its first assessment. Most events never get one.
	Alert string `json:"alert"`
	// Status is "automatic", "reviewed" or "deleted"; in capitals in 2013.
	Status string `json:"status"`
	// Tsunami is 1 for large events in oceanic regions, for which tsunami.gov has information. It
	// does not mean that there is a tsunami.
	Tsunami lenient.Number `json:"tsunami"`
	// IDs contains the ids of the event at all networks, Types the kinds of its products, both
	// separated by commas: ",us1,nc2,".
	IDs   string `json:"ids"`
	Types string `json:"types"`
	// Type is "earthquake", "quarry blast" (in 2013 also "quarry"), "explosion", "ice quake" …: all
	// kinds of seismic events.
	Type string `json:"type"`
	// Products is only in the detail: kind → array of products, the preferred one first. Each
	// product is decoded separately.
	Products jsontext.Value `json:"products"`
}

// product is a version of one product, from one contributor.
type product struct {
	UpdateTime lenient.Number `json:"updateTime"`
	// Status is "UPDATE", "DELETE", or free text: ground-failure writes "WARNING" there, which is
	// not a hazard level.
	Status string `json:"status"`
	// Properties are strings, even for numbers ("9.212"), and unknown ones may be "nan".
	Properties jsontext.Value `json:"properties"`
	// Contents is path → content, or an empty array if there is none. The path "" has its bytes
	// inline.
	Contents jsontext.Value `json:"contents"`
}

func (p *product) deleted() bool { return strings.EqualFold(p.Status, "DELETE") }

type content struct {
	URL   string `json:"url"`
	Bytes string `json:"bytes"`
}

// instant returns a number as milliseconds since 1970, and whether that is a plausible time.
func instant(n lenient.Number) (hazard.Instant, bool) {
	ok := n.Known && n.Value >= float64(hazard.MinInstant) && n.Value <= float64(hazard.MaxInstant)
	if !ok {
		return 0, false
	}
	return hazard.Instant(math.Floor(n.Value)), true
}

// Parse reads a FeatureCollection (a summary feed, or a response of the FDSN query) or a single
// Feature (a detail), which it recognizes by their type.
//
// The error, if any, is a *source.PayloadError. The Batch still contains the part before the error.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b, err := skim(payload, now)
	for i := range b.Reports {
		b.Reports[i] = b.Reports[i].Whole()
	}
	return b, err
}

// skim is Parse, but reads no more of most slight earthquakes than their reports need (hazard.Report.Full).
func skim(payload []byte, now hazard.Instant) (source.Batch, error) {
	if areContours(payload) {
		if key := contourEvent(payload); key != "" {
			return readContours(payload, key, now)
		}
	}
	b := lenient.Batch{ID: idIn}
	doc, err := lenient.Collection{Heads: []string{"metadata"}}.Features(payload, "earthquakes", &b, func(where func() string, raw []byte) {
		isDetail := where() == detail
		read := func(b *lenient.Batch) {
			lenient.Record(b, where, raw, func(f *feature) (*hazard.Report, string) { return report(b, f, isDetail, now) })
		}
		r := hazard.Report{Full: func() hazard.Report {
			own := lenient.Batch{}
			read(&own)
			return own.Reports[0]
		}}
		if !isDetail && slight(raw, &r, now) {
			b.Batch.Read++
			b.Keep(&r)
			return
		}
		read(&b)
	})
	if err == nil {
		err = failure(doc.Head["metadata"])
	}
	return b.Done(), err
}

// detail is the position of a feature that is a document by itself.
const detail = "feature"

// failure returns the error in the metadata of a FeatureCollection. A query may report its failure
// there.
func failure(raw []byte) error {
	var metadata struct {
		Status lenient.Number `json:"status"`
		Title  string         `json:"title"`
		Error  string         `json:"error"`
	}
	if _, err := lenient.Decode(raw, &metadata); err != nil || !metadata.Status.Known || metadata.Status.Value == 200 {
		return nil // the rest of it is not needed
	}
	return source.Errorf("metadata/status: %v (%s), expected 200", metadata.Status.Value,
		lenient.ExcerptText(cmp.Or(metadata.Error, metadata.Title)))
}

// idIn returns the id of a feature that is unreadable as a whole, or "" if there is none.
func idIn(raw []byte) string { return eventID(lenient.Word(lenient.Member(raw, "id"))) }
