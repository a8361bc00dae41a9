package hazard_test

import (
	"slices"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
)

func value(q hazard.Quantity, v float64) hazard.Measurement {
	return hazard.Measurement{Name: q, Value: v}
}

func TestWhichMeasurementsCount(t *testing.T) {
	end := hazard.Instant(1000)
	part := func(source, key, name string, measurements ...hazard.Measurement) hazard.Report {
		return hazard.Report{Source: source, Key: key, Part: name, Places: []string{name}, Version: 1, Type: hazard.Cyclone, Severity: hazard.Watch, End: &end, Measurements: measurements}
	}
	order := hazard.Authority{hazard.Cyclone: {"nhc", "gdacs"}}
	nhc := hazard.Derive([]hazard.Report{
		part("nhc", "a", "one", value(hazard.Pressure, 950), value(hazard.Wind, 200)),
		part("nhc", "a", "two", value(hazard.Pressure, 940), value(hazard.Wind, 180)),
	}, 10)
	gdacs := hazard.Derive([]hazard.Report{part("gdacs", "b", "", value(hazard.GDACSLevel, 3), value(hazard.Wind, 250))}, 10)
	state := hazard.Combine([]hazard.EventState{gdacs, nhc}, order, 10)
	got := state.Head.Measurements
	want := []hazard.Measurement{
		{Name: hazard.GDACSLevel, Value: 3, Source: "gdacs"},
		{Name: hazard.Pressure, Value: 940, Source: "nhc"},
		{Name: hazard.Wind, Value: 200, Source: "nhc"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("measured %+v, want %+v: the worst of an event's parts, then the most authoritative source", got, want)
	}
	if word := got[0].Word(); word != "red" {
		t.Errorf("level 3 of GDACS is %q, want red", word)
	}

	first := hazard.Since(5, nil, got)
	changed := slices.Clone(got)
	changed[2].Value = 210
	second := hazard.Since(9, first, changed)
	if second[1].Since != 5 || second[2].Since != 9 {
		t.Errorf("known since %v and %v, want 5 for the unchanged value, and 9 for the changed one", second[1].Since, second[2].Since)
	}
	h := &hazard.Hazard{Measurements: first}
	if h.Equal(&hazard.Hazard{Measurements: second}) || !h.Equal(&hazard.Hazard{Measurements: hazard.Since(9, first, got)}) {
		t.Error("hazards are equal only if their measurements are")
	}
}

func TestQuantitiesAreWhole(t *testing.T) {
	for _, info := range hazard.Quantities() {
		if info.Title == "" || info.Meaning == "" {
			t.Errorf("%s: no title or no meaning", info.Name)
		}
		if low, high := info.Range(); !(low < high) {
			t.Errorf("%s: believed from %v to %v", info.Name, low, high)
		}
		if len(info.Words) > 0 && info.Unit != "" {
			t.Errorf("%s: a scale of words has no unit", info.Name)
		}
		for i, word := range info.Words {
			v, ok := info.Value(word)
			m := hazard.Measurement{Name: info.Name, Value: v}
			if !ok || v != float64(i+1) || m.Word() != word {
				t.Errorf("%s: %q is %v, which is %q", info.Name, word, v, m.Word())
			}
		}
	}
}
