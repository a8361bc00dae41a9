package serve_test

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// esriSchema is the part of FeatureCollection.proto of github.com/Esri/arcgis-pbf that queries
// need: each message with its fields, by name, number and type; * means repeated.
const esriSchema = `
SpatialReference: wkid 1 uint32, lastestWkid 2 uint32
Field: name 1 string, fieldType 2 uint32, alias 3 string, sqlType 4 uint32
Value: string_value 1 string, float_value 2 float, double_value 3 double, sint_value 4 sint32, uint_value 5 uint32, int64_value 6 int64, uint64_value 7 uint64, sint64_value 8 sint64, bool_value 9 bool
Geometry: geometryType 1 uint32, lengths 2 *uint32, coords 3 *sint32
Feature: attributes 1 *Value, geometry 2 Geometry
Scale: xScale 1 double, yScale 2 double
Translate: xTranslate 1 double, yTranslate 2 double
Transform: quantizeOriginPostion 1 uint32, scale 2 Scale, translate 3 Translate
FeatureResult: objectIdFieldName 1 string, geometryType 7 uint32, spatialReference 8 SpatialReference, exceededTransferLimit 9 bool, transform 12 Transform, fields 13 *Field, features 15 *Feature
CountResult: count 1 uint64
ObjectIdsResult: objectIdFieldName 1 string, objectIds 3 *uint64
QueryResult: featureResult 1 FeatureResult, countResult 2 CountResult, idsResult 3 ObjectIdsResult
FeatureCollectionPBuffer: version 1 string, queryResult 2 QueryResult
`

// esriMessage returns the type of an answer.
func esriMessage(t testing.TB) protoreflect.MessageDescriptor {
	t.Helper()
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("esri.proto"), Syntax: proto.String("proto3")}
	for line := range strings.Lines(strings.TrimSpace(esriSchema)) {
		name, list, _ := strings.Cut(strings.TrimSpace(line), ": ")
		m := &descriptorpb.DescriptorProto{Name: &name}
		for text := range strings.SplitSeq(list, ", ") {
			var field, kind string
			var number int32
			if _, err := fmt.Sscan(text, &field, &number, &kind); err != nil {
				t.Fatal(text, err)
			}
			f := &descriptorpb.FieldDescriptorProto{Name: &field, JsonName: &field, Number: &number, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
			kind, many := strings.CutPrefix(kind, "*")
			if many {
				f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
			}
			if n, ok := descriptorpb.FieldDescriptorProto_Type_value["TYPE_"+strings.ToUpper(kind)]; ok {
				f.Type = descriptorpb.FieldDescriptorProto_Type(n).Enum()
			} else {
				f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String("."+kind)
			}
			if name == "Value" {
				f.OneofIndex = proto.Int32(0)
			}
			m.Field = append(m.Field, f)
		}
		if name == "Value" {
			m.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: proto.String("value_type")}}
		}
		file.MessageType = append(file.MessageType, m)
	}
	d, err := protodesc.NewFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d.Messages().ByName("FeatureCollectionPBuffer")
}

// get returns a field of a message.
func get(m protoreflect.Message, name string) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
}

func has(m protoreflect.Message, name string) bool {
	return m.Has(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
}

// known fails if a message contains something that the schema does not define.
func known(t testing.TB, m protoreflect.Message) {
	t.Helper()
	if len(m.GetUnknown()) > 0 {
		t.Errorf("%s: unknown fields %x", m.Descriptor().Name(), m.GetUnknown())
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				known(t, v.List().Get(i).Message())
			}
		case f.Message() != nil:
			known(t, v.Message())
		}
		return true
	})
}

// fromPBF converts an answer to the form of f=json.
func fromPBF(t testing.TB, of protoreflect.MessageDescriptor, body []byte) (f arcgisFeatures) {
	t.Helper()
	all := dynamicpb.NewMessage(of)
	if err := proto.Unmarshal(body, all); err != nil {
		t.Fatal(err)
	}
	known(t, all)
	if v := get(all, "version").String(); v != "1" {
		t.Errorf("version %q", v)
	}
	result := get(all, "queryResult").Message()
	switch {
	case has(result, "countResult"):
		f.Count = int(get(get(result, "countResult").Message(), "count").Uint())
		return f
	case has(result, "idsResult"):
		m := get(result, "idsResult").Message()
		f.ObjectIDFieldName = get(m, "objectIdFieldName").String()
		f.ObjectIDs = []int64{}
		ids := get(m, "objectIds").List()
		for i := range ids.Len() {
			f.ObjectIDs = append(f.ObjectIDs, int64(ids.Get(i).Uint()))
		}
		return f
	}
	r := get(result, "featureResult").Message()
	f.ObjectIDFieldName, f.ExceededTransferLimit = get(r, "objectIdFieldName").String(), get(r, "exceededTransferLimit").Bool()
	if f.ObjectIDFieldName != "" { // not for statistics
		f.GeometryType = map[uint64]string{0: "esriGeometryPoint", 2: "esriGeometryPolyline", 3: "esriGeometryPolygon"}[get(r, "geometryType").Uint()]
	}
	sr := get(r, "spatialReference").Message()
	f.SpatialReference.WKID, f.SpatialReference.LatestWKID = int(get(sr, "wkid").Uint()), int(get(sr, "lastestWkid").Uint())
	types := []string{"esriFieldTypeSmallInteger", "esriFieldTypeInteger", "esriFieldTypeSingle", "esriFieldTypeDouble", "esriFieldTypeString", "esriFieldTypeDate", "esriFieldTypeOID"}
	fields := get(r, "fields").List()
	for i := range fields.Len() {
		m := fields.Get(i).Message()
		f.Fields = append(f.Fields, struct{ Name, Type string }{get(m, "name").String(), types[get(m, "fieldType").Uint()]})
	}
	transform := get(r, "transform").Message()
	scale, translate := get(transform, "scale").Message(), get(transform, "translate").Message()
	list := get(r, "features").List()
	for i := range list.Len() {
		m := list.Get(i).Message()
		x := arcgisFeature{Attributes: map[string]any{}}
		values := get(m, "attributes").List()
		if values.Len() != len(f.Fields) {
			t.Fatalf("%d values of %d fields", values.Len(), len(f.Fields))
		}
		for j := range values.Len() {
			v := values.Get(j).Message()
			var value any
			if set := v.WhichOneof(v.Descriptor().Oneofs().Get(0)); set != nil {
				switch value = v.Get(set).Interface(); n := value.(type) {
				case int32:
					value = float64(n)
				case int64:
					value = float64(n)
				case uint32:
					value = float64(n)
				}
			}
			x.Attributes[f.Fields[j].Name] = value
		}
		if has(m, "geometry") {
			g := get(m, "geometry").Message()
			coords, lengths := get(g, "coords").List(), get(g, "lengths").List()
			at := 0
			part := func(n int) (positions [][]float64) {
				var px, py int64
				for range n {
					px, py = px+coords.Get(at).Int(), py+coords.Get(at+1).Int()
					at += 2
					positions = append(positions, []float64{float64(px)*get(scale, "xScale").Float() + get(translate, "xTranslate").Float(), get(translate, "yTranslate").Float() - float64(py)*get(scale, "yScale").Float()})
				}
				return positions
			}
			var parts [][][]float64
			for j := range lengths.Len() {
				parts = append(parts, part(int(lengths.Get(j).Uint())))
			}
			switch get(g, "geometryType").Uint() {
			case 0:
				p := part(1)[0]
				x.Geometry.X, x.Geometry.Y = p[0], p[1]
			case 2:
				x.Geometry.Paths = parts
			case 3:
				x.Geometry.Rings = parts
			}
			if at != coords.Len() {
				t.Errorf("%d of %d coordinates were read", at, coords.Len())
			}
		}
		f.Features = append(f.Features, x)
	}
	return f
}

// Each answer in protocol buffers, decoded with Esri's schema, equals the answer in JSON.
func TestAnAnswerInPBFIsThatInJSON(t *testing.T) {
	s := scenery(t)
	s.made("red", "/hazards", flood("hazard_Name", "Îles \"x\"", "longitude", 179, "latitude", -17, "area", map[string]any{"type": "MultiPolygon", "coordinates": [][][][2]float64{
		{{{178, -18}, {180, -18}, {180, -16}, {178, -16}, {178, -18}}, {{178.5, -17.5}, {178.5, -16.5}, {179.123457, -16.5}, {179.5, -17.5}, {178.5, -17.5}}},
		{{{-180, -18}, {-178, -18}, {-178, -16}, {-180, -16}, {-180, -18}}}}}))
	cyclone := quake("track", 1)
	cyclone.Name, cyclone.Type = "Cyclone", hazard.Cyclone
	cyclone.Areas = []hazard.Area{{Role: hazard.TrackArea, Geometry: `{"type":"MultiLineString","coordinates":[[[140.1,10.2],[141,11],[142,13]],[[150,20],[-179,30]]]}`}}
	s.report(cyclone, quake("magnitude", 1))
	schema := esriMessage(t)
	const count = `[{"statisticType":"count","onStatisticField":"hazard_ID","outStatisticFieldName":"n"},{"statisticType":"max","onStatisticField":"latitude"},{"statisticType":"max","onStatisticField":"start_time"},{"statisticType":"sum","onStatisticField":"people"}]`
	kinds, shapes := map[string]int{}, 0
	for _, query := range []url.Values{
		{"outFields": {"*"}}, {"outFields": {"*"}, "outSR": {"3857"}}, {}, {"returnGeometry": {"false"}, "outFields": {"hazard_Name"}}, {"resultRecordCount": {"1"}, "outFields": {"*"}},
		{"where": {"hazard_Name = 'none'"}}, {"returnCountOnly": {"true"}}, {"returnCountOnly": {"true"}, "where": {"hazard_Name = 'none'"}}, {"returnIdsOnly": {"true"}},
		{"returnIdsOnly": {"true"}, "where": {"hazard_Name = 'none'"}}, {"outStatistics": {count}, "groupByFieldsForStatistics": {"type_ID"}}, {"outStatistics": {count}, "resultRecordCount": {"1"}, "groupByFieldsForStatistics": {"type_ID"}},
		{"returnDistinctValues": {"true"}, "outFields": {"status,severity_rank"}},
	} {
		for layer := range 6 {
			ask := func(f string) (arcgisFeatures, []byte) {
				t.Helper()
				values := maps.Clone(query)
				values.Set("f", f)
				a := s.do("reader", http.MethodGet, fmt.Sprintf("%s/%d/query?%s", featureServer, layer, values.Encode()), nil)
				if want := map[string]string{"json": "application/json", "pbf": "application/x-protobuf"}[f]; a.Status != http.StatusOK || a.Header.Get("Content-Type") != want {
					t.Fatalf("%v: %d %s %.300s", values, a.Status, a.Header.Get("Content-Type"), a.Body)
				}
				if f == "pbf" {
					return fromPBF(t, schema, a.Body), a.Body
				}
				var answer arcgisFeatures
				a.JSON(t, &answer)
				return answer, a.Body
			}
			want, text := ask("json")
			got, packed := ask("pbf")
			if want.GeometryType == "" { // JSON has no geometry type if no geometries are requested
				got.GeometryType, got.SpatialReference = "", want.SpatialReference
			}
			near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 0.011 })
			if query.Get("outSR") == "" {
				near = cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
			}
			if diff := cmp.Diff(want, got, near, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("layer %d, %v: JSON and PBF differ: %s", layer, query, diff)
			}
			if len(want.Features) > 0 {
				kinds[want.GeometryType]++
			}
			for _, x := range want.Features {
				shapes += len(x.Geometry.Rings) + len(x.Geometry.Paths)
			}
			if layer == 3 && query.Get("outFields") == "*" {
				t.Logf("%v: %d bytes, in JSON %d", query, len(packed), len(text))
			}
		}
	}
	if kinds["esriGeometryPoint"] == 0 || kinds["esriGeometryPolygon"] == 0 || kinds["esriGeometryPolyline"] == 0 || shapes < 20 {
		t.Errorf("too little was compared: %v, %d parts", kinds, shapes)
	}
	if a := s.do("reader", http.MethodPost, featureServer+"/0/query", "f=pbf&returnCountOnly=true", "Content-Type", "application/x-www-form-urlencoded"); a.Status != http.StatusOK || fromPBF(t, schema, a.Body).Count < 4 {
		t.Errorf("by POST: %d %q", a.Status, a.Body)
	}
	public := scenery(t, func(c *app.Config) { c.Public = route.PublicRead })
	if a := public.do("", http.MethodGet, featureServer+"/0/query?f=pbf", nil, "Accept-Encoding", "gzip"); a.Status != http.StatusOK || len(fromPBF(t, schema, decode(t, a.Header.Get("Content-Encoding"), a.Body)).Features) != 4 {
		t.Errorf("to the public: %d %q", a.Status, a.Body)
	}
}
