package serve_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Which source reports what about a hazard, with which name, and how it is related to other
// hazards.
func TestWhatSourcesSayOfAHazard(t *testing.T) {
	s := start(t)
	usgs := quake("us7000a", 1)
	usgs.Aliases, usgs.Level, usgs.Severity = []string{"at00x"}, "red", hazard.Warning
	gdacs := quake("EQ1", 1)
	gdacs.Source, gdacs.Severity, gdacs.Refs = "gdacs", hazard.Advisory, []string{"usgs:us7000a", "glide:EQ-2026-000001-USA"}
	wave := quake("x", 1)
	wave.Source, wave.Type, wave.Refs = "tsunami", hazard.Tsunami, []string{"quake:at00x"}
	s.report(usgs)
	s.report(gdacs)
	s.report(wave)

	path := "/hazards/" + hazard.EventUUID("usgs", "us7000a").String()
	var reports []struct {
		Source      string   `json:"source"`
		SourceState string   `json:"source_state"`
		Event       string   `json:"event"`
		Joined      string   `json:"joined"`
		SeverityID  string   `json:"severity_ID"`
		Level       string   `json:"level"`
		Refs        []string `json:"refs"`
	}
	s.do("reader", http.MethodGet, path+"/reports", nil).JSON(t, &reports)
	got := fmt.Sprint(reports)
	if want := "[{gdacs disabled EQ1 named usgs:us7000a ADVISORY  [glide:EQ-2026-000001-USA usgs:us7000a]} {usgs disabled us7000a  WARNING red []}]"; got != want {
		t.Errorf("reports %s, want %s", got, want)
	}

	var related []struct {
		Relation, Why string
		Hazard        item
	}
	s.do("reader", http.MethodGet, path+"/related", nil).JSON(t, &related)
	if len(related) != 1 || related[0].Relation != "causes" || related[0].Why != "named at00x" || related[0].Hazard.UUID != hazard.EventUUID("tsunami", "x").String() {
		t.Errorf("related %+v", related)
	}
	s.do("reader", http.MethodGet, "/hazards/"+related[0].Hazard.UUID+"/related", nil).JSON(t, &related)
	if len(related) != 1 || related[0].Relation != "caused by" || "/hazards/"+related[0].Hazard.UUID != path {
		t.Errorf("related to the tsunami: %+v", related)
	}

	for _, ref := range []string{"usgs:us7000a", "usgs:at00x", "gdacs:EQ1", "glide:EQ-2026-000001-USA"} {
		if list := items(t, s.do("reader", http.MethodGet, "/hazards?ref="+ref, nil)); len(list) != 1 || "/hazards/"+list[0].UUID != path {
			t.Errorf("%s leads to %+v", ref, list)
		}
	}
	for _, nowhere := range []string{"/hazards/999/reports", "/hazards/" + uuid.NewString() + "/related"} {
		wantProblem(t, s.do("reader", http.MethodGet, nowhere, nil), http.StatusNotFound)
	}
	p := wantProblem(t, s.do("reader", http.MethodGet, path+"/related?x=1", nil), http.StatusBadRequest)
	if !slices.ContainsFunc(p.faults(), func(f string) bool { return strings.Contains(f, "x") }) {
		t.Errorf("faults %q", p.faults())
	}
}

// Editors merge hazards, and undo it.
func TestMergeAndSplit(t *testing.T) {
	s := start(t)
	s.report(quake("us7000a", 1))
	far := quake("us7000b", 1)
	far.Point = &hazard.Point{Lon: -70, Lat: -30}
	s.report(far)
	one, other := hazard.EventUUID("usgs", "us7000a").String(), hazard.EventUUID("usgs", "us7000b").String()
	var merged, split item
	a := s.do("red", http.MethodPost, "/hazards/"+other+"/merge", map[string]string{"into": one})
	if a.JSON(t, &merged); a.Status != http.StatusOK || merged.UUID != one {
		t.Fatalf("merge: %d %s", a.Status, a.Body)
	}
	event := map[string]string{"source": "usgs", "event": "us7000b"}
	wantProblem(t, s.do("reader", http.MethodPost, "/hazards/"+one+"/split", event), http.StatusForbidden)
	a = s.do("red", http.MethodPost, "/hazards/"+one+"/split", event)
	if a.JSON(t, &split); a.Status != http.StatusOK || split.UUID == one || split.Status != "A" {
		t.Fatalf("split: %d %s", a.Status, a.Body)
	}
	for _, hazard := range []string{one, split.UUID} {
		if list := items(t, s.do("reader", http.MethodGet, "/hazards/"+hazard+"/reports", nil)); len(list) != 1 {
			t.Errorf("%s has %d reports after the split, want 1", hazard, len(list))
		}
	}
	wantProblem(t, s.do("red", http.MethodPost, "/hazards/"+one+"/split", event), http.StatusNotFound)
	event["event"] = "us7000a"
	wantProblem(t, s.do("red", http.MethodPost, "/hazards/"+one+"/split", event), http.StatusConflict)
	wantProblem(t, s.do("red", http.MethodPost, "/hazards/"+one+"/merge", map[string]string{"into": one}), http.StatusConflict)
	wantProblem(t, s.do("red", http.MethodPost, "/hazards/"+one+"/merge", map[string]string{"to": one}), http.StatusBadRequest)
}
