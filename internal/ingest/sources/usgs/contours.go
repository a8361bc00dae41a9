package usgs

import (
	"fmt"
	"math"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// contourFiles are the files with contours of intensity among the contents of a ShakeMap, the
// preferred one first (ShakeMap Manual, "Products": the first is the name since version 4 of
// ShakeMap).
var contourFiles = []string{"download/cont_mmi.json", "download/cont_mi.json"}

// drawnContours is the part name of this drawing.
const drawnContours = "shakemap contours"

// contours returns the link to the contours of a ShakeMap; ok is false if it has none.
func (p *product) contours(all *products) (l source.Link, ok bool) {
	for _, path := range contourFiles {
		u := address(p.content(path).URL)
		if u == nil {
			continue
		}
		u.Scheme = "https" // addresses of old products begin with http
		l = source.Link{URL: u.String()}
		if at, ok := all.at(p); ok {
			l.Updated = &at
		}
		return l, true
	}
	return l, false
}

// contour is a feature of the contours of a ShakeMap: the lines of one intensity.
type contour struct {
	Properties struct {
		Value lenient.Number `json:"value"`
		Units string         `json:"units"` // "mmi", before version 4 "intensity"
	} `json:"properties"`
	Geometry struct {
		Type        string         `json:"type"`
		Coordinates jsontext.Value `json:"coordinates"`
	} `json:"geometry"`
}

// contourEvent returns the event whose contours a document contains, or "" if it contains none.
func contourEvent(doc []byte) string {
	return eventID(lenient.Word(lenient.Member(lenient.Member(doc, "metadata"), "eventid")))
}

// readContours reads the contours of a ShakeMap. They contain no time of creation, so a later
// reading replaces an earlier one. They are valid from the beginning of the event.
func readContours(payload []byte, key string, now hazard.Instant) (source.Batch, error) {
	var b lenient.Batch
	d := source.Drawing{Key: key, Part: drawnContours, Version: int64(now)}
	_, err := lenient.Collection{Heads: []string{"metadata"}}.Features(payload, "contours", &b, func(where func() string, raw []byte) {
		b.Batch.Read++
		var c contour
		if err := lenient.UnmarshalObject(raw, &c); err != nil {
			b.Reject(where, raw, lenient.Fault(err, raw))
			return
		}
		v, unit := c.Properties.Value, strings.ToLower(c.Properties.Units)
		switch {
		case unit != "mmi" && unit != "intensity":
			b.Reject(where, raw, "properties/units: "+lenient.ExcerptText(c.Properties.Units)+", expected mmi or intensity")
		case !v.Known || !(v.Value >= 0 && v.Value <= 12):
			b.Reject(where, raw, "properties/value: "+v.Said()+", expected an intensity of 0 to 12")
		case c.Geometry.Type != "LineString" && c.Geometry.Type != "MultiLineString" || c.Geometry.Coordinates.Kind() != '[':
			b.Reject(where, raw, "geometry: "+lenient.ExcerptText(c.Geometry.Type)+", expected a MultiLineString")
		default:
			d.Shapes = append(d.Shapes, hazard.Shape{Role: hazard.ContourShape, Band: &hazard.Band{Kind: hazard.Intensity, Value: math.Round(v.Value*10) / 10},
				Label:    fmt.Sprintf("Intensity %v", math.Round(v.Value*10)/10),
				Geometry: `{"type":"` + c.Geometry.Type + `","coordinates":` + string(c.Geometry.Coordinates) + `}`})
		}
	})
	if err == nil && len(d.Shapes) > 0 {
		b.Drawings = []source.Drawing{d}
	}
	return b.Done(), err
}

// maxContours bounds the documents that may be contours: only summaries are larger.
const maxContours = 8 << 20

// areContours reports whether a document may be one of contours.
func areContours(payload []byte) bool {
	return len(payload) <= maxContours && strings.Contains(string(payload[:min(len(payload), 4096)]), `"eventid"`)
}
