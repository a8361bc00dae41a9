package serve_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// The abstract tests of CQL2 (OGC 21-065r2, annex A) for the results of conditions. Each condition
// finds the expected part of all features, its negation the others, AND the intersection, and OR
// the union. The same condition in another form, or as JSON, finds the same.
func TestAbstractTestSuiteOfCQL2OverItems(t *testing.T) {
	s := scenery(t)
	found := func(filter string) []string {
		t.Helper()
		v := url.Values{"filter": {filter}}
		if filter[0] == '{' {
			v.Set("filter-lang", "cql2-json")
		}
		var f ogcFeatures
		a := s.do("reader", http.MethodGet, "/ogc/collections/hazards/items?"+v.Encode(), nil)
		if a.JSON(t, &f); a.Status != http.StatusOK || f.NumberMatched != len(f.Features) {
			t.Fatalf("%s: %d, %d of %d: %.300s", filter, a.Status, len(f.Features), f.NumberMatched, a.Body)
		}
		return f.names()
	}
	all := found("TRUE")
	with := func(names []string, has func(string) bool) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !has(n) })
	}
	same := func(filter string, want []string) {
		t.Helper()
		if got := found(filter); strings.Join(got, ",") != strings.Join(want, ",") {
			t.Errorf("%s finds %q, want %q", filter, got, want)
		}
	}
	if len(all) != 5 {
		t.Fatalf("%q", all)
	}
	same("FALSE", nil)
	conditions := []string{"hazard_Name = 'Fire'", "hazard_Name > 'Flood East'", "severity_rank >= 4", "longitude < 10.5", "end_time > DATE('2001-01-01')", "hazard_Name LIKE 'F%'", "longitude BETWEEN 0 AND 100",
		"type_ID IN ('STORM','WILDFIRE')", "CASEI(hazard_Name) = CASEI('sToRm')", "people IS NULL", "S_INTERSECTS(geometry,BBOX(0,0,120,60))", "S_INTERSECTS(geometry,LINESTRING(-100 40,0 0))",
		"S_INTERSECTS(geometry,MULTIPOINT((10 50),(100 40)))", "T_AFTER(start_time,DATE('2001-01-01'))"}
	sets := map[string][]string{}
	for _, p := range conditions {
		sets[p] = found(p)
		same("NOT ("+p+")", with(all, func(n string) bool { return !slices.Contains(sets[p], n) }))
		same("NOT (NOT ("+p+"))", sets[p])
	}
	for i, p := range conditions {
		q := conditions[(i+1)%len(conditions)]
		in := func(c string) func(string) bool { return func(n string) bool { return slices.Contains(sets[c], n) } }
		same("("+p+") AND ("+q+")", with(sets[p], in(q)))
		same("("+p+") OR ("+q+")", with(all, func(n string) bool { return in(p)(n) || in(q)(n) }))
		same("NOT (("+p+") AND NOT ("+q+"))", with(all, func(n string) bool { return !in(p)(n) || in(q)(n) }))
	}
	for filter, other := range map[string]string{
		"longitude BETWEEN 0 AND 100":               "longitude >= 0 AND longitude <= 100",
		"longitude NOT BETWEEN 0 AND 100":           "longitude < 0 OR longitude > 100",
		"type_ID IN ('STORM','WILDFIRE')":           "type_ID = 'STORM' OR 'WILDFIRE' = type_ID",
		"hazard_Name NOT LIKE 'F%'":                 "NOT hazard_Name LIKE 'F%'",
		"hazard_Name LIKE 'Fl__d %st'":              "hazard_Name = 'Flood East' OR hazard_Name = 'Flood West'",
		"people IS NOT NULL":                        "NOT people IS NULL",
		"S_DISJOINT(geometry,BBOX(0,0,120,60))":     "NOT S_INTERSECTS(geometry,BBOX(0,0,120,60))",
		"S_INTERSECTS(geometry,BBOX(0,0,120,60))":   "S_INTERSECTS(POLYGON((0 0,120 0,120 60,0 60,0 0)),geometry)",
		"T_BEFORE(start_time,DATE('2001-01-01'))":   "start_time < DATE('2001-01-01')",
		"T_DISJOINT(start_time,DATE('2001-01-01'))": "NOT T_INTERSECTS(start_time,DATE('2001-01-01'))",
		"severity_rank<>4":                          `{"op":"<>","args":[{"property":"severity_rank"},4]}`,
		"longitude BETWEEN 0 AND 99.5":              `{"op":"between","args":[{"property":"longitude"},0,99.5]}`,
		"hazard_Name LIKE '%oo%'":                   `{"op":"like","args":[{"property":"hazard_Name"},"%oo%"]}`,
		"type_ID NOT IN ('STORM','WILDFIRE')":       `{"op":"not","args":[{"op":"in","args":[{"property":"type_ID"},["STORM","WILDFIRE"]]}]}`,
		"S_INTERSECTS(geometry,POINT(10 50))":       `{"op":"s_intersects","args":[{"property":"geometry"},{"type":"Point","coordinates":[10,50]}]}`,
		"S_INTERSECTS(geometry,BBOX(170,-30,0,60))": `{"op":"s_intersects","args":[{"property":"geometry"},{"bbox":[170,-30,0,60]}]}`,
	} {
		same(filter, found(other))
	}
}
