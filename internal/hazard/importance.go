package hazard

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Importance says how much a hazard matters beside others, and why: docs/importance.md has the table of the points, which are judged, not measured.
// It is a function of the hazard's state alone. That an older one matters less is in Rank, whose order does not change as time goes.
type Importance struct {
	// Score is from 0 to 100.
	Score int
	// Emergency: the authority calls it an emergency, or a particularly dangerous situation. Emergencies come before all else that is not pinned.
	Emergency bool
	// Causes are why, the weightiest first; at least one.
	Causes []Cause
}

// Cause is a reason for the importance of a hazard.
type Cause struct {
	Kind     CauseKind
	Measured Measurement // of ByForce
	People   int64       // of ByPeople, ByShaking and ByWind
	English  string      // the cause in English
}

// CauseKind is what a cause is about.
type CauseKind string

// The kinds of causes.
const (
	ByLevel            CauseKind = "level"
	ByKind             CauseKind = "kind" // the level counts more in hazards of its type
	ByForce            CauseKind = "force"
	ByPeople           CauseKind = "people"
	ByShaking          CauseKind = "shaken"
	ByWind             CauseKind = "wind"
	TornadoEmergency   CauseKind = "tornado"
	FlashFlood         CauseKind = "flashFlood"
	Catastrophe        CauseKind = "catastrophe"
	ParticularlyDanger CauseKind = "dangerous"
)

// ImportanceVersion changes whenever a state may get another Rank: stores then write the ranks of active hazards anew.
const ImportanceVersion = "3"

// Reason is the causes in one line, in English.
func (i *Importance) Reason() string {
	list := make([]string, len(i.Causes))
	for j, c := range i.Causes {
		list[j] = c.English
	}
	return strings.Join(list, "; ")
}

// step is a value from which on points are given.
type step struct{ from, points float64 }

// forces are the points for how strong it is: those of the strongest quantity alone count. The values are in the units of the quantities.
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

// kindForces are the points of types of which a level means more than of others, by level; the greater of these and those above counts.
var kindForces = map[Type]map[Severity]float64{Tsunami: {Warning: 28, Watch: 14}, Tornado: {Warning: 10}, Cyclone: {Warning: 12, Watch: 8}}

// hurricanePoints take their place for a cyclone that its name calls a hurricane or a typhoon: of warnings for a coast, which measure no
// wind, the name alone says how strong it is.
var hurricanePoints = map[Severity]float64{Warning: 18, Watch: 12}

var levelPoints = map[Severity]float64{Warning: 30, Watch: 20, Advisory: 10, Information: 4}

const (
	deepKm        = 150 // an earthquake from there on down does half as much
	unknownPeople = 6   // points where people are not known: not known is not none
	mostPeople    = 25
	// strongShaking is the intensity from which on people are counted as shaken (Modified Mercalli VI, "strong").
	strongShaking = 6
	// perDay is how many points a hazard loses in a day without a report of it.
	perDay = 4
)

func (s Severity) word() string { return strings.ToLower(s.String()) }

// ImportanceOf is the importance of h as its state says it.
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
		if ok && depth.Value >= deepKm && f.q == Magnitude || h.Type == Drought { // which can wait until tomorrow
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
		crowd.points = min(max(4*math.Log10(float64(max(people.People, 1)))-8, 0), mostPeople)
		crowd.cause = Cause{Kind: shaken, People: people.People, English: rounded(people.People) + " people " + how}
	}
	sure := part{}
	for q, points := range map[Quantity][]float64{Certainty: {-5, 0, 3, 5}, Urgency: {-10, 0, 3, 5}} {
		if m, ok := Measured(h.Measurements, q); ok && m.Value >= 1 && int(m.Value) <= len(points) {
			sure.points += points[int(m.Value)-1]
		} else if h.Type == Earthquake { // it has happened
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

// emergency is what the authority calls it, if that is an emergency; else the zero Cause.
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

// exposedPeople are those who are exposed worst of what was counted, and to what; nil if that is not known.
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
	if e.People == nil && h.Type == Cyclone { // it has no area, but the people in its winds are counted: bands stand from the strongest wind down
		for _, b := range slices.Backward(e.Bands) {
			if Quantity(b.Kind) == Wind && b.People != nil {
				return b.People, ByWind
			}
		}
	}
	return e.People, ByPeople
}

// words say a measurement: "magnitude 7.7", "PAGER level red", "wind 185 km/h".
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

// Rank is a number by which active hazards are ordered, the greatest first, and whether the hazard has one: those that are over have none. It is the
// score, plus perDay points for each day from 1970 to when something was last said of the hazard, of an earthquake to when it was. So of two hazards the
// same comes first tomorrow, unless one of them changes: a list in this order need not be made again as time goes. Above all others are
// those that an editor has pinned, then emergencies; below all others drills.
func Rank(h *Hazard) (float64, bool) {
	if h.Status != Active {
		return 0, false
	}
	i := ImportanceOf(h)
	since := h.LastUpdate
	if h.Type == Earthquake {
		since = min(h.Start, h.LastUpdate)
	}
	const tier = 1_000_000 // more than days since 1970 ever give
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

// farInstant bounds the moments that Rank looks at: the year 2300.
const farInstant = Instant(10_413_792_000_000)
