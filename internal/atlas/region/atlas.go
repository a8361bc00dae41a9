package region

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"

	"github.com/hazardd/hazardd/internal/geo"
)

// An atlas is areas by code whose borders are stored once, so that neighbors, simplified together, leave no gaps. It is what the
// generator (gen/atlas.mjs) made, unpacked. All numbers in it are varints, those that can be negative signed:
//
//	steps per degree
//	number of lines; of each the number of positions, and of each position how far east and north it is of the one before in the
//	    file, in steps
//	number of areas; of each the lengths and texts of code, name and note, and the number of polygons; of each polygon the number
//	    of rings, and of each ring the number of lines; of each line 0 or 1 for the one after the newest so far, forwards or
//	    backwards, 2n or 2n+1 for the n-th newest
//
// Areas are in ascending order of codes. An atlas is immutable.
type atlas struct {
	unit  float64
	data  string
	lines []line
	areas []area
}

// line is where a line is in the data, and the position before its first.
type line struct {
	at, positions uint32
	x, y          int32
}

// area is an area of an atlas. Its polygons are in the data, from at on; next is the line after the newest before it.
type area struct {
	code, name, note string
	at, next         uint32
}

// readAtlas unpacks what the generator made.
func readAtlas(packed []byte) (*atlas, error) {
	var b strings.Builder
	if _, err := io.Copy(&b, brotli.NewReader(bytes.NewReader(packed))); err != nil {
		return nil, err
	}
	r := reader{data: b.String()}
	a := &atlas{data: r.data, unit: float64(r.count())}
	a.lines = make([]line, r.count())
	var x, y int
	for i := range a.lines {
		n := r.count()
		a.lines[i] = line{at: uint32(r.at), positions: uint32(n), x: int32(x), y: int32(y)}
		for range n {
			x += r.step()
			y += r.step()
		}
	}
	a.areas = make([]area, r.count())
	next := 0
	for i := range a.areas {
		n := &a.areas[i]
		n.code, n.name, n.note = r.text(), r.text(), r.text()
		n.at, n.next = uint32(r.at), uint32(next)
		for line := range a.rings(&r, &next) {
			if line == nil {
				return nil, fmt.Errorf("area %s names a line that is not there", n.code)
			}
		}
		if r.failed || i > 0 && n.code < a.areas[i-1].code {
			return nil, fmt.Errorf("area %d cannot be read", i)
		}
	}
	if r.failed || r.at != len(r.data) || a.unit == 0 {
		return nil, errors.New("not an atlas")
	}
	return a, nil
}

// find returns the areas of a code.
func (a *atlas) find(code string) []area {
	from, _ := slices.BinarySearchFunc(a.areas, code, func(n area, code string) int { return cmp.Compare(n.code, code) })
	to := from
	for to < len(a.areas) && a.areas[to].code == code {
		to++
	}
	return a.areas[from:to]
}

// rings reads the rings of an area: the lines of each, complemented where backwards, and whether it is the first of its polygon. The
// slice is only good until the next; it is nil where a line is not there.
func (a *atlas) rings(r *reader, next *int) iter.Seq2[[]int32, bool] {
	return func(yield func([]int32, bool) bool) {
		var ring []int32
		for range r.count() {
			for k := range r.count() {
				ring = ring[:0]
				for range r.count() {
					v := r.count()
					to := *next - v/2
					if v < 2 {
						to = *next
						*next++
					}
					if r.failed || to < 0 || to >= len(a.lines) {
						yield(nil, false)
						return
					}
					if v%2 == 1 {
						to = ^to
					}
					ring = append(ring, int32(to))
				}
				if !yield(ring, k == 0) {
					return
				}
			}
		}
	}
}

// polygons are the rings of an area in steps, the first position again at the end, and whether each begins a polygon. The slice is only
// good until the next.
func (a *atlas) polygons(n area) iter.Seq2[[][2]int32, bool] {
	return func(yield func([][2]int32, bool) bool) {
		r, next := reader{data: a.data, at: int(n.at)}, int(n.next)
		var steps [][2]int32
		for ring, first := range a.rings(&r, &next) {
			steps = a.appendRing(steps[:0], ring)
			if !yield(steps, first) {
				return
			}
		}
	}
}

// appendRing appends the positions of a ring, the first again at its end, in steps.
func (a *atlas) appendRing(to [][2]int32, ring []int32) [][2]int32 {
	for _, l := range ring {
		start := len(to)
		at := l
		if l < 0 {
			at = ^l
		}
		from := a.lines[at]
		r := reader{data: a.data, at: int(from.at)}
		x, y := from.x, from.y
		for range from.positions {
			x += int32(r.step())
			y += int32(r.step())
			to = append(to, [2]int32{x, y})
		}
		if l < 0 {
			for i, j := start, len(to)-1; i < j; i, j = i+1, j-1 {
				to[i], to[j] = to[j], to[i]
			}
		}
		// Lines share their ends.
		if start > 0 && len(to) > start && to[start-1] == to[start] {
			to = append(to[:start], to[start+1:]...)
		}
	}
	return to
}

// shape returns areas as one shape.
func (a *atlas) shape(areas ...area) (geo.Shape, error) {
	const begin = `{"type":"MultiPolygon","coordinates":[`
	text := []byte(begin)
	for _, n := range areas {
		for ring, first := range a.polygons(n) {
			switch {
			case len(text) == len(begin):
				text = append(text, '[')
			case first:
				text = append(text, "],["...)
			default:
				text = append(text, ',')
			}
			text = append(text, '[')
			for i, at := range ring {
				if i > 0 {
					text = append(text, ',')
				}
				text = append(text, '[')
				text = geo.AppendDegrees(text, float64(at[0])/a.unit)
				text = append(text, ',')
				text = geo.AppendDegrees(text, float64(at[1])/a.unit)
				text = append(text, ']')
			}
			text = append(text, ']')
		}
	}
	return geo.ParseLoose(append(text, "]]}"...))
}

// reader reads varints. After the first that is not there it has failed and reads zeros.
type reader struct {
	data   string
	at     int
	failed bool
}

// number reads an unsigned varint of at most 28 bits; what the generator writes is far below that.
func (r *reader) number() uint32 {
	var v uint32
	for shift := 0; shift < 28; shift += 7 {
		if r.at >= len(r.data) {
			break
		}
		c := r.data[r.at]
		r.at++
		v |= uint32(c&127) << shift
		if c < 128 {
			return v
		}
	}
	r.failed = true
	return 0
}

func (r *reader) count() int { return int(r.number()) }

func (r *reader) step() int {
	v := r.number()
	return int(v>>1) ^ -int(v&1)
}

func (r *reader) text() string {
	n := r.count()
	if n > len(r.data)-r.at {
		r.failed = true
		return ""
	}
	r.at += n
	return r.data[r.at-n : r.at]
}
