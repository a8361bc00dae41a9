package hazard

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Importance says how much a hazard matters compared with others, and why. The table of points is
// in docs/how-hazards-are-made.md; the points are judgments, not measurements. Importance depends on the
// hazard's state only. The age of a hazard counts in Rank instead, so that the order does not
// change as time passes.
type Importance struct {
	// Score is from 0 to 100.
	Score int
	// Emergency means that the authority calls it an emergency or a particularly dangerous
	// situation. Emergencies come before everything that is not pinned.
	Emergency bool
	// Causes are the reasons, the weightiest first; at least one.
	Causes []Cause
}

// Cause is a reason for the importance of a hazard.
type Cause struct {
	Kind     CauseKind
	Measured Measurement // for ByForce
	People   int64       // for ByPeople, ByShaking and ByWind
	English  string      // the cause in English
}

// CauseKind is the kind of a cause.
type CauseKind string

// The kinds of causes.
const (
	ByLevel            CauseKind = "level"
	ByKind             CauseKind = "kind" // the level means more for this type of hazard
	ByForce            CauseKind = "force"
	ByPeople           CauseKind = "people"
	ByShaking          CauseKind = "shaken"
	ByWind             CauseKind = "wind"
	TornadoEmergency   CauseKind = "tornado"
	FlashFlood         CauseKind = "flashFlood"
	Catastrophe        CauseKind = "catastrophe"
	ParticularlyDanger CauseKind = "dangerous"
)

// ImportanceVersion must change whenever the Rank of any state may change. Stores then recompute
// the ranks of active hazards.
const ImportanceVersion = "3"

// Reason returns the causes in one line, in English.
func (i *Importance) Reason() string {
	list := make([]string, len(i.Causes))
	for j, c := range i.Causes {
		list[j] = c.English
	}
	return strings.Join(list, "; ")
}

// step gives points for values of at least from.
type step struct{ from, points float64 }

// forces are the points for strength, by quantity and in its unit. Only the strongest quantity
// counts.
var forces = []struct {
	q     Quantity
	steps []step
}{
	{PagerLevel, []step{{2, 10}, {3, 22}, {4, 30}}},
	{GDACSLevel, []step{{2, 18}, {3, 28}}},
	{Intensity, []step{{5, 4}, {6, 10}, {7, 17}, {8, 24}, {9, 30}}},
	{Magnitude, []step{{5, 4}, {6, 10}, {6.5, 14}, {7, 20}, {7.5, 24}, {8, 28}}},
	{DamageThreat, []step{{1, 12}, {2, 20}, {3, 30}}},
	{VolcanoAlert, []step{{2, 4}, {3, 12}, {4, 22}}},
	{AviationColor, []step{{3, 8}, {4, 16}}},
	{BurntArea, []step{{1_000, 3}, {10_000, 7}, {100_000, 12}}},
	{Wind, []step{{63, 6}, {119, 14}, {154, 18}, {178, 22}, {209, 26}, {252, 30}}},
}

// kindForces are points for types whose levels mean more than those of others. The greater of these
// and of forces counts.
var kindForces = map[Type]map[Severity]float64{Tsunami: {Warning: 28, Watch: 14}, Tornado: {Warning: 10}, Cyclone: {Warning: 12, Watch: 8}}

// hurricanePoints replace kindForces for a cyclone whose name contains "hurricane" or "typhoon".
// Warnings for a coast have no wind speed, so only the name says how strong the cyclone is.
var hurricanePoints = map[Severity]float64{Warning: 18, Watch: 12}

var levelPoints = map[Severity]float64{Warning: 30, Watch: 20, Advisory: 10, Information: 4}

const (
	deepKm          = 150 // an earthquake at this depth or deeper gets half the points
	unknownPeople   = 6   // points if the number of people is unknown: unknown does not mean none
	maxPeoplePoints = 25
	// strongShaking is the intensity above which people count as shaken (Modified Mercalli VI,
	// "strong").
	strongShaking = 6
	// perDay is how many points a hazard loses per day without a report.
	perDay = 4
)

func (s Severity) word() string { return strings.ToLower(s.String()) }

// ImportanceOf returns the importance of a hazard's state.
func ImportanceOf(h *Hazard) Importance {
	type part struct {
		points float64
		cause  Cause
	}
	level := Cause{Kind: ByLevel, English: "level " + h.Severity.word()}
	parts := []part{{levelPoints[h.Severity], level}}
	force := part{kindForces[h.Type][h.Severity], Cause{Kind: ByKind, English: strings.ToLower(string(h.Type)) + " " + h.Severity.word()}}
	if first, _, _ := strings.Cut(h.Name, " "); h.Type == Cyclone && (first == "Hurricane" || first == "Typhoon") {
		if _, ok := Measured(h.Measurements, Wind); !ok {
			force.points = hurricanePoints[h.Severity]
		}
	}
	for _, f := range forces {
		m, ok := Measured(h.Measurements, f.q)
		if !ok {
			continue
		}
		points := 0.0
		for _, s := range f.steps {
			if m.Value >= s.from {
				points = s.points
			}
		}
		depth, ok := Measured(h.Measurements, Depth)
		if ok && depth.Value >= deepKm && f.q == Magnitude || h.Type == Drought { // these are less urgent
			points /= 2
		}
		if points > force.points {
			force = part{points, Cause{Kind: ByForce, Measured: m, English: m.words()}}
		}
	}
	people, shaken := h.exposedPeople()
	how := map[CauseKind]string{ByShaking: "in strong shaking", ByWind: "in the winds of the storm", ByPeople: "in the area"}[shaken]
	crowd := part{points: unknownPeople}
	if people != nil {
		crowd.points = min(max(4*math.Log10(float64(max(people.People, 1)))-8, 0), maxPeoplePoints)
		crowd.cause = Cause{Kind: shaken, People: people.People, English: rounded(people.People) + " people " + how}
	}
	sure := part{}
	for q, points := range map[Quantity][]float64{Certainty: {-5, 0, 3, 5}, Urgency: {-10, 0, 3, 5}} {
		if m, ok := Measured(h.Measurements, q); ok && m.Value >= 1 && int(m.Value) <= len(points) {
			sure.points += points[int(m.Value)-1]
		} else if h.Type == Earthquake { // it is already over
			sure.points += points[len(points)-1]
		}
	}
	parts = append(parts, force, crowd, sure)
	total := 0.0
	for _, p := range parts {
		total += p.points
	}
	i := Importance{Score: int(math.Round(min(max(total, 0), 100)))}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.points, a.points) })
	if c := h.emergency(); c.Kind != "" {
		i.Emergency, i.Causes = true, []Cause{c}
	}
	for _, p := range parts {
		if p.cause.Kind != "" && p.points > 0 && len(i.Causes) < 3 {
			i.Causes = append(i.Causes, p.cause)
		}
	}
	if i.Causes == nil {
		i.Causes = []Cause{level}
	}
	return i
}

// emergency returns the cause if the authority calls the hazard an emergency, otherwise the zero
// Cause.
func (h *Hazard) emergency() Cause {
	threat, _ := Measured(h.Measurements, DamageThreat)
	switch {
	case threat.Value >= 3 && h.Type == Tornado:
		return Cause{Kind: TornadoEmergency, English: "tornado emergency"}
	case threat.Value >= 3 && h.Type == Flood:
		return Cause{Kind: FlashFlood, English: "flash flood emergency"}
	case threat.Value >= 3:
		return Cause{Kind: Catastrophe, English: "emergency: catastrophic damage is expected"}
	case threat.Value >= 1 && h.Type == Tornado:
		return Cause{Kind: ParticularlyDanger, English: "particularly dangerous situation"}
	}
	return Cause{}
}

// exposedPeople returns the people with the worst counted exposure, and its kind; nil if unknown.
func (h *Hazard) exposedPeople() (*Estimate, CauseKind) {
	e := h.Exposed()
	if e == nil {
		return nil, ByPeople
	}
	for _, b := range e.Bands {
		if Quantity(b.Kind) == Intensity && b.Value == strongShaking && b.People != nil {
			return b.People, ByShaking
		}
	}
	if e.People == nil && h.Type == Cyclone { // a cyclone without an area: count the people in its winds; the strongest wind is the first band
		for _, b := range slices.Backward(e.Bands) {
			if Quantity(b.Kind) == Wind && b.People != nil {
				return b.People, ByWind
			}
		}
	}
	return e.People, ByPeople
}

// words formats a measurement: "magnitude 7.7", "PAGER level red", "wind 185 km/h".
func (m *Measurement) words() string {
	info, _ := m.Name.Info()
	title := info.Title
	if !strings.HasPrefix(title, "PAGER") && !strings.HasPrefix(title, "GDACS") {
		title = strings.ToLower(title)
	}
	if word := m.Word(); word != "" {
		return title + " " + word
	}
	exact := math.Round(m.Value*10) / 10
	if exact >= 100 || info.Unit == "km/h" {
		exact = math.Round(m.Value)
	}
	value := fmt.Sprintf("%s %.10g", title, exact)
	if info.Unit != "" {
		value += " " + info.Unit
	}
	return value
}

// Rank returns a number that orders active hazards, greatest first. ok is false for a hazard that
// is over.
//
// The rank is the score plus perDay points for each day from 1970 to the last report, or to the
// start of an earthquake. So the order of two hazards does not change as time passes, and a sorted
// list stays sorted until a hazard changes. Pinned hazards come first, then emergencies; drills
// come last.
func Rank(h *Hazard) (float64, bool) {
	if h.Status != Active {
		return 0, false
	}
	i := ImportanceOf(h)
	since := h.LastUpdate
	if h.Type == Earthquake {
		since = min(h.Start, h.LastUpdate)
	}
	const tier = 1_000_000 // more than all days since 1970 give
	days := float64(min(max(since, 0), farInstant)) / float64(24*time.Hour/time.Millisecond)
	rank := float64(i.Score) + perDay*days
	switch {
	case h.Category == Exercise:
		rank -= tier
	case h.Pinned:
		rank += 2 * tier
	case i.Emergency:
		rank += tier
	}
	return rank, true
}

// farInstant is the latest moment that Rank considers: the year 2300.
const farInstant = Instant(10_413_792_000_000)
