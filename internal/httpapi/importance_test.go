package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
)

// What is most important comes first where somebody asks for it, and what an editor has pinned before that: through the gate, and in the history (D14).
func TestHazardsByImportanceAndPinned(t *testing.T) {
	s := serve(t)
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
