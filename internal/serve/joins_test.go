package serve_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Editors see the joins made by rules, the most doubtful first, and confirm or split them (finding
// D7).
func TestDoubtfulJoinsAreListedConfirmedAndRefused(t *testing.T) {
	s := start(t)
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
	s.report(said("emsc", "e2", 50.5, 8)) // 56 km away, and half of the allowed seconds
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
		"?state=doubtful":  "2 e2 0.25 56 km 8 s;e1 0.99 1 km 0 s;",
		"?max_score=0.5":   "1 e2 0.25 56 km 8 s;",
		"?type=FLOOD":      "0 ",
		"?state=confirmed": "0 ",
		"?type=EARTHQUAKE": "2 e2 0.25 56 km 8 s;e1 0.99 1 km 0 s;",
	} {
		if matched, shown := listed(query); fmt.Sprint(matched, " ", shown) != want {
			t.Errorf("/joins%s: %d %s, expected %s", query, matched, shown, want)
		}
	}
	for _, wrong := range []string{"?max_score=2", "?limit=0", "?state=maybe", "?type=NONE", "?x=1"} {
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
	if matched, shown := listed("?state=confirmed"); matched != 1 || shown != "e2 0.25 56 km 8 s;" {
		t.Errorf("confirmed: %d %s", matched, shown)
	}
	// Joins confirmed by a person stay, whatever a source reports later; others do not.
	for key, lon := range map[string]float64{"e1": 10, "e2": 50} {
		moved := said("emsc", key, lon+9, 8)
		moved.Version = 2
		s.report(moved)
	}
	if matched, shown := listed(""); matched != 0 {
		t.Errorf("after the sources have moved: %d %s", matched, shown)
	}
	if matched, shown := listed("?state=confirmed"); matched != 1 || shown != "e2 0.00 1001 km 8 s;" {
		t.Errorf("confirmed, and moved: %d %s", matched, shown)
	}
	if a := s.do("red", http.MethodPost, two+"/split", event); a.Status != http.StatusOK {
		t.Fatalf("split: %d %s", a.Status, a.Body)
	}
	wantProblem(t, s.do("red", http.MethodPost, "/joins/"+hazard.EventUUID("emsc", "e2").String(), map[string]string{"verdict": "same"}), http.StatusNotFound)
	if matched, _ := listed("?state=confirmed"); matched != 0 {
		t.Errorf("%d are confirmed after the split", matched)
	}
}

// The same with the name of the join.
func TestAJoinIsJudged(t *testing.T) {
	s := start(t)
	for i, key := range []string{"1", "2"} {
		for j, source := range []string{"usgs", "emsc"} {
			r := quake(source+key, 1)
			r.Source, r.Refs, r.Point = source, nil, &hazard.Point{Lon: float64(40*i) + 0.3*float64(j)}
			s.report(r)
		}
	}
	ids := func(query string) (ids []string) {
		t.Helper()
		var list struct{ Joins []struct{ ID string } }
		a := s.do("red", http.MethodGet, "/joins"+query, nil)
		if a.JSON(t, &list); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		for _, j := range list.Joins {
			ids = append(ids, j.ID)
		}
		return ids
	}
	doubtful := ids("?state=doubtful")
	if len(doubtful) != 2 {
		t.Fatalf("%d joins, expected 2", len(doubtful))
	}
	for user, status := range map[string]int{"reader": http.StatusForbidden, "red": http.StatusBadRequest} {
		wantProblem(t, s.do(user, http.MethodPost, "/joins/"+doubtful[0], map[string]string{"verdict": "perhaps"}), status)
	}
	wantProblem(t, s.do("red", http.MethodPost, "/joins/one", map[string]string{"verdict": "same"}), http.StatusBadRequest)
	wantProblem(t, s.do("red", http.MethodPost, "/joins/"+doubtful[0], map[string]string{"verdict": "same"}, "If-Match", `"other"`), http.StatusPreconditionFailed)
	if a := s.do("red", http.MethodPost, "/joins/"+doubtful[0], map[string]string{"verdict": "same"}); a.Status != http.StatusOK {
		t.Fatalf("same: %d %s", a.Status, a.Body)
	}
	if got := ids("?state=confirmed"); len(got) != 1 || got[0] != doubtful[0] {
		t.Errorf("confirmed: %v", got)
	}
	var apart struct{ UUID string }
	a := s.do("red", http.MethodPost, "/joins/"+doubtful[1], map[string]string{"verdict": "different"})
	if a.JSON(t, &apart); a.Status != http.StatusOK || apart.UUID != doubtful[1] {
		t.Errorf("different: %d %s, expected the hazard of the event", a.Status, a.Body)
	}
	if got := ids(""); len(got) != 0 {
		t.Errorf("doubtful still: %v", got)
	}
}
