package region

import (
	"slices"
	"strings"
)

// Topology is the outlines of all countries with each border once: countries that share a border name the same line. It is immutable.
type Topology struct {
	// Unit is how many steps of the positions a degree has.
	Unit float64
	// Lines are longitudes and latitudes in steps.
	Lines [][][2]int32
	// Countries are, by code, the polygons of a country, the rings of each, and the lines of each ring in turn: n for the n-th line, ^n for it
	// backwards. Each line of a ring begins where the one before ends.
	Countries map[string][][][]int32
}

// Outlines returns the shapes of Outline as a Topology. Each call makes a new one.
func Outlines() *Topology {
	a := outlineAtlas()
	t := &Topology{Unit: a.unit, Lines: make([][][2]int32, len(a.lines)), Countries: map[string][][][]int32{}}
	for i := range a.lines {
		t.Lines[i] = a.appendRing(nil, []int32{int32(i)})
	}
	for _, n := range a.areas {
		if strings.Contains(n.code, ",") { // claimed by several, the data count it to none
			continue
		}
		r, next := reader{data: a.data, at: int(n.at)}, int(n.next)
		polygons := t.Countries[n.code]
		for ring, first := range a.rings(&r, &next) {
			if first {
				polygons = append(polygons, nil)
			}
			last := &polygons[len(polygons)-1]
			*last = append(*last, slices.Clone(ring))
		}
		t.Countries[n.code] = polygons
	}
	return t
}
