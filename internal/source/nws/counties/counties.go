// Package counties knows the area of each county of the United States, for alerts that name places but draw none.
//
// It holds the 3,231 counties and county equivalents of 2017, with the District of Columbia, Puerto Rico, the U.S. Virgin
// Islands, Guam, American Samoa and the Northern Marianas, by their five-digit FIPS code, at a scale of 1:10,000,000: a
// boundary may be wrong by some kilometres. The National Weather Service still uses the codes of that year, so
// Connecticut is in its eight counties and not in planning regions; newer and older codes are taken where one county has
// the same land (see aliases).
//
// The table is part of the program. It is unpacked when first asked, and the area of a county when that county is first
// asked. Forecast zones and marine areas are not counties: for them there is nothing here. Any number of goroutines may ask
// at once. What is returned is the caller's, except that shapes, being immutable, are shared.
package counties

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hazardd/hazardd/internal/geo"
)

//go:generate npm ci --prefix gen
//go:generate go run ./gen

// packed is the table that gen makes; its main.go tells the format.
//
//go:embed counties.bin.gz
var packed []byte

// A County is a county, parish, borough, census area, independent city or the like.
type County struct {
	FIPS  string    // five digits, those of the state first
	Name  string    // without the word County: Lake and Peninsula
	State string    // two letters of the postal service
	Shape geo.Shape // area, never empty
}

// ByFIPS is the county of a five-digit code. An older or newer code of one of the counties is found as well; the county
// then has the code of the table.
func ByFIPS(fips string) (County, bool) {
	if to, ok := aliases[fips]; ok {
		fips = to
	}
	t := table()
	i, ok := slices.BinarySearchFunc(t, fips, func(c *entry, fips string) int { return cmp.Compare(c.FIPS, fips) })
	if !ok {
		return County{}, false
	}
	return t[i].county(), true
}

// BySAME is the counties of a code of Specific Area Message Encoding, PSSCCC: P is the part of the county, which stands
// for the whole of it, SS the state, CCC the county, or 000 for the whole state. It is nil for what is not land of the
// table, such as the Gulf of Mexico (077650).
func BySAME(same string) []County {
	if len(same) != 6 || !digits(same) {
		return nil
	}
	return find(same[1:3], same[3:])
}

// ByUGC is the counties of a Universal Geographic Code: the letters of a state, C, and the three digits of the county, or
// 000 or ALL for the whole state. It is nil for zones (INZ021), marine areas and what is not in the table.
func ByUGC(ugc string) []County {
	if len(ugc) != 6 || ugc[2] != 'C' {
		return nil
	}
	state, ok := stateCodes[ugc[:2]]
	if !ok {
		return nil
	}
	if ugc[3:] == "ALL" {
		return find(state, "000")
	}
	if !digits(ugc[3:]) {
		return nil
	}
	return find(state, ugc[3:])
}

// find is the counties of a state's two digits and a county's three, or 000.
func find(state, county string) []County {
	if county != "000" {
		if c, ok := ByFIPS(state + county); ok {
			return []County{c}
		}
		return nil
	}
	var all []County
	for _, c := range table() {
		if strings.HasPrefix(c.FIPS, state) {
			all = append(all, c.county())
		}
	}
	return all
}

func digits(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// aliases are codes that counties of the table had before or have had since, by the list of "Substantial Changes to
// Counties and County Equivalent Entities" of the U.S. Census Bureau.
var aliases = map[string]string{
	"02063": "02261", // Chugach, part of Valdez-Cordova until 2019
	"02066": "02261", // Copper River, the other part
	"02270": "02158", // Wade Hampton, Kusilvak since 2015
	"12025": "12086", // Dade, Miami-Dade since 1997
	"46113": "46102", // Shannon, Oglala Lakota since 2015
	"51515": "51019", // the city of Bedford, in Bedford since 2013
	"51560": "51005", // the city of Clifton Forge, in Alleghany since 2001
	"51780": "51083", // the city of South Boston, in Halifax since 1995
}

// stateCodes are the FIPS codes of states and territories by their postal letters.
var stateCodes = map[string]string{
	"AL": "01", "AK": "02", "AZ": "04", "AR": "05", "CA": "06", "CO": "08", "CT": "09", "DE": "10", "DC": "11", "FL": "12",
	"GA": "13", "HI": "15", "ID": "16", "IL": "17", "IN": "18", "IA": "19", "KS": "20", "KY": "21", "LA": "22", "ME": "23",
	"MD": "24", "MA": "25", "MI": "26", "MN": "27", "MS": "28", "MO": "29", "MT": "30", "NE": "31", "NV": "32", "NH": "33",
	"NJ": "34", "NM": "35", "NY": "36", "NC": "37", "ND": "38", "OH": "39", "OK": "40", "OR": "41", "PA": "42", "RI": "44",
	"SC": "45", "SD": "46", "TN": "47", "TX": "48", "UT": "49", "VT": "50", "VA": "51", "WA": "53", "WV": "54", "WI": "55",
	"WY": "56", "AS": "60", "GU": "66", "MP": "69", "PR": "72", "VI": "78",
}

// entry is a county of the table, its Shape still packed.
type entry struct {
	County
	shape func() geo.Shape
}

func (e *entry) county() County {
	c := e.County
	c.Shape = e.shape()
	return c
}

// table is the counties by ascending code. It panics if the program was built with a file that gen did not make.
var table = sync.OnceValue(func() []*entry {
	t, err := unpack(packed)
	if err != nil {
		panic(fmt.Sprintf("counties.bin.gz: %v", err))
	}
	return t
})

// unpack reads the table but for the areas.
func unpack(packed []byte) ([]*entry, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	letters := make(map[string]string, len(stateCodes))
	for state, code := range stateCodes {
		letters[code] = state
	}
	r := reader{rest: data}
	var t []*entry
	for range r.count() {
		e := &entry{}
		e.FIPS = fmt.Sprintf("%05d", r.count())
		e.State = letters[e.FIPS[:2]]
		e.Name = string(r.bytes(r.count()))
		start := r.rest
		r.polygons(nil)
		area := start[:len(start)-len(r.rest)]
		e.shape = sync.OnceValue(func() geo.Shape { return shapeOf(e.FIPS, area) })
		if r.failed || e.State == "" {
			return nil, fmt.Errorf("the entry after %d others is broken", len(t))
		}
		t = append(t, e)
	}
	if r.failed || len(r.rest) > 0 {
		return nil, fmt.Errorf("%d bytes are left after %d entries", len(r.rest), len(t))
	}
	return t, nil
}

// shapeOf is the area that is packed for a county.
func shapeOf(fips string, area []byte) geo.Shape {
	r := reader{rest: area}
	s, err := geo.ParseLoose(r.polygons([]byte{}))
	if err != nil {
		panic(fmt.Sprintf("counties.bin.gz: county %s: %v", fips, err))
	}
	return s
}

// reader reads the varints of the table. After the first that is not there it has failed and reads zeros.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) skip(n int) {
	if n <= 0 {
		r.failed, r.rest = true, nil
		return
	}
	r.rest = r.rest[n:]
}

func (r *reader) count() int {
	v, n := binary.Uvarint(r.rest)
	r.skip(n)
	return int(v)
}

func (r *reader) step() int {
	v, n := binary.Varint(r.rest)
	r.skip(n)
	return int(v)
}

func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.failed, r.rest = true, nil
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// polygons reads the area of a county and appends it to text as GeoJSON, unless text is nil.
func (r *reader) polygons(text []byte) []byte {
	write := func(s string) {
		if text != nil {
			text = append(text, s...)
		}
	}
	// each reads a number and calls one so many times, with brackets around and commas between.
	each := func(one func()) {
		write("[")
		for i := range r.count() {
			if r.failed {
				return
			}
			if i > 0 {
				write(",")
			}
			one()
		}
		write("]")
	}
	const perDegree = 10_000
	var x, y int
	position := func() {
		x, y = x+r.step(), y+r.step()
		if text != nil {
			text = append(text, '[')
			text = strconv.AppendFloat(text, float64(x)/perDegree, 'f', -1, 64)
			text = append(text, ',')
			text = strconv.AppendFloat(text, float64(y)/perDegree, 'f', -1, 64)
			text = append(text, ']')
		}
	}
	write(`{"type":"MultiPolygon","coordinates":`)
	each(func() { each(func() { each(position) }) })
	write("}")
	return text
}
