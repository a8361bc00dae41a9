package app_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// The drawings of sources in all recordings: each shape has a role, a time, a geometry on Earth,
// and a band of a known quantity. With -v the test prints how many shapes of each source have which
// role.
func TestRecordingsSayWhatIsDrawn(t *testing.T) {
	test.NoRace(t)
	test.Slow(t)
	_, rows := readTable(t)
	byPattern := map[string]*row{}
	for _, r := range rows {
		byPattern[r.file] = r
	}
	count, documents := map[string]map[string]int{}, map[string]int{}
	for _, file := range recordedFiles(t) {
		r := byPattern[file]
		if r == nil || r.source == "-" {
			continue
		}
		parse, err := parserOf(r.source)
		if err != nil {
			t.Fatal(err)
		}
		batch, _ := parse(recordings.Read(t, "feeds/"+file), r.at)
		for _, d := range batch.Drawings {
			if d.Key == "" || d.Part == "" || d.Version == 0 {
				t.Errorf("%s: a drawing without a name: %q, %q, %d", file, d.Key, d.Part, d.Version)
			}
			documents[r.source]++
			for i := range d.Shapes {
				s := d.Shapes[i]
				if s.From == 0 {
					s.From = r.at // from the start of the event, which the document does not give
				}
				if err := s.Check(); err != nil {
					t.Errorf("%s: %s %s: %v", file, d.Key, d.Part, err)
				}
				if _, err := geo.ParseLoose([]byte(s.Geometry)); err != nil {
					t.Errorf("%s: %s %s: a %s: %v", file, d.Key, d.Part, s.Role, err)
				}
				what := string(s.Role)
				if s.Band != nil {
					what += " of " + string(s.Band.Kind)
				}
				if s.Forecast {
					what += " (forecast)"
				}
				if count[r.source] == nil {
					count[r.source] = map[string]int{}
				}
				count[r.source][what]++
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		var list []string
		for _, what := range slices.Sorted(maps.Keys(count[name])) {
			list = append(list, fmt.Sprintf("%s %d", what, count[name][what]))
		}
		t.Logf("%-6s %4d drawings: %s", name, documents[name], strings.Join(list, ", "))
	}
	for name, roles := range map[string][]hazard.ShapeRole{
		"nhc": {hazard.ConeShape, hazard.TrackShape, hazard.PositionShape, hazard.WindShape}, "jtwc": {hazard.TrackShape, hazard.WindShape}, "usgs": {hazard.ContourShape},
		"gdacs": {hazard.ConeShape, hazard.WindShape, hazard.TrackShape, hazard.AreaShape, hazard.ExtentShape}, "nifc": {hazard.PerimeterShape},
	} {
		for _, role := range roles {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(count[name])), func(what string) bool { return strings.HasPrefix(what, string(role)) }) {
				t.Errorf("no recording of %s draws a %s", name, role)
			}
		}
	}
}
