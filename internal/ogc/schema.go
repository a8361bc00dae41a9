package ogc

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/format"
)

// FeatureSchema is what the features of the collection are: a JSON Schema. Programs that make a table of features read it, since the first features of
// a collection do not tell what the others are: a latitude of 40 is no whole number. A value that is not known is null.
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
	return value, value.Compact() // an error: the address is no text of JSON
}
