package exposure

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

const noon hazard.Instant = 1_750_000_000_000

func open(t *testing.T, database string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), t.TempDir(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// keep stores a hazard at a longitude; wide is its area in degrees, 0 for none.
func keep(ctx context.Context, s *store.Store, lon, wide float64) (id int64, err error) {
	h := &hazard.Hazard{UUID: uuid.New(), Type: hazard.Flood, Severity: hazard.Warning, Category: hazard.Event, Status: hazard.Active, OrgID: -1,
		Name: "High water", Longitude: lon, Latitude: 48, Start: noon, End: noon.Add(24 * time.Hour)}
	_, err = s.Write(ctx, hazard.ClockFunc(func() hazard.Instant { return noon }), store.Origin{Admin: true}, func(tx *store.Tx) error {
		if wide > 0 {
			box := fmt.Sprintf(`{"type":"Polygon","coordinates":[[[%g,48],[%g,48],[%g,49],[%g,49],[%g,48]]]}`, lon, lon+wide, lon+wide, lon, lon)
			var err error
			if h.Areas, err = tx.KeepAreas([]hazard.Area{{Role: hazard.AlertArea, Geometry: box}}); err != nil {
				return err
			}
		}
		return tx.SaveHazard(h, nil)
	})
	return h.ID, err
}

// counting returns a worker on what is in the store now.
func counting(t *testing.T, s *store.Store, grid *population.Grid) Config {
	t.Helper()
	at := func() hazard.Instant { return noon }
	live, err := view.Open(t.Context(), s.Log, slog.New(slog.DiscardHandler), at)
	if err != nil {
		t.Fatal(err)
	}
	return Config{Store: s, View: live.View, Grid: func() (*population.Grid, error) { return grid, nil }, Clock: hazard.ClockFunc(at), Log: slog.New(slog.DiscardHandler)}
}

// People are counted once. Where only a point is known, and where other data give the same figures, as
// after an upgrade, nothing changes.
func TestACountIsAChangeOnlyWhereItSaysSomethingElse(t *testing.T) {
	s := open(t, "")
	for _, wide := range []float64{1, 0} {
		if _, err := keep(t.Context(), s, 9, wide); err != nil {
			t.Fatal(err)
		}
	}
	builtin, err := population.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	other := *builtin
	other.ID = "the same figures by another name"
	for _, c := range []struct {
		name string
		grid *population.Grid
		last int64 // change afterwards
	}{
		{"the area is counted, the point is not", builtin, 3},
		{"again", builtin, 3},
		{"with the data of another version", &other, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := counting(t, s, c.grid).pass(t.Context(), map[int64]checkedState{}); err != nil {
				t.Fatal(err)
			}
			if last, err := s.Log.Last(t.Context()); err != nil || last != c.last {
				t.Errorf("the last change is %d, %v; expected %d", last, err, c.last)
			}
		})
	}
}

// While many hazards are counted, a write waits for one short transaction, also with a database that is
// far away.
func TestCountingHoldsUpNoWriter(t *testing.T) {
	test.Seconds(t)
	wire, database := postgres.Wired(t, postgres.URL(t))
	s := open(t, database)
	for i := range maxBatch {
		if _, err := keep(t.Context(), s, float64(i)/10, 0.1); err != nil {
			t.Fatal(err)
		}
	}
	grid, err := population.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	c := counting(t, s, grid)
	wire.Far(50 * time.Millisecond)
	counted := make(chan struct{})
	var worker sync.WaitGroup
	worker.Go(func() {
		defer close(counted)
		if _, err := c.pass(store.Patient(t.Context()), map[int64]checkedState{}); err != nil {
			t.Error(err)
		}
	})
	for done := false; !done; {
		select {
		case <-counted:
			done = true
		default:
			if _, err := keep(t.Context(), s, 20, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	worker.Wait()
	changes, err := s.Log.Since(t.Context(), maxBatch, 1000)
	if err != nil {
		t.Fatal(err)
	}
	longest, run, counts := 0, 0, 0 // not in time, which is not this test's alone
	for _, change := range changes {
		if change.Kind == hazard.HazardCreated {
			run = 0
			continue
		}
		run, counts = run+1, counts+1
		longest = max(longest, run)
	}
	t.Logf("%d hazards counted with 50 ms to the database and back, at most %d between two of %d other writes", counts, longest, len(changes)-counts)
	if counts == 0 || longest > 15 { // in one transaction, it would be all that are counted in maxTime: 30
		t.Errorf("%d of %d hazards were counted before another writer had its turn", longest, counts)
	}
}
