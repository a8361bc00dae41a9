// Package search says what a search for hazards means: its parameters, which hazards they let through, and in which order.
//
// Filter.Match is the one definition of a filter. The live view, the event stream and the webhooks ask it; the store finds the same with
// SQL, and a property test holds the two together. A Query is a Filter and what makes pages of its answer. Both are read from the
// parameters of a URL by Parse and ParseFilter, which name every fault: nothing that is not understood is ignored.
//
// Instants are milliseconds since 1970, positions WGS 84 in degrees, longitude first. A Filter and a Query are not altered once they are
// read, and may then be used by several goroutines. The package knows neither HTTP nor SQL.
package search

import (
	"cmp"
	"slices"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Editors is the name under which the parameter source finds what no source reported.
const Editors = "editors"

// Filter says which hazards are wanted: those for which all holds that is given. The zero Filter lets every hazard through.
type Filter struct {
	Types      []hazard.Type
	Severities []hazard.Severity
	Categories []hazard.Category
	Statuses   []hazard.Status
	// Sources are names of sources, one of which an event of a hazard must be from, and Editors.
	Sources []string
	// Ref is anybody's id, SCHEME:ID. What it leads to is not written in a hazard: the store puts it in Hazards.
	Ref string
	// Hazards are the only numbers wanted, sorted; nil, without Ref: any.
	Hazards []int64

	Box  *geo.Box
	Near *Near
	Area *Area

	// Life is the time of which some moment must be in the hazard's life: from its start to its end, both included. The life of a hazard
	// that goes on and does not end by itself has no end.
	Life *Span
	// UpdatedSince is the earliest last_Update wanted.
	UpdatedSince *hazard.Instant
	// Measures are what must have been measured, each of them. A hazard without the value is not let through.
	Measures []Measure
	// Text is what must be said in the name or in the description, in any language of the hazard: every one of the phrases.
	Text []Phrase
	// Where is a condition on fields; nil: none.
	Where *Where
}

// Near is a place and a distance from it. Make it with NewNear.
type Near struct {
	Lon, Lat float64
	Radius   float64 // metres
	circle   geo.Shape
	bounds   geo.Box
}

// MaxRadius bounds Near.Radius, in metres: an eighth of the way round the world. Whoever wants more wants a box.
const MaxRadius = 5_000_000

// NewNear is the places at most radius metres from one.
func NewNear(lon, lat, radius float64) *Near {
	return &Near{Lon: lon, Lat: lat, Radius: radius, circle: geo.Circle(lon, lat, radius), bounds: geo.Around(lon, lat, radius)}
}

// meets tells whether some place of s is near: for a point by its distance, for all else by the polygon of geo.Circle, which lacks
// at most 0.12 % of the radius.
func (n *Near) meets(s geo.Shape) bool {
	if !n.bounds.Overlaps(geo.BoundsOf(s)) {
		return false
	}
	if s.IsPoint() {
		lon, lat := s.Point()
		return geo.Distance(n.Lon, n.Lat, lon, lat) <= n.Radius
	}
	return geo.Intersects(s, n.circle)
}

// Area is a geometry that a user drew. Make it with NewArea.
type Area struct {
	Text   string // WKT, as it was given
	shape  geo.Shape
	bounds geo.Box
}

// NewArea reads WKT, as geo.ParseWKT does.
func NewArea(text string) (*Area, error) {
	s, err := geo.ParseWKT(text)
	a := NewShapeArea(s)
	a.Text = text
	return a, err
}

// NewShapeArea makes an Area of a shape.
func NewShapeArea(s geo.Shape) *Area {
	s = s.BothSides()
	return &Area{Text: s.WKT(), shape: s, bounds: geo.BoundsOf(s)}
}

func (a *Area) meets(s geo.Shape) bool { return a.meetsBy(geo.Intersects, s) }

// meetsBy is meets, by one of the functions of package geo.
func (a *Area) meetsBy(intersects func(a, b geo.Shape) bool, s geo.Shape) bool {
	return a.bounds.Overlaps(geo.BoundsOf(s)) && intersects(s, a.shape)
}

// Measure is a quantity and between which values it must be, both included; in the unit of the quantity. An open side is infinite.
type Measure struct {
	Quantity  hazard.Quantity
	Low, High float64
}

func (m Measure) holds(h *hazard.Hazard) bool {
	is, ok := hazard.Measured(h.Measurements, m.Quantity)
	return ok && is.Value >= m.Low && is.Value <= m.High
}

// Span is a time from one moment to another, both included.
type Span struct{ From, To hazard.Instant }

// Match tells whether the filter lets through h, as it reads at now. shapes are the geometries of its areas; nil if NeedsShapes
// tells that they do not matter.
func (f *Filter) Match(h *hazard.Hazard, shapes []geo.Shape, now hazard.Instant) bool {
	return f.MatchRecord(h, now) && f.MatchAt(h, Footprint(h, shapes), now)
}

// MatchAt is what of Match needs the geometry: places is the footprint of h.
func (f *Filter) MatchAt(h *hazard.Hazard, places []geo.Shape, now hazard.Instant) bool {
	return f.MatchPlace(places) && (!f.Where.NeedsShapes() || f.Where.Match(h.ExpireAt(now), places))
}

// MatchRecord is Match without the places: it needs no geometry.
func (f *Filter) MatchRecord(h *hazard.Hazard, now hazard.Instant) bool {
	h = h.ExpireAt(now)
	return among(f.Types, h.Type) && among(f.Severities, h.Severity) && among(f.Categories, h.Category) && among(f.Statuses, h.Status) &&
		(len(f.Sources) == 0 || f.matchSource(h)) && (!f.ByNumber() || contains(f.Hazards, h.ID)) &&
		(f.Life == nil || h.Start <= f.Life.To && lifeEnd(h) >= f.Life.From) &&
		(f.UpdatedSince == nil || h.LastUpdate >= *f.UpdatedSince) && f.matchMeasures(h) && f.MatchText(h) &&
		(f.Where == nil || f.Where.NeedsShapes() || f.Where.Match(h, nil))
}

func (f *Filter) matchMeasures(h *hazard.Hazard) bool {
	return !slices.ContainsFunc(f.Measures, func(m Measure) bool { return !m.holds(h) })
}

func among[T comparable](wanted []T, v T) bool { return len(wanted) == 0 || slices.Contains(wanted, v) }

func contains(sorted []int64, id int64) bool {
	_, found := slices.BinarySearch(sorted, id)
	return found
}

func (f *Filter) matchSource(h *hazard.Hazard) bool {
	wanted := func(name string) bool { return slices.Contains(f.Sources, name) }
	return wanted(cmp.Or(h.Source, Editors)) || slices.ContainsFunc(h.Sources, wanted)
}

// SourcesOf returns the names by any of which the parameter source finds a hazard, sorted.
func SourcesOf(h *hazard.Hazard) []string {
	names := append([]string{cmp.Or(h.Source, Editors)}, h.Sources...)
	slices.Sort(names)
	return slices.Compact(names)
}

// lifeEnd is the last moment of a hazard's life. Its end_Date is where it ended, or will end by itself; else it is only expected.
func lifeEnd(h *hazard.Hazard) hazard.Instant {
	if h.Status == hazard.Active && !h.AutoExpire {
		return hazard.MaxInstant
	}
	return h.End
}

// ByNumber reports whether Hazards are the only ones wanted.
func (f *Filter) ByNumber() bool { return f.Ref != "" || f.Hazards != nil }

// NeedsShapes tells whether it matters where a hazard is.
func (f *Filter) NeedsShapes() bool {
	return f.Box != nil || f.Near != nil || f.Area != nil || f.Where.NeedsShapes()
}

// Footprint is where a hazard is: its areas, whatever their role, and without areas its point.
func Footprint(h *hazard.Hazard, shapes []geo.Shape) []geo.Shape {
	if len(shapes) == 0 {
		return []geo.Shape{geo.Place(h.Longitude, h.Latitude)}
	}
	return shapes
}

// MatchPlace tells whether what is at the given places is where the filter wants it. Each of Box, Near and Area must meet one of them.
func (f *Filter) MatchPlace(places []geo.Shape) bool {
	return (f.Box == nil || slices.ContainsFunc(places, func(s geo.Shape) bool { return meets(*f.Box, s) })) &&
		(f.Near == nil || slices.ContainsFunc(places, f.Near.meets)) &&
		(f.Area == nil || slices.ContainsFunc(places, f.Area.meets))
}

// meets asks the geometry library only where the bounds do not tell.
func meets(b geo.Box, s geo.Shape) bool { return meetsBy(geo.Intersects, b, s) }

// meetsBy is meets, by one of the functions of package geo.
func meetsBy(intersects func(a, b geo.Shape) bool, b geo.Box, s geo.Shape) bool {
	bounds := geo.BoundsOf(s)
	return b.Holds(bounds) || b.Overlaps(bounds) && intersects(s, b.Shape())
}

// MayMatchPlace tells, of the bounds of a hazard's footprint alone, whether MatchAt holds: yes, no, or neither.
func (f *Filter) MayMatchPlace(b geo.Box) (match, sure bool) {
	match, sure = true, f.Near == nil && f.Area == nil && !f.Where.NeedsShapes()
	for _, wanted := range f.Bounds() {
		if !wanted.Overlaps(b) {
			return false, true
		}
	}
	if f.Box != nil && !f.Box.Holds(b) {
		sure = false
	}
	return match, sure
}

// Bounds are boxes each of which meets every hazard that Match lets through.
func (f *Filter) Bounds() []geo.Box {
	var all []geo.Box
	if f.Box != nil {
		all = append(all, *f.Box)
	}
	if f.Near != nil {
		all = append(all, f.Near.bounds)
	}
	if f.Area != nil {
		all = append(all, f.Area.bounds)
	}
	if f.Where.NeedsShapes() {
		all = append(all, f.Where.Root.bounds()...)
	}
	return all
}

// Middle returns a place, longitude before latitude in degrees, that stands for where the filter wants hazards to be, and whether it
// wants them anywhere.
func (f *Filter) Middle() (lon, lat float64, ok bool) {
	switch {
	case f.Near != nil:
		return f.Near.Lon, f.Near.Lat, true
	case f.Area != nil:
		lon, lat = f.Area.shape.Point()
		return lon, lat, true
	case f.Box != nil:
		lon, lat = f.Box.Shape().Point()
		return lon, lat, true
	}
	return 0, 0, false
}
