package format_test

import (
	"bytes"
	"testing"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Stored geometry was repaired when it was written. These two areas overlap, as areas do that were
// too expensive to join. A reader that repairs them again would write something else.
func TestAReaderDoesNotMendAgain(t *testing.T) {
	const stored = `{"type":"GeometryCollection","geometries":[` +
		`{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,2],[0,0]]]},` +
		`{"type":"Polygon","coordinates":[[[1,1],[3,1],[3,3],[1,3],[1,1]]]}]}`
	e := flood(1, func(e *format.Entry) { e.Areas = []hazard.Area{{Role: hazard.AlertArea, Geometry: stored}} })
	if doc := document(t, format.GeoJSON, options(true), e); !bytes.Contains(doc, []byte(stored)) {
		t.Errorf("the stored area is not in %s", doc)
	}
	const wkt = "GEOMETRYCOLLECTION(POLYGON((0 0,2 0,2 2,0 2,0 0)),POLYGON((1 1,3 1,3 3,1 3,1 1)))"
	if doc := document(t, format.CSV, options(false), e); !bytes.Contains(doc, []byte(wkt)) {
		t.Errorf("the stored area is not in %s", doc)
	}
}
