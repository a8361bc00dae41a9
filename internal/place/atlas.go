package place

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

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
	data  []byte // the lines
	lines []line
	areas []area
}

// line is where a line is in the data, and the position before its first.
type line struct {
	at, positions uint32
	x, y          int32
}

// area is an area of an atlas; rings are its polygons, rings and lines, packed: see rings.
type area struct {
	code, name, note string
	polygons         [][][]int32 // of each polygon its rings, of each ring its lines, complemented where backwards
}

// readAtlas unpacks what the generator made.
func readAtlas(packed []byte) (*atlas, error) {
	data, err := io.ReadAll(brotli.NewReader(bytes.NewReader(packed)))
	if err != nil {
		return nil, err
	}
	r := reader{data: data}
	a := &atlas{data: data, unit: float64(r.count())}
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
	// What follows is kept in another form; only the lines stay packed.
	end := r.at
	a.areas = make([]area, r.count())
	next := 0
	for i := range a.areas {
		n := &a.areas[i]
		n.code, n.name, n.note = r.text(), r.text(), r.text()
		n.polygons = make([][][]int32, r.count())
		for p := range n.polygons {
			rings := make([][]int32, r.count())
			for k := range rings {
				ring := make([]int32, r.count())
				for l := range ring {
					v := r.count()
					to := next - v/2
					if v < 2 {
						to = next
						next++
					}
					if to < 0 || to >= len(a.lines) {
						return nil, fmt.Errorf("area %s names a line that is not there", n.code)
					}
					if v%2 == 1 {
						to = ^to
					}
					ring[l] = int32(to)
				}
				rings[k] = ring
			}
			n.polygons[p] = rings
		}
		if r.failed {
			return nil, fmt.Errorf("area %d cannot be read", i)
		}
	}
	if r.failed || r.at != len(data) || a.unit == 0 {
		return nil, errors.New("not an atlas")
	}
	a.data = bytes.Clone(data[:end])
	return a, nil
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

// shape returns the area as a shape.
func (a *atlas) shape(areas ...area) (geo.Shape, error) {
	text := []byte(`{"type":"MultiPolygon","coordinates":[`)
	var ring [][2]int32
	for _, n := range areas {
		for _, p := range n.polygons {
			if text[len(text)-1] == ']' {
				text = append(text, ',')
			}
			text = append(text, '[')
			for k, lines := range p {
				if k > 0 {
					text = append(text, ',')
				}
				text = append(text, '[')
				ring = a.appendRing(ring[:0], lines)
				for i, at := range ring {
					if i > 0 {
						text = append(text, ',')
					}
					text = append(text, '[')
					text = strconv.AppendFloat(text, float64(at[0])/a.unit, 'f', -1, 64)
					text = append(text, ',')
					text = strconv.AppendFloat(text, float64(at[1])/a.unit, 'f', -1, 64)
					text = append(text, ']')
				}
				text = append(text, ']')
			}
			text = append(text, ']')
		}
	}
	return geo.ParseLoose(append(text, "]}"...))
}

// reader reads varints. After the first that is not there it has failed and reads zeros.
type reader struct {
	data   []byte
	at     int
	failed bool
}

func (r *reader) count() int {
	v, n := binary.Uvarint(r.data[r.at:])
	if n <= 0 || v > 1<<28 {
		r.failed = true
		return 0
	}
	r.at += n
	return int(v)
}

func (r *reader) step() int {
	v, n := binary.Uvarint(r.data[r.at:])
	if n <= 0 {
		r.failed = true
		return 0
	}
	r.at += n
	if v%2 == 1 {
		return -int(v/2) - 1
	}
	return int(v / 2)
}

func (r *reader) text() string {
	n := r.count()
	if n > len(r.data)-r.at {
		r.failed = true
		return ""
	}
	r.at += n
	return string(r.data[r.at-n : r.at])
}
