package nswrfs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

var laws = sourcetest.Source{
	Parse: Parse, File: "nsw-rfs/majorIncidents-20200125T1115Z.json", At: "2020-01-25T12:00:00Z", List: "features",
	Needed: []string{"properties/guid", "geometry"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, laws, `{"type":"FeatureCollection","features":[null,{},7,"`)
}

const now hazard.Instant = 1584600000000 // 2020-03-19T06:40:00Z

func incident(category, kind string) string {
	return fmt.Sprintf(`{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[148.9,-33.4]},
		{"type":"GeometryCollection","geometries":[{"type":"Polygon","coordinates":[[[148,-33],[149,-33],[149,-34],[148,-33]]]}]}]},"properties":{"category":%q,"title":"Big Foot",
		"description":"ALERT LEVEL: %s <br />COUNCIL AREA: Cabonne <br />STATUS: Under control <br />TYPE: %s <br />SIZE: 101 ha","guid":"https://incidents.rfs.nsw.gov.au/api/v1/incidents/376955",
		"pubDate":"18/03/2020 11:00:00 PM"}}]}`, category, category, kind)
}

// A fire about which people are warned is a WARNING.
func TestLevels(t *testing.T) {
	for _, tt := range []struct {
		category, kind string
		want           hazard.Severity
	}{
		{"Emergency Warning", "Bush Fire", hazard.Warning}, {"Watch and Act", "Grass Fire", hazard.Watch}, {"Advice", "Bush Fire", hazard.Advisory},
		{"Not Applicable", "Bush Fire", hazard.Information}, {"Emergency Warning", "Structure Fire", hazard.Warning}, {"Advice", "Hazard Reduction", 0}, {"Purple", "Bush Fire", hazard.Advisory},
	} {
		b, err := Parse([]byte(incident(tt.category, tt.kind)), now)
		if err != nil || !b.Whole || len(b.Rejects) > 0 || (len(b.Reports) == 1) != (tt.want > 0) {
			t.Fatalf("%s, %s: %v, %+v", tt.category, tt.kind, err, b)
		}
		if tt.want == 0 {
			continue
		}
		r := b.Reports[0]
		if r.Severity != tt.want || r.Key != "376955" || r.Name != "Wildfire - Big Foot, Cabonne, New South Wales" || len(r.Areas) != 1 || *r.Point != (hazard.Point{Lon: 148.9, Lat: -33.4}) ||
			r.Version != 1584572400000 || !strings.Contains(r.Description, "Size: 101 ha.") || (len(r.Notes) == 1) != (tt.category == "Purple") {
			t.Errorf("%s, %s: %+v", tt.category, tt.kind, r)
		}
	}
}

// A position outside the state, such as one that lost its sign, is not that of a fire of the state (T9).
func TestAPositionElsewhereIsNotUsed(t *testing.T) {
	for position, used := range map[string]bool{"[148.9,-33.4]": true, "[149.1,-35.3]": true, "[148.9,33.4]": false, "[-148.9,-33.4]": false} {
		list := strings.Replace(incident("Advice", "Bush Fire"), `"GeometryCollection","geometries":[{"type":"Point","coordinates":[148.9,-33.4]}`,
			`"GeometryCollection","geometries":[{"type":"Point","coordinates":`+position+`}`, 1)
		list = strings.Replace(list, `{"type":"Polygon","coordinates":[[[148,-33],[149,-33],[149,-34],[148,-33]]]}`, "", 1)
		b, err := Parse([]byte(list), now)
		if err != nil || len(b.Reports) != 1 || len(b.Reports[0].Areas) > 0 {
			t.Fatalf("%s: %v, %+v", position, err, b)
		}
		r := b.Reports[0]
		if (r.Point != nil) != used || slices.Equal(r.Places, []string{"area:New South Wales"}) == used || (len(r.Notes) == 0) != used {
			t.Errorf("%s: %v, places %v, notes %q", position, r.Point, r.Places, r.Notes)
		}
	}
}
