package geo

import "testing"

func TestTheSumOfAShapeIsItsOwn(t *testing.T) {
	sums := map[[32]byte]string{}
	for _, text := range []string{
		`{"type":"Point","coordinates":[1,2]}`, `{"type":"Point","coordinates":[2,1]}`, `{"type":"MultiPoint","coordinates":[[1,2],[2,1]]}`,
		`{"type":"LineString","coordinates":[[1,2],[2,1]]}`, `{"type":"MultiLineString","coordinates":[[[1,2],[2,1]],[[3,4],[5,6]]]}`,
		`{"type":"LineString","coordinates":[[1,2],[2,1],[3,4],[5,6]]}`,
		`{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]]]}`,
		`{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[1,1],[1,2],[2,2],[2,1],[1,1]]]}`,
		`{"type":"MultiPolygon","coordinates":[[[[0,0],[9,0],[9,9],[0,9],[0,0]]],[[[11,1],[12,1],[12,2],[11,2],[11,1]]]]}`,
	} {
		s, err := ParseLoose([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := sums[s.Sum()]; ok {
			t.Errorf("%s has the sum of %s", text, other)
		}
		sums[s.Sum()] = text
		if again, err := ParseLoose([]byte(text)); err != nil || again.Sum() != s.Sum() {
			t.Errorf("%s: the second call returns another sum, %v", text, err)
		}
	}
}
