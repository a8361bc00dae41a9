package edit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// A redacted text may also be a word with another meaning in a report: a level, a type, a key, a
// place. These stay, and the source is imported as before.
func TestARedactionLeavesWhatReportsMean(t *testing.T) {
	e, s := newEditor(t)
	in := fuse.New(s, fuse.Known{})
	say := func(f func(*hazard.Report)) {
		r := hazard.Report{Source: "usgs", Key: "WARNING", Version: int64(now), Name: "WARNING", Description: "A name in a long text", Type: hazard.Flood, Severity: hazard.Warning,
			Start: now, Part: "FLOOD", Places: []string{"FLOOD"}, Refs: []string{"x:FLOOD"}, Point: &hazard.Point{Lon: 1, Lat: 2}, Notes: []string{"a note"}, Called: "FLOOD",
			Products: []hazard.ReportProduct{{Key: "WARNING", Title: "a WARNING", Type: hazard.TextProduct, Data: "WARNING FLOOD"}}}
		f(&r)
		if _, err := in.Apply(t.Context(), "usgs", source.Batch{Reports: []hazard.Report{r}, Read: 1}, now, fuse.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	say(func(*hazard.Report) {})
	h, err := s.Hazards.ByUUID(t.Context(), hazard.EventUUID("usgs", "WARNING"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.PatchHazard(t.Context(), editor, edit.Ref{ID: h.ID}, nil, []byte(`{"comment_Text":"FLOOD"}`), now+1); err != nil {
		t.Fatal(err)
	}
	if _, err := e.RedactHazard(t.Context(), admin, edit.Ref{ID: h.ID}, nil, []byte(`{"fields":["hazard_Name","description","comment_Text"],"reason":"r"}`), now+2); err != nil {
		t.Fatal(err)
	}
	events, err := s.Reports.Of(t.Context(), h.ID)
	if err != nil || len(events) != 1 || len(events[0].Parts) != 1 {
		t.Fatalf("%+v, %v", events, err)
	}
	text, err := json.Marshal(events[0].Parts[0])
	if err != nil {
		t.Fatal(err)
	}
	r := events[0].Parts[0]
	if r.Key != "WARNING" || r.Type != hazard.Flood || r.Severity != hazard.Warning || r.Part != "FLOOD" || !slices.Equal(r.Places, []string{"FLOOD"}) || !slices.Equal(r.Refs, []string{"x:FLOOD"}) {
		t.Errorf("the report means something else now: %s", text)
	}
	for _, said := range []string{r.Name, r.Description, r.Called, r.Products[0].Title, r.Products[0].Data} {
		if strings.Contains(said, "WARNING") || strings.Contains(said, "FLOOD") || strings.Contains(said, "name") {
			t.Errorf("the report still contains %q: %s", said, text)
		}
	}
	say(func(r *hazard.Report) { r.Version, r.Severity = r.Version+1, hazard.Advisory })
	if h, err = s.Hazards.Get(t.Context(), h.ID); err != nil || h.Severity != hazard.Advisory || h.Type != hazard.Flood || h.Name != hazard.RedactedText || h.Description != "" {
		t.Errorf("after the next report it is %+v, %v", h, err)
	}
}
