package serve_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// get is a hazard or a product as a user reads it, and its tag.
func (w *world) get(user, path string) (state item, tag string) {
	w.t.Helper()
	a := w.do(user, "GET", path, nil)
	if a.Status != 200 {
		w.t.Fatalf("GET %s as %s: %d %s", path, user, a.Status, a.Body)
	}
	if bytes.HasPrefix(a.Body, []byte("[")) {
		return items(w.t, a)[0], a.Header.Get("Etag")
	}
	a.JSON(w.t, &state)
	return state, a.Header.Get("Etag")
}

// Findings G1 and G2: who may write only one of two hazards, or none, merges neither; and no merge makes danger disappear.
func TestWhoMayMergeHazards(t *testing.T) {
	s := start(t)
	for name, tt := range map[string]struct {
		as         string
		from, into []any // what the hazards are made with, by root; org 0 is the red cross
		status     int
	}{
		"another's into one's own":             {"fire", []any{"org_ID", s.RedCross}, []any{"org_ID", s.FireBrigade}, 403},
		"one's own into another's":             {"fire", []any{"org_ID", s.FireBrigade}, []any{"org_ID", s.RedCross}, 403},
		"one's own into one's own":             {"red", []any{"org_ID", s.RedCross}, []any{"org_ID", s.RedCross}, 200},
		"one of nobody into one's own":         {"red", []any{"org_ID", -1}, []any{"org_ID", s.RedCross}, 200},
		"a reader":                             {"reader", []any{"org_ID", -1}, []any{"org_ID", -1}, 403},
		"an admin, of two organizations":       {"root", []any{"org_ID", s.RedCross}, []any{"org_ID", s.FireBrigade}, 200},
		"a real one into a drill":              {"root", nil, []any{"category_ID", "EXERCISE"}, 409},
		"a drill into a real one":              {"root", []any{"category_ID", "EXERCISE"}, nil, 409},
		"a drill into a drill":                 {"root", []any{"category_ID", "EXERCISE"}, []any{"category_ID", "EXERCISE"}, 200},
		"into one that ended":                  {"root", nil, []any{"over", true}, 409},
		"one that ended into one that did not": {"root", []any{"over", true}, nil, 200},
	} {
		t.Run(name, func(t *testing.T) {
			make1 := func(more []any) item {
				if len(more) > 0 && more[0] == "over" {
					h := s.hazard("root")
					if a := s.do("root", "PATCH", "/hazards/"+h.UUID, `{"status":"E"}`); a.Status != 200 {
						t.Fatalf("%d %s", a.Status, a.Body)
					}
					return h
				}
				return s.hazard("root", more...)
			}
			from, into := make1(tt.from), make1(tt.into)
			before, _ := s.get("root", "/hazards/"+from.UUID)
			a := s.do(tt.as, "POST", "/hazards/"+from.UUID+"/merge", map[string]any{"into": into.UUID})
			if a.Status != tt.status {
				t.Fatalf("%d %s, want %d", a.Status, a.Body, tt.status)
			}
			after, _ := s.get("root", "/hazards/"+from.UUID)
			if tt.status != 200 {
				if after != before {
					t.Errorf("the merge was refused, but the hazard is %+v, was %+v", after, before)
				}
				return
			}
			var record struct {
				UpdateUser string `json:"update_User"`
			}
			if s.do("root", "GET", "/hazards/"+from.UUID, nil).JSON(t, &record); after.Status != "E" || record.UpdateUser != tt.as {
				t.Errorf("merged by %s: status %s, update_User %q", tt.as, after.Status, record.UpdateUser)
			}
		})
	}
}

// Undo takes back a merge of hazards that editors made: products, folders and both hazards are as they were.
func TestAMergeIsTakenBack(t *testing.T) {
	s := start(t)
	from, into := s.hazard("red", "hazard_Name", "From"), s.hazard("red", "hazard_Name", "Into")
	root := s.product("red", from.HazardID, folder("title", "Maps"))
	s.product("red", from.HazardID, note("title", "Inside", "parent_ID", root.ProductID))
	s.product("red", into.HazardID, note("title", "Stays"))
	path := "/hazards/" + digits(from.HazardID)
	before, tag := s.get("red", path)
	products := string(s.do("red", "GET", path+"/products", nil).Body)

	if a := s.do("red", "POST", path+"/merge", map[string]any{"into": into.HazardID}, "If-Match", tag); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	later := s.product("red", into.HazardID, note("title", "Put in later", "parent_ID", root.ProductID))
	change := s.lastOf(path, "hazard.merged")
	undo := map[string]any{"change": change}
	wantProblem(t, s.do("fire", "POST", path+"/undo", undo), 403)
	wantProblem(t, s.do("red", "POST", path+"/undo", map[string]any{"change": 1}), 409)
	wantProblem(t, s.do("red", "POST", path+"/undo", map[string]any{"change": 9999}), 400)
	wantProblem(t, s.do("red", "POST", path+"/undo", undo, "If-Match", tag), 412)
	a := s.do("red", "POST", "/hazards/"+into.UUID+"/undo", undo) // of either
	if a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	after, now := s.get("red", path)
	if a.Header.Get("Etag") != now {
		t.Errorf("ETag %s, GET gives %s", a.Header.Get("Etag"), now)
	}
	after.LastUpdate, after.UpdateDate = before.LastUpdate, before.UpdateDate
	before.ProductTotal = "3" // the later one follows its folder
	if after != before {
		t.Errorf("after: %+v, want %+v", after, before)
	}
	var titles []string
	for _, p := range items(t, s.do("red", "GET", path+"/products", nil)) {
		titles = append(titles, fmt.Sprint(p.Title, p.ParentID))
		if p.UUID == later.UUID && p.HazardID != from.HazardID {
			t.Errorf("%+v", p)
		}
	}
	if got, want := strings.Join(titles, " "), fmt.Sprintf("Maps0 Inside%d Put in later%[1]d", root.ProductID); got != want {
		t.Errorf("products %s, want %s (before: %s)", got, want, products)
	}
	if list := items(t, s.do("red", "GET", "/hazards/"+into.UUID+"/products", nil)); len(list) != 1 {
		t.Errorf("the other hazard has %d products, want 1", len(list))
	}
	var changes []struct {
		Type, User string
		Undoes     int64
	}
	s.do("reader", "GET", path+"/changes", nil).JSON(t, &changes)
	undone := 0
	for _, c := range changes {
		if c.Undoes == change && c.User == "red" && c.Type == "hazard.updated" {
			undone++
		}
	}
	if undone != 1 {
		t.Errorf("the history does not say who took back change %d: %+v", change, changes)
	}
	wantProblem(t, s.do("red", "POST", path+"/undo", undo), 409) // once
}

// lastOf is the number of the latest change of a kind in the history of a hazard.
func (w *world) lastOf(path, kind string) (last int64) {
	var changes []struct {
		Change int64
		Type   string
	}
	w.do("root", "GET", path+"/changes", nil).JSON(w.t, &changes)
	for _, c := range changes {
		if c.Type == kind {
			last = c.Change
		}
	}
	return last
}

func TestAnEndIsTakenBack(t *testing.T) {
	s := start(t)
	s.report(quake("us1", 1))
	sourced := "/hazards/" + hazard.EventUUID("usgs", "us1").String()
	for name, path := range map[string]string{"of an organization": "/hazards/" + s.hazard("red").UUID, "of a source": sourced} {
		for operation, request := range map[string][]string{"end": {"PATCH", "", `{"status":"E"}`}, "retraction": {"POST", "/retract", `{"reason":"r"}`}} {
			t.Run(operation+" "+name, func(t *testing.T) {
				before, _ := s.get("red", path)
				if a := s.do("red", request[0], path+request[1], request[2]); a.Status != 200 {
					t.Fatalf("%d %s", a.Status, a.Body)
				}
				undo := map[string]any{"change": s.lastOf(path, "hazard.expired")}
				if name == "of an organization" {
					wantProblem(t, s.do("fire", "POST", path+"/undo", undo), 403)
				}
				if a := s.do("red", "POST", path+"/undo", undo); a.Status != 200 {
					t.Fatalf("%d %s", a.Status, a.Body)
				}
				after, _ := s.get("red", path)
				after.LastUpdate, after.UpdateDate = before.LastUpdate, before.UpdateDate
				if after != before {
					t.Errorf("after: %+v, want %+v", after, before)
				}
				if list := items(t, s.do("reader", "GET", "/hazards/active", nil)); len(list) != 2 {
					t.Errorf("%d active hazards, want 2", len(list))
				}
			})
		}
	}
}

// Findings G3 and G4: one condition for all writes, and each write answers with the tag that the next one names.
func TestEveryWriteObeysIfMatchAndAnswersWithItsETag(t *testing.T) {
	s := start(t)
	h, other := s.hazard("red"), s.hazard("red")
	p := s.product("red", h.HazardID, note())
	s.report(quake("us1", 1))
	own, product := "/hazards/"+h.UUID, "/products/"+p.UUID
	for _, w := range []struct {
		method, path, read string // read is what If-Match is about
		body               any
	}{
		{"PATCH", own, own, `{"comment_Text":"c"}`},
		{"POST", own + "/products", own, note()},
		{"PATCH", product, product, `{"comment_Text":"c"}`},
		{"DELETE", product, product, nil},
		{"POST", own + "/retract", own, `{"reason":"r"}`},
		{"POST", "/hazards/" + other.UUID + "/merge", "/hazards/" + other.UUID, map[string]any{"into": hazard.EventUUID("usgs", "us1")}},
		{"POST", own + "/undo", own, nil},
	} {
		t.Run(w.method+" "+w.path, func(t *testing.T) {
			if strings.HasSuffix(w.path, "/undo") {
				w.body = map[string]any{"change": s.lastOf(own, "hazard.expired")}
			}
			_, before := s.get("red", w.read)
			wantProblem(t, s.do("red", w.method, w.path, w.body, "If-Match", `"nonsense"`), 412)
			if _, after := s.get("red", w.read); after != before {
				t.Error("a refused write changed the state")
			}
			a := s.do("red", w.method, w.path, w.body, "If-Match", before)
			if w.method == "DELETE" {
				if a.Status != 204 {
					t.Errorf("%d %s", a.Status, a.Body)
				}
				return
			}
			if a.Status/100 != 2 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			if change := a.Header.Get("Hazardd-Change"); !strings.Contains(w.path, "product") && change != s.do("red", "GET", "/hazards/active", nil).Header.Get("Hazardd-Change") {
				t.Errorf("as of change %q", change)
			}
			_, now := s.get("red", strings.TrimPrefix(a.Header.Get("Location"), s.URL()))
			if tag := a.Header.Get("Etag"); tag == "" || tag != now {
				t.Errorf("ETag %q, GET %s gives %q", tag, a.Header.Get("Location"), now)
			}
		})
	}
	for _, path := range []string{"/hazards", "/sources/usgs/held/1", own + "/split"} {
		body := any(flood())
		if path != "/hazards" {
			body = map[string]any{"decision": "released"}
			if strings.HasSuffix(path, "split") {
				body = map[string]any{"source": "usgs", "event": "us1"}
			}
		}
		if a := s.do("red", "POST", path, body, "If-Match", `"nonsense"`); a.Status != 412 && !(strings.Contains(path, "/sources/") && a.Status == 404) {
			t.Errorf("POST %s: %d %s, want 412", path, a.Status, a.Body)
		}
	}
}

// A merge changes two hazards, so it is refused when either has changed since its author read it.
func TestAMergeIsRefusedWhenEitherHazardHasChanged(t *testing.T) {
	s := start(t)
	ends, other := s.hazard("red"), s.hazard("red")
	path := "/hazards/" + ends.UUID + "/merge"
	body := func(tag string) map[string]any { return map[string]any{"into": other.UUID, "into_ETag": tag} }
	_, mine := s.get("red", "/hazards/"+ends.UUID)
	_, theirs := s.get("red", "/hazards/"+other.UUID)
	patched := func(id string) {
		t.Helper()
		if a := s.do("red", "PATCH", "/hazards/"+id, map[string]any{"hazard_Name": "Dam has failed"}); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	patched(other.UUID)
	a := s.do("red", "POST", path, body(theirs), "If-Match", mine)
	wantProblem(t, a, 412)
	if !strings.Contains(string(a.Body), digits(other.HazardID)) {
		t.Errorf("the answer does not name the hazard that has changed: %s", a.Body)
	}
	_, theirs = s.get("red", "/hazards/"+other.UUID)
	patched(ends.UUID)
	wantProblem(t, s.do("red", "POST", path, body(theirs), "If-Match", mine), 412)
	wantProblem(t, s.do("red", "POST", path, body("5")), 412)
	_, mine = s.get("red", "/hazards/"+ends.UUID)
	if a := s.do("red", "POST", path, body(theirs), "If-Match", mine); a.Status != 200 {
		t.Errorf("both are as they were shown: %d %s", a.Status, a.Body)
	}
}

// What stands under an organization's hazard is its own business.
func TestTheOwnerOfAHazardDecidesAboutItsProducts(t *testing.T) {
	s := start(t)
	h, open := s.hazard("red"), s.hazard("red", "org_ID", -1)
	wantProblem(t, s.do("fire", "POST", "/hazards/"+h.UUID+"/products", note("data", "ALL CLEAR, go home")), 403)
	if list := items(t, s.do("reader", "GET", "/hazards/"+h.UUID+"/products", nil)); len(list) != 0 {
		t.Errorf("%d products", len(list))
	}
	// A contribution of the fire brigade that came by a merge.
	foreign := s.product("fire", open.HazardID, note())
	if foreign.OrgID != s.FireBrigade {
		t.Errorf("the contribution is marked as of %d", foreign.OrgID)
	}
	path := "/products/" + foreign.UUID
	wantProblem(t, s.do("red", "PATCH", path, `{"is_Hidden":"Y"}`), 403) // of a hazard that nobody owns
	if a := s.do("red", "POST", "/hazards/"+open.UUID+"/merge", map[string]any{"into": h.UUID}); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	wantProblem(t, s.do("red", "PATCH", path, `{"title":"Ours"}`), 403)
	wantProblem(t, s.do("red", "PATCH", path, `{"title":"Ours","is_Hidden":"Y"}`), 403)
	if a := s.do("red", "PATCH", path, `{"is_Hidden":"Y"}`); a.Status != 200 {
		t.Errorf("the owner hides it: %d %s", a.Status, a.Body)
	}
	wantProblem(t, s.do("fire", "PATCH", path, `{"is_Hidden":"N"}`), 403)
	if a := s.do("fire", "PATCH", path, `{"title":"Better"}`); a.Status != 200 {
		t.Errorf("its author alters it: %d %s", a.Status, a.Body)
	}
	if a := s.do("red", "DELETE", path, nil); a.Status != http.StatusNoContent {
		t.Errorf("the owner removes it: %d %s", a.Status, a.Body)
	}
}

// A folder that looks empty is as one that is empty; what the caller may not know of stays for users who may.
func TestAFolderThatLooksEmptyIsDeleted(t *testing.T) {
	s := start(t)
	h := s.hazard("red", "org_ID", -1)
	both := digits(s.RedCross) + "," + digits(s.FireBrigade)
	for name, remove := range map[string]func(id string) int{
		"deleted": func(id string) int { return s.do("red", "DELETE", "/products/"+id, nil).Status - 4 },
		"restricted": func(id string) int {
			return s.do("red", "PATCH", "/products/"+id, map[string]any{"org_IDs": digits(s.RedCross)}).Status
		},
	} {
		outer := s.product("red", h.HazardID, folder("org_IDs", both))
		inner := s.product("red", h.HazardID, folder("org_IDs", both, "parent_ID", outer.ProductID))
		hidden := s.product("fire", h.HazardID, note("parent_ID", inner.ProductID, "org_IDs", digits(s.FireBrigade)))
		if status := remove(inner.UUID); status != 200 {
			t.Errorf("%s: %d, want as of an empty folder", name, status)
		}
		if kept, _ := s.get("fire", "/products/"+hidden.UUID); kept.ParentID != outer.ProductID || kept.OrgIDs != digits(s.FireBrigade) {
			t.Errorf("%s: what was in it is %+v", name, kept)
		}
	}
}

// Undo takes back a merge that sources made, and no report of theirs makes it again.
func TestAMergeBySourcesIsTakenBack(t *testing.T) {
	s := start(t)
	one, two := quake("one", 1), quake("two", 1)
	two.Source, two.Key, two.Name = "gdacs", "2", "Earthquake two"
	two.Point = &hazard.Point{Lon: 60, Lat: 20}
	one.Products = []hazard.ReportProduct{{Key: "map", Title: "Of one", Type: hazard.URLProduct, Data: "https://example.org/one"}}
	two.Products = []hazard.ReportProduct{{Key: "map", Title: "Of two", Type: hazard.URLProduct, Data: "https://example.org/two"}}
	s.report(one)
	s.report(two)
	if list := items(t, s.do("reader", "GET", "/hazards/active", nil)); len(list) != 2 {
		t.Fatalf("%d hazards, want 2", len(list))
	}
	first, second := "/hazards/"+hazard.EventUUID("usgs", "one").String(), "/hazards/"+hazard.EventUUID("gdacs", "2").String()
	before, _ := s.get("red", second)
	two.Version, two.Refs = 2, []string{"usgs:one"} // now it says that it is the same
	s.report(two)
	if h, _ := s.get("red", second); h.Status != "E" {
		t.Fatalf("not merged: %+v", h)
	}
	change := s.lastOf(second, "hazard.merged")
	if a := s.do("red", "POST", second+"/undo", map[string]any{"change": change}); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	apart := func(when string) {
		t.Helper()
		for path, want := range map[string]string{first: "Of one", second: "Of two"} {
			h, _ := s.get("red", path)
			products := items(t, s.do("red", "GET", path+"/products", nil))
			if h.Status != "A" || len(products) != 1 || products[0].Title != want {
				t.Errorf("%s: %s %s has %+v", when, path, h.Status, products)
			}
		}
	}
	apart("after the undo")
	if after, _ := s.get("red", second); after.Name != before.Name || after.EndDate != before.EndDate || after.HazardID != before.HazardID {
		t.Errorf("after: %+v, before: %+v", after, before)
	}
	one.Version, two.Version = 2, 3
	one.Severity, two.Severity = hazard.Watch, hazard.Watch
	one.Refs = []string{"gdacs:2"}
	s.report(one)
	s.report(two)
	apart("after both reported again")
	wantProblem(t, s.do("red", "POST", second+"/undo", map[string]any{"change": change}), 409)
}

// A split is taken back exactly: events, products, folders and identity are as before, and what was decided is as if it had not been.
func TestASplitIsTakenBack(t *testing.T) {
	s := start(t)
	one, two := quake("one", 1), quake("two", 1)
	two.Source, two.Key, two.Name, two.Refs = "gdacs", "2", one.Name, []string{"usgs:one"}
	two.Start = one.Start.Add(time.Second)
	one.Products = []hazard.ReportProduct{{Key: "map", Title: "Of one", Type: hazard.URLProduct, Data: "https://example.org/one"}}
	two.Products = []hazard.ReportProduct{{Key: "maps", Title: "Of two", Type: hazard.FolderProduct},
		{Key: "map", Parent: "maps", Title: "Map of two", Type: hazard.URLProduct, Data: "https://example.org/two"}}
	s.report(one)
	s.report(two)
	first, second := "/hazards/"+hazard.EventUUID("usgs", "one").String(), "/hazards/"+hazard.EventUUID("gdacs", "2").String()
	h, _ := s.get("red", first)
	for _, p := range items(t, s.do("red", "GET", first+"/products", nil)) {
		if p.Title == "Of two" {
			s.product("red", h.HazardID, note("title", "Beside the map of two", "parent_ID", p.ProductID))
		}
	}
	state := func() (all []string) {
		h, _ := s.get("red", first)
		h.LastUpdate, h.UpdateDate = "", ""
		all = append(all, fmt.Sprintf("%+v", h))
		for _, p := range items(t, s.do("red", "GET", first+"/products", nil)) {
			all = append(all, fmt.Sprint(p.ProductID, p.UUID, p.Title, p.ParentID, p.HazardID))
		}
		slices.Sort(all)
		return append(all, string(s.do("red", "GET", first+"/reports", nil).Body))
	}
	before := state()
	if len(before) != 6 {
		t.Fatalf("%d lines, want one hazard, four products and its reports: %q", len(before), before)
	}
	event := map[string]any{"source": "gdacs", "event": "2"}
	split := func() map[string]any {
		t.Helper()
		if a := s.do("red", "POST", first+"/split", event); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		return map[string]any{"change": s.lastOf(first, "hazard.split")}
	}
	undo := split()
	if slices.Equal(state(), before) {
		t.Fatal("the split changed nothing")
	}
	wantProblem(t, s.do("red", "POST", "/hazards/"+s.hazard("red").UUID+"/undo", undo), 400) // no change of that hazard
	wantProblem(t, s.do("reader", "POST", first+"/undo", undo), 403)
	if a := s.do("red", "POST", second+"/undo", undo); a.Status != 200 { // of either
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if after := state(); !slices.Equal(after, before) {
		t.Errorf("after the undo:\n%s\nbefore the split:\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
	if h, _ := s.get("red", second); h.Status != "E" {
		t.Errorf("the hazard of the split: %+v", h)
	}
	type change struct {
		User   string
		Undoes int64
	}
	var changes []change
	s.do("reader", "GET", first+"/changes", nil).JSON(t, &changes)
	if !slices.Contains(changes, change{"red", undo["change"].(int64)}) {
		t.Errorf("the history does not say who took the split back: %+v", changes)
	}
	wantProblem(t, s.do("red", "POST", first+"/undo", undo), 409) // once

	two.Version, two.Refs, two.Point = 2, nil, &hazard.Point{Lon: 60, Lat: 20} // the names that it had stay; no verdict keeps it
	s.report(two)
	if after := state(); len(after) != 6 {
		t.Errorf("after another report: %q", after)
	}
	undo = split()
	if a := s.do("red", "POST", second+"/merge", map[string]any{"into": h.HazardID}); a.Status != 200 { // decided otherwise since
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	wantProblem(t, s.do("red", "POST", first+"/undo", undo), 409)
}
