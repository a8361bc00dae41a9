package service_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/recordings"
)

// What sources measured in all recordings: each value is of a quantity that is known, within what is believed, and says the same as the name. With -v it prints how
// many reports of each source have it.
func TestRecordingsSayWhatWasMeasured(t *testing.T) {
	_, rows := readTable(t)
	byPattern := map[string]*row{}
	for _, r := range rows {
		byPattern[r.file] = r
	}
	count, reports := map[string]map[hazard.Quantity]int{}, map[string]int{}
	for _, file := range recordedFiles(t) {
		r := byPattern[file]
		if r == nil || r.source == "-" {
			continue
		}
		parse, err := parserOf(r.source)
		if err != nil {
			t.Fatal(err)
		}
		batch, err := parse(recordings.Read(t, "feeds/"+file), r.at)
		if err != nil {
			continue // the table of recordings says why
		}
		for i := range batch.Reports {
			report := &batch.Reports[i]
			reports[r.source]++
			if !slices.IsSortedFunc(report.Measurements, func(a, b hazard.Measurement) int { return strings.Compare(string(a.Name), string(b.Name)) }) {
				t.Errorf("%s: %s: the measurements are not in the order of their names: %v", file, report.Key, report.Measurements)
			}
			for _, m := range report.Measurements {
				info, ok := m.Name.Info()
				if low, high := info.Range(); !ok || m.Value < low || m.Value > high {
					t.Errorf("%s: %s: %s is %v, expected %v to %v", file, report.Key, m.Name, m.Value, low, high)
				}
				if count[r.source] == nil {
					count[r.source] = map[hazard.Quantity]int{}
				}
				count[r.source][m.Name]++
			}
			m, ok := hazard.Measured(report.Measurements, hazard.Magnitude)
			var said float64 // with one decimal
			if n, _ := fmt.Sscanf(report.Name, "M %g ", &said); ok && n == 1 && math.Abs(said-m.Value) > 0.051 {
				t.Errorf("%s: %s has magnitude %v", file, report.Name, m.Value)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		var list []string
		for _, q := range slices.Sorted(maps.Keys(count[name])) {
			list = append(list, fmt.Sprintf("%s %d", q, count[name][q]))
		}
		t.Logf("%-11s %6d reports: %s", name, reports[name], strings.Join(list, ", "))
	}
	for name, q := range map[string]hazard.Quantity{
		"usgs": hazard.Magnitude, "emsc": hazard.Magnitude, "geonet": hazard.Depth, "gdacs": hazard.GDACSLevel, "nhc": hazard.Wind, "nws": hazard.Urgency,
		"nifc": hazard.BurntArea, "hans": hazard.AviationColor, "eonet": hazard.Wind,
	} {
		if count[name][q] == 0 {
			t.Errorf("no recording of %s has %s", name, q)
		}
	}
}
