package geo

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// combs returns two combs with crossing teeth, each with twice as many positions as teeth.
func combs(teeth int) string {
	var across, up []string
	for i := range teeth {
		x := float64(i) * 0.004
		across = append(across, fmt.Sprintf("%g 0,%g 40", x, x+0.002))
		up = append(up, fmt.Sprintf("0 %g,40 %g", x, x+0.002))
	}
	const back = ",41 41,-1 41,-1 -1,0 0"
	return "MULTIPOLYGON(((" + strings.Join(across, ",") + back + ")),((" + strings.Join(up, ",") + ",41 41,41 -1,-1 -1,0 0)))"
}

func inGeoJSON(polygons string) string {
	polygons = strings.NewReplacer("MULTIPOLYGON", "", "(", "[", ")", "]").Replace(polygons)
	var b strings.Builder
	for i, position := range strings.Split(polygons, ",") {
		if i > 0 {
			b.WriteByte(',')
		}
		start := strings.LastIndexByte(position, '[') + 1
		end := strings.IndexByte(position[start:], ']')
		if end < 0 {
			end = len(position)
		} else {
			end += start
		}
		if start == end || position[start] == ']' {
			b.WriteString(position)
			continue
		}
		b.WriteString(position[:start] + "[" + strings.Replace(position[start:end], " ", ",", 1) + "]" + position[end:])
	}
	return `{"type":"MultiPolygon","coordinates":` + b.String() + `}`
}

// most is the budget of a request, and the steps of one more side or crossing.
const most = requestSteps + MaxPositions*stepsPerMeshSide

func TestAnAreaThatCostsTooMuchIsRefused(t *testing.T) {
	p := wktParser{text: combs(4900)}
	tree, err := p.geometry(1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.shape(tree)
	costly, ok := errors.AsType[*CostError](err)
	if !ok || costly.Crossings < 1000 {
		t.Errorf("got %v", err)
	}
	if p.work.spent > most {
		t.Errorf("it took %d steps to refuse it, more than %d", p.work.spent, most)
	}
	if s, err := ParseGeoJSON([]byte(inGeoJSON(combs(4900)))); !errors.As(err, &costly) {
		t.Errorf("as GeoJSON: %.80s, %v", s.GeoJSON(), err)
	}
	if s, err := ParseWKT(combs(20)); err != nil || s.Coarse() {
		t.Errorf("a small one: coarse %v, %v", s.Coarse(), err)
	}
}

func TestAnAreaOfAFeedThatCostsTooMuchLosesNoPlace(t *testing.T) {
	// One ring that crosses itself everywhere, and one that crosses itself once.
	var star []string
	for i := range 3001 {
		star = append(star, fmt.Sprintf("%d %d", (i%2)*10, i*7%3000/300))
		star = append(star, fmt.Sprintf("%d.%03d %d", i%10, i%1000, (i%3)*5))
	}
	star = append(star, star[0])
	text := "MULTIPOLYGON(((" + strings.Join(star, ",") + ")),((20 0,22 2,22 0,20 2,20 0)))"
	r := reader{loose: true}
	tree, err := r.document([]byte(inGeoJSON(text)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.shape(tree)
	if err != nil || !s.Coarse() {
		t.Fatalf("coarse %v, %v", s.Coarse(), err)
	}
	wkt := s.WKT()
	if want := "((20 0,21 1,20 2,20 0)),((21 1,22 0,22 2,21 1))"; !strings.Contains(wkt, want) {
		t.Errorf("its neighbor is not repaired: %s", wkt)
	}
	for _, p := range []position{{0, 0}, {10 * micro, 9 * micro}, {5 * micro, 5 * micro}} {
		if !Intersects(s, Shape{points: []position{p}}) {
			t.Errorf("%v is lost", p)
		}
	}
	again, err := Union(s, Place(50, 50))
	if err != nil || !again.Coarse() {
		t.Errorf("joined with another shape: coarse %v, %v", again.Coarse(), err)
	}
	// Areas that cannot be joined are kept separately.
	crossed, err := ParseLoose([]byte(inGeoJSON(combs(4900))))
	if err != nil || !crossed.Coarse() || len(crossed.polygons) != 2 {
		t.Errorf("combs: coarse %v, %d areas, %v", crossed.Coarse(), len(crossed.polygons), err)
	}
}

func TestAFeedsGeometryCostsWhatItsLengthAllows(t *testing.T) {
	for _, text := range []string{combs(4900), strings.Replace(comb(9_000), "POLYGON", "MULTIPOLYGON(", 1) + ")"} {
		r := reader{loose: true}
		tree, err := r.document([]byte(inGeoJSON(text)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = r.shape(tree); err != nil {
			t.Fatal(err)
		}
		if limit := 5*minSteps + 3*looseSteps*r.positions; r.work.spent > limit {
			t.Errorf("it took %d steps, expected at most %d for %d positions", r.work.spent, limit, r.positions)
		}
	}
}

func TestAStoredShapeIsReadInOnePass(t *testing.T) {
	s, err := ParseLoose([]byte(inGeoJSON(combs(4900)))) // two areas that are too complex to join
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadStored(s.GeoJSON())
	if err != nil || again.GeoJSON() != s.GeoJSON() || !again.apart || again.Coarse() {
		t.Errorf("apart %v, coarse %v, %v", again.apart, again.Coarse(), err) // coarse: the work was repeated
	}
	for name, tt := range map[string]struct{ in, want string }{
		"another's text is mended":       {`{"type": "Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]}`, "MULTIPOLYGON(((0 0,1 1,0 2,0 0)),((1 1,2 0,2 2,1 1)))"},
		"a ring that is not closed":      {`{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2]]]}`, "POLYGON((0 0,2 0,2 2,0 0))"},
		"a longitude beyond the world's": {`{"type":"Point","coordinates":[181,0]}`, "POINT(-179 0)"},
		"more decimals than are kept":    {`{"type":"Point","coordinates":[1.23456789,-0.0000001]}`, "POINT(1.234568 0)"},
	} {
		if s, err := ReadStored(tt.in); err != nil || s.WKT() != tt.want {
			t.Errorf("%s: %s, %v", name, s.WKT(), err)
		}
	}
	for _, text := range []string{"", "{}", `{"type":"Point"`, `{"type":"Point","coordinates":[]}`, `{"type":"Polygon","coordinates":[]}`} {
		if s, err := ReadStored(text); err == nil {
			t.Errorf("%s is read as %s", text, s.WKT())
		}
	}
}
