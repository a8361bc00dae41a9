package serve_test

import (
	"net/http"
	"strings"
	"testing"
)

// On request, the most important hazards come first, and pinned ones before them: in the API, and
// for the past (D14).
func TestHazardsByImportanceAndPinned(t *testing.T) {
	s := start(t)
	little := s.hazard("red", "hazard_Name", "Little", "severity_ID", "INFORMATION")
	great := s.hazard("red", "hazard_Name", "Great", "severity_ID", "WARNING", "type_ID", "TSUNAMI")
	s.hazard("red", "hazard_Name", "Drill", "severity_ID", "WARNING", "type_ID", "TSUNAMI", "category_ID", "EXERCISE")
	over := s.hazard("red", "hazard_Name", "Over", "severity_ID", "WARNING")
	s.do("red", http.MethodPatch, "/hazards/"+over.UUID, map[string]string{"status": "E"})
	order := func(path, want string) {
		t.Helper()
		var list struct {
			Features []struct {
				Properties struct {
					Name       string `json:"hazard_Name"`
					Importance *int   `json:"importance"`
					Reason     string `json:"importance_reason"`
				}
			}
		}
		s.do("reader", http.MethodGet, path+"sort=importance&f=geojson", nil).JSON(t, &list)
		var got []string
		for _, f := range list.Features {
			p := f.Properties
			got = append(got, p.Name)
			if (p.Importance == nil) != (p.Name == "Over") || (p.Reason == "") != (p.Name == "Over") {
				t.Errorf("%s: %+v", path, p)
			}
			if p.Name == "Great" && (*p.Importance < 50 || !strings.Contains(p.Reason, "tsunami warning")) {
				t.Errorf("%d, %s", *p.Importance, p.Reason)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", path, got, want)
		}
	}
	order("/hazards?", "Great Little Drill Over")
	order("/hazards/active?", "Great Little Drill")
	if a := s.do("reader", http.MethodPatch, "/hazards/"+little.UUID, map[string]string{"pinned": "Y"}); a.Status != http.StatusForbidden {
		t.Errorf("a reader pins: %d %s", a.Status, a.Body)
	}
	if a := s.do("red", http.MethodPatch, "/hazards/"+little.UUID, map[string]string{"pinned": "yes"}); a.Status != http.StatusBadRequest {
		t.Errorf("pinned yes: %d %s", a.Status, a.Body)
	}
	if a := s.do("red", http.MethodPatch, "/hazards/"+little.UUID, map[string]string{"pinned": "Y"}); a.Status != http.StatusOK || strings.Contains(string(a.Body), "pinned") {
		t.Errorf("an editor pins: %d %s", a.Status, a.Body)
	}
	order("/hazards?", "Little Great Drill Over")
	order("/hazards/active?", "Little Great Drill")
	if a := s.do("reader", http.MethodGet, "/hazards/"+little.UUID+"/changes", nil); !strings.Contains(string(a.Body), `{"field":"pinned","from":null,"to":"Y"}`) {
		t.Errorf("history: %s", a.Body)
	}
	s.do("red", http.MethodPatch, "/hazards/"+little.UUID, map[string]string{"pinned": "N"})
	order("/hazards?", "Great Little Drill Over")
	if a := s.do("", http.MethodGet, "/h/"+great.UUID, nil, "Cookie", sessionOf(t, s, "reader")); !strings.Contains(string(a.Body), `id="importance"`) || !strings.Contains(string(a.Body), "tsunami warning") {
		t.Errorf("the page does not say how important it is: %d", a.Status)
	}
}

// The map already has the records: it reads only the order, which is that of sort=importance, and
// the reasons in the reader's language.
func TestTheOrderAloneAndTheReasonInTheReadersLanguage(t *testing.T) {
	s := start(t)
	s.hazard("red", "hazard_Name", "Little", "severity_ID", "INFORMATION")
	great := s.hazard("red", "hazard_Name", "Great", "severity_ID", "WARNING", "type_ID", "TSUNAMI")
	s.hazard("red", "hazard_Name", "Drill", "severity_ID", "WARNING", "category_ID", "EXERCISE")
	over := s.hazard("red", "hazard_Name", "Over", "severity_ID", "WARNING")
	s.do("red", http.MethodPatch, "/hazards/"+over.UUID, map[string]string{"status": "E"})
	type row struct {
		ID int64 `json:"hazard_ID"`
	}
	var list []row
	var order []int64
	s.do("reader", http.MethodGet, "/hazards/active?sort=importance", nil).JSON(t, &list)
	a := s.do("reader", http.MethodGet, "/hazards/active/order", nil)
	a.JSON(t, &order)
	if len(order) != 3 || len(list) != 3 {
		t.Fatalf("%v, %v, want three hazards", list, order)
	}
	for i, r := range list {
		if order[i] != r.ID {
			t.Errorf("%v, want %v", order, list)
		}
	}
	if again := s.do("reader", http.MethodGet, "/hazards/active/order", nil, "If-None-Match", a.Header.Get("ETag")); again.Status != http.StatusNotModified {
		t.Errorf("asked again: %d", again.Status)
	}
	if a := s.do("reader", http.MethodGet, "/hazards/active/order?sort=level", nil); a.Status != http.StatusBadRequest {
		t.Errorf("a parameter: %d", a.Status)
	}
	type answer struct {
		Importance        *int
		Emergency, Pinned bool
		Reason, Language  string
	}
	for _, tt := range []struct{ query, accept, language, reason string }{
		{"", "", "en", "tsunami warning"},
		{"?lang=es", "", "es", "Tsunami: Alerta"},
		{"", "xx, es;q=0.9", "es", "Tsunami: Alerta"},
		{"?lang=xx", "", "en", "tsunami warning"},
	} {
		var got answer
		a := s.do("reader", http.MethodGet, "/hazards/"+great.UUID+"/importance"+tt.query, nil, "Accept-Language", tt.accept)
		a.JSON(t, &got)
		if got.Language != tt.language || a.Header.Get("Content-Language") != tt.language || !strings.Contains(got.Reason, tt.reason) || got.Importance == nil || *got.Importance < 50 || got.Emergency || got.Pinned {
			t.Errorf("%s %s: %s %v, want %q in %s", tt.query, tt.accept, a.Body, a.Header, tt.reason, tt.language)
		}
	}
	var got answer
	s.do("reader", http.MethodGet, "/hazards/"+over.UUID+"/importance", nil).JSON(t, &got)
	if got.Importance != nil || got.Reason != "" {
		t.Errorf("an ended hazard: %+v", got)
	}
	if a := s.do("reader", http.MethodGet, "/hazards/999999/importance", nil); a.Status != http.StatusNotFound {
		t.Errorf("no hazard: %d", a.Status)
	}
	if a := s.do("reader", http.MethodGet, "/hazards/"+great.UUID+"/importance?lang=1", nil); a.Status != http.StatusBadRequest {
		t.Errorf("no language: %d", a.Status)
	}
}
