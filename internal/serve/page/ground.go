package page

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
)

// maxTiles is the maximum number of basemap tiles in a map.
const maxTiles = 36

// tilePixels is the minimum size of a tile in units of the map. Smaller tiles would add no visible
// detail.
const tilePixels = 300.0

// ground draws land, water and borders, and returns the towns in the window. Without a basemap it
// draws nothing. A tile that cannot be read leaves a gap.
func (d *drawing) ground(from *basemap.Archive) (towns []basemap.Feature) {
	if from == nil {
		return nil
	}
	degrees := d.width / d.scale
	z := int(math.Log2(360 / degrees * d.width / tilePixels))
	z = max(0, min(z, from.MaxZoom))
	side := 1 << z
	column := func(lon float64) int { return int(math.Floor((lon + 180) / 360 * float64(side))) }
	row := func(lat float64) int {
		const edge = 85.0511 // where the tiles end (Web Mercator)
		y := (1 - mercator(max(-edge, min(edge, lat)))/180) / 2
		return max(0, min(side-1, int(y*float64(side))))
	}
	south, north := d.inverse(d.north-d.height/d.scale), d.inverse(d.north)
	var land, lakes, rivers, provinces, borders, disputed strings.Builder
	left := maxTiles
	for y := row(north); y <= row(south); y++ {
		for x := column(d.west); x <= column(d.west+degrees) && left > 0; x++ {
			left--
			turn := math.Floor(float64(x) / float64(side))
			features, err := from.Tile(z, x-int(turn)*side, y)
			if err != nil {
				continue
			}
			for _, f := range features {
				for _, part := range f.Parts {
					for i := range part {
						part[i][0] += 360 * turn
					}
				}
				switch f.Layer {
				case "land":
					d.rings(&land, f)
				case "lake":
					d.rings(&lakes, f)
				case "river":
					d.ways(&rivers, f)
				case "province":
					if f.Is["from"] <= float64(z)+1 {
						d.ways(&provinces, f)
					}
				case "border":
					if _, ok := f.Is["disputed"]; ok {
						d.ways(&disputed, f)
					} else {
						d.ways(&borders, f)
					}
				case "city":
					towns = append(towns, f)
				}
			}
		}
	}
	fill := func(path *strings.Builder, colour string) {
		if path.Len() > 0 {
			fmt.Fprintf(d, `<path d="%s" fill="%s" fill-rule="nonzero"/>`, path.String(), colour)
		}
	}
	stroke := func(path *strings.Builder, colour string, width float64, more string) {
		if path.Len() > 0 {
			fmt.Fprintf(d, `<path d="%s" fill="none" stroke="%s" stroke-width="%.1f"%s/>`, path.String(), colour, width, more)
		}
	}
	fill(&land, d.land)
	stroke(&rivers, d.river, 1.2, ` stroke-linejoin="round"`)
	fill(&lakes, d.sea)
	stroke(&provinces, d.border, 0.7, ` stroke-opacity="0.5"`)
	stroke(&borders, d.border, 1.4, ` stroke-linejoin="round"`)
	stroke(&disputed, d.border, 1.4, ` stroke-dasharray="4 3"`)
	return towns
}

func (d *drawing) rings(to *strings.Builder, f basemap.Feature) {
	for _, ring := range f.Parts {
		if d.sees(ring) {
			to.WriteString(d.way(ring, true) + "Z")
		}
	}
}

func (d *drawing) ways(to *strings.Builder, f basemap.Feature) {
	for _, line := range f.Parts {
		if d.sees(line) {
			to.WriteString(d.way(line, true))
		}
	}
}

// sees reports whether the bounds of a line and the window overlap.
func (d *drawing) sees(line [][2]float64) bool {
	left, right, top, bottom := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, at := range line {
		x, y := d.xy(at[0], at[1])
		left, right, top, bottom = min(left, x), max(right, x), min(top, y), max(bottom, y)
	}
	return left < d.width && right > 0 && top < d.height && bottom > 0
}

// maxTowns is the maximum number of town names on a map.
const maxTowns = 14

// names writes the names of the largest towns that have room: not over each other, at the edge, or
// over taken patches. There is at least one taken patch. If below is set, a town covered by the
// first patch gets its name below that patch.
func (d *drawing) names(towns []basemap.Feature, taken []patch, below bool) {
	slices.SortStableFunc(towns, func(a, b basemap.Feature) int {
		return cmp.Or(cmp.Compare(a.Is["from"], b.Is["from"]), cmp.Compare(b.Is["people"], a.Is["people"]), cmp.Compare(a.Name, b.Name))
	})
	said := map[string]bool{}
	fmt.Fprintf(d, `<g font-size="12" fill="%s" stroke="%s" stroke-width="3" stroke-linejoin="round" paint-order="stroke">`, d.label, d.land)
	for _, f := range towns {
		if len(said) == maxTowns {
			break
		}
		if f.Name == "" || said[f.Name] || len(f.Parts) == 0 || len(f.Parts[0]) == 0 {
			continue
		}
		x, y := d.xy(f.Parts[0][0][0], f.Parts[0][0][1])
		width := 7.0 * float64(len([]rune(f.Name))) // of letters of this size, at most
		at, textX, textY, dot := patch{x - 4, y - 9, x + 10 + width, y + 9}, x+6, y+4, true
		if s := taken[0]; below && x > s.left && x < s.right && y > s.top && y < s.bottom {
			// The town that the symbol covers is named below it.
			middle := (s.left + s.right) / 2
			at, textX, textY, dot = patch{middle - width/2, s.bottom, middle + width/2, s.bottom + 16}, middle-width/2+4, s.bottom+12, false
		}
		if !d.free(at, taken) {
			continue
		}
		taken = append(taken, at)
		said[f.Name] = true
		if dot {
			fmt.Fprintf(d, `<circle cx="%.1f" cy="%.1f" r="2.4" stroke-width="2"/>`, x, y)
		}
		fmt.Fprintf(d, `<text x="%.1f" y="%.1f">%s</text>`, textX, textY, html.EscapeString(f.Name))
	}
	d.WriteString(`</g>`)
}
