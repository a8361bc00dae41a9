package areafile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

func kml(placemarks string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document><name>Harbor</name>` + placemarks + `</Document></kml>`
}

func gml(srs, polygons string) string {
	return `<gml:FeatureCollection xmlns:gml="http://www.opengis.net/gml/3.2"><gml:featureMember><zone><gml:name>Zone A</gml:name><gml:MultiSurface srsName="` + srs + `">` + polygons + `</gml:MultiSurface></zone></gml:featureMember></gml:FeatureCollection>`
}

const (
	kmlSquare = `<Polygon><outerBoundaryIs><LinearRing><coordinates>10,53,0 11,53,0 11,54,0 10,54,0 10,53,0</coordinates></LinearRing></outerBoundaryIs></Polygon>`
	kmlHole   = `<Polygon><outerBoundaryIs><LinearRing><coordinates>10,53 11,53 11,54 10,54 10,53</coordinates></LinearRing></outerBoundaryIs><innerBoundaryIs><LinearRing><coordinates>10.2,53.2 10.4,53.2 10.4,53.4 10.2,53.2</coordinates></LinearRing></innerBoundaryIs></Polygon>`
	gmlSquare = `<gml:surfaceMember><gml:Polygon><gml:exterior><gml:LinearRing><gml:posList>53 10 53 11 54 11 54 10 53 10</gml:posList></gml:LinearRing></gml:exterior></gml:Polygon></gml:surfaceMember>`
	square    = `[[[10,53],[11,53],[11,54],[10,54],[10,53]]]`
)

func zipped(t testing.TB, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = io.WriteString(w, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// shp returns a shapefile with one square polygon, and its table without columns.
func shp() (shapes, table string) {
	var record []byte
	for _, n := range []uint32{5} {
		record = binary.LittleEndian.AppendUint32(record, n)
	}
	for _, x := range []float64{10, 53, 11, 54} {
		record = binary.LittleEndian.AppendUint64(record, math.Float64bits(x))
	}
	for _, n := range []uint32{1, 5, 0} {
		record = binary.LittleEndian.AppendUint32(record, n)
	}
	for _, x := range []float64{10, 53, 10, 54, 11, 54, 11, 53, 10, 53} {
		record = binary.LittleEndian.AppendUint64(record, math.Float64bits(x))
	}
	all := make([]byte, 100)
	binary.BigEndian.PutUint32(all, 9994)
	all = binary.BigEndian.AppendUint32(all, 1)
	all = binary.BigEndian.AppendUint32(all, uint32(len(record)/2))
	all = append(all, record...)
	head := make([]byte, 33)
	head[0], head[4], head[8], head[10] = 3, 1, 33, 1
	head[32] = 0x0d
	return string(all), string(head) + " "
}

func TestRead(t *testing.T) {
	shapes, table := shp()
	for name, tt := range map[string]struct {
		doc    string
		format string
		want   []string // the name, and the first corner or the number of polygons
		left   int
	}{
		"a geometry":           {`{"type":"Polygon","coordinates":` + square + `}`, "GeoJSON", []string{" 1"}, 0},
		"features":             {`{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"NAME":"Zone A","id":"7"},"geometry":{"type":"Polygon","coordinates":` + square + `}},{"type":"Feature","properties":null,"geometry":{"type":"Point","coordinates":[1,2]}},{"type":"Feature","properties":{},"geometry":null}]}`, "GeoJSON", []string{"Zone A 1"}, 2},
		"degrees by name":      {"\xef\xbb\xbf " + `{"type":"Feature","crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}},"properties":{"title":"T"},"geometry":{"type":"MultiPolygon","coordinates":[` + square + `]}}`, "GeoJSON", []string{"T 1"}, 0},
		"KML":                  {kml(`<Placemark><name>Quay</name>` + kmlSquare + `</Placemark><Placemark>` + kmlHole + `</Placemark><Placemark><Point><coordinates>1,2</coordinates></Point></Placemark>`), "KML", []string{"Quay 1", "Harbor 1"}, 1},
		"several in a mark":    {kml(`<Placemark><name>Two</name><MultiGeometry>` + kmlSquare + strings.ReplaceAll(kmlSquare, "10,5", "12,5") + `<LineString><coordinates>1,2 3,4</coordinates></LineString></MultiGeometry></Placemark>`), "KML", []string{"Two 1"}, 0},
		"KMZ":                  {zipped(t, "images/a.png", "x", "doc.kml", kml(`<Placemark><name>Quay</name>`+kmlSquare+`</Placemark>`)), "KML", []string{"Quay 1"}, 0},
		"GML, latitudes first": {gml("urn:ogc:def:crs:EPSG::4326", gmlSquare), "GML", []string{"Zone A 1"}, 0},
		"GML 2": {`<wfs:FeatureCollection xmlns:wfs="http://www.opengis.net/wfs" xmlns:gml="http://www.opengis.net/gml"><gml:featureMember><gml:Polygon srsName="EPSG:4326"><gml:outerBoundaryIs><gml:LinearRing><gml:coordinates>10,53 11,53 11,54 10,54 10,53</gml:coordinates></gml:LinearRing></gml:outerBoundaryIs></gml:Polygon></gml:featureMember></wfs:FeatureCollection>`,
			"GML", []string{" 1"}, 0},
		"GML of a collection's system": {`<c:collection xmlns:c="urn:c" xmlns:gml="http://www.opengis.net/gml/3.2"><gml:boundedBy><gml:Envelope srsName="http://www.opengis.net/def/crs/OGC/1.3/CRS84"><gml:lowerCorner>10 53</gml:lowerCorner></gml:Envelope></gml:boundedBy><gml:Surface><gml:patches><gml:PolygonPatch><gml:exterior><gml:LinearRing><gml:pos>10 53 0</gml:pos><gml:pos>11 53 0</gml:pos><gml:pos>11 54 0</gml:pos><gml:pos>10 53 0</gml:pos></gml:LinearRing></gml:exterior></gml:PolygonPatch></gml:patches></gml:Surface></c:collection>`,
			"GML", []string{" 1"}, 0},
		"a shapefile": {zipped(t, "zones.shp", shapes, "zones.dbf", table, "zones.prj", `GEOGCS["WGS 84"]`), "shapefile", []string{" 1"}, 0},
	} {
		f, err := Read([]byte(tt.doc))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, a := range f.Areas {
			got = append(got, fmt.Sprint(a.Name, " ", min(1, len(a.Shape.Polygons()))))
			if west, south, _, _ := a.Shape.Bounds(); west != 10 || south != 53 {
				t.Errorf("%s: %s begins at %v, %v", name, a.Name, west, south)
			}
		}
		if f.Format != tt.format || fmt.Sprint(got) != fmt.Sprint(tt.want) || f.Left != tt.left || f.Whole.AreaKm2() == 0 {
			t.Errorf("%s: %s, %q, %d left; want %s, %q, %d", name, f.Format, got, f.Left, tt.format, tt.want, tt.left)
		}
	}
}

// An error names the member, the place, and the expected value.
func TestFilesThatAreRefused(t *testing.T) {
	shapes, table := shp()
	many := strings.Repeat(`[1,2],`, maxPositions)
	for doc, want := range map[string]string{
		"":                   "the file is empty, expected GeoJSON, KML",
		"lat,lon\n1,2":       `it begins with "lat,lon`,
		`{"type":"Polygon"}`: "coordinates",
		`{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[900,5],[1,2],[3,4],[900,5]]]}}]}`: "feature 1: ",
		`{"type":"FeatureCollection","features":[]}`: "the file has no areas",
		`{"type":"Point","coordinates":[1,2]}`:       "only 1 points or lines",
		`{"a":`:                                      "it is not GeoJSON",
		`{"type":"Polygon","crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::25832"}},"coordinates":` + square + `}`: "crs: \"urn:ogc:def:crs:EPSG::25832\", expected degrees",
		`{"type":"LineString","coordinates":[` + many + `[1,2]]}`:                                                                   "only 1 points or lines",
		`<html><body>Not found</body></html>`:                                                                                       `the document is "html", expected kml`,
		kml(`<Placemark>` + strings.Replace(kmlSquare, "11,54,0", "11;54", 1) + `</Placemark>`):                                     `line 1: coordinates: "11;54", expected longitude`,
		kml(`<Placemark>`): "it is not XML",
		kml(`<Placemark><Polygon></Polygon></Placemark>`):                                "expected one LinearRing",
		kml(strings.Repeat("<a>", 100)):                                                  "deeper than 60",
		gml("urn:ogc:def:crs:EPSG::25832", gmlSquare):                                    "srsName",
		gml("", gmlSquare):                                                               "srsName is missing",
		gml("EPSG:4326", strings.ReplaceAll(gmlSquare, "LinearRing", "Ring")):            "an edge that is a Ring, expected a LinearRing",
		zipped(t, "readme.txt", "hello"):                                                 "the archive has no file with areas",
		zipped(t, "doc.kml", "<kml"):                                                     "doc.kml: it is not XML",
		zipped(t, "zones.shp", shapes[:120], "zones.dbf", table):                         `"zones.shp": it ends too early`,
		zipped(t, "zones.shp", shapes, "zones.dbf", table, "zones.prj", `PROJCS["UTM"]`): `its coordinates are not degrees but "UTM", expected EPSG:4326`,
		zipped(t, "doc.kml", "<kml>"+strings.Repeat(" ", maxUnpacked)):                   "doc.kml has more than",
		"PK\x03\x04": "the archive cannot be read",
		shapes:       "expected a ZIP archive of .shp",
	} {
		if _, err := Read([]byte(doc)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", doc, err, want)
		}
	}
	var marks strings.Builder
	for range maxAreas + 1 {
		marks.WriteString("<Placemark>" + kmlSquare + "</Placemark>")
	}
	if _, err := Read([]byte(kml(marks.String()))); err == nil || !strings.Contains(err.Error(), "more than 200 areas") {
		t.Error(err)
	}
}

// The recorded files with areas are read, or rejected with a reason.
func TestRecordedFiles(t *testing.T) {
	test.NoRace(t)
	test.Slow(t)
	for name, want := range map[string]int{
		"feeds/nhc/gtwo-epacific-two-areas.kml":           2,
		"feeds/nifc/perimeters-20260727.geojson":          10,
		"feeds/nhc/ida-al092021/gis-012/5day_pgn.geojson": 1,
	} {
		f, err := Read(recordings.Read(t, name))
		if err != nil || len(f.Areas) != want {
			t.Fatalf("%s: %v, %d areas, want %d", name, err, len(f.Areas), want)
		}
	}
	list, err := filepath.Glob(filepath.Join(filepath.Dir(recordings.Path(t, "feeds/nhc/gtwo-epacific-two-areas.kml")), "*.kml"))
	if err != nil || len(list) < 3 {
		t.Fatal(err, list)
	}
	for _, path := range list {
		doc, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := Read(doc); err != nil && !strings.Contains(err.Error(), "the file has no areas") {
			t.Errorf("%s: %v", path, err)
		} else if err == nil {
			t.Logf("%s: %d areas, %d without", filepath.Base(path), len(f.Areas), f.Left)
		}
	}
}

// fuzz checks that the areas read from any input are within the limits.
func fuzz(t *testing.T, doc []byte) {
	f, err := Read(doc)
	if err != nil {
		return
	}
	positions := 0
	for _, a := range f.Areas {
		positions += a.Shape.Positions()
		if a.Shape.AreaKm2() == 0 {
			t.Fatalf("%q has no area", a.Name)
		}
	}
	if len(f.Areas) == 0 || len(f.Areas) > maxAreas || positions > maxPositions || f.Whole.IsZero() {
		t.Fatalf("%d areas, %d positions", len(f.Areas), positions)
	}
}

func FuzzXML(f *testing.F) {
	f.Add(kml(`<Placemark><name>Quay</name>` + kmlSquare + `</Placemark>`))
	f.Add(kml(`<Placemark><MultiGeometry>` + kmlHole + kmlSquare + `</MultiGeometry></Placemark>`))
	f.Add(gml("urn:ogc:def:crs:EPSG::4326", gmlSquare))
	f.Add(gml("EPSG:4326", `<gml:Polygon srsDimension="3"><gml:exterior><gml:LinearRing><gml:posList>1 2 3 4 5 6 7 8 9 1 2 3</gml:posList></gml:LinearRing></gml:exterior></gml:Polygon>`))
	f.Fuzz(func(t *testing.T, doc string) { fuzz(t, []byte(doc)) })
}

func FuzzGeoJSON(f *testing.F) {
	f.Add(`{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"NAME":"Zone A"},"geometry":{"type":"Polygon","coordinates":` + square + `}}]}`)
	f.Add(`{"type":"GeometryCollection","geometries":[{"type":"Polygon","coordinates":` + square + `},{"type":"Point","coordinates":[1,2]}]}`)
	f.Fuzz(func(t *testing.T, doc string) { fuzz(t, []byte(doc)) })
}

func FuzzArchive(f *testing.F) {
	shapes, table := shp()
	f.Add("zones.shp", shapes, "zones.dbf", table)
	f.Add("doc.kml", kml(`<Placemark>`+kmlSquare+`</Placemark>`), "a.png", "")
	f.Fuzz(func(t *testing.T, name1, one, name2, two string) { fuzz(t, []byte(zipped(t, name1, one, name2, two))) })
}

// What a file costs is counted before it is spent: small files that unpack to much are
// refused long before everything in them was looked at.
func TestAHostileFileIsRefusedBeforeItCosts(t *testing.T) {
	star := func(n int) string { // a ring of which most sides cross
		var b strings.Builder
		for i := range n + 1 {
			sin, cos := math.Sincos(2 * math.Pi * float64(i%n) * float64(n/2) / float64(n))
			fmt.Fprintf(&b, "[%.4f,%.4f],", 10+cos, 50+sin)
		}
		return `{"type":"Polygon","coordinates":[[` + strings.TrimSuffix(b.String(), ",") + `]]}`
	}
	features := func(n int, geometry string) string {
		one := `{"type":"Feature","properties":{},"geometry":` + geometry + `}`
		return `{"type":"FeatureCollection","features":[` + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + `]}`
	}
	for name, tt := range map[string]struct{ doc, want string }{
		"stars":           {features(maxAreas, star(99)), "cross each other too often"},
		"a large ring":    {features(1, star(maxPositions+1)), "more than 20000 positions"},
		"many features":   {zipped(t, "a.json", features(200_000, `null`)), "200000 features"},
		"many elements":   {zipped(t, "a.kml", kml(strings.Repeat("<Placemark/>", 1_000_000))), "more than 200000 elements"},
		"a long text":     {zipped(t, "a.kml", kml("<Placemark>"+strings.Replace(kmlSquare, "10,53,0 ", strings.Repeat("10,53,0 ", 1_500_000), 1)+"</Placemark>")), "coordinates: more than 2097152 bytes"},
		"lines, no areas": {zipped(t, "a.json", features(9_000, `{"type":"LineString","coordinates":[`+strings.Repeat("[1,2],", 100)+`[1,2]]}`)), "only 9000 points or lines"},
	} {
		began := time.Now()
		_, err := Read([]byte(tt.doc))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		t.Logf("%s: %d bytes, %v", name, len(tt.doc), time.Since(began).Round(time.Millisecond))
	}
}
