package source

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Role is the role of a source for the places that it covers.
type Role int

// The roles. The zero Role is invalid: every source must state one.
const (
	// RoleResponsible means that the source issues the official warnings or notices for the place.
	RoleResponsible Role = iota + 1
	// RoleWatches means that the source observes or models the place, but issues no official
	// warnings there.
	RoleWatches
	// RoleUnknown means that it is unknown which places the source covers. It makes no place
	// covered.
	RoleUnknown
)

var roleNames = []string{"", "responsible", "watches", "unknown"}

func (r Role) String() string {
	if r < 0 || int(r) >= len(roleNames) {
		return fmt.Sprintf("role %d", int(r))
	}
	return roleNames[r]
}

// Coverage is one statement about what a source covers: if the source reports nothing for these
// places, it knows of no hazard there. The places are World, Countries and Areas together.
type Coverage struct {
	Role Role
	// Types are the types of hazards that it reports there. nil means the types of the source; if
	// the source has none either, they are unknown.
	Types []hazard.Type
	// World means all places.
	World bool
	// Countries are whole countries, as ISO 3166-1 alpha-2 codes, with their territorial sea.
	Countries []string
	// Sea is how far it reaches from the coasts of Countries, in kilometers; 0 means the
	// territorial sea (TerritorialSea).
	Sea float64
	// Within, if not empty, limits Countries to their parts in one of these areas.
	Within []Area
	// Areas are parts of the world that are not countries, such as an ocean basin.
	Areas []Area
	// From is the smallest event that it reports, for people: "M 4.5"; empty means everything it
	// warns about.
	From string
	// Feed is the address of the only feed with these places; empty means all feeds of the source.
	Feed string
	// Cite is the origin of the statement: the publisher's documentation, or a treaty.
	Cite string
}

// TerritorialSea is how far a state's sovereignty reaches from its coast, in kilometers: 12
// nautical miles (United Nations Convention on the Law of the Sea, articles 2 and 3).
const TerritorialSea = 22.224

// Area is a part of the world with a name.
type Area struct {
	Name  string
	Shape geo.Shape
}

// maxSea bounds Coverage.Sea, in kilometers: an exclusive economic zone reaches 370.
const maxSea = 500

var countryForm = regexp.MustCompile(`^[A-Z]{2}$`)

// Box is an area between two meridians and two parallels, in degrees. If west is greater than east,
// it crosses the antimeridian.
func Box(name string, west, south, east, north float64) Area {
	return Area{Name: name, Shape: geo.Box{West: west, South: south, East: east, North: north}.Shape()}
}

// Covered returns what the source covers. A source that only states countries covers these
// according to its rank: the duty of an office, and messages passed on by a national authority, are
// official.
func (s *Source) Covered() []Coverage {
	if s.Coverage != nil {
		return s.Coverage
	}
	if s.Countries == nil {
		return nil
	}
	c := Coverage{Countries: s.Countries, Cite: "the country of the publisher"}
	by := map[Role][]hazard.Type{}
	for _, info := range hazard.Types() {
		if rank, ok := s.Rank.Of(info.ID); ok && s.Reports(info.ID) {
			by[roleOf(rank)] = append(by[roleOf(rank)], info.ID)
		}
	}
	if s.Types == nil { // it is not documented which of these types it warns about
		rank, _ := s.Rank.Of("")
		c.Role = roleOf(rank)
		return []Coverage{c}
	}
	var all []Coverage
	for _, role := range []Role{RoleResponsible, RoleWatches} {
		if c.Role, c.Types = role, by[role]; c.Types != nil {
			all = append(all, c)
		}
	}
	return all
}

// roleOf returns the role of a source of that rank in its own country.
func roleOf(r Rank) Role {
	if r == Responsible || r == National {
		return RoleResponsible
	}
	return RoleWatches
}

// TypesOf returns the types of a statement of the source; nil means unknown.
func (s *Source) TypesOf(c *Coverage) []hazard.Type {
	if c.Types != nil {
		return c.Types
	}
	return s.Types
}

// checkCoverage calls fault for each missing or impossible part of a statement.
func (s *Source) checkCoverage(fault func(format string, args ...any)) {
	all := s.Covered()
	if len(all) == 0 {
		fault("coverage: missing; expected countries, areas or the world, or the role unknown with its reason")
	}
	for i := range all {
		c := &all[i]
		fault := func(format string, args ...any) {
			fault("coverage %d: "+format, append([]any{i + 1}, args...)...)
		}
		if c.Role < RoleResponsible || c.Role > RoleUnknown {
			fault("role: %d is none of responsible, watches, unknown", int(c.Role))
		}
		if c.Cite == "" {
			fault("cite: missing; expected the document that says what the source covers")
		}
		somewhere := c.World || len(c.Countries) > 0 || len(c.Areas) > 0
		switch {
		case c.Role == RoleUnknown && somewhere:
			fault("places are not allowed if the role is unknown")
		case c.Role != RoleUnknown && !somewhere:
			fault("no places; expected countries, areas or the world")
		}
		for _, t := range c.Types {
			if _, ok := t.Info(); !ok || !s.Reports(t) {
				fault("types: %q is not a type that the source reports", string(t))
			}
		}
		for j, code := range c.Countries {
			if !countryForm.MatchString(code) {
				fault("countries: %.20q is not two capital letters (ISO 3166-1 alpha-2)", code)
			}
			if slices.Contains(c.Countries[:j], code) {
				fault("countries: %q is listed twice", code)
			}
		}
		if !(c.Sea >= 0 && c.Sea <= maxSea) || c.Sea > 0 && len(c.Countries) == 0 {
			fault("sea: %v km, expected 0 to %d, with countries", c.Sea, maxSea)
		}
		if len(c.Within) > 0 && len(c.Countries) == 0 {
			fault("within: only allowed with countries")
		}
		for _, a := range slices.Concat(c.Areas, c.Within) {
			if a.Name == "" {
				fault("areas: one has no name")
			}
			if len(a.Shape.Polygons()) == 0 {
				fault("areas: %q is not an area", a.Name)
			}
		}
		if c.Feed != "" && !slices.ContainsFunc(s.Feeds, func(f Feed) bool { return f.URL == c.Feed }) {
			fault("feed: %.200q is none of the source's", c.Feed)
		}
	}
}

// AboutCoverage is a Coverage as JSON of GET /sources.
type AboutCoverage struct {
	Role        string        `json:"role"`
	Types       []hazard.Type `json:"types"`        // [] if they are not stated
	TypesStated bool          `json:"types_stated"` // false if it is unknown which types it reports
	World       bool          `json:"world"`
	Countries   []string      `json:"countries"` // ISO 3166-1 alpha-2
	SeaKm       float64       `json:"sea_km"`    // off the coasts of countries
	Within      []AboutArea   `json:"within"`    // if not empty, only the parts of the countries in these areas
	Areas       []AboutArea   `json:"areas"`
	From        string        `json:"from"` // the smallest event that it reports, for people; may be empty
	Cite        string        `json:"cite"`
}

// AboutArea is an Area in GET /sources, with its box: west, south, east, north.
type AboutArea struct {
	Name string     `json:"name"`
	BBox [4]float64 `json:"bbox"`
}

func (s *Source) aboutCoverage() []AboutCoverage {
	all := []AboutCoverage{}
	for _, c := range s.Covered() {
		types := s.TypesOf(&c)
		a := AboutCoverage{Role: c.Role.String(), Types: append([]hazard.Type{}, types...), TypesStated: types != nil && c.Role != RoleUnknown, World: c.World,
			Countries: append([]string{}, c.Countries...), Within: aboutAreas(c.Within), Areas: aboutAreas(c.Areas), From: c.From, Cite: c.Cite}
		if len(c.Countries) > 0 {
			a.SeaKm = c.Reach()
		}
		all = append(all, a)
	}
	return all
}

func aboutAreas(areas []Area) []AboutArea {
	all := []AboutArea{}
	for _, area := range areas {
		b := geo.BoundsOf(area.Shape)
		all = append(all, AboutArea{area.Name, [4]float64{b.West, b.South, b.East, b.North}})
	}
	return all
}

// Reach returns how far a statement reaches from the coasts of its countries, in kilometers.
func (c *Coverage) Reach() float64 {
	if c.Sea > 0 {
		return c.Sea
	}
	return TerritorialSea
}
