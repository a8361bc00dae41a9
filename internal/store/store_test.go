package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/authtest"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/internal/test/s3"
)

func TestMain(m *testing.M) { os.Exit(s3.Main(func() int { return postgres.Main(m) })) }

const noon hazard.Instant = 1_795_262_400_000

func open(t testing.TB, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), dir, postgres.Database(t, dir, ""))
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

func flood(name string) *hazard.Hazard {
	return &hazard.Hazard{UUID: uuid.New(), Name: name, Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event, Status: hazard.Active,
		AutoExpire: true, Start: noon, End: noon + 1000, Created: noon, LastUpdate: noon, Updated: noon, OrgID: -1, Longitude: 1.5, Latitude: -2}
}

// save writes one new hazard.
func save(t testing.TB, s *store.Store, h *hazard.Hazard) {
	t.Helper()
	last, err := s.Write(t.Context(), noon, store.Origin{User: "ada", Addr: "192.0.2.1"}, func(tx *store.Tx) error { return tx.SaveHazard(h, nil) })
	if err != nil || last != h.Version {
		t.Fatalf("write: change %d, state %d, %v", last, h.Version, err)
	}
}

func since(t testing.TB, s *store.Store, n int64) []hazard.Change {
	t.Helper()
	changes, err := s.Log.Since(t.Context(), n, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func TestWriteNumbersChangesAndKeepsEveryState(t *testing.T) {
	s := open(t, t.TempDir())
	h := flood("first")
	h.Source = "nws"
	save(t, s, h)
	second := *h
	second.Name, second.Severity = "second", hazard.Warning
	third := second
	third.Status, third.Reason = hazard.Expired, hazard.EndCancelled
	p := &hazard.Product{UUID: uuid.New(), HazardID: h.ID, Title: "map", Type: hazard.URLProduct, Data: "https://example.org/", OrgIDs: []int64{7}}
	_, err := s.Write(t.Context(), noon+5, store.Origin{Source: "nws"}, func(tx *store.Tx) error {
		return errors.Join(tx.SaveHazard(&second, h), tx.SaveProduct(p), tx.SaveHazard(&third, &second))
	})
	if err != nil {
		t.Fatal(err)
	}
	changes := since(t, s, 0)
	want := []hazard.Change{
		{Number: 1, At: noon, Kind: hazard.HazardCreated, HazardID: 1, Actor: "ada", Hazard: h},
		{Number: 2, At: noon + 5, Kind: hazard.HazardUpdated, HazardID: 1, Source: "nws", Hazard: &second},
		{Number: 3, At: noon + 5, Kind: hazard.ProductCreated, HazardID: 1, Source: "nws", Product: p},
		{Number: 4, At: noon + 5, Kind: hazard.HazardExpired, HazardID: 1, Source: "nws", Hazard: &third},
	}
	// Compare as values, because the states' own Equal ignores when and by whom.
	hazards := cmp.Comparer(func(a, b *hazard.Hazard) bool { return a == b || a != nil && b != nil && cmp.Equal(*a, *b) })
	products := cmp.Comparer(func(a, b *hazard.Product) bool { return a == b || a != nil && b != nil && cmp.Equal(*a, *b) })
	if diff := cmp.Diff(want, changes, hazards, products); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	got, err := s.Hazards.ByUUID(t.Context(), h.UUID)
	if err != nil || got.Name != "second" || got.Version != 4 {
		t.Errorf("present state: %+v, %v", got, err)
	}
	if _, err := s.Hazards.Product(t.Context(), p.ID, []int64{3}); !errors.Is(err, hazard.ErrNotFound) {
		t.Errorf("a restricted product to a stranger: %v", err)
	}
	if _, err := s.Hazards.ProductByUUID(t.Context(), p.UUID, []int64{7}); err != nil {
		t.Errorf("a restricted product to a member: %v", err)
	}
	for n, want := range map[int64]int{2: 0, 3: 1, 4: 1} {
		if got, err := s.Log.ProductTotalAt(t.Context(), h.ID, n, []int64{7}); err != nil || got != want {
			t.Errorf("products at change %d: %d, %v; want %d", n, got, err, want)
		}
	}
}

func TestWriteThatFailsChangesNothingAndTakesNoNumber(t *testing.T) {
	s := open(t, t.TempDir())
	boom := errors.New("boom")
	_, err := s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
		if err := tx.SaveHazard(flood("lost"), nil); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) {
		t.Fatalf("error %v, want ours", err)
	}
	h := flood("kept")
	save(t, s, h)
	if h.ID != 1 || h.Version != 1 || len(since(t, s, 0)) != 1 {
		t.Errorf("hazard %d of change %d after a write that failed", h.ID, h.Version)
	}
}

func TestWriteGoesOnWhenTheClientHangsUp(t *testing.T) {
	s := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	h := flood("kept")
	_, err := s.Write(ctx, noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
		cancel()
		return tx.SaveHazard(h, nil)
	})
	if err != nil || len(since(t, s, 0)) != 1 {
		t.Errorf("error %v", err)
	}
}

// Two open stores on one file behave like two processes.
func TestManyWritersOfTwoProcessesLeaveNoHoleAndATailSeesAllInOrder(t *testing.T) {
	dir := t.TempDir()
	stores := []*store.Store{open(t, dir), open(t, dir)}
	const writers, each = 4, 25
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				_, err := stores[w%2].Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
					return errors.Join(tx.SaveHazard(flood(fmt.Sprint(w, " ", i)), nil), tx.SaveHazard(flood("and another"), nil))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	tail := open(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	next := int64(1)
	for next <= 2*writers*each {
		if err := tail.Log.Wait(ctx, next-1); err != nil {
			t.Fatalf("waiting for change %d: %v", next, err)
		}
		for _, c := range since(t, tail, next-1) {
			if c.Number != next {
				t.Fatalf("change %d follows %d", c.Number, next-1)
			}
			next++
		}
	}
	wg.Wait()
	if n, err := tail.Log.Last(t.Context()); err != nil || n != 2*writers*each {
		t.Errorf("last change %d, %v", n, err)
	}
}

func TestSnapshotIsOneConsistentPicture(t *testing.T) {
	s := open(t, t.TempDir())
	over := flood("over")
	over.Status = hazard.Expired
	save(t, s, over)
	h := flood("active")
	save(t, s, h)
	gone := &hazard.Product{UUID: uuid.New(), HazardID: h.ID, Title: "gone", Type: hazard.TextProduct, Data: "x", Deleted: true}
	p := &hazard.Product{UUID: uuid.New(), HazardID: h.ID, Title: "text", Type: hazard.TextProduct, Data: "x"}
	if _, err := s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error { return errors.Join(tx.SaveProduct(gone), tx.SaveProduct(p)) }); err != nil {
		t.Fatal(err)
	}
	snap, err := s.Log.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if snap.Number != 4 || len(snap.Hazards) != 1 || snap.Hazards[0].Name != "active" || len(snap.Products) != 1 || snap.Products[0].Title != "text" {
		t.Errorf("got %+v", snap)
	}
}

func TestDueAndNextMoment(t *testing.T) {
	s := open(t, t.TempDir())
	if _, any, err := s.Hazards.NextMoment(t.Context()); any || err != nil {
		t.Fatalf("an empty store: %v, %v", any, err)
	}
	late, never := flood("late"), flood("never by itself")
	late.End, never.AutoExpire = noon+9000, false
	for _, h := range []*hazard.Hazard{late, flood("soon"), never} {
		save(t, s, h)
	}
	if end, any, err := s.Hazards.NextMoment(t.Context()); end != noon+1000 || !any || err != nil {
		t.Errorf("next end %s, %v, %v", end, any, err)
	}
	_, err := s.Write(t.Context(), noon+1000, store.Origin{Admin: true}, func(tx *store.Tx) error {
		due, err := tx.Due(100)
		if len(due) != 1 || due[0].Name != "soon" {
			t.Errorf("due at its end: %v", due)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestReopeningKeepsEverythingAndTheEpoch(t *testing.T) {
	dir := t.TempDir()
	first, err := store.Open(t.Context(), dir, postgres.Database(t, dir, ""))
	if err != nil {
		t.Fatal(err)
	}
	save(t, first, flood("kept"))
	epoch := first.Epoch()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir)
	if again.Epoch() != epoch || epoch == "" || len(since(t, again, 0)) != 1 {
		t.Errorf("epoch %q, was %q; %d changes", again.Epoch(), epoch, len(since(t, again, 0)))
	}
	if other := open(t, t.TempDir()); other.Epoch() == epoch {
		t.Error("two histories have one epoch")
	}
}

func TestOpenRefusesASchemaThatItCannotBear(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for _, text := range []string{`INSERT INTO schema_version (version) VALUES (999)`, `UPDATE meta SET value = '999' WHERE name = 'oldest_schema'`} {
		if err := s.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Open(t.Context(), dir, postgres.Database(t, dir, "")); err == nil || !strings.Contains(err.Error(), "schema 999") {
		t.Errorf("error %v, want one that names the schema", err)
	}
}

// An upgrade of a large store sorts, and keeps what would undo its statements, beside the database: in memory
// a container's limit would end it. Later writes need little, and keep it in memory.
func TestAnUpgradeSortsOnDisk(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "it's a folder"))
	if !s.OneFile() {
		t.Skip("only SQLite sorts in the service's memory")
	}
	var during int
	after, err := s.Migrate(t.Context(), func(tx *sql.Tx) error {
		return tx.QueryRowContext(t.Context(), `PRAGMA temp_store`).Scan(&during)
	})
	if err != nil || during != 1 || after != 2 {
		t.Errorf("temp_store is %d during an upgrade and %d after it, %v; want 1 (file) and 2 (memory)", during, after, err)
	}
}

// While nodes are replaced one by one, nodes of the previous version may start again.
func TestOpenBearsALaterSchemaThatSaysSo(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.Exec(t.Context(), `INSERT INTO schema_version (version) VALUES (999)`); err != nil {
		t.Fatal(err)
	}
	save(t, open(t, dir), flood("by the older program"))
}

func TestOpenSaysWhatIsWrongWithADatabaseSetting(t *testing.T) {
	for setting, want := range map[string]string{
		"mysql://u:secret@h/db":                   "neither sqlite:PATH nor postgres://HOST/NAME",
		"sqlite:?synchronous=extra":               "not one of full, normal, off",
		"sqlite:?%zz":                             "parameters",
		"postgres://u:secret@127.0.0.1:1/db":      "connection refused",
		"postgres://u:secret@h/db?sslmode=maybe":  "sslmode",
		"postgres://u:secret@h:port/db?sslmode=x": "cannot parse",
	} {
		_, err := store.Open(t.Context(), t.TempDir(), setting)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v, want one with %q and no password", setting, err, want)
		}
	}
}

func TestDataIsForTheOwnerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	open(t, dir)
	for _, name := range []string{"", "files"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%q: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestLeaseIsOneHoldersUntilItEnds(t *testing.T) {
	s := open(t, t.TempDir())
	if postgres.Postgres() { // PostgreSQL's own clock counts
		for _, step := range []struct {
			holder string
			life   hazard.Instant
			want   bool
		}{{"a", 3_600_000, true}, {"b", 3_600_000, false}, {"a", 0, true}, {"b", 3_600_000, true}, {"a", 3_600_000, false}} {
			// The holder's clock is years ahead.
			if got, err := s.Leases.Take(t.Context(), "poll", step.holder, 1<<42, 1<<42+step.life); err != nil || got != step.want {
				t.Errorf("%+v: %v, %v", step, got, err)
			}
		}
		return
	}
	take := func(holder string, now hazard.Instant, want bool) {
		t.Helper()
		if got, err := s.Leases.Take(t.Context(), "poll", holder, now, now+100); err != nil || got != want {
			t.Errorf("%s at %d: %v, %v; want %v", holder, now-noon, got, err, want)
		}
	}
	take("a", noon, true)
	take("b", noon+50, false)
	take("a", noon+60, true) // until 160
	take("b", noon+159, false)
	take("b", noon+160, true)
	if err := s.Leases.Drop(t.Context(), "poll", "a"); err != nil {
		t.Fatal(err)
	}
	take("a", noon+170, false) // b holds it, so a cannot release it
	if err := s.Leases.Drop(t.Context(), "poll", "b"); err != nil {
		t.Fatal(err)
	}
	take("a", noon+171, true)
}

// The clock jumps 6 hours ahead, the holder renews its lease and ends without releasing it, and
// the clock is corrected.
func TestALeaseOfAWrongClockKeepsNobodyOut(t *testing.T) {
	s := open(t, t.TempDir())
	const life, ahead = hazard.Instant(8000), hazard.Instant(6 * 3_600_000)
	for _, step := range []struct {
		holder     string
		now, until hazard.Instant
		want       bool
	}{
		{"a", noon, noon + life, true},
		{"a", noon, noon + ahead + life, true}, // renewed by a clock that is ahead
		{"b", noon + 1, noon + 1 + life, true},
		{"a", noon + 2, noon + 2 + life, false}, // its clock is right again, and it learns that it has lost the lease
		{"b", noon + 3, noon + 3 + life, true},
		{"c", noon - 5000, noon - 5000 + life, false}, // a clock that is slightly behind takes nothing from others
	} {
		if postgres.Postgres() && step.now < noon {
			continue // only one clock counts there
		}
		if got, err := s.Leases.Take(t.Context(), "poll", step.holder, step.now, step.until); err != nil || got != step.want {
			t.Errorf("%+v: %v, %v", step, got, err)
		}
	}
}

func TestHeldReportIsDecidedOnce(t *testing.T) {
	s := open(t, t.TempDir())
	r := hazard.Report{Source: "nws", Key: "k", Part: "p", Version: 1, Name: "A warning", Type: hazard.Flood, Severity: hazard.Watch}
	hold := func(wantNew bool, wantDecision string) {
		t.Helper()
		_, err := s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
			isNew, decision, err := tx.Reports.Hold(&r, "words and codes disagree")
			if isNew != wantNew || decision != wantDecision {
				t.Errorf("new %v, decision %q; want %v, %q", isNew, decision, wantNew, wantDecision)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	hold(true, "")
	hold(false, "")
	held, err := s.Reports.Held(t.Context(), "nws", 10)
	if err != nil || len(held) != 1 || held[0].Report.Name != r.Name || held[0].Reason != "words and codes disagree" {
		t.Fatalf("held: %+v, %v", held, err)
	}
	decide := func() error {
		_, err := s.Write(t.Context(), noon, store.Origin{User: "ada"}, func(tx *store.Tx) error {
			_, err := tx.Reports.Decide(held[0].ID, store.Released)
			return err
		})
		return err
	}
	if err := decide(); err != nil {
		t.Fatal(err)
	}
	if err := decide(); !errors.Is(err, hazard.ErrConflict) {
		t.Errorf("decided twice: %v", err)
	}
	hold(false, store.Released)
	if n, err := s.Reports.CountHeld(t.Context(), "nws"); n != 0 || err != nil {
		t.Errorf("%d still held, %v", n, err)
	}
}

func TestSourceErrorsAreKeptOncePerKindAndBounded(t *testing.T) {
	s := open(t, t.TempDir())
	add := func(now hazard.Instant, errs ...store.SourceError) {
		t.Helper()
		if _, err := s.Write(t.Context(), now, store.Origin{Admin: true}, func(tx *store.Tx) error { return tx.Reports.AddErrors("usgs", errs) }); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 150 {
		add(noon+hazard.Instant(i), store.SourceError{Record: fmt.Sprint("a", i), Reason: "bad"}, store.SourceError{Record: fmt.Sprint("b", i), Reason: "bad"})
	}
	add(noon+1000, store.SourceError{Record: "a149", Reason: "bad", Raw: []byte("second")})
	errs, err := s.Sources.Errors(t.Context(), "usgs", 1000)
	if err != nil || len(errs) != 200 {
		t.Fatalf("%d stored, %v; want the newest 200", len(errs), err)
	}
	if e := errs[0]; e.Record != "a149" || e.Times != 2 || e.First != noon+149 || e.Last != noon+1000 {
		t.Errorf("the latest: %+v", e)
	}
}

func TestStoreMeetsWhatAuthNeeds(t *testing.T) {
	test.Concurrent(t)
	authtest.TestStore(t, func(t *testing.T) auth.Store { return open(t, t.TempDir()).Accounts })
}

// Followers read the log before they wait for more, and fail while the database is unreachable.
// Something must query the database nevertheless.
func TestADatabaseThatWasAwayIsAskedAgain(t *testing.T) {
	s, err := store.Open(t.Context(), t.TempDir(), postgres.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	s.LoseDatabase()
	if _, err := s.Log.Since(t.Context(), 0, 1); !errors.Is(err, hazard.ErrUnavailable) {
		t.Fatalf("the log of an unreachable database: %v", err)
	}
	for s.Away() {
		if t.Context().Err() != nil {
			t.Fatal("it stays unreachable")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := s.Log.Since(t.Context(), 0, 1); err != nil {
		t.Error(err)
	}
}

// A write in progress when the database becomes unreachable does not keep its client waiting.
func TestAWriteEndsWhenTheDatabaseIsAway(t *testing.T) {
	url := postgres.URL(t)
	var stores []*store.Store
	for range 2 {
		s, err := store.Open(t.Context(), t.TempDir(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		stores = append(stores, s)
	}
	nothing := func(*store.Tx) error { return nil }
	started, release, first, second := make(chan struct{}), make(chan struct{}), make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := stores[0].Write(t.Context(), hazard.Instant(1), store.Origin{Admin: true}, func(tx *store.Tx) error {
			if _, err := tx.Hazard(1); !errors.Is(err, hazard.ErrNotFound) { // a transaction begins with its first query
				return err
			}
			close(started)
			<-release
			return nil
		})
		first <- err
	}()
	<-started // it makes all others wait
	go func() {
		_, err := stores[1].Write(t.Context(), hazard.Instant(1), store.Origin{Admin: true}, nothing)
		second <- err
	}()
	for waiting := true; waiting; {
		stores[1].LoseDatabase()
		select {
		case err := <-second:
			if waiting = false; !errors.Is(err, hazard.ErrUnavailable) {
				t.Errorf("a write without a database ended with %v", err)
			}
		case <-time.After(10 * time.Millisecond): // it may not have begun
		}
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	for stores[1].Away() {
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := stores[1].Write(t.Context(), hazard.Instant(1), store.Origin{Admin: true}, nothing); err != nil {
		t.Errorf("a write when the database is back: %v", err)
	}
}

// A redaction of an event with a reused number also applies to reports held under the number, but
// not to reports of the event that had it before.
func TestARewriteReachesTheReportsOfOneHazard(t *testing.T) {
	s := open(t, t.TempDir())
	_, err := s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
		for i, key := range []string{"332010", "332010@2", "332010@x"} {
			r := hazard.Report{Source: "jma", Key: key, Version: 1, Name: "of " + key, Type: hazard.Flood, Severity: hazard.Watch}
			if err := errors.Join(tx.Events.Save(&store.Event{Source: "jma", Key: key, HazardID: int64(i + 1)}), tx.Events.AddKey("jma", key, key), tx.Reports.Save(key, &r, "")); err != nil {
				return err
			}
		}
		_, _, err := tx.Reports.Hold(&hazard.Report{Source: "jma", Key: "332010", Part: "p", Version: 2, Name: "held", Type: hazard.Flood, Severity: hazard.Watch}, "words and codes disagree")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[int64][]string{1: {"held", "of 332010"}, 2: {"held", "of 332010@2"}, 3: {"of 332010@x"}} {
		var seen []string
		if _, err := s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
			return tx.Reports.Rewrite(id, func(r *hazard.Report) bool {
				seen = append(seen, r.Name)
				return false
			})
		}); err != nil || !slices.Equal(seen, want) {
			t.Errorf("hazard %d: %q, want %q; %v", id, seen, want, err)
		}
	}
}
