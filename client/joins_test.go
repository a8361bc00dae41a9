package client_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/server"
)

// earthquakes imports a pair of earthquakes from two sources that a rule joins. apart is their
// distance in degrees.
func earthquakes(t testing.TB, srv *server.Server, key string, lon, apart float64, payload string) {
	t.Helper()
	now := srv.Now()
	for i, name := range []string{"usgs", "emsc"} {
		r := hazard.Report{Source: name, Key: name + key, Version: 1, Type: hazard.Earthquake, Severity: hazard.Watch, Name: "M 6.0 Earthquake - " + key, Start: now.Add(-time.Minute),
			Point: &hazard.Point{Lon: lon + apart*float64(i)}}
		batch := source.Batch{Reports: []hazard.Report{r}, Read: 1}
		must(app.BuiltIn().Intake(srv.Store).Apply(t.Context(), name, batch, now, fuse.Options{Payload: payload}))(t)
	}
}

func TestReportsPayloadsAndJoinsOfTheRealServer(t *testing.T) {
	ctx := t.Context()
	srv := server.Serve(t)
	text := []byte(`{"type":"FeatureCollection"}`)
	digest := evidence.Digest(text)
	if err := srv.Evidence.Keep(ctx, store.Receipt{Source: "usgs", Kind: evidence.Feed, Address: "https://usgs.example/feed", Read: srv.Now(), Taken: srv.Now(), Kept: srv.Now()}, text); err != nil {
		t.Fatal(err)
	}
	earthquakes(t, srv, "A", 10, 0.4, digest)
	earthquakes(t, srv, "B", 60, 0.1, digest)
	editor, _ := as(t, srv, "red")
	reader, _ := as(t, srv, "reader")

	joins, matched, err := editor.Editor().Joins(ctx, client.JoinFilter{})
	if err != nil || matched != 2 || len(joins) != 2 {
		t.Fatalf("%d joins of %d, error %v", len(joins), matched, err)
	}
	a, b := joins[0], joins[1]
	if a.Event != (client.EventName{Source: "emsc", Event: "emscA"}) || a.With.Source != "usgs" || a.Score >= b.Score || a.Kilometers == nil || *a.Kilometers < 44 || *a.Kilometers > 45 || a.Reason == "" || a.Confirmed {
		t.Errorf("the most doubtful join must come first: %+v", joins)
	}
	for name, tt := range map[string]struct {
		filter client.JoinFilter
		want   int
	}{
		"of a type":   {client.JoinFilter{Types: []string{"FLOOD", "STORM"}}, 0},
		"of a score":  {client.JoinFilter{MaxScore: &a.Score}, 1},
		"confirmed":   {client.JoinFilter{Confirmed: true}, 0},
		"of a number": {client.JoinFilter{Limit: 1, Types: []string{"EARTHQUAKE"}}, 1},
	} {
		if got, _, err := editor.Editor().Joins(ctx, tt.filter); err != nil || len(got) != tt.want {
			t.Errorf("%s: %d joins, error %v, want %d", name, len(got), err, tt.want)
		}
	}
	if _, _, err := reader.Editor().Joins(ctx, client.JoinFilter{}); !errors.Is(err, client.ErrForbidden) {
		t.Errorf("a reader lists joins: %v", err)
	}

	reports := must(reader.Reports(ctx, a.UUID))(t)
	if len(reports.Items) != 2 || len(reports.Rejected) != 0 {
		t.Fatalf("%+v", reports)
	}
	for _, r := range reports.Items {
		if r.TypeID != "EARTHQUAKE" || r.Point == nil || (r.Joined == "") != (r.Source == "usgs") {
			t.Errorf("%+v", r)
		}
		if r.Source == "usgs" && (len(r.Payloads) != 1 || r.Payloads[0].SHA256 != digest) {
			t.Errorf("payloads %+v", r.Payloads)
		}
	}
	f := must(editor.PayloadFile(ctx, digest))(t)
	defer f.Body.Close()
	if got := must(io.ReadAll(f.Body))(t); string(got) != string(text) || f.Name == "" {
		t.Errorf("%q as %q", got, f.Name)
	}
	if _, err := reader.PayloadFile(ctx, digest); !errors.Is(err, client.ErrForbidden) {
		t.Errorf("a reader gets a payload: %v", err)
	}

	if h := must(editor.Editor().JudgeJoin(ctx, a.ID, false))(t); h.UUID == a.UUID {
		t.Errorf("%s is still part of %s", a.Event, a.UUID)
	}
	if h := must(editor.Editor().JudgeJoin(ctx, b.ID, true))(t); h.UUID != b.UUID {
		t.Errorf("%s is part of %s", b.Event, h.UUID)
	}
	if got, _, err := editor.Editor().Joins(ctx, client.JoinFilter{Confirmed: true}); err != nil || len(got) != 1 || !got[0].Confirmed || got[0].ID != b.ID {
		t.Errorf("confirmed: %+v, error %v", got, err)
	}
	if _, err := editor.Editor().JudgeJoin(ctx, a.ID, true); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a split join is judged again: %v", err)
	}
	must(editor.Editor().Confirm(ctx, b.UUID, b.Event))(t)
	if h := must(editor.Editor().Split(ctx, b.UUID, b.Event))(t); h.UUID == b.UUID {
		t.Errorf("%s is still part of %s", b.Event, b.UUID)
	}
}
