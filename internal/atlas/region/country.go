package region

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hazardd/hazardd/internal/geo"
)

//go:generate npm ci --prefix gen
//go:generate node gen/countries.mjs

//go:embed countries.bin.br
var packedCountries []byte

//go:embed outlines.bin.br
var packedOutlines []byte

// A Country is a country or territory with a code of ISO 3166-1, or Kosovo (XK).
type Country struct {
	Code string // alpha-2, uppercase: "NZ"
	Name string // in English
	// Notes say what is disputed about parts of it, or about all of it: one sentence without a full stop each.
	Notes []string
}

// A Nearby is a country at or near a place.
type Nearby struct {
	Code   string  // alpha-2
	Name   string  // in English
	Metres float64 // from the place to the nearest land of the country; 0 inside
	// Note says what is disputed about the land there; empty: nothing.
	Note string

	extent float64 // of the polygon, in square degrees: of several that hold a place the smallest comes first
}

// Countries returns all countries in ascending order of codes. The slice is the caller's.
func Countries() []Country {
	return slices.Clone(countries().list)
}

// CountryByCode returns the country with an alpha-2 code, in any case of letters.
func CountryByCode(code string) (Country, bool) {
	list := countries().list
	i, ok := slices.BinarySearchFunc(list, strings.ToUpper(code), func(c Country, code string) int { return cmp.Compare(c.Code, code) })
	if !ok {
		return Country{}, false
	}
	return list[i], true
}

//go:embed gen/countries.tsv
var numbers string

// CountryByNumber returns the country with a numeric code of ISO 3166-1.
func CountryByNumber(n int) (Country, bool) {
	for row := range strings.Lines(numbers) { // rarely asked for: 250 rows
		f := strings.Split(row, "\t")
		if number, err := strconv.Atoi(f[2]); err == nil && number == n {
			return CountryByCode(f[0])
		}
	}
	return Country{}, false
}

// Outline returns the area of a country, with what is disputed where the data count it to this country, simplified for a map of the
// world: islands below a two-thousandth of its area are left out, and a border may be wrong by some 20 km in a large country. The
// zero Shape is returned for a code that is not known.
func Outline(code string) geo.Shape {
	o, ok := outlines()[strings.ToUpper(code)]
	if !ok {
		return geo.Shape{}
	}
	return o()
}

// CountriesAt returns the countries within some metres of a place, longitude before latitude in degrees, the nearest first, and of several
// around it the smallest. Inside of a country the others are only returned if they are near enough too. A place that
// several countries claim, and the data count to none, is in all of them.
//
// Borders are right to about 2 km. Most islands that are too small for a map at 1:10,000,000 are not in the data, so a place on one
// is some way from the nearest land: 100 km finds almost all.
func CountriesAt(lon, lat, metres float64) []Nearby {
	if math.IsNaN(lon) || math.IsNaN(lat) || lat < -90 || lat > 90 || lon < -360 || lon > 360 {
		return nil
	}
	lon = geo.Wrap(lon)
	t := countries()
	found := map[string]Nearby{}
	scale := max(math.Cos(lat*math.Pi/180), 0.01)
	dy := max(metres, 0) / metresPerDegree
	for i, span := range t.spans {
		if lat < span.south-dy || lat > span.north+dy {
			continue
		}
		p := &t.polygons[i]
		d := p.distance(lon, lat, scale, max(metres, 0))
		if math.IsInf(d, 1) {
			continue
		}
		n := t.atlas.areas[p.area]
		for code := range strings.SplitSeq(n.code, ",") {
			if had, ok := found[code]; ok && had.Metres <= d {
				continue
			}
			c, _ := CountryByCode(code)
			found[code] = Nearby{Code: code, Name: c.Name, Metres: d, Note: n.note, extent: (p.east - p.west) * (p.north - p.south)}
		}
	}
	all := make([]Nearby, 0, len(found))
	for _, n := range found {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b Nearby) int {
		return cmp.Or(cmp.Compare(a.Metres, b.Metres), cmp.Compare(a.extent, b.extent), cmp.Compare(a.Code, b.Code))
	})
	return all
}

// countryTable is what is kept of countries once one was asked for, about 2 MB.
type countryTable struct {
	atlas    *atlas
	list     []Country
	polygons []polygon
	spans    []span // of polygons, apart from them: most are looked at no further
}

// span is from where to where a polygon reaches in latitude.
type span struct{ south, north float64 }

// polygon is a polygon of a country, in degrees, and its bounds.
type polygon struct {
	area                     int // in atlas.areas
	west, south, east, north float64
	rings                    [][][2]float32
}

// countries is the table; it panics if the program was built with a file that the generator did not make.
var countries = sync.OnceValue(func() *countryTable {
	a, err := readAtlas(packedCountries)
	if err != nil {
		panic(fmt.Sprintf("countries.bin.br: %v", err))
	}
	t := &countryTable{atlas: a}
	byCode := map[string]*Country{}
	for i, n := range a.areas {
		codes, names := strings.Split(n.code, ","), strings.Split(n.name, ", ")
		for k, code := range codes {
			c := byCode[code]
			if c == nil {
				c = &Country{Code: code}
				byCode[code] = c
			}
			if len(codes) == 1 {
				c.Name = n.name
			} else if c.Name == "" && len(names) == len(codes) {
				c.Name = names[k]
			}
			if n.note != "" {
				c.Notes = append(c.Notes, n.note)
			}
		}
		for steps, first := range a.polygons(n) {
			if first {
				t.polygons = append(t.polygons, polygon{area: i, west: 180, south: 90, east: -180, north: -90})
			}
			p := &t.polygons[len(t.polygons)-1]
			ring := make([][2]float32, len(steps))
			for j, s := range steps {
				x, y := float64(s[0])/a.unit, float64(s[1])/a.unit
				ring[j] = [2]float32{float32(x), float32(y)}
				p.west, p.east = min(p.west, x), max(p.east, x)
				p.south, p.north = min(p.south, y), max(p.north, y)
			}
			p.rings = append(p.rings, ring)
		}
	}
	for _, p := range t.polygons {
		t.spans = append(t.spans, span{p.south, p.north})
	}
	a.lines = nil // the polygons have them now
	for _, c := range byCode {
		t.list = append(t.list, *c)
	}
	slices.SortFunc(t.list, func(a, b Country) int { return cmp.Compare(a.Code, b.Code) })
	return t
})

const metresPerDegree = 111_195 // of a sphere of 6,371 km, as geo.Distance has it

// distance returns how far a place is from a polygon whose span it is near: 0 inside, +Inf beyond maxMetres. On the scale of the place
// itself a degree of longitude is scale degrees of latitude; not quite none at the poles.
func (p *polygon) distance(lon, lat, scale, maxMetres float64) float64 {
	best := math.Inf(1)
	dy := maxMetres / metresPerDegree
	dx, low, high := dy/scale, lat-dy, lat+dy
	for _, x := range [3]float64{lon, lon - 360, lon + 360} {
		if x < p.west-dx || x > p.east+dx {
			continue
		}
		inside := false
		near := math.Inf(1)
		for _, ring := range p.rings {
			for i := 1; i < len(ring); i++ {
				ay, by := float64(ring[i-1][1]), float64(ring[i][1])
				if ay < low && by < low || ay > high && by > high { // most are
					continue
				}
				ax, bx := float64(ring[i-1][0]), float64(ring[i][0])
				if (ay > lat) != (by > lat) && x < (bx-ax)*(lat-ay)/(by-ay)+ax {
					inside = !inside
				}
				if max(ax, bx) < x-dx || min(ax, bx) > x+dx {
					continue
				}
				ux, uy := (bx-ax)*scale, by-ay
				vx, vy := (x-ax)*scale, lat-ay
				if l := ux*ux + uy*uy; l > 0 {
					k := min(max((ux*vx+uy*vy)/l, 0), 1)
					vx, vy = vx-k*ux, vy-k*uy
				}
				near = min(near, vx*vx+vy*vy)
			}
		}
		if inside {
			return 0
		}
		if d := math.Sqrt(near) * metresPerDegree; d <= maxMetres {
			best = min(best, d)
		}
	}
	return best
}

// outlineAtlas is the atlas of outlines; it panics if the program was built with a file that the generator did not make.
var outlineAtlas = sync.OnceValue(func() *atlas {
	a, err := readAtlas(packedOutlines)
	if err != nil {
		panic(fmt.Sprintf("outlines.bin.br: %v", err))
	}
	return a
})

// outlines is, by code, the area of a country, made when it is first asked for.
var outlines = sync.OnceValue(func() map[string]func() geo.Shape {
	a := outlineAtlas()
	parts := map[string][]area{}
	for _, n := range a.areas {
		if !strings.Contains(n.code, ",") {
			parts[n.code] = append(parts[n.code], n)
		}
	}
	made := make(map[string]func() geo.Shape, len(parts))
	for code, all := range parts {
		made[code] = sync.OnceValue(func() geo.Shape {
			s, err := a.shape(all...)
			if err != nil {
				panic(fmt.Sprintf("outlines.bin.br: %s: %v", code, err))
			}
			return s
		})
	}
	return made
})
