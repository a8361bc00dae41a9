package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/test/server"
)

type assetsAnswer struct {
	Organization  string
	Count, Areas  int64
	BBox          []float64
	By            string `json:"loaded_by"`
	HasArea       bool   `json:"has_area"`
	Inside, Near  *int64
	Text          string
	Organizations []struct{ Organization string }
	Assets        []struct {
		Organization, ID, Name, Kind string
		Inside                       bool
		Km                           float64 `json:"distance_km"`
		Lon, Lat                     float64
		IsArea                       bool `json:"is_area"`
	}
	More bool
}

func (a *assetsAnswer) names() (all []string) {
	for _, as := range a.Assets {
		all = append(all, as.Name)
	}
	return all
}

const clinics = "id;name;kind;lon;lat;wkt\nA1;Tokyo clinic;hospital;139,7;35,7;\nA2;Yokohama depot;;139,64;35,44;\nA3;Osaka school;school;135,5;34,7;\nA4;Harbor;port;;;POLYGON((139.9 35.4,140.1 35.4,140.1 35.6,139.9 35.6,139.9 35.4))\n"

// member creates a member of an organization.
func (w *world) member(name string, role auth.Role, org int64) {
	w.t.Helper()
	if err := w.Auth.Accounts().AddUser(w.t.Context(), auth.Actor{Name: "test"}, auth.NewUser{Name: name, Role: role, Password: server.Password, Orgs: []int64{org}}, w.Now()); err != nil {
		w.t.Fatal(err)
	}
}

// A member sees which assets of the organization are inside a hazard and near it. Nobody else sees
// that they exist, and no cache stores them.
func TestAssetsOfAHazard(t *testing.T) {
	s := start(t)
	s.member("fire-admin", auth.Admin, s.FireBrigade)
	path := "/organizations/" + digits(s.RedCross) + "/assets"
	var got assetsAnswer
	a := s.do("red", "PUT", path, "\xef\xbb\xbf"+clinics, "Content-Type", "text/csv")
	if a.JSON(t, &got); a.Status != http.StatusOK || got.Count != 4 || got.Areas != 1 || got.By != "red" || fmt.Sprint(got.BBox) != "[135.5 34.7 140.1 35.7]" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	h := s.hazard("red", "longitude", 139.7, "latitude", 35.7, "area", json.RawMessage(tokyo))
	ask := func(query string) (got assetsAnswer) {
		t.Helper()
		a := s.do("red-reader", "GET", "/hazards/"+h.UUID+"/assets"+query, nil)
		if a.JSON(t, &got); a.Status != http.StatusOK || a.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%d %v %s", a.Status, a.Header, a.Body)
		}
		return got
	}
	got = ask("")
	if !slices.Equal(got.names(), []string{"Tokyo clinic", "Harbor"}) || *got.Inside != 2 || got.Near != nil || got.Text != "2 of 4 assets are inside" || !got.Assets[1].IsArea || !got.HasArea {
		t.Errorf("%+v", got)
	}
	got = ask("?within_km=20")
	if !slices.Equal(got.names(), []string{"Tokyo clinic", "Harbor", "Yokohama depot"}) || *got.Inside != 2 || *got.Near != 1 || got.Assets[2].Inside || got.Assets[2].Km < 6 || got.Assets[2].Km > 7 {
		t.Errorf("%+v", got)
	}
	// Follow the links of pages.
	var names []string
	for next := "?within_km=20&limit=1"; next != ""; {
		a := s.do("red-reader", "GET", "/hazards/"+h.UUID+"/assets"+next, nil)
		got = assetsAnswer{}
		a.JSON(t, &got)
		names = append(names, got.names()...)
		_, next, _ = strings.Cut(a.Header.Get("Link"), "?")
		if next, _, _ = strings.Cut(next, ">"); next != "" {
			next = "?" + next
		}
		if got.More != (next != "") {
			t.Fatalf("more %v, %v", got.More, a.Header)
		}
	}
	if !slices.Equal(names, []string{"Tokyo clinic", "Harbor", "Yokohama depot"}) {
		t.Errorf("by pages: %q", names)
	}
	var exposed struct {
		Assets []struct{ Name string }
		Text   string `json:"assets_text"`
	}
	for _, c := range []struct {
		user  string
		names int
	}{{"red-reader", 3}, {"fire-admin", 0}, {"reader", 0}} { // two inside, one within 25 km
		exposed.Assets, exposed.Text = nil, ""
		a := s.do(c.user, "GET", "/hazards/"+h.UUID+"/exposure", nil)
		if a.JSON(t, &exposed); len(exposed.Assets) != c.names || (exposed.Text != "") != (c.names > 0) || c.names > 0 && a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("exposure for %s: %s %v", c.user, a.Body, a.Header)
		}
	}
	for _, tt := range []struct{ query, want string }{
		{"/assets?within_km=20&lang=es", "2 de 4 lugares están dentro, 1 más a 20 km o menos"}, {"/assets?lang=ja", "4か所中2か所の施設が範囲内にあります"},
		{"/exposure?lang=en", "2 of 4 assets are inside, 1 more within 25 km"}, {"/exposure?lang=fr", "2 lieux sur 4 sont à l’intérieur, 1 de plus à 25 km ou moins"},
	} {
		if a := s.do("red-reader", "GET", "/hazards/"+h.UUID+tt.query, nil); !strings.Contains(string(a.Body), tt.want) {
			t.Errorf("%s: %s, want %q", tt.query, a.Body, tt.want)
		}
	}
	// Page and brief show assets only to members, and no cache stores these pages.
	for _, path := range []string{"/brief", ""} {
		for user, want := range map[string]bool{"red-reader": true, "fire-admin": false, "reader": false} {
			a := s.do("", "GET", "/h/"+h.UUID+path+"?lang=en", nil, "Cookie", sessionOf(t, s, user))
			body := string(a.Body)
			if a.Status != http.StatusOK || strings.Contains(body, "2 of 4 assets are inside, 1 more within 25 km") != want || strings.Contains(body, "Yokohama depot") != want ||
				strings.Contains(body, "Osaka") || want && a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("/h/…%s for %s: %d %s, assets %v", path, user, a.Status, a.Header.Get("Cache-Control"), !want)
			}
		}
	}
	for _, user := range []string{"fire-admin", "reader", "root"} { // even admins
		a := s.do(user, "GET", "/hazards/"+h.UUID+"/assets?within_km=300", nil)
		if a.JSON(t, &got); a.Status != http.StatusOK || strings.Contains(string(a.Body), "clinic") || got.Inside != nil || !strings.HasPrefix(got.Text, "not known: ") {
			t.Errorf("%s: %d %s", user, a.Status, a.Body)
		}
		if a := s.do(user, "GET", path, nil); a.Status != http.StatusNotFound {
			t.Errorf("%s: %d %s", user, a.Status, a.Body)
		}
		if a := s.do(user, "PUT", path, clinics, "Content-Type", "text/csv"); a.Status != http.StatusNotFound {
			t.Errorf("%s: %d %s", user, a.Status, a.Body)
		}
	}
	if a := s.do("red-reader", "DELETE", path, nil); a.Status != http.StatusForbidden {
		t.Errorf("a reader removes: %d", a.Status)
	}
	// A hazard without an area has no assets inside, but still lists those near.
	point := s.hazard("red", "longitude", 139.7, "latitude", 35.7)
	a = s.do("red-reader", "GET", "/hazards/"+point.UUID+"/assets", nil)
	got = assetsAnswer{}
	if a.JSON(t, &got); got.HasArea || got.Inside != nil || *got.Near != 3 || got.Assets[0].Name != "Tokyo clinic" || got.Assets[0].Inside || got.Text != "the hazard has no area; 3 of 4 assets are within 100 km" {
		t.Errorf("%s", a.Body)
	}
	// The other formats.
	if a := s.do("red-reader", "GET", "/hazards/"+h.UUID+"/assets?f=csv", nil); string(a.Body) != "organization,id,name,kind,lon,lat,wkt,inside,distance_km\r\n\"RC\",\"A1\",\"Tokyo clinic\",\"hospital\",139.7,35.7,,true,0\r\n"+
		"\"RC\",\"A4\",\"Harbor\",\"port\",140,35.5,\"POLYGON((139.9 35.4,140.1 35.4,140.1 35.6,139.9 35.6,139.9 35.4))\",true,0\r\n" {
		t.Errorf("%s", a.Body)
	}
	a = s.do("red-reader", "GET", path+"?f=geojson&bbox=139.8,35,140.05,36", nil)
	if text := string(a.Body); a.Header.Get("Content-Type") != "application/geo+json" || !strings.Contains(text, `"Polygon"`) || strings.Contains(text, "clinic") {
		t.Errorf("%v %s", a.Header, a.Body)
	}
	// The CSV and GeoJSON of the list can be loaded again.
	for _, f := range []string{"csv", "geojson"} {
		list := s.do("red", "GET", path+"?f="+f, nil)
		a := s.do("red", "PUT", path, list.Body, "Content-Type", list.Header.Get("Content-Type"))
		got = assetsAnswer{}
		if a.JSON(t, &got); a.Status != http.StatusOK || got.Count != 4 || got.Areas != 1 {
			t.Errorf("%s loaded again: %d %s", f, a.Status, a.Body)
		}
	}
	for path, field := range map[string]string{"/hazards/" + h.UUID + "/assets?within_km=301": "within_km", "/hazards/" + h.UUID + "/assets?organization=" + digits(s.FireBrigade): "organization",
		"/hazards/" + h.UUID + "/assets?after=x": "after", "/hazards/" + h.UUID + "/assets?f=xml": "f", path + "?after=1.1": "after", path + "?bbox=1,2,3": "bbox", path + "?limit=0": "limit"} {
		if a := s.do("red", "GET", path, nil); a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), `"parameter":"`+field+`"`) {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	if a := s.do("red", "DELETE", path, nil); a.Status != http.StatusNoContent {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := s.do("red", "DELETE", path, nil); a.Status != http.StatusNotFound {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	var rows []struct{ Action, User, Subject, Detail string }
	if s.do("root", "GET", "/audit?action=assets%20loaded", nil).JSON(t, &rows); len(rows) != 3 || rows[0].User != "red" || rows[0].Subject != "RC" || !strings.Contains(rows[0].Detail, "3 points, 1 areas") {
		t.Errorf("%+v", rows)
	}
}

// A file with an error changes nothing, and the answer gives the error's place.
func TestAssetsThatAreWrong(t *testing.T) {
	s := start(t)
	path := "/organizations/" + digits(s.RedCross) + "/assets"
	if a := s.do("red", "PUT", path, clinics, "Content-Type", "text/csv"); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	for _, tt := range []struct{ body, want string }{
		{"name,lon,lat\nA,1,2\nB,35.7,139.7\n", `line 3: lat: \"139.7\" is not from -90 to 90; are lon and lat swapped?`},
		{`{"type":"FeatureCollection","features":[{"type":"Feature","geometry":null,"properties":{"name":"A"}}]}`, `"pointer":"/features/0/geometry"`},
		{"", "the file is empty"},
	} {
		if a := s.do("red", "PUT", path, tt.body, "Content-Type", "text/csv"); a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), tt.want) {
			t.Errorf("%q: %d %s", tt.body, a.Status, a.Body)
		}
	}
	if a := s.do("red", "PUT", path, strings.Repeat(" ", 64<<20+1), "Content-Type", "text/csv"); a.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	var got assetsAnswer
	if s.do("red", "GET", path, nil).JSON(t, &got); got.Count != 4 || len(got.Assets) != 4 {
		t.Errorf("%+v", got)
	}
}
