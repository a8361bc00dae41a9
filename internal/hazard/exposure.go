package hazard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
)

// Exposure is the result of counting the people in a hazard's area. It stands beside the base
// record in each state of the hazard. It does not contain what follows from the area alone, such as
// the towns.
type Exposure struct {
	// Of identifies what was counted: the areas (Hazard.ExposureKey) and the population data.
	Of   string `json:"of"`
	Grid string `json:"grid"`
	// People is the estimated number of people in the area. nil means unknown, and Why says why.
	People    *Estimate     `json:"people,omitzero"`
	Why       string        `json:"why,omitzero"`
	Method    string        `json:"method"`        // name of the population data
	Year      int           `json:"year,omitzero"` // year of the population data
	Bands     []ExposedBand `json:"bands,omitzero"`
	Countries []string      `json:"countries,omitzero"` // ISO 3166-1, two letters, sorted
}

// The reasons why the number of people is unknown.
const (
	WhyNoArea    = "no area is known, only a point or a line"
	WhyNoPlace   = "only a region or country is known"
	WhyIntricate = "the area is too intricate to count in"
	WhyDamaged   = "the area or the population data is damaged"
)

// Estimate is a number of people, with a low and a high estimate.
type Estimate struct {
	People int64 `json:"n"`
	Low    int64 `json:"low"`
	High   int64 `json:"high"`
}

// ExposedBand is the people in one kind of area, such as where the intensity is 7 or more.
type ExposedBand struct {
	Kind   string    `json:"kind"`           // a quantity, or the role of an area or shape
	Value  float64   `json:"value,omitzero"` // value of the quantity; in the area it is this bad or worse
	People *Estimate `json:"people,omitzero"`
}

// ExposureKey identifies what the exposure depends on: the areas, the sources' shapes and the
// point, rounded to about a kilometer.
func (h *Hazard) ExposureKey() string {
	sum := sha256.New()
	for _, a := range h.Areas {
		fmt.Fprintf(sum, "%s %s\n", a.Role, a.Digest)
	}
	for _, s := range h.Shapes {
		fmt.Fprintf(sum, "shapes %s\n", s.Digest)
	}
	fmt.Fprintf(sum, "%.2f %.2f", h.Longitude, h.Latitude)
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// Exposed returns the exposure, or nil if it has not been counted for the present areas. Where there is
// no area to count in, the exposure is not known, and no count will tell more.
func (h *Hazard) Exposed() *Exposure {
	if h.Exposure != nil && h.Exposure.Of == h.ExposureKey() {
		return h.Exposure
	}
	if h.Countable() {
		return nil
	}
	e := &Exposure{Of: h.ExposureKey(), Why: WhyNoArea}
	if h.Somewhere() {
		e.Why = WhyNoPlace
	}
	return e
}

// Countable reports whether there is an area or a shape in which people can be counted.
func (h *Hazard) Countable() bool { return !h.Somewhere() && len(h.Areas)+len(h.Shapes) > 0 }

// Equal reports whether two exposures say the same. The same figures by other data are the same.
func (e *Exposure) Equal(o *Exposure) bool {
	if e == nil || o == nil {
		return e == o
	}
	return e.Of == o.Of && equal(e.People, o.People) && e.Why == o.Why && e.Method == o.Method && e.Year == o.Year &&
		slices.EqualFunc(e.Bands, o.Bands, func(a, b ExposedBand) bool {
			return a.Kind == b.Kind && a.Value == b.Value && equal(a.People, b.People)
		}) &&
		slices.Equal(e.Countries, o.Countries)
}

// equal reports whether two pointers are both nil or point to equal values.
func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// Words formats an estimate for people: "about 2.1 million people (1.8 to 2.4 million)".
func (e *Estimate) Words() string {
	switch {
	case e == nil:
		return "not known"
	case e.High < 100:
		return "fewer than 100 people"
	case e.People < 100:
		return "up to " + rounded(e.High) + " people"
	}
	return fmt.Sprintf("about %s people (%s to %s)", rounded(e.People), rounded(e.Low), rounded(e.High))
}

// TwoDigits rounds a number to its first two digits: 48,213 becomes 48,000.
func TwoDigits(n int64) int64 {
	if n < 100 {
		return max(n, 0)
	}
	step := math.Pow(10, math.Floor(math.Log10(float64(n)))-1)
	return int64(math.Round(float64(n)/step) * step)
}

// rounded formats a number of people with two digits: "2.1 million", "48,000", "350".
func rounded(n int64) string {
	v := float64(TwoDigits(n))
	switch {
	case v >= 1e9:
		return fmt.Sprintf("%.1f billion", v/1e9)
	case v >= 1e7:
		return fmt.Sprintf("%.0f million", v/1e6)
	case v >= 1e6:
		return fmt.Sprintf("%.1f million", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.0f,000", v/1e3)
	case v >= 1e3:
		return fmt.Sprintf("%d,%03d", int(v)/1000, int(v)%1000)
	}
	return fmt.Sprintf("%.0f", v)
}
