package hazard

import (
	"cmp"
	"slices"
	"strings"
)

// Quantity is something that is measured, or rated on a scale of words. Its name ends with its
// unit, if it has one.
type Quantity string

// The quantities.
const (
	Magnitude     Quantity = "magnitude"
	Depth         Quantity = "depth_km"
	Intensity     Quantity = "intensity"
	FeltIntensity Quantity = "felt_intensity"
	PagerLevel    Quantity = "pager_level"
	GDACSLevel    Quantity = "gdacs_level"
	Wind          Quantity = "wind_kmh"
	Gust          Quantity = "gust_kmh"
	Pressure      Quantity = "pressure_hpa"
	Hail          Quantity = "hail_mm"
	BurntArea     Quantity = "burnt_area_ha"
	Containment   Quantity = "containment_percent"
	DroughtArea   Quantity = "drought_area_km2"
	VolcanoAlert  Quantity = "volcano_alert"
	AviationColor Quantity = "aviation_color"
	DamageThreat  Quantity = "damage_threat"
	Urgency       Quantity = "urgency"
	Certainty     Quantity = "certainty"
)

// QuantityInfo describes a quantity.
type QuantityInfo struct {
	Name    Quantity
	Unit    string // in UCUM or common notation; empty for a number without a unit or a word
	Title   string // for people
	Meaning string // one sentence, with the document that defines it
	// Low and High are the plausible limits of the value.
	Low, High float64
	// Words are the words of a scale in lower case, mildest first; the value is the position of the
	// word, from 1. Empty for a number.
	Words []string
	// Falling means that lower values are worse.
	Falling bool
}

var quantities = []QuantityInfo{
	{Name: Magnitude, Title: "Magnitude", Low: -3, High: 11,
		Meaning: "Size of an earthquake at its source; the scale says which of the magnitude scales it is (mww, ml, mb …), if the source says so."},
	{Name: Depth, Unit: "km", Title: "Depth", Low: -10, High: 800, Falling: true,
		Meaning: "Depth of an earthquake below sea level; negative above it."},
	{Name: Intensity, Title: "Greatest intensity", Low: 0, High: 12,
		Meaning: "The strongest shaking, as estimated from instruments, by Modified Mercalli intensity or a scale much alike: 1 not felt, 6 slight damage, 8 heavy damage, 12 total."},
	{Name: FeltIntensity, Title: "Greatest reported intensity", Low: 0, High: 12,
		Meaning: "The strongest shaking that people have reported, as Community Decimal Intensity (USGS Did You Feel It?)."},
	{Name: PagerLevel, Title: "PAGER level", Words: []string{"green", "yellow", "orange", "red"},
		Meaning: "Losses that USGS PAGER expects of an earthquake: red is 1,000 deaths or 1 billion US dollars and more (PAGER, \"Background\")."},
	{Name: GDACSLevel, Title: "GDACS level", Words: []string{"green", "orange", "red"},
		Meaning: "How likely a disaster needs international help, by the Global Disaster Alert and Coordination System (\"Knowledge\")."},
	{Name: Wind, Unit: "km/h", Title: "Wind", Low: 0, High: 450,
		Meaning: "Greatest sustained wind. Which time it is the mean of depends on the source: 1 minute in the United States and at JTWC, 10 minutes elsewhere as a rule."},
	{Name: Gust, Unit: "km/h", Title: "Gusts", Low: 0, High: 550, Meaning: "Greatest gusts of wind that are observed or expected."},
	{Name: Pressure, Unit: "hPa", Title: "Pressure", Low: 850, High: 1085, Falling: true, Meaning: "Least pressure at sea level, as a rule at the center of a storm."},
	{Name: Hail, Unit: "mm", Title: "Hail", Low: 0, High: 300, Meaning: "Diameter of the greatest hailstones that are observed or expected."},
	{Name: BurntArea, Unit: "ha", Title: "Burnt area", Low: 0, High: 50_000_000, Meaning: "Area of a wildfire, burnt or burning."},
	{Name: Containment, Unit: "%", Title: "Contained", Low: 0, High: 100, Falling: true,
		Meaning: "Share of a wildfire's edge along which it cannot spread any more (NWCG glossary, percent contained)."},
	{Name: DroughtArea, Unit: "km2", Title: "Area in drought", Low: 0, High: 150_000_000, Meaning: "Area that a drought affects."},
	{Name: VolcanoAlert, Title: "Volcano alert level", Words: []string{"normal", "advisory", "watch", "warning"},
		Meaning: "Alert level for people on the ground, by the USGS Volcano Hazards Program (\"Volcanic alert levels\")."},
	{Name: AviationColor, Title: "Aviation color code", Words: []string{"green", "yellow", "orange", "red"},
		Meaning: "State of a volcano for aviation, by ICAO's color code (ICAO Doc 9766)."},
	{Name: DamageThreat, Title: "Damage threat", Words: []string{"considerable", "destructive", "catastrophic"},
		Meaning: "Damage that the NWS expects of a thunderstorm, a tornado or a flash flood beyond the usual; catastrophic is an emergency (NWSI 10-511, 10-922)."},
	{Name: Urgency, Title: "Urgency", Words: []string{"past", "future", "expected", "immediate"}, Meaning: "When to act, by the authority (CAP 1.2, urgency)."},
	{Name: Certainty, Title: "Certainty", Words: []string{"unlikely", "possible", "likely", "observed"}, Meaning: "How sure the authority is (CAP 1.2, certainty)."},
}

// Quantities returns the quantities in the order for readers. The caller must not change the slice.
func Quantities() []QuantityInfo { return quantities }

// Info returns the quantity's description, and whether the quantity exists.
func (q Quantity) Info() (QuantityInfo, bool) {
	return first(quantities, func(info *QuantityInfo) bool { return info.Name == q })
}

// Range returns the plausible limits of the value.
func (q *QuantityInfo) Range() (low, high float64) {
	if len(q.Words) > 0 {
		return 1, float64(len(q.Words))
	}
	return q.Low, q.High
}

// Value returns the position of a word on the scale, from 1, and whether the word is on it.
func (q *QuantityInfo) Value(word string) (float64, bool) {
	i := slices.Index(q.Words, strings.ToLower(strings.TrimSpace(word)))
	return float64(i + 1), i >= 0
}

// Measurement is a source's measurement of a hazard, or its rating on a scale.
type Measurement struct {
	Name  Quantity `json:"name"`
	Value float64  `json:"value"` // in the quantity's unit; for a scale of words the position of the word, from 1
	Scale string   `json:"scale,omitzero"`
	// Source is the name of the source. Derive sets it.
	Source string `json:"source,omitzero"`
	// Since is when this value was first received, by the service's clock. It is set only in states
	// of hazards.
	Since Instant `json:"since,omitzero"`
}

// Word returns the word for the value, or "" if the quantity is a number.
func (m *Measurement) Word() string {
	if info, _ := m.Name.Info(); len(info.Words) > 0 && m.Value >= 1 && int(m.Value) <= len(info.Words) {
		return info.Words[int(m.Value)-1]
	}
	return ""
}

// worse reports whether m is worse than b, of the same quantity.
func (m *Measurement) worse(b *Measurement) bool {
	if info, _ := m.Name.Info(); info.Falling {
		return m.Value < b.Value
	}
	return m.Value > b.Value
}

// Measured returns the measurement of a quantity, and whether there is one.
func Measured(all []Measurement, q Quantity) (Measurement, bool) {
	return first(all, func(m *Measurement) bool { return m.Name == q })
}

// worst returns for each quantity the worse of a and b. Both are sorted by name.
func worst(a, b []Measurement) []Measurement {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(x, y Measurement) int {
		switch {
		case x.Name != y.Name:
			return cmp.Compare(x.Name, y.Name)
		case x.worse(&y):
			return -1
		case y.worse(&x):
			return 1
		}
		return cmp.Compare(x.Scale, y.Scale)
	})
	return slices.CompactFunc(all, func(x, y Measurement) bool { return x.Name == y.Name })
}

// lacking returns a, plus the quantities of b that a lacks.
func lacking(a, b []Measurement) []Measurement {
	for _, m := range b {
		if _, ok := Measured(a, m.Name); !ok {
			a = append(slices.Clone(a), m)
		}
	}
	slices.SortFunc(a, func(x, y Measurement) int { return cmp.Compare(x.Name, y.Name) })
	return a
}

// Since returns measured with Since set: to the value in before if the same source reported the
// same value, otherwise to now.
func Since(now Instant, before, measured []Measurement) []Measurement {
	var all []Measurement
	for _, m := range measured {
		m.Since = now
		if old, ok := Measured(before, m.Name); ok && old.Value == m.Value && old.Scale == m.Scale && old.Source == m.Source {
			m.Since = old.Since
		}
		all = append(all, m)
	}
	return all
}
