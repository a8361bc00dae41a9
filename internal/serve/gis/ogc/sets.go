package ogc

import (
	"slices"
	"sync"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/ingest/coverage"
)

// The ids of the collections.
const (
	ActiveHazards = "active-hazards"
	Hazards       = "hazards"
	Points        = "points"
	Areas         = "areas"
	Tracks        = "tracks"
	bands         = "bands"
	Products      = "products"
	Coverage      = "coverage"
)

// Set is a collection: its features, and the queries that they support.
type Set struct {
	ID, Title, Description string
	// Own is the id and the properties of its features, without those of hazards; nil if its
	// features are hazards.
	Own []query.Field
	// OfHazards reports that its features are hazards or parts of hazards, so that they have
	// properties of hazards too.
	OfHazards bool
}

// Sets lists the collections, in their order. The caller must not change the slice.
func Sets() []Set { return sets() }

// SetNamed returns the collection with that id; nil if there is none.
func SetNamed(id string) *Set {
	for i := range sets() {
		if sets()[i].ID == id {
			return &sets()[i]
		}
	}
	return nil
}

// OnTracks returns the roles of shapes in the collection of tracks. All other roles are in the
// collection of bands.
func OnTracks() []hazard.ShapeRole {
	return []hazard.ShapeRole{hazard.TrackShape, hazard.PositionShape, hazard.ConeShape}
}

var sets = sync.OnceValue(func() []Set {
	id := query.Field{Name: "id", Title: "Id of the feature"}
	var onTracks, onBands, areaRoles, productTypes []string
	for _, role := range hazard.ShapeRoles() {
		if slices.Contains(OnTracks(), role) {
			onTracks = append(onTracks, string(role))
		} else {
			onBands = append(onBands, string(role))
		}
	}
	for _, role := range hazard.ShownRoles() {
		areaRoles = append(areaRoles, string(role))
	}
	for _, t := range hazard.ProductTypes() {
		productTypes = append(productTypes, string(t.Type))
	}
	shapes := func(roles []string) []query.Field {
		return []query.Field{
			id,
			{Name: "role", Title: "What it is", Values: roles},
			{Name: "title", Title: "What it is called"},
			{Name: "band", Title: "Quantity of which it shows a value, as in GET /measurements", Nullable: true},
			{Name: "value", Title: "The value; of a scale of words the place of the word", Kind: query.NumberField, Nullable: true},
			{Name: "unit", Title: "Unit of the value", Nullable: true},
			{Name: "from_time", Title: "First moment for which it holds", Kind: query.MomentField},
			{Name: "to_time", Title: "Last moment for which it holds", Kind: query.MomentField, Nullable: true},
			{Name: "forecast", Title: "Whether it is expected, and was not observed", Values: []string{"Y", "N"}},
			{Name: "color", Title: "Color in which it is drawn"},
			{Name: "source", Title: "Source that drew it"},
		}
	}
	return []Set{
		{ID: ActiveHazards, Title: "Active hazards", Description: "The hazards that go on at this moment. Nothing past its end is among them.", OfHazards: true},
		{ID: Hazards, Title: "Hazards", Description: "All hazards that are known, active and over.", OfHazards: true},
		{ID: Points, Title: "Points of active hazards", Description: "The point of each active hazard, whether it has an area or not: for programs that draw one kind of geometry in a layer.", OfHazards: true,
			Own: []query.Field{id, {Name: "title", Title: "Name of the hazard, for programs that look for a title"}}},
		{ID: Areas, Title: "Areas of active hazards", Description: "Each area that an active hazard has, of whatever role. A hazard of which only the point is known has none.", OfHazards: true,
			Own: []query.Field{id, {Name: "role", Title: "What the area is", Values: areaRoles}}},
		{ID: Tracks, Title: "Tracks of active hazards", Description: "Where storms went and may go, as sources drew it: tracks, positions and cones.", OfHazards: true, Own: shapes(onTracks)},
		{ID: bands, Title: "Bands of active hazards", Description: "What else sources drew of active hazards: contours, wind radii, perimeters, ash, coasts, extents.", OfHazards: true, Own: shapes(onBands)},
		{ID: Products, Title: "Products of active hazards", Description: "The folders, files, texts and links of active hazards, at their own place or at that of the hazard.", OfHazards: true, Own: []query.Field{
			id,
			{Name: "product_ID", Title: "Number", Kind: query.NumberField, Whole: true},
			{Name: "parent_ID", Title: "Number of the folder that it is in; 0: none", Kind: query.NumberField, Whole: true},
			{Name: "title", Title: "Title"},
			{Name: "product_Type", Title: "What it is", Values: productTypes},
			{Name: "data", Title: "The text, or the link", Nullable: true},
			{Name: "filename", Title: "Name of the file", Nullable: true},
			{Name: "product_url", Title: "Where the file is", Nullable: true},
			{Name: "comment_Text", Title: "Comment"},
			{Name: "is_Hidden", Title: "Whether user interfaces hide it", Values: []string{"Y", "N"}},
			{Name: "security_Flag", Title: "R is for some organizations alone, A for all", Values: []string{"A", "R"}},
			{Name: "org_ID", Title: "Organization of who wrote it; -1: a source", Kind: query.NumberField, Whole: true},
			{Name: "create_time", Title: "When it was first recorded", Kind: query.MomentField},
			{Name: "update_time", Title: "When it was last written", Kind: query.MomentField},
			{Name: "source", Title: "Source that gave it; empty: an editor"},
			{Name: "placed_by", Title: "Whose place the geometry is", Values: []string{"product", "hazard"}},
		}},
		{ID: Coverage, Title: "Coverage", Description: "Coverage: who issues warnings for each country and other areas, and how these sources are polled now.", Own: []query.Field{
			id,
			{Name: "kind", Title: "What it is", Values: []string{"country", "area"}},
			{Name: "code", Title: "ISO 3166-1 alpha-2; empty: no country"},
			{Name: "name", Title: "Name"},
			{Name: "state", Title: "The word about official warnings", Values: []string{string(coverage.Covered), string(coverage.Stale), string(coverage.Unknown)}},
			{Name: "covered", Title: "Types that are covered, separated by blanks"},
			{Name: "stale", Title: "Types that are stale, separated by blanks"},
			{Name: "sources", Title: "Sources that speak for it, separated by blanks"},
			{Name: "responsible", Title: "Those that are responsible, separated by blanks"},
		}},
	}
})

// shown are the properties of hazards that parts of hazards have too.
var shown = []string{"hazard_ID", "uuid", "hazard_Name", "type_ID", "severity_ID", "severity_rank", "category_ID", "status", "start_time", "end_time", "place_kind", "place_known_as"}

// Properties returns the properties of features of a set that are not hazards, in order. The id is
// not among them, because a feature has it outside its properties.
func (s *Set) Properties() []query.Field {
	list := slices.Clone(s.Own[1:])
	if s.OfHazards {
		for _, name := range shown {
			list = append(list, *query.FieldNamed(name, query.Fields()))
		}
	}
	return list
}

// Queryables returns the fields that a filter of the collection may use: its own, and those of
// hazards with other names.
func (s *Set) Queryables() []query.Field {
	if s.Own == nil {
		return query.Fields()
	}
	geometry := *query.FieldNamed(query.Geometry, query.Fields())
	list := append([]query.Field{geometry}, s.Own...)
	if s.OfHazards {
		for _, f := range query.Fields() {
			if query.FieldNamed(f.Name, list) == nil {
				list = append(list, f)
			}
		}
	}
	return list
}

// Parameters returns the search parameters by which items of the collection can be filtered, by
// their property.
func (s *Set) Parameters() map[string]string {
	all := map[string]string{}
	for property, parameter := range filters {
		if s.OfHazards && query.FieldNamed(property, s.Own) == nil {
			all[property] = parameter
		}
	}
	return all
}
