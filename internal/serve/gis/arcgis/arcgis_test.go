package arcgis

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/crs"
	"github.com/hazardd/hazardd/internal/hazard"
)

func TestPlacesOfQueries(t *testing.T) {
	for text, want := range map[string]string{
		"-10,-10,10,10":   "{-10 -10 10 10}",
		"170,-10,190,10":  "{170 -10 -170 10}",
		"-190,-10,-170,9": "{170 -10 -170 9}",
		"-200,-95,200,95": "{-180 -90 180 90}",
		"530,0,540,1":     "{170 0 -180 1}",
		`{"xmin":-20037508.342789,"ymin":-20037508.342789,"xmax":20037508.342789,"ymax":20037508.342789,"spatialReference":{"wkid":102100,"latestWkid":3857}}`: "{-180 -90 180 90}",
	} {
		p, err := readPlace(text, "", inDegreesOfWGS84)
		if err != nil || fmt.Sprint(*p.Box) != want {
			t.Errorf("%s: %+v %v, want %s", text, p, err, want)
		}
	}
	// Sides of rings go the way that the map shows, even if that is the longer one.
	wide, err := readPlace(`{"rings":[[[-170,-60],[-170,60],[170,60],[170,-60],[-170,-60]],[[8,48],[12,48],[12,52],[8,52],[8,48]]]}`, "", inDegreesOfWGS84)
	if err != nil {
		t.Fatal(err)
	}
	for place, in := range map[[2]float64]bool{{0, 0}: true, {100, 59}: true, {10, 50}: false, {179, 0}: false, {-175, 0}: false} {
		if got := geo.Intersects(wide.Shape, geo.Place(place[0], place[1])); got != in {
			t.Errorf("%v is in: %t", place, got)
		}
	}
	var many strings.Builder
	for i := range geo.MaxPositions + 1 {
		fmt.Fprintf(&many, ",[%d,%d]", i%170, i%80)
	}
	if _, err := readPlace(`{"points":[`+many.String()[1:]+`]}`, "", inDegreesOfWGS84); err == nil {
		t.Error("a geometry of unlimited length is accepted")
	}
	if _, costly := errors.AsType[*geo.CostError](err); costly {
		t.Error(err)
	}
}

func FuzzReadPlace(f *testing.F) {
	for _, text := range []string{"1,2,3,4", "1,2", `{"x":1,"y":2}`, `{"rings":[[[0,0],[0,1],[1,1],[0,0]]]}`, `{"paths":[[[0,0],[1e300,1]]]}`, `{"points":[[1]],"spatialReference":{"wkid":3857}}`, `{"xmin":1e309}`} {
		f.Add(text, "")
	}
	f.Fuzz(func(t *testing.T, text, kind string) {
		for _, code := range []int{crs.WGS84, crs.Mercator, 25832} {
			in, _ := crs.Named(code)
			p, err := readPlace(text, kind, in)
			if err == nil && p.Box == nil && p.Shape.IsZero() {
				t.Errorf("%q is nowhere", text)
			}
			if err == nil && p.Box != nil && p.Box.Shape().IsZero() {
				t.Errorf("%q is the box %v, but is invalid", text, *p.Box)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"where=1%3D1", "where=a+LIKE+%27%25%27&geometry=1,2,3,4", "outStatistics=[{}]&groupByFieldsForStatistics=type_ID", "orderByFields=,&time=,", "objectIds=1,,2"} {
		f.Add(text, 1)
	}
	f.Fuzz(func(t *testing.T, text string, layer int) {
		values, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		layers := Layers()
		q, faults := layers[uint(layer)%uint(len(layers))].Parse(values, time.Unix(0, 0))
		if faults == nil {
			q.Match(&hazard.Hazard{}, nil, 0)
		}
	})
}

// A tally gives the figures of the textbook, in whichever order hazards are counted.
func TestFiguresOfATally(t *testing.T) {
	q, faults := (&Layer{Kind: Points}).Parse(url.Values{"outStatistics": {`[{"statisticType":"stddev","onStatisticField":"latitude"},{"statisticType":"avg","onStatisticField":"latitude"},{"statisticType":"var","onStatisticField":"people"},{"statisticType":"max","onStatisticField":"start_time"}]`}}, time.Unix(0, 0))
	if faults != nil {
		t.Fatal(faults)
	}
	tally := NewTally(q)
	for i, lat := range []float64{2, 4, 4, 4, 5, 5, 7, 9} {
		if err := tally.Add(&hazard.Hazard{ID: int64(i), Latitude: lat, Start: hazard.Instant(i)}); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := tally.rows()
	if err != nil || len(rows) != 1 || math.Abs(rows[0][0].(float64)-2.13808993529939) > 1e-12 || rows[0][1] != 5.0 || rows[0][2] != nil || rows[0][3] != 7.0 {
		t.Errorf("%v %v", rows, err)
	}
}

func TestGroupsHaveABound(t *testing.T) {
	q, faults := (&Layer{Kind: Points}).Parse(url.Values{"returnDistinctValues": {"true"}, "outFields": {"hazard_ID"}}, time.Unix(0, 0))
	if faults != nil {
		t.Fatal(faults)
	}
	tally, err := NewTally(q), error(nil)
	for i := 0; i <= maxGroups && err == nil; i++ {
		err = tally.Add(&hazard.Hazard{ID: int64(i)})
	}
	if err == nil {
		t.Error("the number of groups is not limited")
	}
}
