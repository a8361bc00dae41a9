package geo

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/peterstace/simplefeatures/geom"
)

// Union returns the area that the shapes cover together, whatever their order. Lines and points are
// collected, without duplicates, only if there is no area at all. Areas that are too complex to
// join are all kept separately, so that no place is lost. Union returns an error without a shape,
// or with zero Shapes only.
func Union(shapes ...Shape) (Shape, error) {
	var s Shape
	for _, t := range shapes {
		s.polygons = append(s.polygons, t.polygons...)
		s.lines = append(s.lines, t.lines...)
		s.points = append(s.points, t.points...)
		s.coarse = s.coarse || t.coarse
	}
	switch {
	case s.IsZero():
		return Shape{}, errors.New("there is no geometry to join")
	case len(s.polygons) > 0:
		w := looseWork(s.positions())
		w.valid = true
		all, err := joined(w, s.polygons)
		all.coarse = s.coarse || err != nil
		return all, nil
	}
	slices.SortFunc(s.lines, func(a, b []position) int { return slices.CompareFunc(a, b, comparePositions) })
	s.lines = slices.CompactFunc(s.lines, func(a, b []position) bool { return slices.Equal(a, b) })
	return canonical(s), nil
}

// joined returns the union of polygons, each of which is valid, in canonical order. With an error,
// it returns all polygons, not joined.
func joined(w *work, polygons []polygon) (Shape, error) {
	s := canonical(Shape{polygons: polygons})
	s.polygons = slices.CompactFunc(s.polygons, func(a, b polygon) bool { return comparePolygons(a, b) == 0 })
	if len(s.polygons) < 2 {
		return s, nil
	}
	groups, err := neighbors(w, s.polygons)
	var all []polygon
	for i := 0; i < len(groups) && err == nil; i++ {
		group := groups[i]
		if len(group) > 1 {
			group, err = union(w, group)
		}
		all = append(all, group...)
	}
	if err != nil {
		s.apart, s.coarse = true, true
		return s, err
	}
	return canonical(Shape{polygons: all}), nil
}

// neighbors returns polygons in groups. Polygons of different groups have no place in common,
// because their boxes do not meet.
func neighbors(w *work, polygons []polygon) ([][]polygon, error) {
	if err := w.spend(len(polygons) * stepsPerSide); err != nil {
		return nil, err
	}
	tree := newIndex(len(polygons), func(i int) box { return boxOf(polygons[i][0]) })
	group := make([]int, len(polygons)) // 0: no group yet
	var groups [][]polygon
	for i := range polygons {
		if group[i] != 0 {
			continue
		}
		number := len(groups) + 1
		group[i] = number
		members := []int{i}
		for k := 0; k < len(members); k++ {
			err := tree.search(w, boxOf(polygons[members[k]][0]), func(j int) error {
				if group[j] == 0 {
					group[j] = number
					members = append(members, j)
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		slices.Sort(members)
		var found []polygon
		for _, j := range members {
			found = append(found, polygons[j])
		}
		groups = append(groups, found)
	}
	return groups, nil
}

// guarded turns a panic of f into an error. The geometry library promises not to panic for valid
// geometry, but it checks while it runs.
func guarded(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("geometry library: %v", p)
		}
	}()
	f()
	return nil
}

// hull returns the convex hull of positions: an area, a line if they lie in a row, or a point.
func hull(positions []position) Shape {
	var s Shape
	_ = guarded(func() {
		switch g := libLine(positions, millionths).AsGeometry().ConvexHull(); g.Type() {
		case geom.TypePolygon:
			s.polygons = []polygon{{compact(positionsOf(g.MustAsPolygon().ExteriorRing()))}}
		case geom.TypeLineString:
			s.lines = [][]position{positionsOf(g.MustAsLineString())}
		}
	})
	if s.IsZero() {
		s.points = positions[:1]
	}
	return s
}

// positionsOf returns the positions of l rounded to whole numbers. The unit of l is a millionth of
// a degree.
func positionsOf(l geom.LineString) []position {
	seq := l.Coordinates()
	ps := make([]position, seq.Length())
	for i := range ps {
		xy := seq.GetXY(i)
		ps[i] = position{int32(math.Round(xy.X)), int32(math.Round(xy.Y))}
	}
	return ps
}
