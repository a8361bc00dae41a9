package population

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/atlas/town"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/raster"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Area is a geometry of a hazard, with its role.
type Area struct {
	Role  hazard.AreaRole
	Shape geo.Shape
}

// Maximum lengths of the lists of an exposure.
const (
	maxPlaces    = 10
	maxCountries = 12
	maxDivisions = 50
	nearKm       = 100 // maximum distance of a town outside
)

// Drawn is the total area that sources have drawn of a hazard for one quantity and value, or for
// one role.
type Drawn struct {
	Kind  string
	Value float64
	Shape geo.Shape // zero: the area is unknown
}

// Place is a town in the area of a hazard or near its point.
type Place struct {
	Name, Country string // country as two letters (ISO 3166-1)
	People        int64
	Inside        bool
	Km            float64 // from the hazard's point
	Bearing       float64 // direction from the hazard's point to the town: 0 north, 90 east
	Lon, Lat      float64
}

// Expose counts the people in the areas of a hazard and in the areas drawn for it. The people are
// those of the alert area or, if there is none, of the impact area. Every other role with an area
// gets a band. Unknown numbers are nil, never 0. If the grid lacks data, everything is counted with
// the built-in one, and Method names that one.
func Expose(g *Grid, key string, areas []Area, drawn []Drawn, lon, lat float64) (*hazard.Exposure, error) {
	e, err := expose(g, key, areas, drawn, lon, lat)
	if errors.Is(err, errNoData) {
		e, err = expose(g.fallback, key, areas, drawn, lon, lat)
	}
	if err == nil {
		e.Grid = g.ID
	}
	return e, err
}

// errNoData means that a grid lacks data for too much of an area.
var errNoData = errors.New("the grid has no data for a part of the area")

// maxMissing is the maximum share of an area's people that may live where a grid has no data.
const maxMissing = 0.05

func expose(g *Grid, key string, areas []Area, drawn []Drawn, lon, lat float64) (*hazard.Exposure, error) {
	e := &hazard.Exposure{Of: key, Grid: g.ID, Method: g.Name, Year: g.Year}
	main := geo.Shape{}
	for _, role := range []hazard.AreaRole{hazard.AlertArea, hazard.ImpactArea} {
		whole, err := unionOf(areas, role)
		if err != nil {
			return nil, err
		}
		if whole.IsZero() {
			continue
		}
		people, err := count(g, whole)
		if errors.Is(err, raster.ErrIntricate) {
			e.Why = hazard.WhyIntricate
		} else if err != nil {
			return nil, err
		}
		if main.IsZero() {
			main, e.People = whole, people
		} else {
			e.Bands = append(e.Bands, hazard.ExposedBand{Kind: string(role), People: people})
		}
	}
	for _, d := range drawn {
		band := hazard.ExposedBand{Kind: d.Kind, Value: d.Value}
		if !d.Shape.IsZero() {
			people, err := count(g, d.Shape)
			if err != nil && !errors.Is(err, raster.ErrIntricate) {
				return nil, err
			}
			band.People = people // the area is too complex: unknown
		}
		e.Bands = append(e.Bands, band)
	}
	if main.IsZero() {
		e.Why = hazard.WhyNoArea
	}
	_, e.Countries, _ = townsOf(main, lon, lat)
	return e, nil
}

// Region is a first-order division of a country in which an area lies.
type Region struct {
	Code, Name string
	// ByTowns reports that towns of the area are in the region, but its boundary is unknown. Then
	// the code is GeoNames' own. Otherwise it is an ISO 3166-2 code.
	ByTowns bool
}

// Towns lists the largest towns of the area in which Expose counts people. If there are too few, it
// adds the most relevant towns near the point.
//
// It also lists regions. First come the states with known boundaries, by code: those where the area
// has a town or its middle, or where the point is. Then come the divisions of other countries that
// contain towns of the area, those with the most people in these towns first. The list may be
// incomplete: people outside these towns, and towns without a known division, are not considered.
func Towns(areas []Area, lon, lat float64) ([]Place, []Region, error) {
	main, err := unionOf(areas, hazard.AlertArea)
	if err == nil && main.IsZero() {
		main, err = unionOf(areas, hazard.ImpactArea)
	}
	if err != nil {
		return nil, nil, err
	}
	places, countries, inside := townsOf(main, lon, lat)
	return places, append(statesOf(countries, inside, main, lon, lat), divisionsOf(inside)...), nil
}

// divisionsOf returns the divisions of some towns, for countries whose state boundaries are
// unknown.
func divisionsOf(inside map[int32]bool) (list []Region) {
	x := townIndex()
	people := map[Region]int{}
	for i := range inside {
		if d, ok := x.towns[i].Division(); ok && len(region.StatesOf(x.towns[i].Country)) == 0 {
			people[Region{Code: d.Code, Name: d.Name, ByTowns: true}] += x.towns[i].People
		}
	}
	for r := range people {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Region) int { return cmp.Or(cmp.Compare(people[b], people[a]), cmp.Compare(a.Code, b.Code)) })
	return list[:min(len(list), maxDivisions)]
}

// statesOf returns the states of the countries that contain one of some towns, the middle of an
// area, or a point.
func statesOf(countries []string, inside map[int32]bool, area geo.Shape, lon, lat float64) (states []Region) {
	x := townIndex()
	for _, c := range countries {
		for _, s := range region.StatesOf(c) {
			found := s.Holds(lon, lat)
			if !found && !area.IsZero() {
				found = s.Holds(area.Point())
			}
			for i := range inside {
				if found = found || s.Holds(x.towns[i].Lon, x.towns[i].Lat); found {
					break
				}
			}
			if found {
				states = append(states, Region{Code: s.Code, Name: s.Name})
			}
		}
	}
	return states
}

// unionOf returns the union of all areas of a role; zero if there is none.
func unionOf(areas []Area, role hazard.AreaRole) (geo.Shape, error) {
	var shapes []geo.Shape
	for _, a := range areas {
		if a.Role == role && a.Shape.AreaKm2() > 0 {
			shapes = append(shapes, a.Shape)
		}
	}
	if len(shapes) == 0 {
		return geo.Shape{}, nil
	}
	return geo.Union(shapes...)
}

// count returns the people of an area, as an estimate.
func count(g *Grid, s geo.Shape) (*hazard.Estimate, error) {
	if g.fallback != nil && !g.holds(s) {
		return nil, errNoData
	}
	sum, err := g.sum(s)
	if err != nil {
		return nil, err
	}
	if sum.Missing > maxMissing*(sum.People+sum.Missing) {
		return nil, errNoData
	}
	return &hazard.Estimate{People: int64(math.Round(sum.People)), Low: int64(sum.Low), High: int64(math.Ceil(sum.High))}, nil
}

// index holds all towns, by tile of the built-in grid. It consists of three slices, because a map
// of slices needed three times the memory.
type index struct {
	towns []town.Town
	tiles []int32 // tiles with towns, in order
	from  []int32 // index of the first town of each tile; at the end the number of towns
}

var townIndex = sync.OnceValue(func() *index {
	x := &index{towns: slices.Collect(town.Between(-90, 90))}
	x.towns = slices.Clip(x.towns)
	slices.SortStableFunc(x.towns, func(a, b town.Town) int { return cmp.Compare(tileOf(a.Lon, a.Lat), tileOf(b.Lon, b.Lat)) })
	for i, t := range x.towns {
		if tile := int32(tileOf(t.Lon, t.Lat)); len(x.tiles) == 0 || x.tiles[len(x.tiles)-1] != tile {
			x.tiles, x.from = append(x.tiles, tile), append(x.from, int32(i))
		}
	}
	x.from = append(x.from, int32(len(x.towns)))
	return x
})

// in returns the numbers of the towns in a tile, from first up to but not including end.
func (x *index) in(tile int) (first, end int32) {
	i, ok := slices.BinarySearch(x.tiles, int32(tile))
	if !ok {
		return 0, 0
	}
	return x.from[i], x.from[i+1]
}

// tileOf returns the tile of the built-in grid that contains a position.
func tileOf(lon, lat float64) int {
	col, row := cellOf(lon, lat)
	return row/builtin.Side*builtin.Cols + col/builtin.Side
}

// cellOf returns the cell of the built-in grid that contains a position.
func cellOf(lon, lat float64) (col, row int) {
	col, row = int((lon-builtin.West)/builtin.Cell), int((builtin.North-lat)/builtin.Cell)
	return max(0, min(col, builtin.Cols*builtin.Side-1)), max(0, min(row, builtin.Rows*builtin.Side-1))
}

// townsOf returns the largest towns of an area and, if there are too few, the most relevant towns
// near the point. It also returns the sorted codes of the countries, and the numbers of all towns
// inside.
func townsOf(area geo.Shape, lon, lat float64) (places []Place, codes []string, inside map[int32]bool) {
	x := townIndex()
	inside = map[int32]bool{}
	countries := map[string]bool{}
	if !area.IsZero() {
		_ = builtin.Cover(area, func(col, row int, share float64, shares []float64) error { // too complex: then no town is known to be inside
			for i, end := x.in(row*builtin.Cols + col); i < end; i++ {
				t := &x.towns[i]
				within := share
				if shares != nil {
					c, r := cellOf(t.Lon, t.Lat)
					within = shares[r%builtin.Side*builtin.Side+c%builtin.Side]
				}
				if within >= 1-1e-6 || within > 1e-6 && geo.Intersects(geo.Place(t.Lon, t.Lat), area) {
					inside[i] = true
					countries[t.Country] = true
				}
			}
			return nil
		})
	}
	at := func(i int32) Place {
		t := &x.towns[i]
		return Place{Name: t.Name, Country: t.Country, People: int64(t.People), Inside: inside[i], Km: math.Round(geo.Distance(lon, lat, t.Lon, t.Lat)/100) / 10,
			Bearing: math.Round(town.Bearing(lon, lat, t.Lon, t.Lat)), Lon: t.Lon, Lat: t.Lat}
	}
	for i := range inside {
		places = append(places, at(i))
	}
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(b.People, a.People), cmp.Compare(a.Km, b.Km), cmp.Compare(a.Name, b.Name))
	})
	places = places[:min(len(places), maxPlaces)]
	var near []Place
	const degrees = nearKm / degreeKm
	wide := degrees / max(math.Cos(math.Min(math.Abs(lat)+degrees, 89)*math.Pi/180), 0.02)
	side := builtin.Cell * float64(builtin.Side)
	for row := math.Floor((lat - degrees) / side); row <= math.Floor((lat+degrees)/side); row++ {
		for col := math.Floor((lon - wide) / side); col <= math.Floor((lon+wide)/side) && col-math.Floor((lon-wide)/side) < float64(builtin.Cols); col++ {
			for i, end := x.in(tileOf(geo.Wrap((col+0.5)*side), (row+0.5)*side)); i < end; i++ {
				if p := at(i); !p.Inside && p.Km <= nearKm {
					near = append(near, p)
				}
			}
		}
	}
	// Large and close towns count more. A town at 10 km counts half as much as one at the point.
	weight := func(p Place) float64 { return float64(p.People) / (10 + p.Km) }
	slices.SortFunc(near, func(a, b Place) int {
		return cmp.Or(cmp.Compare(weight(b), weight(a)), cmp.Compare(a.Name, b.Name))
	})
	near = slices.Compact(near)
	near = near[:min(len(near), maxPlaces-len(places), maxPlaces/2)]
	places = append(places, near...)
	polygons := area.Polygons()
	for _, polygon := range polygons[:min(len(polygons), 2*maxCountries)] {
		for _, c := range region.CountriesAt(polygon[0][0][0], polygon[0][0][1], 0) {
			countries[c.Code] = true
		}
	}
	for _, c := range region.CountriesAt(lon, lat, 0) {
		countries[c.Code] = true
	}
	for c := range countries {
		codes = append(codes, c)
	}
	slices.Sort(codes)
	return places, codes[:min(len(codes), maxCountries)], inside
}
