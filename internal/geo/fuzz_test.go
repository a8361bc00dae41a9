package geo

import "testing"

func FuzzParseWKT(f *testing.F) {
	for _, s := range []string{
		"POINT(-122.4 37.8)", "point zm (1 2 3 4)", "MULTIPOINT((1 2),3 4)", "LINESTRING(179 0,-179 2,-180 3,180 4)",
		"POLYGON((0 0,9 0,9 9,0 9,0 0),(1 1,2 1,2 2,1 1))", "POLYGON((179 0,-179 0,-179 1,179 1,179 0))",
		"POLYGON((0 80,90 80,180 80,-90 80,0 80),(0 85,90 85,180 85,-90 85,0 85))",
		"MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((0 0,1 0,1 1,0 0)))",
		"GEOMETRYCOLLECTION(POINT(1 2),GEOMETRYCOLLECTION(POLYGON((0 0,1 0,1 1,0 0))))",
		"POLYGON((-180 -90,180 -90,180 90,-180 90,-180 -90))", "POINT EMPTY", "POINT(1e400 1)", "SRID=4326;POINT(1 2)",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseWKT(text)
		if err != nil {
			if !s.IsZero() || err.Error() == "" {
				t.Fatalf("%q: %s and the error %q", text, s.WKT(), err)
			}
			return
		}
		if !s.IsZero() {
			checkShape(t, s)
		}
	})
}

func FuzzParseGeoJSON(f *testing.F) {
	for _, s := range []string{
		`{"type":"Point","coordinates":[1,2,3]}`,
		`{"type":"MultiLineString","coordinates":[[[1,2],[3,4]],[[179,1],[-179,1]]]}`,
		`{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]}`,
		`{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[1,1],[2,1],[2,2],[1,1]]]}`,
		`{"type":"MultiPolygon","coordinates":[[[[179,0],[-179,0],[-179,1],[179,0]]],[[[3,1],[3,1],[3,1],[3,1]]]]}`,
		`{"type":"GeometryCollection","geometries":[{"type":"MultiPoint","coordinates":[[1,1],[1,1]]},{"type":"Point","coordinates":[-190,1]}]}`,
		`{"type":"Point","coordinates":[1,2],"crs":null}`, `{"geometries":[],"type":"Point"}`, `null`, `[`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		loose, looseErr := ParseLoose(text)
		if looseErr == nil {
			checkShape(t, loose)
		}
		s, err := ParseGeoJSON(text)
		if err != nil {
			return
		}
		checkShape(t, s)
		if looseErr != nil || loose.GeoJSON() != s.GeoJSON() {
			t.Fatalf("%s, read loosely %s, %v", s.GeoJSON(), loose.GeoJSON(), looseErr)
		}
	})
}
