package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Editors see what rules have joined, the most doubtful first, and keep it together or part it (finding D7).
func TestDoubtfulJoinsAreListedConfirmedAndRefused(t *testing.T) {
	s := serve(t)
	begin := quake("", 1).Start
	said := func(source, key string, lon float64, seconds int) hazard.Report {
		r := quake(key, 1)
		r.Source, r.Refs = source, nil
		r.Point = &hazard.Point{Lon: lon, Lat: 0}
		r.Start = begin + hazard.Instant(seconds*1000)
		return r
	}
	s.report(said("usgs", "us1", 10, 0))
	s.report(said("emsc", "e1", 10.01, 0))
	s.report(said("usgs", "us2", 50, 0))
	s.report(said("emsc", "e2", 50.5, 8)) // 56 km and half of the seconds
	listed := func(query string) (matched int, shown string) {
		t.Helper()
		var list struct {
			Matched int `json:"matched"`
			Joins   []struct {
				HazardID    int64             `json:"hazard_ID"`
				Event, With map[string]string `json:",omitzero"`
				Score       float64           `json:"score"`
				Kilometers  float64           `json:"kilometers"`
				Seconds     float64           `json:"seconds"`
				Href        string            `json:"href"`
			} `json:"joins"`
		}
		a := s.do("red", http.MethodGet, "/joins"+query, nil)
		if a.JSON(t, &list); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		for _, j := range list.Joins {
			shown += fmt.Sprintf("%s %.2f %.0f km %.0f s;", j.Event["event"], j.Score, j.Kilometers, j.Seconds)
		}
		return list.Matched, shown
	}
	for query, want := range map[string]string{
		"":                 "2 e2 0.25 56 km 8 s;e1 0.99 1 km 0 s;",
		"?limit=1":         "2 e2 0.25 56 km 8 s;",
		"?max_score=0.5":   "1 e2 0.25 56 km 8 s;",
		"?type=FLOOD":      "0 ",
		"?confirmed=true":  "0 ",
		"?type=EARTHQUAKE": "2 e2 0.25 56 km 8 s;e1 0.99 1 km 0 s;",
	} {
		if matched, shown := listed(query); fmt.Sprint(matched, " ", shown) != want {
			t.Errorf("/joins%s: %d %s, expected %s", query, matched, shown, want)
		}
	}
	for _, wrong := range []string{"?max_score=2", "?limit=0", "?confirmed=maybe", "?type=NONE", "?x=1"} {
		wantProblem(t, s.do("red", http.MethodGet, "/joins"+wrong, nil), http.StatusBadRequest)
	}
	wantProblem(t, s.do("reader", http.MethodGet, "/joins", nil), http.StatusForbidden)

	two := "/hazards/" + hazard.EventUUID("usgs", "us2").String()
	event := map[string]string{"source": "emsc", "event": "e2"}
	wantProblem(t, s.do("reader", http.MethodPost, two+"/confirm", event), http.StatusForbidden)
	wantProblem(t, s.do("red", http.MethodPost, two+"/confirm", map[string]string{"source": "emsc", "event": "none"}), http.StatusNotFound)
	if a := s.do("red", http.MethodPost, two+"/confirm", event); a.Status != http.StatusOK {
		t.Fatalf("confirm: %d %s", a.Status, a.Body)
	}
	if matched, shown := listed("?confirmed=true"); matched != 1 || shown != "e2 0.25 56 km 8 s;" {
		t.Errorf("confirmed: %d %s", matched, shown)
	}
	// What a person has confirmed stays, whatever a source says later; what nobody has, does not.
	for key, lon := range map[string]float64{"e1": 10, "e2": 50} {
		moved := said("emsc", key, lon+9, 8)
		moved.Version = 2
		s.report(moved)
	}
	if matched, shown := listed(""); matched != 0 {
		t.Errorf("after the sources have moved: %d %s", matched, shown)
	}
	if matched, shown := listed("?confirmed=true"); matched != 1 || shown != "e2 0.00 1001 km 8 s;" {
		t.Errorf("confirmed, and moved: %d %s", matched, shown)
	}
	if a := s.do("red", http.MethodPost, two+"/split", event); a.Status != http.StatusOK {
		t.Fatalf("split: %d %s", a.Status, a.Body)
	}
	if matched, _ := listed("?confirmed=true"); matched != 0 {
		t.Errorf("%d are confirmed after the split", matched)
	}
}
