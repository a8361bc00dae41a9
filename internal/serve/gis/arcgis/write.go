package arcgis

import (
	"bytes"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Writer writes the features of a query's answer one by one.
type Writer struct {
	out   *bytes.Buffer
	layer *Layer
	q     *Query
	n     int
}

// NewWriter starts the answer.
func NewWriter(out *bytes.Buffer, layer *Layer, q *Query) (*Writer, error) {
	w := &Writer{out: out, layer: layer, q: q}
	if q.GeoJSON {
		out.WriteString(`{"type":"FeatureCollection","features":[`)
		return w, nil
	}
	list := make([]Field, len(q.layerFields))
	for i, f := range q.layerFields {
		list[i] = *f
	}
	if q.PBF {
		out.Write(appendHead(out.AvailableBuffer(), layer, q, list))
		return w, nil
	}
	head := struct {
		ObjectID  string    `json:"objectIdFieldName"`
		GlobalID  string    `json:"globalIdFieldName"`
		Kind      Kind      `json:"geometryType,omitzero"`
		Reference reference `json:"spatialReference,omitzero"`
		Transform any       `json:"transform,omitzero"`
		Fields    []Field   `json:"fields"`
	}{ObjectID: objectID, Fields: list}
	if q.Geometry {
		if head.Kind, head.Reference = layer.Kind, referenceOf(q.OutSR.Code); q.Grid != nil {
			head.Transform = q.Grid.transform()
		}
	}
	return w, w.begin(head)
}

// begin writes an object except its end; features follow.
func (w *Writer) begin(head any) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	w.out.Write(text[:len(text)-1])
	w.out.WriteString(`,"features":[`)
	return nil
}

// Add writes a hazard.
func (w *Writer) Add(r *format.Row) error {
	h, shape := r.Hazard, r.Shape
	values, err := r.Values()
	if err != nil {
		return err
	}
	if w.q.PBF {
		return w.addPBF(values, h, shape)
	}
	w.next()
	if w.q.GeoJSON {
		w.out.WriteString(`{"type":"Feature","id":`)
		if err := w.value(h.ID); err != nil {
			return err
		}
		w.out.WriteString(`,"geometry":`)
		w.out.WriteString(w.geoJSON(shape, h.Longitude, h.Latitude))
		w.out.WriteString(`,"properties":`)
	} else {
		w.out.WriteString(`{"attributes":`)
	}
	w.out.WriteByte('{')
	for i, f := range w.q.layerFields {
		v, err := f.value(values, h)
		if err != nil {
			return err
		}
		if err := w.member(i, f.Name, v); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	if w.q.Geometry && !w.q.GeoJSON {
		w.out.WriteString(`,"geometry":`)
		w.out.Write(appendGeometry(w.out.AvailableBuffer(), w.layer.Kind, shape, h.Longitude, h.Latitude, w.q))
	}
	w.out.WriteByte('}')
	return nil
}

// addPBF writes a Feature.
func (w *Writer) addPBF(values []any, h *hazard.Hazard, shape geo.Shape) error {
	w.n++
	var m []byte
	for _, f := range w.q.layerFields {
		v, err := f.value(values, h)
		if err != nil {
			return err
		}
		m = appendValue(m, f, v)
	}
	if w.q.Geometry {
		m = appendShape(m, w.layer.Kind, shape, h.Longitude, h.Latitude, w.q)
	}
	w.out.Write(appendMessage(w.out.AvailableBuffer(), 15, m))
	return nil
}

// value returns the value of the field, from a hazard with the given column values.
func (f *Field) value(values []any, h *hazard.Hazard) (any, error) {
	if f.column < 0 {
		return f.field.Value(h), nil
	}
	v := values[f.column]
	if text, ok := v.(string); ok && f.Type == momentType {
		at, err := time.Parse(time.RFC3339, text)
		return at.UnixMilli(), err
	}
	return v, nil
}

// geoJSON returns the geometry of a hazard in GeoJSON, of the layer's kind.
func (w *Writer) geoJSON(s geo.Shape, lon, lat float64) string {
	if w.q.Geometry {
		if w.layer.Kind == Points {
			s = geo.Place(lon, lat)
		}
		if text := s.GeoJSON(); text != "" {
			return text
		}
	}
	return "null"
}

func (w *Writer) next() {
	if w.n++; w.n > 1 {
		w.out.WriteByte(',')
	}
}

func (w *Writer) value(v any) error {
	if text, ok := v.(string); ok { // most are
		quoted, _ := jsontext.AppendQuote(w.out.AvailableBuffer(), text) // its error is of bytes that are not UTF-8, which it replaces
		w.out.Write(quoted)
		return nil
	}
	text, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	w.out.Write(text)
	return err
}

func (w *Writer) member(i int, name string, v any) error {
	if i > 0 {
		w.out.WriteByte(',')
	}
	if err := w.value(name); err != nil {
		return err
	}
	w.out.WriteByte(':')
	return w.value(v)
}

// Len returns the number of features written.
func (w *Writer) Len() int { return w.n }

// End completes the answer. more means that there are more features than were written.
func (w *Writer) End(more bool) {
	switch {
	case w.q.PBF:
		if more {
			w.out.Write(appendNumber(nil, 9, 1))
		}
		wrapPBF(w.out, featureResult)
	case more && w.q.GeoJSON:
		w.out.WriteString(`],"exceededTransferLimit":true,"properties":{"exceededTransferLimit":true}}`)
	case more:
		w.out.WriteString(`],"exceededTransferLimit":true}`)
	default:
		w.out.WriteString(`]}`)
	}
}

// WriteRows writes the results of a count, as features without geometry.
func WriteRows(out *bytes.Buffer, q *Query, t *Tally) error {
	rows, err := t.rows()
	if err != nil {
		return err
	}
	rows = rows[min(q.Offset, len(rows)):]
	more := len(rows) > q.Most
	rows = rows[:min(q.Most, len(rows))]
	columns := q.columns()
	w := &Writer{out: out, q: q}
	if q.PBF {
		out.Write(appendFields(nil, columns))
	} else if q.GeoJSON {
		out.WriteString(`{"type":"FeatureCollection","features":[`)
	} else if err := w.begin(struct {
		Display string  `json:"displayFieldName"`
		Fields  []Field `json:"fields"`
	}{"", columns}); err != nil {
		return err
	}
	for _, row := range rows {
		if q.PBF {
			var m []byte
			for i := range columns {
				m = appendValue(m, &columns[i], row[i])
			}
			out.Write(appendMessage(nil, 15, m))
			continue
		}
		w.next()
		if q.GeoJSON {
			out.WriteString(`{"type":"Feature","geometry":null,"properties":{`)
		} else {
			out.WriteString(`{"attributes":{`)
		}
		for i, f := range columns {
			if err := w.member(i, f.Name, row[i]); err != nil {
				return err
			}
		}
		out.WriteString("}}")
	}
	w.End(more)
	return nil
}

// WriteCount writes the answer to returnCountOnly.
func WriteCount(out *bytes.Buffer, q *Query, n int64) {
	if q.PBF {
		out.Write(appendNumber(nil, 1, uint64(n)))
		wrapPBF(out, countResult)
		return
	}
	out.WriteString(`{"count":` + strconv.FormatInt(n, 10) + `}`)
}

// WriteIDs writes the answer to returnIdsOnly.
func WriteIDs(out *bytes.Buffer, q *Query, ids []int64) {
	if q.PBF {
		var packed []byte
		for _, id := range ids {
			packed = protowire.AppendVarint(packed, uint64(id))
		}
		out.Write(appendMessage(appendText(nil, 1, objectID), 3, packed))
		wrapPBF(out, idsResult)
		return
	}
	text := []byte(`{"objectIdFieldName":"` + objectID + `","objectIds":[`)
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, id, 10)
	}
	out.Write(append(text, "]}"...))
}
