package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"hazardd/internal/hazard"
)

// Who says what of a hazard, what they call it, and what it has to do with others.
func TestWhatSourcesSayOfAHazard(t *testing.T) {
	s := serve(t)
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
	if want := "[{gdacs disabled EQ1 named usgs:us7000a ADVISORY  [usgs:us7000a glide:EQ-2026-000001-USA]} {usgs disabled us7000a  WARNING red []}]"; got != want {
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
