package ogc

import "github.com/hazardd/hazardd/internal/hazard/query"

// Schema is the media type of JSON Schema.
const Schema = "application/schema+json"

// Queryables lists the properties that a filter may use, as a JSON Schema (OGC 19-079r2, section
// 6).
type Queryables struct {
	Schema               string              `json:"$schema"`
	ID                   string              `json:"$id"`
	Type                 string              `json:"type"`
	Title                string              `json:"title"`
	Properties           map[string]Property `json:"properties"`
	AdditionalProperties bool                `json:"additionalProperties"`
}

// Property is the schema of one property.
type Property struct {
	Title  string   `json:"title"`
	Type   string   `json:"type,omitzero"`
	Format string   `json:"format,omitzero"`
	Enum   []string `json:"enum,omitzero"`
	Unit   string   `json:"x-ogc-unit,omitzero"`
	Role   string   `json:"x-ogc-role,omitzero"`
}

// QueryableSchema describes Queryables.
func (s *Set) QueryableSchema(base string) Queryables {
	q := Queryables{Schema: "https://json-schema.org/draft/2020-12/schema", ID: base + "/ogc/collections/" + s.ID + "/queryables", Type: "object", Title: s.Title, Properties: map[string]Property{}}
	for _, f := range s.Queryables() {
		q.Properties[f.Name] = propertyOf(&f)
	}
	return q
}

func propertyOf(f *query.Field) Property {
	p := Property{Title: f.Title, Enum: f.Values, Unit: f.Unit, Type: "string"}
	switch {
	case f.Kind == query.PlaceField:
		p.Type, p.Format, p.Role = "", "geometry-any", "primary-geometry"
	case f.Kind == query.MomentField:
		p.Format = "date-time"
	case f.Kind == query.NumberField && f.Whole:
		p.Type = "integer"
	case f.Kind == query.NumberField:
		p.Type = "number"
	}
	return p
}
