package geo

import (
	"errors"
	"math"
	"slices"
)

var errRoundTheWorld = errors.New("goes round the world more than once")

// farthest is how far from the prime meridian a ring may go while it is unrolled.
const farthest = 3 * fullTurn / 2

// A pole says where to close a ring that winds round the world.
type pole int32

const (
	nearerPole pole = 0 // on the side of the equator where the ring mostly lies
	northPole  pole = quarterTurn
	southPole  pole = -quarterTurn
)

// step returns the shorter way from longitude a to b. From one side of the antimeridian to the
// other it returns 0, or a whole turn if whole is set.
func step(a, b int32, whole bool) int32 {
	d := b - a
	switch {
	case -halfTurn <= d && d <= halfTurn:
		return d
	case whole && (d == fullTurn || d == -fullTurn):
		return d
	}
	return d - fullTurn*int32(math.Round(float64(d)/fullTurn))
}

// unrolled returns r with longitudes that continue across the antimeridian instead of jumping. The
// second result reports whether r winds round the world; such a ring is closed along the pole. The
// result is closed in the plane, and no step of it is longer than half a turn.
func unrolled(w *work, r ring, p pole) (ring, bool, error) {
	jumps, turns := false, false
	for i, a := range r {
		switch d := r[(i+1)%len(r)].x - a.x; {
		case d == fullTurn || d == -fullTurn:
			turns = true
		case d > halfTurn || d < -halfTurn:
			jumps = true
		}
	}
	if !jumps && !turns {
		return r, false, nil
	}
	whole := false
	if turns && !jumps {
		_, touches, err := selfTouch(w, r)
		if err != nil {
			return nil, false, err
		}
		whole = !touches
	}
	out, err := followed(r, whole)
	if err != nil {
		return nil, false, err
	}
	last := len(out) - 1
	turn := out[last].x - out[0].x
	switch turn {
	case 0:
	case fullTurn, -fullTurn:
		// The line from the position nearest to the pole to the pole meets no other part of the
		// ring.
		if p == nearerPole {
			p = sideOf(r)
		}
		nearest := 0
		for i, q := range r {
			if abs(int32(p)-q.y) < abs(int32(p)-r[nearest].y) {
				nearest = i
			}
		}
		if out, err = followed(slices.Concat(r[nearest:], r[:nearest]), whole); err != nil {
			return nil, false, err
		}
		for i := range int32(5) {
			out = append(out, position{out[last].x - i*(turn/4), int32(p)})
		}
	default:
		return nil, false, errRoundTheWorld
	}
	return compact(out), turn != 0, nil
}

// followed returns r from its first position back to it. Each longitude continues the shorter way
// from the one before.
func followed(r ring, whole bool) (ring, error) {
	out := ring{r[0]}
	x := r[0].x
	for i, a := range r {
		b := r[(i+1)%len(r)]
		d := step(a.x, b.x, whole)
		if abs(d) > halfTurn {
			out = append(out, position{x + d/2, a.y + (b.y-a.y)/2})
		}
		if x += d; abs(x) > farthest {
			return nil, errRoundTheWorld
		}
		out = append(out, position{x, b.y})
	}
	return out, nil
}

func sideOf(r ring) pole {
	var sum int64
	for _, p := range r {
		sum += int64(p.y)
	}
	if sum < 0 {
		return southPole
	}
	return northPole
}

// flatPolygon is a polygon whose rings are unrolled, so that it lies in the plane.
type flatPolygon struct {
	polygon
	winds bool // the outer ring winds round a pole, so the holes may lie a turn away from it
}

// laid returns p in the plane. Rings that wind round the world, outer ring and holes, are closed
// along the given pole.
func laid(w *work, p polygon, side pole) (flatPolygon, error) {
	outer, winds, err := unrolled(w, p[0], side)
	if err != nil {
		return flatPolygon{}, at("ring", 0, faultf("the ring %v", err))
	}
	if winds && side == nearerPole {
		side = sideOf(p[0])
	}
	flat := flatPolygon{polygon{outer}, winds}
	west, _ := span(outer)
	for i, r := range p[1:] {
		hole, holeWinds, err := unrolled(w, r, side)
		if err == nil && holeWinds && !winds {
			err = errors.New("goes round the world, but the outer ring does not")
		}
		if err != nil {
			return flatPolygon{}, at("ring", i+1, faultf("the ring %v", err))
		}
		holeWest, _ := span(hole)
		turns := int32(math.Floor((float64(holeWest) - float64(west)) / fullTurn))
		flat.polygon = append(flat.polygon, shifted(hole, -turns*fullTurn))
	}
	return flat, nil
}

// cut returns p as polygons between -180 and 180 degrees. p must be valid.
func cut(w *work, p flatPolygon) ([]polygon, error) {
	if !p.winds {
		return cutPolygon(w, p.polygon)
	}
	var parts []polygon
	outer := 0
	for i := range p.polygon {
		pieces, err := cutPolygon(w, p.polygon[i:i+1])
		if err != nil {
			return nil, err
		}
		parts = append(parts, pieces...)
		if i == 0 {
			outer = len(parts)
		}
	}
	whole, err := union(w, parts[:outer])
	if err != nil {
		return nil, err
	}
	return difference(w, whole, parts[outer:])
}

// turnOf returns the whole number of turns that brings x into the range from -180 to below 180
// degrees.
func turnOf(x int32) int32 {
	return int32(math.Floor((float64(x) + halfTurn) / fullTurn))
}

// cutPolygon returns p as polygons between -180 and 180 degrees. p must be valid.
func cutPolygon(w *work, p polygon) ([]polygon, error) {
	west, east := span(p[0])
	if west >= -halfTurn && east <= halfTurn {
		return []polygon{p}, nil
	}
	var all []polygon
	first, last := turnOf(west), turnOf(east-1)
	for turn := first; turn <= last; turn++ {
		pieces := []polygon{p}
		if first != last {
			var err error
			if pieces, err = clipped(w, p, -halfTurn+turn*fullTurn, halfTurn+turn*fullTurn); err != nil {
				return nil, err
			}
		}
		for _, piece := range pieces {
			moved := make(polygon, len(piece))
			for i, r := range piece {
				moved[i] = shifted(r, -turn*fullTurn)
			}
			all = append(all, moved)
		}
	}
	return all, nil
}

// cutLine returns l as lines between -180 and 180 degrees. l has at least two positions. If it has
// exactly two, one on each side of the antimeridian, it is the whole parallel.
func cutLine(l []position) [][]position {
	if d := l[1].x - l[0].x; len(l) == 2 && (d == fullTurn || d == -fullTurn) {
		return [][]position{{l[0], {l[0].x + d/2, l[0].y + (l[1].y-l[0].y)/2}, l[1]}}
	}
	var lines [][]position
	var line []position
	var turn int32
	add := func(p position) {
		p.x -= turn * fullTurn
		line = append(line, p)
	}
	end := func() {
		if line = slices.Compact(line); len(line) > 1 {
			lines = append(lines, line)
		}
		line = nil
	}
	x := l[0].x
	turn = turnOf(x)
	add(l[0])
	for i, b := range l[1:] {
		at, to := position{x, l[i].y}, position{x + step(l[i].x, b.x, false), b.y}
		for {
			west, east := (2*turn-1)*halfTurn, (2*turn+1)*halfTurn
			seam, next := east, turn+1
			if to.x < west {
				seam, next = west, turn-1
			} else if to.x <= east {
				break
			}
			share := float64(seam-at.x) / float64(to.x-at.x)
			at = position{seam, at.y + int32(math.Round(share*float64(to.y-at.y)))}
			add(at)
			end()
			turn = next
			add(at)
		}
		add(to)
		x, turn = to.x-turn*fullTurn, 0
	}
	end()
	return lines
}

// inTurn returns p moved to between -180 and 180 degrees.
func inTurn(p position) position {
	if abs(p.x) > halfTurn {
		p.x -= turnOf(p.x) * fullTurn
	}
	return p
}

// inWorld returns s between -180 and 180 degrees. The longitudes of s may continue beyond.
func inWorld(w *work, s Shape) Shape {
	var in Shape
	for _, p := range s.polygons {
		if pieces, err := cutPolygon(w, p); err == nil {
			in.polygons = append(in.polygons, pieces...)
		}
	}
	for _, l := range s.lines {
		in.lines = append(in.lines, cutLine(l)...)
	}
	for _, p := range s.points {
		in.points = append(in.points, inTurn(p))
	}
	return in
}

func abs(v int32) int32 { return max(v, -v) }
