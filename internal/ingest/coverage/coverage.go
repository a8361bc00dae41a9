// Package coverage says whether an empty answer for a place means that there is no hazard. For this
// it determines which sources give official warnings there or observe it, for which types of
// hazards, and whether they are read.
//
// The descriptions of sources say what they cover (source.Coverage). A Map is made from these once,
// and is immutable. Its answer depends only on the descriptions, the place, and how current the
// sources are (Readings). So every node with the same states of sources gives the same answer.
//
// # The answers
//
// For one type at one place:
//
//   - Covered: a fresh source is responsible for the type there.
//   - Stale: sources are responsible and polled, but none is fresh.
//   - Unknown: no polled source says that it is responsible.
//
// For the types in Observed, a source that observes the place counts as responsible. A source is
// fresh if GET /sources calls it neither stale nor starting: it was read within two intervals and
// three minutes, so it may miss one read.
//
// For a place without a type, the answer is about official warnings in general. It is Unknown
// unless some source is responsible there for storms, or does not state its types. Otherwise it is
// Stale if that, or any type with a responsible source, is stale, and else Covered. Observing the
// earthquakes of the world makes no place covered.
//
// Positions are WGS 84, longitude before latitude, in degrees. The package knows neither HTTP nor
// SQL.
package coverage

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Word is the answer to "am I covered?".
type Word string

// The words, best first.
const (
	Covered Word = "covered"
	Stale   Word = "stale"
	Unknown Word = "unknown"
)

var rank = map[Word]int{Covered: 0, Stale: 1, Unknown: 2}

// worse returns the worse of two words. An empty word is ignored.
func worse(a, b Word) Word {
	if a == "" || b != "" && rank[b] > rank[a] {
		return b
	}
	return a
}

// observed are the types without warnings ahead: networks that observe all countries alike report
// them after they happen. For these, an observing source is enough.
var observed = []hazard.Type{hazard.Earthquake}

// general is the type that stands for official warnings in general, because every weather service
// warns of it.
const general = hazard.Storm

// Reading is the state of a source, or of one of its feeds.
type Reading struct {
	State string // as in GET /sources
	// Polled: somebody reads it. Fresh: it was read within its interval and the grace.
	Polled, Fresh bool
	LastSuccess   *time.Time // nil: never
}

// Source is the state of a source and of its feeds, in the order of its description.
type Source struct {
	Reading
	Feeds []Reading
}

// Readings holds the states of sources, by name. A missing source is not polled.
type Readings map[string]Source

// Any reports whether a source is polled.
func (r Readings) Any() bool {
	for _, s := range r {
		if s.Polled {
			return true
		}
	}
	return false
}

// Map holds what sources cover.
type Map struct {
	sources    []source.Source
	statements []statement
	countries  map[string][]int // statements by country
	anywhere   []int            // statements about the world
	areas      []area
	reach      float64 // the farthest that a statement reaches off a coast, in metres
}

// statement is a source's statement of its coverage.
type statement struct {
	*source.Coverage
	source int
	types  []hazard.Type // nil: not stated
	feed   int           // in Source.Feeds; -1: all
}

// area is an area in statements that is not a country.
type area struct {
	source.Area
	id         string // in the layer
	bounds     geo.Box
	statements []int
}

// New makes the Map of sources. The error names an unknown country.
func New(sources []source.Source) (*Map, error) {
	m := &Map{sources: slices.Clone(sources), countries: map[string][]int{}}
	var errs []error
	for i := range m.sources {
		s := &m.sources[i]
		for _, c := range s.Covered() {
			if c.Role == source.RoleUnknown {
				continue
			}
			n := len(m.statements)
			m.statements = append(m.statements, statement{&c, i, s.TypesOf(&c), slices.IndexFunc(s.Feeds, func(f source.Feed) bool { return f.URL == c.Feed })})
			if c.World {
				m.anywhere = append(m.anywhere, n)
			}
			for _, code := range c.Countries {
				if _, ok := region.CountryByCode(code); !ok {
					errs = append(errs, fmt.Errorf("source %q: countries: %q is not a country (ISO 3166-1 alpha-2)", s.Name, code))
				}
				m.countries[code] = append(m.countries[code], n)
				m.reach = max(m.reach, c.Reach()*1000)
			}
			for _, a := range c.Areas {
				m.addArea(a, n)
			}
		}
	}
	return m, errors.Join(errs...)
}

// addArea adds an area of a statement. Areas with the same name and bounds are the same; another
// area with that name gets a number in its id.
func (m *Map) addArea(a source.Area, statement int) {
	bounds := geo.BoundsOf(a.Shape)
	if i := slices.IndexFunc(m.areas, func(b area) bool { return b.Name == a.Name && b.bounds == bounds }); i >= 0 {
		m.areas[i].statements = append(m.areas[i].statements, statement)
		return
	}
	id := "area:" + a.Name
	for n := 2; slices.ContainsFunc(m.areas, func(b area) bool { return b.id == id }); n++ {
		id = fmt.Sprintf("area:%s-%d", a.Name, n)
	}
	m.areas = append(m.areas, area{a, id, bounds, []int{statement}})
}

// Place is a place with the sources that cover it.
type Place struct {
	Lon, Lat float64
	// Countries are those that the place lies in; none, on the high seas. At sea it is the country whose coast is
	// nearest, with the distance.
	Countries []region.Nearby
	// covers are the statements that hold there, in ascending order.
	covers []int
}

const (
	territorial = source.TerritorialSea * 1000 // metres
	// border is how much farther than the nearest coast another country's may be to count too, in metres: twice what the
	// borders that we know may be wrong by.
	border = 4000
)

// At returns the place at a longitude and a latitude.
//
// On land, a statement about a country applies within its border. At sea it applies up to the
// stated distance from the coast, where no other country's coast is nearer: countries with opposite
// coasts have the sea up to the median line (United Nations Convention on the Law of the Sea,
// article 15).
func (m *Map) At(lon, lat float64) *Place {
	p := &Place{Lon: lon, Lat: lat}
	near := region.CountriesAt(lon, lat, territorial)
	if len(near) == 0 && m.reach > territorial {
		near = region.CountriesAt(lon, lat, m.reach)
	}
	covers := slices.Clone(m.anywhere)
	for _, n := range near {
		if n.Metres > near[0].Metres+border || near[0].Metres == 0 && n.Metres > 0 {
			break
		}
		if n.Metres <= territorial {
			p.Countries = append(p.Countries, n)
		}
		for _, i := range m.countries[n.Code] {
			if c := m.statements[i].Coverage; n.Metres <= c.Reach()*1000 && (len(c.Within) == 0 || slices.ContainsFunc(c.Within, func(a source.Area) bool { return holds(a.Shape, lon, lat) })) {
				covers = append(covers, i)
			}
		}
	}
	for _, a := range m.areas {
		if holds(a.Shape, lon, lat) {
			covers = append(covers, a.statements...)
		}
	}
	slices.Sort(covers)
	p.covers = slices.Compact(covers)
	return p
}

// holds reports whether a shape contains a place, including its border. The antimeridian has two
// longitudes.
func holds(s geo.Shape, lon, lat float64) bool {
	return geo.Intersects(geo.Place(lon, lat), s) || math.Abs(lon) == 180 && geo.Intersects(geo.Place(-lon, lat), s)
}
