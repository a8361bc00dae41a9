package cql

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The abstract tests of CQL2 (OGC 21-065r2, annex A) that require predicates to be parsed, in both
// encodings. The properties are those of the annex' test data (table 7 and following), and the
// conditions those of its tables, for the declared conformance classes. Package serve tests their
// results.
func TestAbstractTestSuiteOfCQL2(t *testing.T) {
	for class, list := range map[string][]struct{ text, json string }{
		"basic-cql2": {
			{`NAME='København'`, `{"op":"=","args":[{"property":"NAME"},"København"]}`},
			{`NAME<>'København'`, `{"op":"<>","args":[{"property":"NAME"},"København"]}`},
			{`NAME>'København'`, `{"op":">","args":[{"property":"NAME"},"København"]}`},
			{`NAME>='København'`, `{"op":">=","args":[{"property":"NAME"},"København"]}`},
			{`NAME<'København'`, `{"op":"<","args":[{"property":"NAME"},"København"]}`},
			{`NAME<='København'`, `{"op":"<=","args":[{"property":"NAME"},"København"]}`},
			{`pop_other>=1038288`, `{"op":">=","args":[{"property":"pop_other"},1038288]}`},
			{`pop_other=1038288.0`, `{"op":"=","args":[{"property":"pop_other"},1038288]}`},
			{`pop_other>-1.5E-3`, `{"op":">","args":[{"property":"pop_other"},-0.0015]}`},
			{`NAME IS NULL`, `{"op":"isNull","args":[{"property":"NAME"}]}`},
			{`NAME IS NOT NULL`, `{"op":"not","args":[{"op":"isNull","args":[{"property":"NAME"}]}]}`},
			{`start=TIMESTAMP('2022-04-16T10:13:19Z')`, `{"op":"=","args":[{"property":"start"},{"timestamp":"2022-04-16T10:13:19Z"}]}`},
			{`start<=DATE('2022-04-16')`, `{"op":"<=","args":[{"property":"start"},{"date":"2022-04-16"}]}`},
			{`boolean=true`, `{"op":"=","args":[{"property":"boolean"},true]}`},
			{`boolean<>FALSE`, `{"op":"<>","args":[{"property":"boolean"},false]}`},
			{`NOT (pop_other<1038288)`, `{"op":"not","args":[{"op":"<","args":[{"property":"pop_other"},1038288]}]}`},
			{`pop_other>1038288 AND NAME<>'København' OR pop_other<0`,
				`{"op":"or","args":[{"op":"and","args":[{"op":">","args":[{"property":"pop_other"},1038288]},{"op":"<>","args":[{"property":"NAME"},"København"]}]},{"op":"<","args":[{"property":"pop_other"},0]}]}`},
			{`pop_other>1038288 AND (NAME<>'København' OR pop_other<0)`,
				`{"op":"and","args":[{"op":">","args":[{"property":"pop_other"},1038288]},{"op":"or","args":[{"op":"<>","args":[{"property":"NAME"},"København"]},{"op":"<","args":[{"property":"pop_other"},0]}]}]}`},
			{`NOT NAME='a' AND NAME<>'b'`, `{"op":"and","args":[{"op":"not","args":[{"op":"=","args":[{"property":"NAME"},"a"]}]},{"op":"<>","args":[{"property":"NAME"},"b"]}]}`},
			{`"NAME"='it''s'`, `{"op":"=","args":[{"property":"NAME"},"it's"]}`},
		},
		"advanced-comparison-operators": {
			{`NAME LIKE 'B_r%'`, `{"op":"like","args":[{"property":"NAME"},"B_r%"]}`},
			{`NAME NOT LIKE 'B_r%'`, `{"op":"not","args":[{"op":"like","args":[{"property":"NAME"},"B_r%"]}]}`},
			{`pop_other BETWEEN 1000000 AND 3000000`, `{"op":"between","args":[{"property":"pop_other"},1000000,3000000]}`},
			{`pop_other NOT BETWEEN 1000000 AND 3000000`, `{"op":"not","args":[{"op":"between","args":[{"property":"pop_other"},1000000,3000000]}]}`},
			{`NAME IN ('Kiev','kobenhavn','Berlin')`, `{"op":"in","args":[{"property":"NAME"},["Kiev","kobenhavn","Berlin"]]}`},
			{`NAME NOT IN ('Kiev','kobenhavn','Berlin')`, `{"op":"not","args":[{"op":"in","args":[{"property":"NAME"},["Kiev","kobenhavn","Berlin"]]}]}`},
			{`pop_other IN (1038288,1611692,3013258)`, `{"op":"in","args":[{"property":"pop_other"},[1038288,1611692,3013258]]}`},
			{`date IN (DATE('2022-04-16'))`, `{"op":"in","args":[{"property":"date"},[{"date":"2022-04-16"}]]}`},
		},
		"case-insensitive-comparison": {
			{`CASEI(NAME)=casei('KIEV')`, `{"op":"=","args":[{"op":"casei","args":[{"property":"NAME"}]},{"op":"casei","args":["KIEV"]}]}`},
			{`CASEI(NAME) IN (casei('Kiev'),casei('BERLIN'))`, `{"op":"in","args":[{"op":"casei","args":[{"property":"NAME"}]},[{"op":"casei","args":["Kiev"]},{"op":"casei","args":["BERLIN"]}]]}`},
		},
		"basic-spatial-functions": {
			{`S_INTERSECTS(geom,BBOX(0,40,10,50))`, `{"op":"s_intersects","args":[{"property":"geom"},{"bbox":[0,40,10,50]}]}`},
			{`S_INTERSECTS(geom,BBOX(150,-90,-150,90))`, `{"op":"s_intersects","args":[{"property":"geom"},{"bbox":[150,-90,-150,90]}]}`},
			{`NOT S_INTERSECTS(BBOX(0,40,10,50),geom)`, `{"op":"not","args":[{"op":"s_intersects","args":[{"bbox":[0,40,10,50]},{"property":"geom"}]}]}`},
		},
		"temporal-functions": {
			{`T_AFTER("date",DATE('2022-04-16'))`, `{"op":"t_after","args":[{"property":"date"},{"date":"2022-04-16"}]}`},
			{`T_BEFORE("date",DATE('2022-04-16'))`, `{"op":"t_before","args":[{"property":"date"},{"date":"2022-04-16"}]}`},
			{`T_DISJOINT("date",DATE('2022-04-16'))`, `{"op":"t_disjoint","args":[{"property":"date"},{"date":"2022-04-16"}]}`},
			{`T_EQUALS("date",DATE('2022-04-16'))`, `{"op":"t_equals","args":[{"property":"date"},{"date":"2022-04-16"}]}`},
			{`T_INTERSECTS("start",TIMESTAMP('2022-04-16T10:13:19Z'))`, `{"op":"t_intersects","args":[{"property":"start"},{"timestamp":"2022-04-16T10:13:19Z"}]}`},
			{`T_CONTAINS(INTERVAL("start","end"),INTERVAL('2021-04-16','2022-04-16'))`, `{"op":"t_contains","args":[{"interval":[{"property":"start"},{"property":"end"}]},{"interval":["2021-04-16","2022-04-16"]}]}`},
			{`T_DURING(INTERVAL("start","end"),INTERVAL('2021-04-16','2022-04-16'))`, `{"op":"t_during","args":[{"interval":[{"property":"start"},{"property":"end"}]},{"interval":["2021-04-16","2022-04-16"]}]}`},
			{`T_FINISHEDBY(INTERVAL("start","end"),INTERVAL('2021-04-16','2022-04-16'))`, `{"op":"t_finishedBy","args":[{"interval":[{"property":"start"},{"property":"end"}]},{"interval":["2021-04-16","2022-04-16"]}]}`},
			{`T_FINISHES(INTERVAL("start","end"),INTERVAL('2021-04-16','2022-04-16'))`, `{"op":"t_finishes","args":[{"interval":[{"property":"start"},{"property":"end"}]},{"interval":["2021-04-16","2022-04-16"]}]}`},
			{`T_MEETS(INTERVAL("start","end"),INTERVAL('2021-04-16','2022-04-16'))`, `{"op":"t_meets","args":[{"interval":[{"property":"start"},{"property":"end"}]},{"interval":["2021-04-16","2022-04-16"]}]}`},
			{`T_METBY(INTERVAL("start","end"),INTERVAL('2021-04-16','2022-04-16'))`, `{"op":"t_metBy","args":[{"interval":[{"property":"start"},{"property":"end"}]},{"interval":["2021-04-16","2022-04-16"]}]}`},
			{`T_OVERLAPPEDBY(INTERVAL("start","end"),INTERVAL('2021-04-16','2022-04-16'))`, `{"op":"t_overlappedBy","args":[{"interval":[{"property":"start"},{"property":"end"}]},{"interval":["2021-04-16","2022-04-16"]}]}`},
			{`T_OVERLAPS(INTERVAL("start","end"),INTERVAL('2021-04-16','..'))`, `{"op":"t_overlaps","args":[{"interval":[{"property":"start"},{"property":"end"}]},{"interval":["2021-04-16",".."]}]}`},
			{`T_STARTEDBY(INTERVAL("start","end"),INTERVAL('2021-04-16','2022-04-16'))`, `{"op":"t_startedBy","args":[{"interval":[{"property":"start"},{"property":"end"}]},{"interval":["2021-04-16","2022-04-16"]}]}`},
			{`T_STARTS(INTERVAL("start","end"),INTERVAL('2021-04-16','2022-04-16'))`, `{"op":"t_starts","args":[{"interval":[{"property":"start"},{"property":"end"}]},{"interval":["2021-04-16","2022-04-16"]}]}`},
		},
	} {
		t.Run(class, func(t *testing.T) {
			for _, tt := range list {
				text, err := ParseText(tt.text)
				if err != nil {
					t.Errorf("%s: %v", tt.text, err)
					continue
				}
				json, err := ParseJSON(tt.json)
				if err != nil {
					t.Errorf("%s: %v", tt.json, err)
					continue
				}
				if diff := cmp.Diff(text, json, cmpopts.IgnoreTypes(Place{})); diff != "" {
					t.Errorf("%s (-text +json):\n%s", tt.text, diff)
				}
			}
		})
	}
	// For basic-spatial-functions-plus: each type of geometry, with and without heights.
	for wkt, geojson := range map[string]string{
		"POINT(7.02 49.92)":                         `{"type":"Point","coordinates":[7.02,49.92]}`,
		"POINT Z (7.02 49.92 3)":                    `{"type":"Point","coordinates":[7.02,49.92,3]}`,
		"LINESTRING(0 0,1 1)":                       `{"type":"LineString","coordinates":[[0,0],[1,1]]}`,
		"POLYGON((0 0,1 0,1 1,0 0))":                `{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}`,
		"MULTIPOINT((7.02 49.92),(90 180))":         `{"type":"MultiPoint","coordinates":[[7.02,49.92],[90,180]]}`,
		"MULTILINESTRING((0 0,1 1),(2 2,3 3))":      `{"type":"MultiLineString","coordinates":[[[0,0],[1,1]],[[2,2],[3,3]]]}`,
		"MULTIPOLYGON(((0 0,1 0,1 1,0 0)))":         `{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]]]}`,
		"GEOMETRYCOLLECTION(POINT(1 2),POINT(3 4))": `{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]},{"type":"Point","coordinates":[3,4]}]}`,
	} {
		e, err := ParseText("S_INTERSECTS(geom," + wkt + ")")
		if m, ok := e.(Meets); err != nil || !ok || m.Geometry.WKT != wkt {
			t.Errorf("%s: %v, %+v", wkt, err, e)
		}
		e, err = ParseJSON(`{"op":"s_intersects","args":[{"property":"geom"},` + geojson + `]}`)
		if m, ok := e.(Meets); err != nil || !ok || m.Geometry.GeoJSON == "" {
			t.Errorf("%s: %v, %+v", geojson, err, e)
		}
	}
	// Invalid conditions of the annex' tables are rejected.
	for _, text := range []string{`NAME`, `NAME='a' NAME='b'`, `NAME BETWEEN 1`, `NAME LIKE NAME`, `NAME IN 'a'`, `NAME IS`, `pop_other==1`, `AND NAME='a'`, `(NAME='a'`, `T_AFTER(date)`, `S_INTERSECTS(geom)`, `DATE('2022-13-01')=d`, `CASEI(1)='a'`} {
		if e, err := ParseText(text); err == nil {
			t.Errorf("%s is read as %+v", text, e)
		}
	}
	for _, text := range []string{`{"op":"="}`, `{"op":"=","args":[]}`, `{"op":"not","args":[]}`, `{"op":"between","args":[{"property":"a"},1]}`, `{"op":"isNull","args":[]}`, `{"args":[true,true]}`, `[]`, `"a"`} {
		if e, err := ParseJSON(text); err == nil {
			t.Errorf("%s is read as %+v", text, e)
		}
	}
}
