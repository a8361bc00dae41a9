package query

import (
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Kind is the type of a field's values.
type Kind uint8

// The kinds of fields.
const (
	TextField Kind = iota
	NumberField
	MomentField
	PlaceField // the geometry
)

// Field is a property that a Where can use, by its name in GeoJSON. It belongs to hazards or, if
// created outside of this package, to features that are parts of hazards, with values in Own.
type Field struct {
	Name  string
	Title string // for people
	Kind  Kind
	Unit  string
	// Values are all possible values; nil means any.
	Values []string
	// Whole: the numbers have no fractions. Nullable: there may be no value.
	Whole, Nullable bool

	text   func(*hazard.Hazard) string
	number func(*hazard.Hazard) (n float64, ok bool)
	moment func(*hazard.Hazard) hazard.Instant
}

// Geometry is the name of the field that holds the geometry.
const Geometry = "geometry"

// AreaRole is the name of the field with the role of the geometry.
const AreaRole = "area_role"

// Measured is the prefix of the names of fields with measurements.
const Measured = "measurements."

// Fields lists the fields, in their order. The caller must not change the slice.
func Fields() []Field { return fields() }

// FieldNamed returns the field in all with that name, ignoring case, or nil.
func FieldNamed(name string, all []Field) *Field {
	if rest, ok := strings.CutPrefix(name, "measurements_"); ok { // written by programs whose names cannot contain dots
		name = Measured + rest
	}
	i := slices.IndexFunc(all, func(f Field) bool { return strings.EqualFold(f.Name, name) })
	if i < 0 {
		return nil
	}
	return &all[i]
}

var fields = sync.OnceValue(func() []Field {
	number := func(get func(*hazard.Hazard) float64) func(*hazard.Hazard) (float64, bool) {
		return func(h *hazard.Hazard) (float64, bool) { return get(h), true }
	}
	people := func(get func(*hazard.Estimate) int64) func(*hazard.Hazard) (float64, bool) {
		return func(h *hazard.Hazard) (float64, bool) {
			e := h.Exposed()
			if e == nil || e.People == nil {
				return 0, false
			}
			return float64(get(e.People)), true
		}
	}
	inTexts := func(get func(*hazard.Text) string) func(*hazard.Hazard) string {
		return func(h *hazard.Hazard) string {
			if t := h.Says(); t != nil {
				return get(t)
			}
			return ""
		}
	}
	ids := func(all func(yield func(string))) (values []string) {
		all(func(v string) { values = append(values, v) })
		return values
	}
	flag := func(b bool) string {
		if b {
			return "Y"
		}
		return "N"
	}
	list := []Field{
		{Name: Geometry, Title: "Where it is", Kind: PlaceField},
		{Name: "hazard_ID", Title: "Number", Kind: NumberField, Whole: true, number: number(func(h *hazard.Hazard) float64 { return float64(h.ID) })},
		{Name: "uuid", Title: "UUID", text: func(h *hazard.Hazard) string { return h.UUID.String() }},
		{Name: "id", Title: "UUID, as the feature has it", text: func(h *hazard.Hazard) string { return h.UUID.String() }},
		{Name: "hazard_Name", Title: "Name, in the language in which it is kept", text: func(h *hazard.Hazard) string { return h.Name }},
		{Name: "description", Title: "Description, in the language in which it is kept", text: func(h *hazard.Hazard) string { return h.Description }},
		{Name: "type_ID", Title: "Type", Values: ids(func(yield func(string)) {
			for _, t := range hazard.Types() {
				yield(string(t.ID))
			}
		}), text: func(h *hazard.Hazard) string { return string(h.Type) }},
		{Name: "severity_ID", Title: "Severity", Values: ids(func(yield func(string)) {
			for _, s := range hazard.Severities() {
				yield(s.ID)
			}
		}), text: func(h *hazard.Hazard) string { return h.Severity.String() }},
		{Name: "severity_rank", Title: "Severity as a number: 1 TERMINATION to 5 WARNING", Kind: NumberField, Whole: true, number: number(func(h *hazard.Hazard) float64 { return float64(h.Severity) })},
		{Name: "category_ID", Title: "Category", Values: ids(func(yield func(string)) {
			for _, c := range hazard.Categories() {
				yield(string(c.ID))
			}
		}), text: func(h *hazard.Hazard) string { return string(h.Category) }},
		{Name: "status", Title: "A is active, E is over", Values: []string{"A", "E"}, text: func(h *hazard.Hazard) string { return string(h.Status) }},
		{Name: "autoexpire", Title: "Whether it ends by itself", Values: []string{"Y", "N"}, text: func(h *hazard.Hazard) string { return flag(h.AutoExpire) }},
		{Name: "start_time", Title: "When it began", Kind: MomentField, moment: func(h *hazard.Hazard) hazard.Instant { return h.Start }},
		{Name: "end_time", Title: "When it ended, or is expected to end", Kind: MomentField, moment: func(h *hazard.Hazard) hazard.Instant { return h.End }},
		{Name: "create_time", Title: "When it was first recorded", Kind: MomentField, moment: func(h *hazard.Hazard) hazard.Instant { return h.Created }},
		{Name: "last_update_time", Title: "When it last changed, its end included", Kind: MomentField, moment: func(h *hazard.Hazard) hazard.Instant { return h.LastUpdate }},
		{Name: "update_time", Title: "When it was last written", Kind: MomentField, moment: func(h *hazard.Hazard) hazard.Instant { return h.Updated }},
		{Name: "latitude", Title: "Latitude of its point", Kind: NumberField, Unit: "degrees", number: number(func(h *hazard.Hazard) float64 { return h.Latitude })},
		{Name: "longitude", Title: "Longitude of its point", Kind: NumberField, Unit: "degrees", number: number(func(h *hazard.Hazard) float64 { return h.Longitude })},
		{Name: "source", Title: "Source that reported it first; empty: an editor", text: func(h *hazard.Hazard) string { return h.Source }},
		{Name: "org_ID", Title: "Organization of who wrote it; -1: a source", Kind: NumberField, Whole: true, number: number(func(h *hazard.Hazard) float64 { return float64(h.OrgID) })},
		{Name: "app_ID", Title: "Installation where it was written; 0: a source", Kind: NumberField, Whole: true, number: number(func(h *hazard.Hazard) float64 { return float64(h.AppID) })},
		{Name: "creator", Title: "Who wrote it first", text: func(h *hazard.Hazard) string { return h.Creator }},
		{Name: "comment_Text", Title: "Comment", text: func(h *hazard.Hazard) string { return h.Comment }},
		{Name: "reason", Title: "Why it ended", text: func(h *hazard.Hazard) string { return string(h.Reason) }},
		{Name: "successor", Title: "UUID of what took its place", text: func(h *hazard.Hazard) string {
			if h.Successor == uuid.Nil {
				return ""
			}
			return h.Successor.String()
		}},
		{Name: "note", Title: "Why an editor took it back", text: func(h *hazard.Hazard) string { return h.Note }},
		{Name: AreaRole, Title: "What its geometry is", Values: ids(func(yield func(string)) {
			for _, role := range hazard.ShownRoles() {
				yield(string(role))
			}
		}), text: func(h *hazard.Hazard) string { return string(h.ShownRole()) }},
		{Name: "place_kind", Title: "How well its place is known", Values: ids(func(yield func(string)) {
			for _, k := range hazard.PlaceKinds() {
				yield(string(k))
			}
		}), text: func(h *hazard.Hazard) string { return string(h.Place()) }},
		{Name: "place_known_as", Title: "Region or country, where nothing smaller is known", text: func(h *hazard.Hazard) string { return h.PlaceKnownAs }},
		{Name: "language", Title: "Language of its authority's words", text: inTexts(func(t *hazard.Text) string { return t.Language })},
		{Name: "headline", Title: "Headline", text: inTexts(func(t *hazard.Text) string { return t.Headline })},
		{Name: "instruction", Title: "Instruction", text: inTexts(func(t *hazard.Text) string { return t.Instruction })},
		{Name: "response_type", Title: "What to do, by CAP's words", text: inTexts(func(t *hazard.Text) string { return strings.Join(t.Responses, " ") })},
		{Name: "people", Title: "People in its area", Kind: NumberField, Whole: true, Nullable: true, number: people(func(e *hazard.Estimate) int64 { return e.People })},
		{Name: "people_low", Title: "People in its area, low estimate", Kind: NumberField, Whole: true, Nullable: true, number: people(func(e *hazard.Estimate) int64 { return e.Low })},
		{Name: "people_high", Title: "People in its area, high estimate", Kind: NumberField, Whole: true, Nullable: true, number: people(func(e *hazard.Estimate) int64 { return e.High })},
	}
	for _, q := range hazard.Quantities() {
		list = append(list, Field{Name: Measured + string(q.Name), Title: q.Title, Kind: NumberField, Unit: q.Unit, Nullable: true, number: func(h *hazard.Hazard) (float64, bool) {
			for i := range h.Measurements {
				if h.Measurements[i].Name == q.Name {
					return h.Measurements[i].Value, true
				}
			}
			return 0, false
		}})
	}
	return list
})

// Value returns the value of a field of h in JSON: a string, a float64, or nil. A moment is its
// milliseconds since 1970, as a float64.
func (f *Field) Value(h *hazard.Hazard) any {
	switch f.Kind {
	case TextField:
		return f.text(h)
	case NumberField:
		if n, ok := f.number(h); ok {
			return n
		}
	case MomentField:
		return float64(f.moment(h))
	}
	return nil
}
