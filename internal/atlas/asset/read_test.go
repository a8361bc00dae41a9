package asset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

func readAll(text string) (all []Asset, err error) {
	err = Read(strings.NewReader(text), func(a *Asset) error {
		all = append(all, *a)
		return nil
	})
	return all, err
}

// Files in the usual formats, each with the same two assets.
func TestRead(t *testing.T) {
	for name, text := range map[string]string{
		"CSV":                   "id,name,kind,lon,lat\nA1,Kérouané,school,-9.0104,9.2722\nA2,\"Clinic, north\",hospital,36.82,-1.29\n",
		"BOM and CR LF":         "\xef\xbb\xbfid,name,kind,lon,lat\r\nA1,Kérouané,school,-9.0104,9.2722\r\nA2,\"Clinic, north\",hospital,36.82,-1.29\r\n",
		"semicolons and commas": "ID;Name;Type;Longitude;Latitude\nA1;Kérouané;school;-9,0104;9,2722\nA2;Clinic, north;hospital;36,82;-1,29",
		"tabs and more columns": "lat\tlng\tname\tcategory\towner\tid\n9.2722\t-9.0104\tKérouané\tschool\tx\tA1\n\n-1.29\t36.82\tClinic, north\thospital\ty\tA2\n",
		"empty rows":            "id,name,kind,lon,lat\nA1,Kérouané,school,-9.0104,9.2722\n,,,,\nA2,\"Clinic, north\",hospital,36.82,-1.29\n,,,,\n",
		"well-known text":       "id,name,kind,wkt\nA1,Kérouané,school,POINT(-9.0104 9.2722)\nA2,\"Clinic, north\",hospital,POINT(36.82 -1.29)\n",
		"GeoJSON": `{"type":"FeatureCollection","name":"x","features":[
			{"type":"Feature","id":"A1","geometry":{"type":"Point","coordinates":[-9.0104,9.2722,12]},"properties":{"name":"Kérouané","kind":"school","more":{"a":[1]}}},
			{"type":"Feature","geometry":{"type":"Point","coordinates":[36.82,-1.29]},"properties":{"ID":"A2","NAME":"Clinic, north","type":"hospital"}}]}`,
	} {
		all, err := readAll(text)
		if err != nil || len(all) != 2 {
			t.Errorf("%s: %v %v", name, all, err)
			continue
		}
		for i, want := range []Asset{{N: 1, ID: "A1", Name: "Kérouané", Kind: "school", Lon: -9.0104, Lat: 9.2722}, {N: 2, ID: "A2", Name: "Clinic, north", Kind: "hospital", Lon: 36.82, Lat: -1.29}} {
			if a := all[i]; a.N != want.N || a.ID != want.ID || a.Name != want.Name || a.Kind != want.Kind || a.Lon != want.Lon || a.Lat != want.Lat || !a.Area.IsZero() {
				t.Errorf("%s: %+v, want %+v", name, a, want)
			}
		}
	}
	all, err := readAll(`{"features":[{"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]},"properties":{"name":"camp"}}],"type":"FeatureCollection"}`)
	if err != nil || len(all) != 1 || all[0].Area.AreaKm2() < 6000 || all[0].Bounds() != (geo.Box{West: 0, South: 0, East: 1, North: 1}) {
		t.Errorf("%+v %v", all, err)
	}
}

// Errors name the line or feature, the field and the value, and nothing after the error is read.
func TestReadFaults(t *testing.T) {
	feature := func(geometry string) string {
		return `{"type":"FeatureCollection","features":[{"type":"Feature","geometry":` + geometry + `,"properties":{"name":"n"}}]}`
	}
	ring := ""
	for i := range maxPositions {
		ring += fmt.Sprintf("[%f,%f],", float64(i)/maxPositions, float64(i*i)/maxPositions/maxPositions)
	}
	for _, tt := range []struct{ text, want string }{
		{"", "the file is empty"},
		{" \n", "the file is empty"},
		{"name,lon,lat\n", "the file has no assets"},
		{"name,lon,lat\na,1", `line 2: 2 fields, expected 3`},
		{"name,lon\na,1", "line 1: expected a header with the columns name, lon and lat"},
		{"name,lon,lat,x\na,1,2,3", "line 1: the columns 2 and 4 are both the lon"},
		{"name,lon,lat\n,1,2", "line 2: name: is missing"},
		{"name,lon,lat\na,,2", "line 2: lon: is missing"},
		{"name,lon,lat\na,1,2\nb,1,136.8", `line 3: lat: "136.8" is not from -90 to 90; are lon and lat swapped?`},
		{"name,lon,lat\na,200,2", `line 2: lon: "200" is not from -180 to 180`},
		{"name,lon,lat\na,3450000,2", `line 2: lon: "3450000" is not from -180 to 180`},
		{"name,lon,lat\na,NaN,2", `line 2: lon: "NaN" is not a number`},
		{"name,lon,lat\na,0x1p3,2", `is not a number`},
		{"name;lon;lat\na;1,2,3;2", `line 2: lon: "1,2,3" is not a number`},
		{"name,lon,lat\nM\xfcnchen,1,2", `line 2: name: "M\xfcnchen" is not UTF-8`},
		{"\xff\xfen\x00a\x00", "the file is UTF-16"},
		{"PK\x03\x04....", "is a ZIP archive or a workbook"},
		{"name,lon,lat\n\"a,1,2\n", `line 2: extraneous or missing " in quoted-field`},
		{"name,lon,lat\n\"" + strings.Repeat("x", 2*maxRecord) + "\",1,2\n", "more than 1048576 bytes"},
		{"name,lon,lat\n" + strings.Repeat("x", maxName+1) + ",1,2\n", "line 2: name: 201 characters, at most 200"},
		{"name,wkt\na,\"LINESTRING(0 0,1 1)\"", "expected a Point, Polygon or MultiPolygon"},
		{"name,wkt\na,nowhere", "line 2: wkt: "},
		{"[]", "is an array of JSON"},
		{"{}", "features: is missing"},
		{`{"type":"Feature"}`, `type: "Feature", expected "FeatureCollection"`},
		{`{"type":"FeatureCollection","features":[{"type":`, "not JSON at byte "},
		{`{"type":"FeatureCollection","features":[]}`, "the file has no assets"},
		{`{"type":"FeatureCollection","features":[7]}`, "features/0: 7, expected a Feature"},
		{`{"features":[{"geometry":{"type":"Point","coordinates":[1,2]},"properties":{}}]}`, "features/0/properties: name: is missing"},
		{`{"crs":{"type":"name","properties":{"name":"EPSG:3857"}},"features":[]}`, "crs: "},
		{feature("null"), "features/0/geometry: is null or missing"},
		{feature(`{"type":"Point","coordinates":[36.8,-91.2]}`), "features/0/geometry: "},
		{feature(`{"type":"MultiPoint","coordinates":[[1,2],[3,4]]}`), "expected a Point, Polygon or MultiPolygon"},
		{feature(`{"type":"Polygon","coordinates":[[` + ring + `[1,1],[0,1],[0,0]]]}`), "features/0/geometry: "},
		{feature(`{"type":"Point","coordinates":[1,2],"x":"` + strings.Repeat("x", 3*maxRecord) + `"}`), "more than 1048576 bytes"},
		{feature(`{"type":"Point","coordinates":[1,2]}`) + "x", "expected the end of the file"},
	} {
		all, err := readAll(tt.text)
		bad, ok := errors.AsType[*hazard.InvalidError](err)
		if !ok || !strings.Contains(bad.Error(), tt.want) {
			t.Errorf("%.80q: %v, want %q", tt.text, err, tt.want)
		}
		if len(all) > 1 {
			t.Errorf("%.80q: %d assets", tt.text, len(all))
		}
	}
	text := "name,lon,lat\n" + strings.Repeat("a,1,100\n", 1000)
	if _, err := readAll(text); err == nil || len(err.(*hazard.InvalidError).Faults) != maxFaults {
		t.Errorf("%v", err)
	}
}

// One row too many ends the reading.
func TestReadTooMany(t *testing.T) {
	var text bytes.Buffer
	text.WriteString("name,lon,lat\n")
	for i := range MaxAssets + 1 {
		fmt.Fprintf(&text, "a,%d,2\n", i%180)
	}
	n := 0
	err := Read(&text, func(*Asset) error { n++; return nil })
	if over, ok := errors.AsType[*hazard.LimitError](err); !ok || n != MaxAssets || !strings.Contains(over.Detail, "200000") {
		t.Errorf("%d, %v", n, err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the line is cut") }

// Errors of reading the file, or of storing an asset, are returned unchanged.
func TestReadErrors(t *testing.T) {
	for _, text := range []string{"", "name,lon,lat\na,1,2\n", `{"type":"FeatureCollection","features":[`} {
		if err := Read(io.MultiReader(strings.NewReader(text), broken{}), func(*Asset) error { return nil }); err == nil || err.Error() != "the line is cut" {
			t.Errorf("%q: %v", text, err)
		}
	}
	full := errors.New("full")
	for _, text := range []string{"name,lon,lat\na,1,2\n", `{"features":[{"geometry":{"type":"Point","coordinates":[1,2]},"properties":{"name":"a"}}]}`} {
		if err := Read(strings.NewReader(text), func(*Asset) error { return full }); err != full {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Whatever the file, the assets that are read are valid.
func FuzzRead(f *testing.F) {
	f.Add("id,name,kind,lon,lat\nA1,a,b,1,2\n")
	f.Add("name;wkt\na;POLYGON((0 0,1 0,1 1,0 0))")
	f.Add(`{"type":"FeatureCollection","features":[{"id":1,"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]},"properties":{"name":"a"}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		n := int64(0)
		err := Read(strings.NewReader(text), func(a *Asset) error {
			n++
			b := a.Bounds()
			if a.N != n || a.Name == "" || a.Name != hazard.CleanLine(a.Name) || !(a.Lon >= -180 && a.Lon <= 180 && a.Lat >= -90 && a.Lat <= 90) || !(b.South >= -90 && b.North <= 90) {
				t.Fatalf("%+v", a)
			}
			cell := Cell(b)
			for _, part := range b.Widened(0) {
				for _, r := range Ranges(part) {
					if r.First <= cell && cell <= r.Last {
						return nil
					}
				}
			}
			t.Fatalf("no range of %v contains the cell %d", b, cell)
			return nil
		})
		if err == nil && n == 0 {
			t.Fatal("a file without assets")
		}
	})
}
