package serve_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

// R8 and L7: the cost of a page of changes does not grow with its size, nor with how far behind it
// is.
func TestPageOfChangesWaitsForTheDatabaseAsOftenWhateverItsSize(t *testing.T) {
	test.Slow(t)
	test.NoRace(t)
	w, database := postgres.Wired(t, postgres.URL(t))
	s := start(t, func(c *app.Config) { c.Database = database })
	made := s.hazard("red")
	for range 5 {
		s.product("red", made.HazardID, note())
	}
	h, err := s.Store.Hazards.Get(t.Context(), made.HazardID)
	if err != nil {
		t.Fatal(err)
	}
	last, err := s.Store.Write(t.Context(), s.Now(), store.Origin{Source: "usgs"}, func(tx *store.Tx) error {
		for range 1200 {
			after := *h
			after.LastUpdate++
			if err := tx.SaveHazard(&after, h); err != nil {
				return err
			}
			*h = after
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// /changes never has more than the lists, so the view must have everything before counting
	// starts.
	if a := s.do("reader", "GET", fmt.Sprintf("/changes?after=%d&wait=60s", last-1), nil); a.Status != 200 || len(a.Body) < 10 {
		t.Fatalf("GET /changes: %d %s", a.Status, a.Body)
	}
	if h.Status != hazard.Active {
		t.Fatal(h.Status)
	}
	trips := func(path string, want int) int {
		return w.Count(t, func() {
			var list []told
			s.do("reader", "GET", path, nil).JSON(t, &list)
			if len(list) != want {
				t.Fatalf("%s: %d changes, want %d", path, len(list), want)
			}
		})
	}
	const beside = 300 // queries of followers and probes meanwhile, on the slowest machine: up to 44 were seen; a query for each change would be 990
	for _, path := range []string{"/changes", "/hazards/" + made.UUID + "/changes"} {
		small := trips(path+"?limit=10", 10)
		if large := trips(path+"?limit=1000", 1000); large > small+beside {
			t.Errorf("%s: a page of 10 changes waits %d times for the database, one of 1,000 %d times", path, small, large)
		}
		if late := trips(path+fmt.Sprintf("?limit=10&after=%d", 1100), 10); late > small+beside {
			t.Errorf("%s: the first page waits %d times for the database, a late one %d times", path, small, late)
		}
		if small > 8+beside {
			t.Errorf("%s: a page waits %d times for the database, want at most 8", path, small)
		}
	}
}

// Once, a single POST waited about ten times for the database; docs/cluster.md states the present
// number.
func TestALonePostWaitsForTheDatabaseAsOftenAsTheDocsState(t *testing.T) {
	test.Slow(t)
	test.NoRace(t)
	w, database := postgres.Wired(t, postgres.URL(t))
	s := start(t, func(c *app.Config) { c.Database = database })
	const name = "A flood that is alone"
	post := func() bool {
		switch a := s.do("red", "POST", "/hazards", flood("hazard_Name", name)); a.Status {
		case 201:
			return true
		case 503: // a server that has just started sweeps, and a write that waits too long for that is refused
			return false
		default:
			t.Errorf("%d %s", a.Status, a.Body)
			return false
		}
	}
	pauses := []time.Duration{0, 1200 * time.Millisecond} // as long as connections may be idle
	// The three round trips: get the write lock and the last numbers; write everything and commit;
	// and, like all nodes, read the change before answering, possibly over another connection.
	const stated = 3
	w.Far(100 * time.Millisecond)
	for _, pause := range pauses {
		trips := stated + 1
		for tries := 0; tries < 10 && trips > stated; tries++ { // a write that waits for the sweep of a server that has just started is not alone
			trips = w.CountOf(t, name, func() {
				time.Sleep(pause) // the test needs time to pass
				post()
			})
		}
		if trips > stated {
			t.Errorf("a POST %v after the one before waits %d times for the database, want at most %d", pause, trips, stated)
		}
	}
	// The tail reads the log at intervals. A write at such a moment waits a part of a round trip
	// more or less, so each try starts at another moment.
	const far = 500 * time.Millisecond // so long that delays of a busy machine are less than a round trip
	w.Far(far)
	for _, pause := range pauses {
		var took []time.Duration
		for tries := 0; tries < 20 && (len(took) == 0 || slices.Min(took) > stated*far+far/2); tries++ { // other programs use the processors and the database
			time.Sleep(pause + time.Duration(tries)*37*time.Millisecond)
			if began := time.Now(); post() {
				took = append(took, time.Since(began))
			}
		}
		if len(took) == 0 || slices.Min(took) > stated*far+far/2 {
			t.Errorf("POSTs %v after the one before take %v, with round trips of %v: want at most %d of them", pause, took, far, stated)
		}
	}
	// Writers of one node follow each other: each holds the lock for two round trips.
	w.Far(far / 2)
	const writers, each = 4, 2
	least := time.Hour
	for tries := 0; tries < 5 && least > writers*each*3*far/2; tries++ {
		var all sync.WaitGroup
		var refused atomic.Bool
		began := time.Now()
		for range writers {
			all.Go(func() {
				for range each {
					if !post() {
						refused.Store(true)
					}
				}
			})
		}
		all.Wait()
		if took := time.Since(began); !refused.Load() {
			least = min(least, took)
		}
	}
	if least > writers*each*3*far/2 {
		t.Errorf("%d writes of %d writers take %v with round trips of %v, want two round trips each", writers*each, writers, least, far/2)
	}
}

// An event of a hazard needs the number of its products, not their content.
func TestEventsOfAHazardHoldNoneOfItsTexts(t *testing.T) {
	p := handle(t)
	var made item
	p.do("editor", "POST", "/hazards", flood()).JSON(t, &made)
	long := note()
	long["data"] = strings.Repeat("x", 500_000)
	for range 10 {
		if a := p.do("editor", "POST", "/hazards/"+made.UUID+"/products", long); a.Status != 201 {
			t.Fatalf("%d %.300s", a.Status, a.Body)
		}
	}
	place, err := p.Push.Join("reader", p.time(), func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer place.Leave()
	used := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := used()
	cursor := p.Push.Read(p.Live.View(hazard.At(p.time())).Number(), nil, nil)
	for i := range 60 {
		if a := p.do("editor", "PATCH", "/hazards/"+made.UUID, fmt.Sprintf(`{"description":"number %d"}`, i)); a.Status != 200 {
			t.Fatalf("%d %.300s", a.Status, a.Body)
		}
		for told := false; !told; {
			events, wake, err := cursor.Next(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if told = len(events) > 0; !told && wake != nil {
				<-wake
			}
		}
	}
	if more := used() - before; more > 64<<20 {
		t.Errorf("60 changes of a hazard with 5 MB of texts take %d MiB", more>>20)
	}
}
