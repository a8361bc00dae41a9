// Package query defines searches for hazards: their parameters, which hazards match, and in which
// order.
//
// Filter.Match is the only definition of a filter. The live view, the event stream and the webhooks
// call it; the store finds the same hazards with SQL, and a property test compares the two. A Query
// is a Filter with an order and pages. Parse and ParseFilter parse both from the parameters of a
// URL and report every fault: unknown parameters are never ignored.
//
// Instants are milliseconds since 1970, positions WGS 84 in degrees, longitude first. A Filter and
// a Query are immutable once parsed, and safe for concurrent use. The package knows neither HTTP
// nor SQL.
package query

import (
	"cmp"
	"math"
	"slices"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Editors is the value of the parameter source for hazards without a reporting source.
const Editors = "editors"

// Filter selects hazards that match all its conditions. The zero Filter matches every hazard.
type Filter struct {
	Types      []hazard.Type
	Severities []hazard.Severity
	Categories []hazard.Category
	Statuses   []hazard.Status
	// Sources are names of sources, or Editors; an event of the hazard must come from one of them.
	Sources []string
	// Ref is anybody's id, SCHEME:ID. What it leads to is not written in a hazard: the store puts it in Hazards.
	Ref string
	// Hazards are the only ids to match, sorted; nil, without Ref, means any.
	Hazards []int64

	Box  *geo.Box
	Near *Near
	Area *Area
	// Possible also finds hazards that are somewhere in a region or country (hazard.Somewhere), by
	// their stand-ins. Without it no place finds them.
	Possible bool

	// Life is a period in which the hazard must be active at some point, from its start to its end,
	// both included. A hazard that goes on and does not end by itself has no end.
	Life *Span
	// UpdatedSince is the earliest last_Update wanted.
	UpdatedSince *hazard.Instant
	// Measures are required measurements. A hazard without the value does not match.
	Measures []Measure
	// Text holds phrases that must all occur in the name or the description, in any language of the
	// hazard.
	Text []Phrase
	// Where is a condition on fields; nil means none.
	Where *Where
}

// Near is a place and a distance from it. Make it with newNear.
type Near struct {
	lon, lat float64
	radius   float64 // metres
	circle   geo.Shape
	bounds   geo.Box
}

// maxRadius bounds Near.Radius, in metres: an eighth of the way round the world. Whoever wants more wants a box.
const maxRadius = 5_000_000

// newNear returns the places within radius meters of one.
func newNear(lon, lat, radius float64) *Near {
	return &Near{lon: lon, lat: lat, radius: radius, circle: geo.Circle(lon, lat, radius), bounds: geo.Around(lon, lat, radius)}
}

// meets reports whether some place of s is near: for a point by its distance, otherwise by the
// polygon of geo.Circle, which is up to 0.12 % of the radius too small.
func (n *Near) meets(s geo.Shape) bool {
	if !n.bounds.Overlaps(geo.BoundsOf(s)) {
		return false
	}
	if s.IsPoint() {
		lon, lat := s.Point()
		return geo.Distance(n.lon, n.lat, lon, lat) <= n.radius
	}
	return geo.Intersects(s, n.circle)
}

// decide decides meets from the bounds of a shape: yes, no, or undecided. The corners of a box that is
// not wide are its farthest places. Near a pole, or far around, geo.Circle is less round than doubt.
func (n *Near) decide(b geo.Box) (match, sure bool) {
	doubt := 1 + 0.03*n.radius // metres, for the rounding of positions too
	if math.Abs(n.lat) > 75 || n.radius > 1_000_000 || !(b.East-b.West >= 0 && b.East-b.West <= 90) {
		return true, false
	}
	farthest := func(lon, lat float64) float64 {
		return max(geo.Distance(lon, lat, b.West, b.South), geo.Distance(lon, lat, b.West, b.North), geo.Distance(lon, lat, b.East, b.South), geo.Distance(lon, lat, b.East, b.North))
	}
	if farthest(n.lon, n.lat) <= n.radius-doubt {
		return true, true
	}
	lon, lat := (b.West+b.East)/2, (b.South+b.North)/2
	if geo.Distance(n.lon, n.lat, lon, lat)-farthest(lon, lat) > n.radius+doubt {
		return false, true
	}
	return true, false
}

// Area is a geometry that a user drew. Make it with newArea.
type Area struct {
	text   string // WKT, as it was given
	shape  geo.Shape
	bounds geo.Box
}

// newArea reads WKT, as geo.ParseWKT does.
func newArea(text string) (*Area, error) {
	s, err := geo.ParseWKT(text)
	a := NewShapeArea(s)
	a.text = text
	return a, err
}

// NewShapeArea makes an Area of a shape.
func NewShapeArea(s geo.Shape) *Area {
	s = s.BothSides()
	return &Area{text: s.WKT(), shape: s, bounds: geo.BoundsOf(s)}
}

func (a *Area) meets(s geo.Shape) bool { return a.meetsBy(geo.Intersects, s) }

// meetsBy is meets, by one of the functions of package geo.
func (a *Area) meetsBy(intersects func(a, b geo.Shape) bool, s geo.Shape) bool {
	return a.bounds.Overlaps(geo.BoundsOf(s)) && intersects(s, a.shape)
}

// Measure is a range of a quantity, limits included, in its unit. An open side is infinite.
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

// Match reports whether h, as of now, matches. shapes are the geometries of Refs; they may be nil if
// NeedsShapes is false.
func (f *Filter) Match(h *hazard.Hazard, shapes []geo.Shape, now hazard.Instant) bool {
	return f.MatchRecord(h, now) && f.MatchAt(h, f.Places(h, shapes), now)
}

// MatchAt is the part of Match that needs the geometry: places is the footprint of h.
func (f *Filter) MatchAt(h *hazard.Hazard, places []geo.Shape, now hazard.Instant) bool {
	return f.matchPlace(places) && (!f.Where.needsShapes() || f.Where.match(h.ExpireAt(now), places))
}

// MatchRecord is the part of Match that needs no geometry.
func (f *Filter) MatchRecord(h *hazard.Hazard, now hazard.Instant) bool {
	h = h.ExpireAt(now)
	return among(f.Types, h.Type) && among(f.Severities, h.Severity) && among(f.Categories, h.Category) && among(f.Statuses, h.Status) &&
		(len(f.Sources) == 0 || f.matchSource(h)) && (!f.ByNumber() || contains(f.Hazards, h.ID)) &&
		(f.Life == nil || h.Start <= f.Life.To && lifeEnd(h) >= f.Life.From) &&
		(f.UpdatedSince == nil || h.LastUpdate >= *f.UpdatedSince) && f.matchMeasures(h) && f.MatchText(h) &&
		(f.Where == nil || f.Where.needsShapes() || f.Where.match(h, nil))
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

// SourcesOf returns the values of the parameter source that find a hazard, sorted.
func SourcesOf(h *hazard.Hazard) []string {
	names := append([]string{cmp.Or(h.Source, Editors)}, h.Sources...)
	slices.Sort(names)
	return slices.Compact(names)
}

// lifeEnd returns the last moment of a hazard's life: its end_Date if it has ended or will end by
// itself; otherwise end_Date is only expected.
func lifeEnd(h *hazard.Hazard) hazard.Instant {
	if h.Status == hazard.Active && !h.AutoExpire {
		return hazard.MaxInstant
	}
	return h.End
}

// ByNumber reports whether only the ids in Hazards can match.
func (f *Filter) ByNumber() bool { return f.Ref != "" || f.Hazards != nil }

// NeedsShapes reports whether the filter depends on a hazard's place.
func (f *Filter) NeedsShapes() bool {
	return f.Box != nil || f.Near != nil || f.Area != nil || f.Where.needsShapes()
}

// Footprint returns a hazard's place: all its areas, or its point if it has none. A hazard that is
// somewhere in a region or country has no place.
func Footprint(h *hazard.Hazard, shapes []geo.Shape) []geo.Shape {
	switch {
	case h.Somewhere():
		return nil
	case len(shapes) == 0:
		return []geo.Shape{geo.Place(h.Longitude, h.Latitude)}
	}
	return shapes
}

// Refs returns the geometries by which the filter finds h: those of its areas, or with Possible
// those of its stand-ins. Places turns them into places.
func (f *Filter) Refs(h *hazard.Hazard) []hazard.AreaRef {
	if f.Possible && h.Somewhere() {
		return h.StandIns
	}
	return h.Areas
}

// Places returns the places by which the filter finds h. shapes are the geometries of Refs.
func (f *Filter) Places(h *hazard.Hazard, shapes []geo.Shape) []geo.Shape {
	if f.Possible && h.Somewhere() {
		return shapes
	}
	return Footprint(h, shapes)
}

// MatchPlace reports whether places satisfy the filter: each of Box, Near and Area must intersect
// one of them, and so must what Where requires.
func (f *Filter) MatchPlace(places []geo.Shape) bool {
	return f.matchPlace(places) && f.Where.requires(func(c *Cond) bool { return c.match(nil, places) })
}

func (f *Filter) matchPlace(places []geo.Shape) bool {
	return (f.Box == nil || slices.ContainsFunc(places, func(s geo.Shape) bool { return meets(*f.Box, s) })) &&
		(f.Near == nil || slices.ContainsFunc(places, f.Near.meets)) &&
		(f.Area == nil || slices.ContainsFunc(places, f.Area.meets))
}

// meets calls the geometry library only if the bounds do not decide.
func meets(b geo.Box, s geo.Shape) bool { return meetsBy(geo.Intersects, b, s) }

// meetsBy is meets, by one of the functions of package geo.
func meetsBy(intersects func(a, b geo.Shape) bool, b geo.Box, s geo.Shape) bool {
	bounds := geo.BoundsOf(s)
	return b.Holds(bounds) || b.Overlaps(bounds) && intersects(s, b.Shape())
}

// MayMatchPlace decides MatchPlace from the bounds of a hazard's footprint: yes, no, or undecided.
func (f *Filter) MayMatchPlace(b geo.Box) (match, sure bool) {
	match, sure = true, f.Area == nil
	if f.Possible && b.South > 90 { // it has no place, and is possibly anywhere
		return !f.NeedsShapes(), !f.NeedsShapes()
	}
	for _, wanted := range f.Bounds() {
		if !wanted.Overlaps(b) {
			return false, true
		}
	}
	if f.Near != nil {
		near, decided := f.Near.decide(b)
		if decided && !near {
			return false, true
		}
		sure = sure && decided
	}
	if f.Box != nil && !f.Box.Holds(b) || !f.Where.requires(func(c *Cond) bool { return c.boundsDecide(b) }) {
		sure = false
	}
	return match, sure
}

// Bounds returns boxes, each of which intersects every matching hazard.
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
	if f.Where.needsShapes() {
		all = append(all, f.Where.Root.bounds()...)
	}
	return all
}

// Middle returns a place, longitude before latitude in degrees, that stands for where the filter wants hazards to be, and whether it
// wants them anywhere.
func (f *Filter) Middle() (lon, lat float64, ok bool) {
	switch {
	case f.Near != nil:
		return f.Near.lon, f.Near.lat, true
	case f.Area != nil:
		lon, lat = f.Area.shape.Point()
		return lon, lat, true
	case f.Box != nil:
		lon, lat = f.Box.Shape().Point()
		return lon, lat, true
	}
	return 0, 0, false
}
