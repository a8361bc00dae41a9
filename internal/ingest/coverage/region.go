package coverage

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Limits of the work for the word of a region.
const (
	// grid is how many places of a region are looked at in each direction, at most: 25 in all take about 2 ms once.
	grid = 5
	// step is how far these are apart at least, in degrees: about what the borders of countries are right to.
	step = 0.05
	// maxNamed is how many countries, and how many sources, a summary names.
	maxNamed = 10
)

// Region is a part of the world, represented by places in it.
type Region struct {
	places []*Place
	// sea are places on the high seas, which do not count beside land.
	sea []*Place
}

// Over returns the region of a box where holds reports true; nil means all of it. Its places are
// the centers of at most 5 by 5 equal parts of the box. If holds is true for none, the place at
// lon, lat represents the region.
func (m *Map) Over(box geo.Box, holds func(lon, lat float64) bool, lon, lat float64) *Region {
	width, height := box.East-box.West, box.North-box.South
	if width < 0 {
		width += 360
	}
	parts := func(size float64) int { return min(max(int(math.Ceil(size/step-1e-6)), 1), grid) }
	r := &Region{}
	add := func(lon, lat float64) {
		p := m.At(lon, lat)
		if len(p.Countries) > 0 {
			r.places = append(r.places, p)
		} else {
			r.sea = append(r.sea, p)
		}
	}
	nx, ny := parts(width), parts(height)
	for y := range ny {
		for x := range nx {
			lon := geo.Wrap(box.West + width*(float64(x)+0.5)/float64(nx))
			lat := box.South + height*(float64(y)+0.5)/float64(ny)
			if holds == nil || holds(lon, lat) {
				add(lon, lat)
			}
		}
	}
	if len(r.places)+len(r.sea) == 0 {
		add(lon, lat)
	}
	return r
}

// Size returns the approximate size of the region in memory, in bytes.
func (r *Region) Size() int {
	size := 100
	for _, p := range slices.Concat(r.places, r.sea) {
		size += 100 + 100*len(p.Countries) + 8*len(p.covers)
	}
	return size
}

// Summary is the word for a region and its basis, for the header Hazardd-Coverage: the worst word
// of its places; the number of places with each word; the number of places on the high seas that
// were ignored because others are not; the countries (ISO 3166-1 alpha-2) that are not covered; and
// the sources that determine the words.
func (m *Map) Summary(r *Region, now Readings, types ...hazard.Type) string {
	judged, aside := r.places, len(r.sea)
	if len(judged) == 0 {
		judged, aside = r.sea, 0
	}
	var word Word
	count := map[Word]int{}
	var lacking, sources []string
	known := map[string]Word{} // most places of a region have the same statements
	for _, p := range judged {
		key := fmt.Sprint(p.covers)
		w, ok := known[key]
		if !ok {
			j := m.Judge(p, now, types...)
			w = j.Word
			known[key] = w
			sources = append(sources, j.by(len(types) == 0)...)
		}
		word = worse(word, w)
		count[w]++
		if w == Covered {
			continue
		}
		for _, c := range p.Countries {
			if !slices.Contains(lacking, c.Code) {
				lacking = append(lacking, c.Code)
			}
		}
	}
	text := fmt.Sprintf("%s; covered=%d; stale=%d; unknown=%d", word, count[Covered], count[Stale], count[Unknown])
	if aside > 0 {
		text += fmt.Sprintf("; sea=%d", aside)
	}
	if len(lacking) > 0 {
		slices.Sort(lacking)
		text += fmt.Sprintf("; lacking=%q", strings.Join(lacking[:min(len(lacking), maxNamed)], ","))
	}
	if len(sources) > 0 {
		slices.Sort(sources)
		sources = slices.Compact(sources)
		text += fmt.Sprintf("; sources=%q", strings.Join(sources[:min(len(sources), maxNamed)], ","))
	}
	return text
}
