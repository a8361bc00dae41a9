package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/server"
)

// told is a change as clients receive it, without what differs from run to run.
type told struct {
	Change int64
	Type   string
	User   string
	Source string
	Reason string
	Note   string
	Fields []struct {
		Field    string
		From, To json.RawMessage
	}
	Hazard, Product *item
}

func TestHistoryTellsEveryChangeAndWhatItChanged(t *testing.T) {
	s := start(t)
	h := s.hazard("red")
	path := "/hazards/" + h.UUID
	p := s.product("red", h.HazardID, note())
	for _, step := range []struct{ user, method, path, body string }{
		{"root", "PATCH", path, `{"hazard_Name":"New","severity_ID":"WARNING"}`},
		{"red", "PATCH", path, `{"area":{"type":"Point","coordinates":[1,2]}}`},
		{"red", "PATCH", "/products/" + p.UUID, `{"title":"New","is_Hidden":"Y"}`},
		{"red", "DELETE", "/products/" + p.UUID, ""},
		{"red", "POST", path + "/retract", `{"reason":"false"}`},
	} {
		if a := s.do(step.user, step.method, step.path, step.body); a.Status/100 != 2 {
			t.Fatalf("%+v: %d %s", step, a.Status, a.Body)
		}
	}
	var list []told
	s.do("red-reader", "GET", path+"/changes", nil).JSON(t, &list) // a member may read a deleted product's text
	var got []string
	for _, c := range list {
		line := fmt.Sprintf("%d %s by %s", c.Change, c.Type, c.User)
		if c.Reason != "" {
			line += " (" + c.Reason + ")"
		}
		line += ":"
		for _, f := range c.Fields {
			if !strings.HasSuffix(f.Field, "_Date") && f.Field != "last_Update" {
				line += fmt.Sprintf(" %s %.13s→%.13s", f.Field, f.From, f.To)
			}
		}
		got = append(got, line)
		if (c.Hazard == nil) == (c.Product == nil) {
			t.Errorf("change %d has both a hazard and a product, or neither", c.Change)
		}
	}
	if diff := cmp.Diff([]string{
		"1 hazard.created by red:",
		"2 product.created by red:",
		`3 hazard.updated by root: hazard_Name "Flood"→"New" severity_ID "WATCH"→"WARNING" update_User "red"→"root"`,
		`4 hazard.updated by red: update_User "root"→"red" area null→[{"role":"ale place_kind "point"→"exact"`,
		`5 product.updated by red: title "Note"→"New" is_Hidden "N"→"Y"`,
		"6 product.deleted by red:",
		`7 hazard.expired by red (retracted): severity_ID "WARNING"→"TERMINATION" status "A"→"E"`,
	}, got); diff != "" {
		t.Error(diff)
	}
	if list[6].Note != "false" {
		t.Errorf("the reason of the retraction: %q", list[6].Note)
	}
	// product_total is the number at that time.
	for i, want := range map[int]string{0: "0", 2: "1", 6: "0"} {
		if got := list[i].Hazard.ProductTotal; got != want {
			t.Errorf("change %d has %s products, want %s", list[i].Change, got, want)
		}
	}
}

func TestPagesOfChangesSkipAndRepeatNothing(t *testing.T) {
	s := newSecrets(t)
	next := regexp.MustCompile(`^<(.+)>; rel="next"$`)
	for _, user := range []string{"reader", "fire"} {
		for _, path := range []string{"/changes", "/hazards/" + s.hazard.UUID + "/changes"} {
			whole := objects(t, s.do(user, "GET", path+"?limit=1000", nil).Body)
			for _, limit := range []int{1, 2, 3, 7, 1000} {
				t.Run(fmt.Sprintf("%s %s by %d", user, strings.TrimPrefix(path, "/hazards/"+s.hazard.UUID), limit), func(t *testing.T) {
					var paged []string
					address := fmt.Sprintf("%s?limit=%d", path, limit)
					for pages := 0; address != ""; pages++ {
						a := s.do(user, "GET", address, nil)
						page := objects(t, a.Body)
						if len(page) > limit || pages > 100 {
							t.Fatalf("page %d of %d changes", pages, len(page))
						}
						for _, c := range page {
							paged = append(paged, string(c))
						}
						address = ""
						if link := next.FindStringSubmatch(a.Header.Get("Link")); link != nil {
							address = strings.TrimPrefix(link[1], s.URL())
						}
					}
					if len(paged) != len(whole) {
						t.Fatalf("%d changes on pages, %d in one answer", len(paged), len(whole))
					}
					for i := range whole {
						if diff := cmp.Diff(string(whole[i]), paged[i]); diff != "" {
							t.Error(diff)
						}
					}
				})
			}
		}
	}
	for _, query := range []string{"after=-1", "after=x", "after=9223372036854775808", "limit=0", "limit=1001", "limit=", "after=1&after=2", "before=1", "after=%zz", "after=1;limit=2"} {
		t.Run("not by "+query, func(t *testing.T) {
			for _, path := range []string{"/changes", "/hazards/" + s.hazard.UUID + "/changes"} {
				wantProblem(t, s.do("reader", "GET", path+"?"+query, nil), 400)
			}
		})
	}
	t.Run("not after a number that no change has", func(t *testing.T) {
		if p := wantProblem(t, s.do("reader", "GET", "/changes?after=9223372036854775807", nil), 410); !strings.Contains(p.Detail, "9223372036854775807") {
			t.Error(p.Detail)
		}
	})
}

func TestAlertGeography(t *testing.T) {
	s := start(t)
	square := map[string]any{"type": "Polygon", "coordinates": [][][]int{{{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}}}}
	across := map[string]any{"type": "Polygon", "coordinates": [][][]int{{{179, 0}, {-179, 0}, {-179, 1}, {179, 1}, {179, 0}}}}
	for name, tt := range map[string]struct {
		more []any
		role string
		wkt  string
	}{
		"of an area":                      {[]any{"area", square}, "alert", "POLYGON"},
		"of an area across the date line": {[]any{"area", across}, "alert", "MULTIPOLYGON"},
		"of a point":                      {nil, "point", "POINT(20 10)"},
	} {
		t.Run(name, func(t *testing.T) {
			h := s.hazard("red", tt.more...)
			var pdc struct {
				MagID    int64 `json:"magId"`
				UUID     string
				Title    string
				MagType  string
				Creator  string
				IsActive bool
				Role     string
				WKT      struct{ Text, Binary string } `json:"wkt"`
			}
			a := s.do("reader", "GET", "/hazards/"+h.UUID+"/alert-geography", nil)
			a.JSON(t, &pdc)
			if pdc.MagID != h.HazardID || pdc.UUID != h.UUID || pdc.Title != "Flood" || pdc.Creator != "red" || !pdc.IsActive || pdc.Role != tt.role || !strings.HasPrefix(pdc.WKT.Text, tt.wkt) || pdc.WKT.Binary == "" {
				t.Errorf("%s", a.Body)
			}
			for way, a := range map[string]server.Answer{
				"Accept": s.do("reader", "GET", "/hazards/"+h.UUID+"/alert-geography", nil, "Accept", "application/geo+json, */*;q=0.1"),
				"f":      s.do("reader", "GET", "/hazards/"+h.UUID+"/alert-geography?f=geojson", nil),
			} {
				var geo struct {
					Type     string
					Features []struct {
						Type       string
						Geometry   struct{ Type string }
						Properties struct {
							Role   string `json:"role"`
							Status string `json:"status"`
						}
					}
				}
				a.JSON(t, &geo)
				if a.Header.Get("Content-Type") != "application/geo+json" || geo.Type != "FeatureCollection" || len(geo.Features) != 1 || geo.Features[0].Properties.Role != tt.role ||
					geo.Features[0].Properties.Status != "A" || geo.Features[0].Geometry.Type == "" {
					t.Errorf("by %s: %s %s", way, a.Header.Get("Content-Type"), a.Body)
				}
			}
			wantProblem(t, s.do("reader", "GET", "/hazards/"+h.UUID+"/alert-geography?f=kml", nil), http.StatusBadRequest)
		})
	}
}

// If states were pruned, no answer pretends that all are there.
func TestAPrunedHistorySaysSo(t *testing.T) {
	s := start(t)
	h := s.hazard("red")
	p := s.product("red", h.HazardID, note())
	path := fmt.Sprintf("/hazards/%d", h.HazardID)
	last, err := s.Store.Log.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, asked := range []string{path + "/changes", fmt.Sprintf("/products/%d/versions", p.ProductID), "/audit"} {
		if a := s.do("root", "GET", asked, nil); a.Status != 200 || a.Header.Get("Hazardd-Kept-From") != "" {
			t.Errorf("%s before anything was pruned: %d %v", asked, a.Status, a.Header)
		}
	}
	if text := string(visit(s, sessionOf(t, s, "reader"), "/h/"+h.UUID).Body); strings.Contains(text, "All changes since") {
		t.Error("the page says that the history was pruned")
	}
	kept := s.Now().Add(time.Second)
	horizon := store.Horizon{Number: last, Kept: kept, Archive: "hazardd-history-1.tar.zst"}
	for _, what := range []store.Prunable{store.History, store.Trail} {
		if err := s.Store.Pruning.Note(t.Context(), what, horizon, 1, s.Now()); err != nil {
			t.Fatal(err)
		}
	}
	at := "at=" + kept.Add(-time.Second).String()
	for _, asked := range []string{path + "?" + at, path + "/changes?" + at, path + "/products?" + at, fmt.Sprintf("/products/%d?%s", p.ProductID, at), "/hazards?" + at, "/hazards/active?" + at,
		"/hazards/count?" + at, path + "?f=geojson&" + at, "/hazards?f=csv&" + at} {
		a := s.do("red", "GET", asked, nil)
		if a.Status != 400 || !strings.Contains(string(a.Body), "at: the history is complete from "+kept.String()) || !strings.Contains(string(a.Body), horizon.Archive) {
			t.Errorf("%s: %d %s", asked, a.Status, a.Body)
		}
	}
	if a := s.do("red", "GET", "/changes?after=0", nil); a.Status != 410 || !strings.Contains(string(a.Body), horizon.Archive) {
		t.Errorf("changes from the beginning: %d %s", a.Status, a.Body)
	}
	if a := s.do("red", "GET", fmt.Sprintf("/changes?after=%d", last), nil); a.Status != 200 {
		t.Errorf("changes from the horizon: %d %s", a.Status, a.Body)
	}
	for _, asked := range []string{path + "/changes", fmt.Sprintf("/products/%d/versions", p.ProductID), "/audit"} {
		if a := s.do("root", "GET", asked, nil); a.Status != 200 || a.Header.Get("Hazardd-Kept-From") != kept.String() {
			t.Errorf("%s: %d, Hazardd-Kept-From %q", asked, a.Status, a.Header.Get("Hazardd-Kept-From"))
		}
	}
	for language, said := range map[string]string{"en": "All changes since ", "ja": "以降の変更はすべてここにあります"} {
		if text := string(visit(s, sessionOf(t, s, "reader"), "/h/"+h.UUID+"?lang="+language).Body); !strings.Contains(text, said) {
			t.Errorf("the page in %s does not say %q", language, said)
		}
	}
}
