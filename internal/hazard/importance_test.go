package hazard

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const someTime = Instant(1_787_000_000_000)

func measuredHazard(kind Type, s Severity, all ...Measurement) *Hazard {
	return &Hazard{Type: kind, Severity: s, Category: Event, Status: Active, Start: someTime, End: someTime + 3_600_000, LastUpdate: someTime, Measurements: all}
}

func exposedTo(h *Hazard, people int64, bands ...ExposedBand) *Hazard {
	h.Exposure = &Exposure{Of: h.ExposureKey(), People: &Estimate{people, people / 2, people * 2}, Bands: bands}
	return h
}

// Ordered by level alone, a thunderstorm of 40 minutes would be level with an earthquake of
// magnitude 7.7, and above one that shakes a million people.
func TestImportanceRanksTheWorld(t *testing.T) {
	storm := exposedTo(measuredHazard(Storm, Warning, Measurement{Name: Certainty, Value: 4}, Measurement{Name: Urgency, Value: 4}), 48_000)
	great := measuredHazard(Earthquake, Warning, Measurement{Name: Intensity, Value: 8.1}, Measurement{Name: Magnitude, Value: 7.7})
	exposedTo(great, 5_000_000, ExposedBand{Kind: "intensity", Value: 5, People: &Estimate{People: 5_000_000}}, ExposedBand{Kind: "intensity", Value: 6, People: &Estimate{People: 2_100_000}})
	shaken := exposedTo(measuredHazard(Earthquake, Watch, Measurement{Name: Intensity, Value: 7.4}, Measurement{Name: Magnitude, Value: 6.8}), 1_200_000)
	deep := measuredHazard(Earthquake, Information, Measurement{Name: Depth, Value: 500}, Measurement{Name: Magnitude, Value: 6.1})
	hurricane := exposedTo(measuredHazard(Cyclone, Warning), 210_000)
	river := exposedTo(measuredHazard(Flood, Warning, Measurement{Name: Certainty, Value: 4}, Measurement{Name: Urgency, Value: 3}), 76_000)
	fire := measuredHazard(Wildfire, Watch, Measurement{Name: BurntArea, Value: 12_406}, Measurement{Name: GDACSLevel, Value: 2})
	drought := measuredHazard(Drought, Watch, Measurement{Name: GDACSLevel, Value: 2})
	flash := exposedTo(measuredHazard(Flood, Warning, Measurement{Name: DamageThreat, Value: 3}), 9_000)
	special := exposedTo(measuredHazard(Tornado, Warning, Measurement{Name: DamageThreat, Value: 1}), 2_000)
	pinned := measuredHazard(Incident, Information)
	pinned.Pinned = true
	drill := exposedTo(measuredHazard(Earthquake, Warning, Measurement{Name: Magnitude, Value: 9}), 9_000_000)
	drill.Category = Exercise
	order := []*Hazard{pinned, flash, special, great, shaken, hurricane, storm, river, fire, drought, deep, drill}
	for i := 1; i < len(order); i++ {
		a, okA := Rank(order[i-1])
		b, okB := Rank(order[i])
		if !okA || !okB || a <= b {
			t.Errorf("%s (%v %v) does not come before %s (%v %v)", order[i-1].Type, a, ImportanceOf(order[i-1]), order[i].Type, b, ImportanceOf(order[i]))
		}
	}
	for h, want := range map[*Hazard]string{
		great: "2.1 million people in strong shaking", flash: "flash flood emergency; ", special: "particularly dangerous situation; ", storm: "48,000 people in the area", deep: "level information",
	} {
		if i := ImportanceOf(h); !strings.Contains(i.Reason()+"; ", want) {
			t.Errorf("%s: %q, want %q in it", h.Type, i.Reason(), want)
		}
	}
}

// A warning of a hurricane comes before one of a tropical storm, although both have the highest
// level and the authority gives no wind speed.
func TestAHurricaneWarningMattersMoreThanOneOfATropicalStorm(t *testing.T) {
	named := func(name string, s Severity) float64 {
		h := exposedTo(measuredHazard(Cyclone, s), 200_000)
		h.Name = name
		rank, _ := Rank(h)
		return rank
	}
	for _, order := range [][]float64{
		{named("Hurricane Warning - Big Island", Warning), named("Tropical Storm Warning - Haleakala Summit", Warning), named("Hurricane Watch - Maui", Watch), named("Tropical Storm Watch - Maui", Watch)},
		{named("Typhoon Warning - Guam", Warning), named("Tropical Storm Warning - Guam", Warning)},
	} {
		for i := 1; i < len(order); i++ {
			if order[i-1] <= order[i] {
				t.Errorf("%v", order)
			}
		}
	}
}

// For a storm at sea without an area, the people in its winds count.
func TestPeopleInTheWindsOfAStormCount(t *testing.T) {
	at := func(people int64) Importance {
		h := measuredHazard(Cyclone, Warning, Measurement{Name: Wind, Value: 222})
		h.Exposure = &Exposure{Of: h.ExposureKey(), Bands: []ExposedBand{{Kind: "cone", People: &Estimate{People: 43_000_000}}, {Kind: "wind_kmh", Value: 118.5, People: &Estimate{People: people / 10}}, {Kind: "wind_kmh", Value: 63, People: &Estimate{People: people}}}}
		return ImportanceOf(h)
	}
	sea, coast := at(0), at(5_100_000)
	if sea.Score >= coast.Score || !strings.Contains(coast.Reason(), "5.1 million people in the winds of the storm") {
		t.Errorf("%+v, %+v", sea, coast)
	}
}

// An order that changes with time could be neither paged nor cached.
func TestTheOrderByImportanceDoesNotChangeAsTimeGoes(t *testing.T) {
	old, young := measuredHazard(Wildfire, Watch), measuredHazard(Wildfire, Advisory)
	old.LastUpdate = someTime.Add(-5 * 24 * time.Hour)
	a, _ := Rank(old)
	b, _ := Rank(young)
	if a >= b {
		t.Errorf("a watch without news for five days (%v) comes before an advisory of now (%v)", a, b)
	}
	old.Status = Expired
	if _, ok := Rank(old); ok {
		t.Error("an ended hazard has a rank")
	}
}

func TestImportanceHasBoundsAndAReason(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := measuredHazard(rapid.SampledFrom(Types()).Draw(t, "type").ID, Severity(rapid.IntRange(0, 5).Draw(t, "severity")))
		for _, q := range Quantities() {
			if low, high := q.Range(); rapid.Bool().Draw(t, "measured") {
				h.Measurements = append(h.Measurements, Measurement{Name: q.Name, Value: rapid.Float64Range(low, high).Draw(t, "value")})
			}
		}
		if rapid.Bool().Draw(t, "counted") {
			exposedTo(h, rapid.Int64Range(0, 8_000_000_000).Draw(t, "people"))
		}
		i := ImportanceOf(h)
		if i.Score < 0 || i.Score > 100 || i.Reason() == "" || len(i.Causes) > 3 {
			t.Fatalf("%+v", i)
		}
		before, _ := Rank(h)
		if h.Severity < Warning {
			h.Severity++
			if after, _ := Rank(h); after < before {
				t.Fatalf("more severe, and less important: %v, %v", before, after)
			}
		}
	})
}

// The published table is the one in the program.
func TestTheTableOfImportanceIsPublished(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-hazards-are-made.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := importanceTable(); !strings.Contains(string(text), want) {
		t.Errorf("docs/how-hazards-are-made.md does not hold this table:\n%s", want)
	}
}

// importanceTable returns the table of points as Markdown.
func importanceTable() string {
	var out strings.Builder
	out.WriteString("| what | points |\n|---|---|\n")
	for _, s := range []Severity{Warning, Watch, Advisory, Information} {
		fmt.Fprintf(&out, "| level %s | %g |\n", s, levelPoints[s])
	}
	for _, f := range forces {
		info, _ := f.q.Info()
		var steps []string
		for _, s := range f.steps {
			name := fmt.Sprintf("%g %s", s.from, info.Unit)
			if len(info.Words) > 0 {
				name = info.Words[int(s.from)-1]
			}
			steps = append(steps, fmt.Sprintf("%s: %g", strings.TrimSpace(name), s.points))
		}
		fmt.Fprintf(&out, "| force: `%s` from … on | %s |\n", f.q, strings.Join(steps, ", "))
	}
	for _, kind := range []Type{Cyclone, Tornado, Tsunami} {
		for _, s := range []Severity{Warning, Watch} {
			if points, ok := kindForces[kind][s]; ok {
				fmt.Fprintf(&out, "| force: %s of level %s | %g |\n", strings.ToLower(string(kind)), s, points)
				if kind == Cyclone {
					fmt.Fprintf(&out, "| force: hurricane or typhoon, by its name where no wind is measured, of level %s | %g |\n", s, hurricanePoints[s])
				}
			}
		}
	}
	fmt.Fprintf(&out, "| people | 4 for each tenfold: 1,000 people %d, 100,000 people %d, 10 million people %d; at most %d; not known %d |\n", 4*3-8, 4*5-8, 4*7-8, maxPeoplePoints, unknownPeople)
	return out.String()
}
