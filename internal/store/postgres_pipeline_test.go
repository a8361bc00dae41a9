package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

func openAt(t testing.TB, database string) *store.Store {
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

// renew changes a hazard as most changes do: the time of a report, and little else.
func renew(t testing.TB, s *store.Store, id int64) {
	t.Helper()
	_, err := s.Write(t.Context(), noon+1, store.Origin{Admin: true}, func(tx *store.Tx) error {
		before, err := tx.Hazard(id)
		if err != nil {
			return err
		}
		h := *before
		h.LastUpdate++
		return tx.SaveHazard(&h, before)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWriteWaitsForPostgresFewTimes(t *testing.T) {
	w, database := postgres.Wired(t, postgres.URL(t))
	s := openAt(t, database)
	h := flood("one")
	save(t, s, h)
	for what, c := range map[string]struct {
		do   func()
		want int
	}{
		"a new hazard":     {func() { save(t, s, flood("another")) }, 2}, // round trips: the numbers, and everything else
		"a changed hazard": {func() { renew(t, s, h.ID) }, 2},            // round trips: its state and the numbers, and everything else
		"many hazards": {func() {
			_, err := s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
				for range 10 {
					if err := tx.SaveHazard(flood("of many"), nil); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}, 2},
		"nothing": {func() {
			if _, err := s.Write(t.Context(), noon, store.Origin{Admin: true}, func(*store.Tx) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}, 1},
		"nothing, by an error": {func() {
			if _, err := s.Write(t.Context(), noon, store.Origin{Admin: true}, func(*store.Tx) error { return errors.New("no") }); err == nil {
				t.Fatal("no error")
			}
		}, 0},
	} {
		if got := w.Count(t, c.do); got > c.want {
			t.Errorf("%s: waits %d times for the database, want at most %d", what, got, c.want)
		}
	}
}

func TestWriteToPostgresKeepsLittleInMemory(t *testing.T) {
	w, database := postgres.Wired(t, postgres.URL(t))
	s := openAt(t, database)
	const size = 200 << 10
	_, err := s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
		for i := range 20 {
			h := flood(fmt.Sprintf("flood %d", i))
			h.Description = strings.Repeat(string(rune('a'+i)), size) // written twice: in its row, and in that of the change
			if err := tx.SaveHazard(h, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(1<<20 + 2*size); w.Most() > most {
		t.Errorf("%d bytes were sent at once, want at most %d", w.Most(), most)
	}
	if changes := since(t, s, 0); len(changes) != 20 || changes[19].Number != 20 || len(changes[19].Hazard.Description) != size {
		t.Errorf("%d changes", len(changes))
	}
}

func TestStatementThatFailsLateFailsItsWriteAlone(t *testing.T) {
	s := openAt(t, postgres.URL(t))
	save(t, s, flood("before"))
	bad := flood("bad")
	bad.Source = "no\x00text"
	for name, more := range map[string]func(*store.Tx) error{
		"with the commit": func(*store.Tx) error { return nil },
		"with a question": func(tx *store.Tx) error { _, err := tx.Hazard(1); return err },
		"and is left unheeded": func(tx *store.Tx) error {
			if _, err := tx.Hazard(1); err == nil {
				return errors.New("a question was answered after a failure")
			}
			return nil
		},
	} {
		_, err := s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
			h := *bad
			if err := errors.Join(tx.SaveHazard(flood("beside"), nil), tx.SaveHazard(&h, nil)); err != nil {
				return err
			}
			return more(tx)
		})
		if _, ok := errors.AsType[*hazard.InvalidError](err); !ok || !strings.Contains(err.Error(), "SaveHazard: ") {
			t.Errorf("%s: %v, want an InvalidError that names the statement SaveHazard", name, err)
		}
	}
	save(t, s, flood("after")) // the lock is free again
	if changes := since(t, s, 0); len(changes) != 2 || changes[1].Number != 2 || changes[1].HazardID != 2 {
		t.Errorf("the log: %v", changes)
	}
}

func TestWriteThatPanicsLetsOthersWrite(t *testing.T) {
	s := openAt(t, postgres.URL(t))
	for range 10 { // more than there are connections
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is gone")
				}
			}()
			_, _ = s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
				if err := tx.SaveHazard(flood("lost"), nil); err != nil {
					return err
				}
				panic("no")
			})
		}()
		save(t, s, flood("kept"))
	}
	if changes := since(t, s, 0); len(changes) != 10 {
		t.Errorf("%d changes, want 10", len(changes))
	}
}

// other returns a separate connection to the database of a store.
func other(t testing.TB, database string) *sql.DB {
	t.Helper()
	d, err := sql.Open("pgx", database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestWriteThatLosesItsConnectionChangesNothing(t *testing.T) {
	database := postgres.URL(t)
	s, admin := openAt(t, database), other(t, database)
	_, err := s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
		if err := tx.SaveHazard(flood("lost"), nil); err != nil { // it has a number, so the transaction has begun
			return err
		}
		_, err := admin.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hazardd' AND state = 'idle in transaction' AND datname = current_database()`)
		return err
	})
	if !errors.Is(err, hazard.ErrUnavailable) {
		t.Errorf("write: %v, want ErrUnavailable", err)
	}
	save(t, s, flood("kept"))
	if changes := since(t, s, 0); len(changes) != 1 || changes[0].Hazard.Name != "kept" {
		t.Errorf("the log: %v", changes)
	}
}

func TestWriteThatDoesNotGetTheLockFails(t *testing.T) {
	database := postgres.URL(t)
	s, slow := openAt(t, database), openAt(t, database+"&lock_timeout=50")
	_, err := s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
		if err := tx.SaveHazard(flood("first"), nil); err != nil {
			return err
		}
		for range 10 { // more than it has connections
			if _, err := slow.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error { return tx.SaveHazard(flood("lost"), nil) }); !errors.Is(err, hazard.ErrUnavailable) {
				t.Errorf("write without the lock: %v, want ErrUnavailable", err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	save(t, slow, flood("second"))
	if changes := since(t, s, 0); len(changes) != 2 {
		t.Errorf("%d changes, want 2", len(changes))
	}
}

// Connection poolers between a node and its database may not support prepared statements.
func TestWriteInEachWayToRunStatements(t *testing.T) {
	test.SeldomButRaced(t)
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			s := openAt(t, postgres.URL(t)+"&default_query_exec_mode="+mode)
			h := flood(`it's a "flood" \ $1`)
			refs, err := []hazard.AreaRef(nil), error(nil)
			_, err = s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
				refs, err = tx.KeepAreas([]hazard.Area{{Geometry: `{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,0]]]}`}})
				if err != nil {
					return err
				}
				h.Areas = refs
				if err := tx.SaveHazard(h, nil); err != nil {
					return err
				}
				errs := []store.SourceError{{Record: "r", Reason: "bad", Raw: []byte{0, 1, 255}}}
				return errors.Join(tx.Events.AddRef("x:1", "nws", "e"), tx.Reports.AddErrors("nws", errs))
			})
			if err != nil {
				t.Fatal(err)
			}
			renew(t, s, h.ID)
			var known map[string]bool
			_, err = s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) (err error) {
				known, err = tx.Events.KnownRefs([]string{"x:1", "x:2"})
				return err
			})
			if err != nil || len(known) != 1 || !known["x:1"] {
				t.Errorf("known: %v, %v", known, err)
			}
			if got, err := s.Hazards.Get(t.Context(), h.ID); err != nil || got.Name != h.Name || got.Version != 2 || !slices.Equal(got.Areas, refs) {
				t.Errorf("got %+v, %v", got, err)
			}
			if errs, err := s.Sources.Errors(t.Context(), "nws", 10); err != nil || len(errs) != 1 || string(errs[0].Raw) != "\x00\x01\xff" {
				t.Errorf("errors of the source: %v, %v", errs, err)
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, kind := range []string{"SQLite", "PostgreSQL"} {
		database := func() string {
			if kind == "SQLite" {
				return ""
			}
			return postgres.URL(b)
		}
		for name, do := range map[string]func(s *store.Store, id int64){
			"new":     func(s *store.Store, _ int64) { save(b, s, flood("another")) },
			"changed": func(s *store.Store, id int64) { renew(b, s, id) },
		} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				s := openAt(b, database())
				h := flood("one")
				save(b, s, h)
				for b.Loop() {
					do(s, h.ID)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
				if kind == "PostgreSQL" {
					w, over := postgres.Wired(b, database())
					s := openAt(b, over)
					h := flood("one")
					save(b, s, h)
					b.ReportMetric(float64(w.Count(b, func() { do(s, h.ID) })), "trips/op")
				}
			})
		}
	}
}
