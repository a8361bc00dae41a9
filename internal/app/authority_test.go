package app_test

import (
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/store"
)

// A national CAP feed outranks a model, whatever its name (D2): its WARNING is not replaced by the
// INFORMATION of GDACS.
func TestANationalFeedOutranksModelsWhateverItsName(t *testing.T) {
	for _, name := range []string{"alerts-de", "meteo-de", "zamg"} {
		known, err := app.NewSources(app.SourceSettings{CAP: []app.CAPSource{{Config: cap.Config{Name: name, URL: "https://feeds.example.org/index"}}}})
		if err != nil {
			t.Fatal(err)
		}
		now := hazard.At(time.Now())
		s, err := store.Open(t.Context(), t.TempDir(), "sqlite:?synchronous=off")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		in := known.Intake(s)
		for _, r := range []hazard.Report{
			{Source: "gdacs", Key: "FL1102983", Severity: hazard.Information},
			{Source: name, Key: "flood", Severity: hazard.Warning, Refs: []string{"gdacs:FL1102983"}},
		} {
			r.Name, r.Type, r.Version, r.Start, r.Point = r.Source, hazard.Flood, int64(now), now.Add(-time.Hour), &hazard.Point{Lon: 10, Lat: 50}
			if _, err := in.Apply(t.Context(), r.Source, source.Batch{Reports: []hazard.Report{r}, Read: 1}, now, fuse.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		joined, err := s.Hazards.Called(t.Context(), "gdacs:FL1102983")
		if err != nil || len(joined) != 1 || joined[0].Severity != hazard.Warning || joined[0].Name != name {
			t.Errorf("%s: %+v, %v", name, joined, err)
		}
	}
}

// GeoNet gives no update time: the same answer, read again later, changes nothing.
func TestAnAnswerOfGeoNetReadAgainLaterChangesNothing(t *testing.T) {
	d := newDesk(t)
	at := hazard.At(time.Date(2019, 7, 23, 13, 0, 0, 0, time.UTC))
	if first, _ := d.take("geonet", "geonet/quake-mmi0.json", at); first.made != 2 {
		t.Errorf("first: %s", first)
	}
	if again, _ := d.take("geonet", "geonet/quake-mmi0.json", at.Add(time.Minute)); again.made+again.updated != 0 {
		t.Errorf("a minute later: %s", again)
	}
}
