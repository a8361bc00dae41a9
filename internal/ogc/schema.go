package ogc

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/format"
)

// FeatureSchema is what the features of a collection are: a JSON Schema. Programs that make a table of features read it, since the first features of
// a collection do not tell what the others are: a latitude of 40 is no whole number. A value that is not known is null.
func FeatureSchema(base, id string) ([]byte, error) {
	var properties jsontext.Value
	for i, c := range format.Columns() {
		if i > 0 {
			properties = append(properties, ',')
		}
		properties = append(properties, `"`+c.Name+`":`...)
		properties = append(properties, map[format.ColumnKind]string{format.TextColumn: `{"type":"string"}`, format.WholeColumn: `{"type":"integer"}`, format.RealColumn: `{"type":"number"}`,
			format.MomentColumn: `{"type":"string","format":"date-time"}`, format.JSONColumn: `{"title":"JSON"}`}[c.Kind]...)
	}
	text := `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"` + base + `/ogc/collections/` + id + `/schema","title":"` + CollectionOf(base, id, JSON).Title + `","type":"object",` +
		`"required":["type","geometry","properties"],"properties":{"type":{"const":"Feature"},"id":{"type":"string","format":"uuid"},"geometry":{},"properties":{"type":"object","properties":{` +
		string(properties) + `}}}}`
	value := jsontext.Value(text)
	return value, value.Compact() // an error: the address is no text of JSON
}
