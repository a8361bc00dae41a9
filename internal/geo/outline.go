package geo

import "math"

// These limits bound an outline, because messages on telephones have room for no more.
const (
	maxOutlines      = 500    // polygons
	maxOutlineCorner = 20_000 // positions in total
)

// Outline returns polygons without holes that do not overlap and that cover all areas of s, and
// possibly more. Each has at most maxCorners positions; the last repeats the first. No place of s is
// lost: a corner is removed where that makes the area larger, and two corners become the point
// where their outer sides meet, starting with those that add least area. If that is not enough, the
// result is a box. Lines and points are left out. maxCorners is at least 8.
func (s Shape) Outline(maxCorners int) Shape {
	out := s.WithoutHoles()
	out.lines, out.points = nil, nil
	for range 8 {
		if n := len(out.polygons); n == 0 {
			return Shape{}
		} else if n > maxOutlines {
			break
		}
		limit := min(maxCorners, max(8, maxOutlineCorner/len(out.polygons))) - 1
		fits := true
		var grown []Shape
		for _, p := range out.polygons {
			r := p[0]
			if len(r) > limit {
				fits, r = false, grow(r, limit*3/4)
			}
			one, err := ParseLoose([]byte(Shape{polygons: []polygon{{r}}}.GeoJSON())) // the ring may cross itself now
			if err != nil {
				one = ringBox(r)
			}
			grown = append(grown, one)
		}
		if fits {
			return out
		}
		all, err := Union(grown...)
		if err != nil {
			break
		}
		out = all.WithoutHoles()
	}
	west, south, east, north := s.Bounds()
	return Box{west, south, east, north}.Shape()
}

func ringBox(r ring) Shape {
	west, south, east, north := (Shape{polygons: []polygon{{r}}}).Bounds()
	return Box{west, south, east, north}.Shape()
}

// grow returns a ring of at most limit corners around the counterclockwise ring r. The result may
// cross itself.
func grow(r ring, limit int) ring {
	for add := float64(1); len(r) > limit; add *= 2 {
		if add > 4*180*180*micro*micro {
			return r
		}
		for again := true; again && len(r) > limit; {
			before := len(r)
			r = growOnce(r, add, len(r)-limit)
			again = len(r) < before
		}
	}
	return r
}

// growOnce removes corners that add at most add to twice the area each. It removes no two neighbors
// and at most maxCorners corners.
func growOnce(r ring, add float64, maxCorners int) ring {
	n := len(r)
	at := func(i int) position { return r[(i+n)%n] }
	turn := func(i int) float64 { return float64(cross(at(i-1), at(i), at(i+1))) }
	out := make(ring, 0, n)
	for i := 0; i < n; i++ {
		if maxCorners == 0 || i == 0 || i >= n-2 { // the ends stay in this round
			out = append(out, at(i))
			continue
		}
		if t := turn(i); t <= 0 {
			if -t > add {
				out = append(out, at(i))
				continue
			}
			out = append(out, at(i+1))
			i, maxCorners = i+1, maxCorners-1
			continue
		}
		if p, more, ok := meeting(at(i-1), at(i), at(i+1), at(i+2)); ok && turn(i+1) > 0 && more <= add && out[len(out)-1] == at(i-1) {
			out = append(out, p)
			i, maxCorners = i+1, maxCorners-1
			continue
		}
		out = append(out, at(i))
	}
	if len(out) == n || len(out) < 4 { // start elsewhere, so that the ends can be removed too
		return append(r[1:n:n], r[0])
	}
	return append(out[1:len(out):len(out)], out[0])
}

// meeting returns where the sides ab and dc of a ring meet beyond b and c, and twice the area of
// the triangle that this adds. The point is rounded outwards by at most one unit.
func meeting(a, b, c, d position) (p position, more float64, ok bool) {
	ux, uy := float64(b.x)-float64(a.x), float64(b.y)-float64(a.y)
	vx, vy := float64(c.x)-float64(d.x), float64(c.y)-float64(d.y)
	wx, wy := float64(c.x)-float64(b.x), float64(c.y)-float64(b.y)
	det := ux*vy - uy*vx
	if det >= 0 { // the sides diverge
		return p, 0, false
	}
	k := (wx*vy - wy*vx) / det
	if k < 0 || (wx*uy-wy*ux)/det < 0 {
		return p, 0, false
	}
	length := math.Hypot(ux, uy)
	x, y := float64(b.x)+ux*k+2*ux/length, float64(b.y)+uy*k+2*uy/length
	if math.Abs(x) > 180*micro || math.Abs(y) > 90*micro {
		return p, 0, false
	}
	return position{int32(math.Round(x)), int32(math.Round(y))}, math.Abs(ux*k*wy-uy*k*wx) + 1, true
}
