package store_test

import (
	"database/sql"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

// bubbled runs f in a bubble with a store on PostgreSQL.
func bubbled(t *testing.T, b *postgres.Bubble, f func(*testing.T, *store.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), t.TempDir(), b.Copy(t), store.WithDialer(b.Dial))
		if err != nil {
			t.Fatal(err)
		}
		f(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// On a slow disk, a person who comes before the commit of a feed shares it. Their errors are their own, and their write
// runs once, whatever happens; the feed loses nothing.
func TestAPersonSharesTheCommitOfAFeedOnASlowDisk(t *testing.T) {
	b := postgres.NewBubble(t)
	fault := errors.New("a fault")
	bad := flood("person")
	bad.Source = "no\x00text"
	for name, tt := range map[string]struct {
		fast   bool
		person func(*store.Tx) error
		err    error // of the person; an InvalidError comes late
		shared bool
	}{
		"all is well":              {false, func(tx *store.Tx) error { return tx.SaveHazard(flood("person"), nil) }, nil, true},
		"the person is refused":    {false, func(tx *store.Tx) error { return errors.Join(tx.SaveHazard(flood("person"), nil), fault) }, fault, false},
		"the person's write fails": {false, func(tx *store.Tx) error { return tx.SaveHazard(bad, nil) }, &hazard.InvalidError{}, false},
		"the person's panics":      {false, func(*store.Tx) error { panic(fault) }, fault, false},
		"the disk is fast":         {true, func(tx *store.Tx) error { return tx.SaveHazard(flood("person"), nil) }, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubbled(t, b, func(t *testing.T, s *store.Store) {
				var all sync.WaitGroup
				var feed, person *sql.Tx
				runs := 0
				var got error
				if !tt.fast {
					s.Slow()
				}
				_, err := s.Write(store.Patient(t.Context()), hazard.Instant(1), store.Origin{Source: "gdacs"}, func(tx *store.Tx) error {
					if feed == nil {
						all.Go(func() {
							defer func() {
								if recover() != nil {
									got = fault
								}
							}()
							_, got = s.Write(t.Context(), hazard.Instant(1), store.Origin{User: "red"}, func(tx *store.Tx) error {
								runs++
								person = tx.In()
								return tt.person(tx)
							})
						})
						synctest.Wait()
					}
					feed = tx.In()
					return tx.SaveHazard(flood("feed"), nil)
				})
				if err != nil {
					t.Errorf("the feed: %v", err)
				}
				all.Wait()
				late := &hazard.InvalidError{}
				if errors.As(tt.err, &late) != errors.As(got, &late) || !errors.As(tt.err, &late) && !errors.Is(got, tt.err) {
					t.Errorf("the person: %v, expected %v", got, tt.err)
				}
				if shared := feed == person; shared != tt.shared || runs != 1 {
					t.Errorf("one transaction: %v, expected %v; the person's write ran %d times", shared, tt.shared, runs)
				}
				var names []string
				for _, c := range since(t, s, 0) {
					names = append(names, c.Hazard.Name)
				}
				want := []string{"feed", "person"}
				if tt.err != nil {
					want = want[:1]
				}
				if !slices.Equal(names, want) {
					t.Errorf("the log holds %q, expected %q", names, want)
				}
			})
		})
	}
}

// Leases cost a person no sync of PostgreSQL's log: those of a process are renewed in one statement, with a feed's
// transaction, or when nobody writes, but not much later; and who waits for one writes nothing.
func TestLeasesAreRenewedTogetherAndInPassing(t *testing.T) {
	b := postgres.NewBubble(t)
	names := []string{"poll", "notify", "webhook", "sweep", "prune"}
	for name, tt := range map[string]struct {
		origin  store.Origin
		takes   time.Duration // the write
		alone   bool          // the renewals are in no writer's transaction
		longest time.Duration
	}{
		"with a feed":    {store.Origin{Source: "gdacs"}, 100 * time.Millisecond, false, 100 * time.Millisecond},
		"after a person": {store.Origin{User: "red"}, time.Second, true, time.Second},
		"during a write": {store.Origin{User: "red"}, 7 * time.Second, true, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubbled(t, b, func(t *testing.T, s *store.Store) {
				take := func(name, holder string) bool {
					now := hazard.At(time.Now())
					ok, err := s.Leases.Take(t.Context(), name, holder, now, now.Add(8*time.Second))
					if err != nil {
						t.Error(err)
					}
					return ok
				}
				for _, name := range names {
					if !take(name, "me") {
						t.Fatalf("%s is not taken", name)
					}
				}
				var all sync.WaitGroup
				ctx := t.Context()
				if tt.origin.Source != "" {
					ctx = store.Patient(ctx)
				}
				_, err := s.Write(ctx, hazard.Instant(1), tt.origin, func(tx *store.Tx) error {
					if err := tx.SaveHazard(flood("one"), nil); err != nil {
						return err
					}
					began := time.Now()
					for _, name := range names {
						all.Go(func() {
							if !take(name, "me") {
								t.Errorf("%s is not renewed", name)
							}
							if took := time.Since(began); took > tt.longest+50*time.Millisecond {
								t.Errorf("%s was renewed after %v, expected %v", name, took, tt.longest)
							}
						})
					}
					synctest.Wait()
					time.Sleep(tt.takes)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				all.Wait()
				if take("poll", "another") {
					t.Error("another has it too")
				}
				var together, beside int
				_, err = s.Write(t.Context(), hazard.Instant(1), store.Origin{Admin: true}, func(tx *store.Tx) error {
					return tx.In().QueryRowContext(t.Context(), `SELECT count(DISTINCT l.xmin::text), count(*) FILTER (WHERE l.xmin <> c.xmin OR l.xmax::text NOT IN ('0', l.xmin::text))
						FROM leases l, changes c WHERE c.n = $1`, 1).Scan(&together, &beside)
				})
				if err != nil || together != 1 || (beside == len(names)) != tt.alone || beside%len(names) != 0 {
					t.Errorf("the leases are of %d transactions, %d of them of none of a writer's or locked by others: %v", together, beside, err)
				}
			})
		})
	}
}
