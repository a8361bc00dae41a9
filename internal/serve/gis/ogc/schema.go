package ogc

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/format"
)

// FeatureSchema returns the JSON Schema of the collection's features. Programs that make a table of
// features need it, because the first features do not show all types: a latitude of 40 may look
// like an integer. An unknown value is null.
func (s *Set) FeatureSchema(base string) ([]byte, error) {
	var properties jsontext.Value
	add := func(name string, schema []byte) {
		if properties != nil {
			properties = append(properties, ',')
		}
		properties = append(append(properties, `"`+name+`":`...), schema...)
	}
	id := `{"type":"string"}`
	if s.Own == nil {
		id = `{"type":"string","format":"uuid"}`
		for _, c := range format.Columns() {
			add(c.Name, []byte(map[format.ColumnKind]string{format.TextColumn: `{"type":"string"}`, format.WholeColumn: `{"type":"integer"}`, format.RealColumn: `{"type":"number"}`,
				format.MomentColumn: `{"type":"string","format":"date-time"}`, format.JSONColumn: `{"title":"JSON"}`}[c.Kind]))
		}
	} else {
		for _, f := range s.Properties() {
			schema, err := json.Marshal(propertyOf(&f))
			if err != nil {
				return nil, err
			}
			add(f.Name, schema)
		}
	}
	text := `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"` + base + `/ogc/collections/` + s.ID + `/schema","title":"` + s.Title + `","type":"object",` +
		`"required":["type","geometry","properties"],"properties":{"type":{"const":"Feature"},"id":` + id + `,"geometry":{},"properties":{"type":"object","properties":{` +
		string(properties) + `}}}}`
	value := jsontext.Value(text)
	return value, value.Compact() // an error means that the address is not valid JSON text
}
