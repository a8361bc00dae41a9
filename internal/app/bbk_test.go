package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// A German warning that gives its area in words only is shown at once, with the outline of the
// country. When its shape has been fetched, it is shown with that. Its all-clear ends it.
func TestAWarningOfGermanyLiesInItsShape(t *testing.T) {
	const name = "bbk"
	clear := string(recordings.Read(t, "feeds/bbk/mowas-cancel-20260920.json"))
	warned := strings.NewReplacer(`"Cancel"`, `"Alert"`, `"AllClear"`, `"Shelter"`, "Entwarnung: ", "", "-35-001\"", "-35-000\"", "2026-09-20T17:50:56+02:00", "2026-09-20T16:02:18+02:00",
		`"references": "DE-SL-SB-SE035,mow.DE-SL-SB-SE035-20260920-35-000,2026-09-20T14:02:18-00:00",`, "").Replace(clear)
	src, err := app.BuiltIn().Find(name)
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t)
	take := func(payload string, at time.Time, opts fuse.Options) {
		t.Helper()
		batch, err := src.Parse([]byte(payload), hazard.At(at))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.intake.Apply(t.Context(), name, batch, hazard.At(at), opts); err != nil {
			t.Fatal(err)
		}
	}
	only := func() (h *hazard.Hazard, squareKm float64) {
		t.Helper()
		events, err := d.store.Reports.ActiveEvents(t.Context(), name)
		if err != nil || len(events) != 1 {
			t.Fatalf("%v: %+v, want one event", err, events)
		}
		h, err = d.store.Hazards.Get(t.Context(), events[0].HazardID)
		if err != nil {
			t.Fatal(err)
		}
		areas, err := d.store.Log.Areas(t.Context(), h.Areas)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range areas {
			s, err := geo.ParseLoose([]byte(a.Geometry))
			if err != nil {
				t.Fatal(err)
			}
			squareKm = max(squareKm, s.AreaKm2())
		}
		return h, squareKm
	}
	begun := time.Date(2026, 9, 20, 14, 3, 0, 0, time.UTC)
	take(warned, begun, fuse.Options{})
	if h, km2 := only(); km2 != 0 || h.Place() != hazard.PlaceCountry || h.PlaceKnownAs != "Germany" {
		t.Errorf("without its shape: %+v, %.0f km², want no area, only the country", h, km2)
	}
	code, shape, _, err := src.ParsePlace([]byte(`{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"areaId":0,"warnId":"mow.DE-SL-SB-SE035-20260920-35-000"},
		"geometry":{"type":"Polygon","coordinates":[[[6.6,49.3],[6.7,49.3],[6.7,49.4],[6.6,49.4],[6.6,49.3]]]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.store.Sources.SavePlace(t.Context(), name, code, "", string(shape), hazard.At(begun)); err != nil {
		t.Fatal(err)
	}
	take(warned, begun.Add(time.Minute), fuse.Options{Again: true})
	if h, km2 := only(); km2 > 100 || h.Status != hazard.Active {
		t.Errorf("with its shape: %+v, %.0f km²", h, km2)
	}
	take(clear, begun.Add(2*time.Hour), fuse.Options{})
	if events, err := d.store.Reports.ActiveEvents(t.Context(), name); err != nil || len(events) != 0 {
		t.Errorf("after the all-clear: %v, %+v", err, events)
	}
}
