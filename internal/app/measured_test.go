package app_test

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// saying is how texts give a quantity: a number with its unit, or a word of a scale.
type saying struct {
	q       hazard.Quantity
	pattern *regexp.Regexp
}

var sayings = []saying{
	{hazard.Magnitude, regexp.MustCompile(`(?i)(?:^M |magnitude:? |\bMagnitude )(-?\d+(?:\.\d+)?)()`)},
	{hazard.Depth, regexp.MustCompile(`(?i)depth:? ?(-?\d+(?:\.\d+)?) ?(km(?: above sea level)?)`)},
	{hazard.Wind, regexp.MustCompile(`(?i)(?:maximum sustained winds?:?|maximum wind speed of|max winds?) (\d+(?:\.\d+)?) ?(kt|mph|km/h)`)},
	{hazard.Gust, regexp.MustCompile(`(?i)(?:gusts (?:up )?to|wind\.\.\.(?:up to )?) ?(\d+) ?(kt|mph|km/h)`)},
	{hazard.Gust, regexp.MustCompile(`(?i)(\d+) (mph) wind gusts`)},
	{hazard.Hail, regexp.MustCompile(`(?i)hail\.\.\.(?:up to )?(\d*\.?\d+) ?(in)\b`)},
	{hazard.Pressure, regexp.MustCompile(`(?i)pressure:? (\d{3,4}) ?(hPa|mb)`)},
	{hazard.BurntArea, regexp.MustCompile(`(?i)\b(\d+(?:,\d{3})*(?:\.\d+)?) ?(ha|hectares|acres)\b`)},
	{hazard.Containment, regexp.MustCompile(`(?i)\b(\d+) ?(%) contained`)},
	{hazard.GDACSLevel, regexp.MustCompile(`^(?:GDACS )?(Green|Orange|Red) (?:alert|M |flood|forest|drought|impact|earthquake)()`)},
	{hazard.VolcanoAlert, regexp.MustCompile(`(?i)alert level:? (normal|advisory|watch|warning)\b()`)},
	{hazard.AviationColor, regexp.MustCompile(`(?i)aviation colou?r(?: code)?:? (green|yellow|orange|red)\b()`)},
	{hazard.DamageThreat, regexp.MustCompile(`(?i)damage threat\.\.\.(considerable|destructive|catastrophic)()`)},
}

// inUnits is the size of the units in texts, in the unit of the quantity.
var inUnits = map[string]float64{"": 1, "km": 1, "km above sea level": -1, "km/h": 1, "kt": source.KmhPerKnot, "mph": source.KmhPerMph, "in": source.MmPerInch, "hpa": 1, "mb": 1, "ha": 1, "hectares": 1, "acres": source.HaPerAcre, "%": 1}

// hold compares measurements with the texts of the report. If a text gives several values, as in a
// summary of earlier hours, one of them must agree. Values in texts are rounded.
func (s *saying) hold(t *testing.T, file string, r *hazard.Report, named map[string]int) {
	t.Helper()
	found := s.pattern.FindAllStringSubmatch(r.Name, -1)
	found = append(found, s.pattern.FindAllStringSubmatch(r.Description, -1)...)
	if len(found) == 0 {
		return
	}
	m, ok := hazard.Measured(r.Measurements, s.q)
	what := fmt.Sprintf("%s names %s", r.Source, s.q)
	if !ok {
		named[what+", and it is not measured"]++
		return
	}
	named[what]++
	for _, f := range found {
		if word := m.Word(); word != "" {
			if strings.EqualFold(f[1], word) {
				return
			}
			continue
		}
		v, err := strconv.ParseFloat(strings.ReplaceAll(f[1], ",", ""), 64)
		unit := inUnits[strings.ToLower(f[2])]
		round := 0.51
		if _, decimals, ok := strings.Cut(f[1], "."); ok {
			round = 0.51 / math.Pow10(len(decimals))
		}
		if err == nil && math.Abs(v*unit-m.Value) <= round*math.Abs(unit)+0.05 { // measurements have one decimal
			return
		}
	}
	t.Errorf("%s: %s: %s is measured as %v %s, the texts say %q", file, r.Key, s.q, m.Value, m.Word(), found)
}

// The measurements of sources in all recordings: each value has a known quantity, is within the
// accepted range, and agrees with the texts. With -v the test prints how many reports of each
// source have it, and how many texts give it.
func TestRecordingsSayWhatWasMeasured(t *testing.T) {
	test.NoRace(t)
	test.Slow(t)
	_, rows := readTable(t)
	byPattern := map[string]*row{}
	for _, r := range rows {
		byPattern[r.file] = r
	}
	count, reports, named := map[string]map[hazard.Quantity]int{}, map[string]int{}, map[string]int{}
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
			continue // the table of recordings gives the reason
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
			for _, s := range sayings {
				s.hold(t, file, report, named)
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
	for _, what := range slices.Sorted(maps.Keys(named)) {
		t.Logf("%s: %d", what, named[what])
	}
	for name, q := range map[string]hazard.Quantity{
		"usgs": hazard.Magnitude, "emsc": hazard.Magnitude, "geonet": hazard.Depth, "gdacs": hazard.GDACSLevel, "nhc": hazard.Wind, "nws": hazard.Urgency,
		"nifc": hazard.BurntArea, "nswrfs": hazard.BurntArea, "hans": hazard.AviationColor, "eonet": hazard.Wind,
	} {
		if count[name][q] == 0 {
			t.Errorf("no recording of %s has %s", name, q)
		}
	}
}
