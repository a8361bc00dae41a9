package httpapi_test

import (
	"fmt"
	"testing"

	"hazardd/internal/hazard"
	"hazardd/internal/pgtest"
	"hazardd/internal/service"
	"hazardd/internal/store"
)

// R8 and L7: what a page of changes costs does not grow with its size, nor with how far behind it is.
func TestPageOfChangesWaitsForTheDatabaseAsOftenWhateverItsSize(t *testing.T) {
	w, database := pgtest.Wired(t, pgtest.URL(t))
	s := serve(t, func(c *service.Config) { c.Database = database })
	made := s.hazard("red")
	for range 5 {
		s.product("red", made.HazardID, note())
	}
	h, err := s.Store.Hazard(t.Context(), made.HazardID)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Store.Write(t.Context(), s.Now(), store.Origin{Source: "usgs"}, func(tx *store.Tx) error {
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
	for _, path := range []string{"/changes", "/hazards/" + made.UUID + "/changes"} {
		small := trips(path+"?limit=10", 10)
		if large := trips(path+"?limit=1000", 1000); large > small {
			t.Errorf("%s: a page of 10 changes waits %d times for the database, one of 1,000 %d times", path, small, large)
		}
		if late := trips(path+fmt.Sprintf("?limit=10&after=%d", 1100), 10); late > small {
			t.Errorf("%s: the first page waits %d times for the database, a late one %d times", path, small, late)
		}
		if small > 8 {
			t.Errorf("%s: a page waits %d times for the database, want at most 8", path, small)
		}
	}
}
