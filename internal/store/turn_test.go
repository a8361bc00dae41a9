package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

// On a disk that needed 3 s for a sync, writers waited for 24 s and more (R9).
func TestAWriteWaitsForItsTurnForAStatedTime(t *testing.T) {
	const held = 30 * time.Second // by the writer before
	gone := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(time.Second, cancel)
		return ctx
	}
	for name, tt := range map[string]struct {
		ctx   func(context.Context) context.Context
		waits time.Duration
		err   error
	}{
		"a request is refused after 10 s":      {func(ctx context.Context) context.Context { return ctx }, 10 * time.Second, hazard.ErrUnavailable},
		"a poll or an import waits":            {store.Patient, held, nil},
		"a client that hangs up waits no more": {gone, time.Second, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := store.Open(t.Context(), t.TempDir(), "sqlite:?synchronous=off")
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				ended := make(chan error, 1)
				go func() {
					_, err := s.Write(t.Context(), hazard.Instant(1), store.Origin{Admin: true}, func(*store.Tx) error { time.Sleep(held); return nil })
					ended <- err
				}()
				synctest.Wait()
				began, ran := time.Now(), false
				_, err = s.Write(tt.ctx(t.Context()), hazard.Instant(1), store.Origin{Admin: true}, func(*store.Tx) error { ran = true; return nil })
				if !errors.Is(err, tt.err) || ran != (err == nil) {
					t.Errorf("ended with %v, ran %v; want %v", err, ran, tt.err)
				}
				if over, ok := errors.AsType[*hazard.LimitError](err); ok != (tt.err == hazard.ErrUnavailable) || ok && over.RetryAfter != 10*time.Second {
					t.Errorf("%v is no limit with a time to retry after", err)
				}
				if busy := s.Busy(); (busy > 0) != (tt.err == hazard.ErrUnavailable) {
					t.Errorf("it counts as busy for %v", busy)
				}
				if took := time.Since(began); took != tt.waits {
					t.Errorf("waited for %v, want %v", took, tt.waits)
				}
				if err := <-ended; err != nil {
					t.Errorf("the writer before ended with %v", err)
				}
				if _, err := s.Write(t.Context(), hazard.Instant(1), store.Origin{Admin: true}, func(*store.Tx) error { return nil }); err != nil {
					t.Errorf("after that: %v", err)
				}
			})
		})
	}
}

// People come before feeds, and feeds before bookkeeping; but nobody waits for ever.
func TestWritersHaveRanks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), t.TempDir(), "sqlite:?synchronous=off")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		const commit = 2 * time.Second
		var done []string
		var all sync.WaitGroup
		write := func(name string, ctx context.Context, o store.Origin) {
			all.Go(func() {
				_, err := s.Write(ctx, hazard.Instant(1), o, func(*store.Tx) error {
					time.Sleep(commit)
					done = append(done, name)
					return nil
				})
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
			time.Sleep(time.Millisecond)
		}
		patient := store.Patient(t.Context())
		write("first", patient, store.Origin{})
		write("bookkeeping", patient, store.Origin{})
		write("feed 1", patient, store.Origin{Source: "gdacs"})
		write("feed 2", patient, store.Origin{Source: "usgs"})
		write("warning", store.Ranked(patient, store.Warnings), store.Origin{Source: "nws"})
		write("editor", t.Context(), store.Origin{User: "red"})
		all.Wait()
		if want := []string{"first", "editor", "warning", "feed 1", "feed 2", "bookkeeping"}; !slices.Equal(done, want) {
			t.Errorf("%q, want %q", done, want)
		}
		// However many editors write, the others get their turns: after 15 s bookkeeping counts as people.
		done = nil
		write("first", t.Context(), store.Origin{User: "red"})
		write("bookkeeping", patient, store.Origin{})
		for range 30 {
			write("editor", t.Context(), store.Origin{User: "red"})
			time.Sleep(commit + 50*time.Millisecond)
		}
		all.Wait()
		if i := slices.Index(done, "bookkeeping"); i < 0 || i > 10 {
			t.Errorf("bookkeeping came as number %d", i)
		}
	})
}

// However many others have waited for long, an editor waits for the write under way and at most for one
// other.
func TestAnEditorWaitsForOneOtherAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), t.TempDir(), "sqlite:?synchronous=off")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		const commit = 2 * time.Second
		var all sync.WaitGroup
		write := func(ctx context.Context, o store.Origin) error {
			_, err := s.Write(ctx, hazard.Instant(1), o, func(*store.Tx) error { time.Sleep(commit); return nil })
			return err
		}
		for i := range 15 {
			all.Go(func() {
				if err := write(store.Patient(t.Context()), store.Origin{Source: fmt.Sprint("f", i)}); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(20*time.Second + time.Millisecond) // all have aged
		for range 5 {
			began := time.Now()
			if err := write(t.Context(), store.Origin{User: "red"}); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 3*commit {
				t.Errorf("an editor's write took %v, three commits are %v", took, 3*commit)
			}
			time.Sleep(100 * time.Millisecond)
		}
		all.Wait()
	})
}

// Small writes, such as the leases of a slow disk's server, share the commit of the writer before them:
// an editor waits for the commit under way, and for its own. One of them that fails harms
// no other.
func TestSmallWritesShareACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), t.TempDir(), "sqlite:?synchronous=off")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		const commit = 2 * time.Second
		began := time.Now()
		took := map[string]time.Duration{}
		var mu sync.Mutex
		var all sync.WaitGroup
		do := func(name string, work func() error) {
			all.Go(func() {
				if err := work(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				mu.Lock()
				defer mu.Unlock()
				took[name] = time.Since(began)
			})
			time.Sleep(time.Millisecond)
		}
		write := func(ctx context.Context, o store.Origin) error {
			_, err := s.Write(ctx, hazard.Instant(1), o, func(*store.Tx) error { time.Sleep(commit); return nil })
			return err
		}
		patient := store.Patient(t.Context())
		do("first", func() error { return write(patient, store.Origin{}) })
		now := hazard.At(time.Now())
		for _, name := range []string{"poll", "notify", "webhook", "exposure"} {
			do("lease "+name, func() error {
				ok, err := s.Leases.Take(patient, name, "me", now, now.Add(time.Minute))
				if err == nil && !ok {
					err = errors.New("not taken")
				}
				return err
			})
		}
		do("state", func() error { return s.Sources.SaveState(patient, "nws", []byte("{}")) })
		do("receipt without its payload", func() error {
			if err := s.Evidence.AddReceipt(patient, &store.Receipt{Payload: "none"}, nil); !errors.Is(err, hazard.ErrNotFound) {
				return fmt.Errorf("%w, expected that it is not found", err)
			}
			return nil
		})
		do("editor", func() error { return write(t.Context(), store.Origin{User: "red"}) })
		do("feed", func() error { return write(patient, store.Origin{Source: "gdacs"}) })
		all.Wait()
		for name, d := range took {
			want := commit
			switch name {
			case "editor":
				want = 2 * commit
			case "feed":
				want = 3 * commit
			}
			if d > want+20*time.Millisecond {
				t.Errorf("%s was done after %v, expected %v", name, d, want)
			}
		}
		if body, err := s.Sources.State(t.Context(), "nws"); err != nil || string(body) != "{}" {
			t.Errorf("the state is %q, %v", body, err)
		}
	})
}

// While the log is made to begin anew, people write, and all others wait.
func TestOnlyPeopleWriteWhileOthersAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), t.TempDir(), "sqlite:?synchronous=off")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var all sync.WaitGroup
		began, took := time.Now(), map[string]time.Duration{}
		write := func(name string, ctx context.Context) {
			all.Go(func() {
				_, err := s.Write(ctx, hazard.Instant(1), store.Origin{User: "red"}, func(*store.Tx) error { took[name] = time.Since(began); return nil })
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
			synctest.Wait()
		}
		s.Hold(true)
		write("feed", store.Patient(t.Context()))
		write("editor", t.Context())
		time.Sleep(time.Second)
		write("another editor", t.Context())
		s.Hold(false)
		all.Wait()
		if took["editor"] != 0 || took["another editor"] != time.Second || took["feed"] != time.Second {
			t.Errorf("%v", took)
		}
	})
}

// Feeds that wait share a commit. One that fails is undone alone; one that ends the whole transaction, as a
// damaged page does, harms no other either.
func TestFeedsShareACommit(t *testing.T) {
	const late = `INSERT INTO counters (name, value) VALUES ($1, 0)` // it is there; PostgreSQL says so with a later statement
	open := func(t *testing.T) (*store.Store, error) {
		return store.Open(t.Context(), t.TempDir(), "sqlite:?synchronous=off")
	}
	if postgres.Postgres() {
		b := postgres.NewBubble(t)
		open = func(t *testing.T) (*store.Store, error) {
			return store.Open(t.Context(), t.TempDir(), b.Copy(t), store.WithDialer(b.Dial))
		}
	}
	for name, tt := range map[string]struct {
		fails, commits int
		postgres       int // commits there, where any error ends the others
		how            string
	}{
		"all are well":        {-1, 1, 1, ""},
		"one fails":           {3, 1, 4, "SELECT 1"},
		"one panics":          {3, 1, 4, ""},
		"one ends the others": {3, 4, 4, "ROLLBACK"}, // those before it, each in its own, and the others
		"one fails late":      {3, 1, 5, late},       // in the next one: those until then, each in its own, and the others
	} {
		if postgres.Postgres() {
			tt.commits = tt.postgres
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := open(t)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				patient := store.Patient(t.Context())
				fault := errors.New("a fault")
				commits := map[*sql.Tx]bool{}
				var numbers []int64
				var mu sync.Mutex
				var all sync.WaitGroup
				s.Hold(true)
				for i := range 7 {
					all.Go(func() {
						defer func() {
							if p := recover(); (p != nil) != (i == tt.fails && tt.how == "") {
								t.Errorf("feed %d: panic %v", i, p)
							}
						}()
						var in *sql.Tx
						last, err := s.Write(patient, hazard.Instant(1), store.Origin{Source: "gdacs"}, func(tx *store.Tx) error {
							in = tx.In()
							if err := tx.SaveHazard(flood(fmt.Sprint(i)), nil); err != nil || i != tt.fails {
								return err
							}
							if tt.how == "" {
								panic(fault.Error())
							}
							if tt.how == late {
								_, err := in.ExecContext(t.Context(), late, "change")
								return err
							}
							_, err := in.ExecContext(t.Context(), tt.how)
							return errors.Join(fault, err)
						})
						if (i == tt.fails && tt.how != late) != errors.Is(err, fault) || (i == tt.fails) != (err != nil) {
							t.Errorf("feed %d: %v", i, err)
						}
						mu.Lock()
						defer mu.Unlock()
						if err == nil {
							commits[in] = true
							numbers = append(numbers, last)
						}
					})
					synctest.Wait()
				}
				s.Hold(false)
				all.Wait()
				slices.Sort(numbers)
				var logged []int64
				for _, c := range since(t, s, 0) {
					logged = append(logged, c.Number)
				}
				if _, err := s.Check(t.Context(), func(what string) { t.Error(what) }); err != nil {
					t.Error(err)
				}
				if len(commits) != tt.commits || !slices.Equal(numbers, logged) {
					t.Errorf("%d commits, want %d; acknowledged are %d, in the log %d", len(commits), tt.commits, numbers, logged)
				}
			})
		})
	}
}

// A transaction of feeds takes no others along while an editor waits, or after groupTime.
func TestTheGroupOfFeedsIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), t.TempDir(), "sqlite:?synchronous=off")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		const takes = 100 * time.Millisecond
		var order []string
		var in []*sql.Tx
		var all sync.WaitGroup
		write := func(name string, ctx context.Context, o store.Origin) {
			all.Go(func() {
				_, err := s.Write(ctx, hazard.Instant(1), o, func(tx *store.Tx) error {
					time.Sleep(takes)
					order, in = append(order, name), append(in, tx.In())
					return nil
				})
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
			synctest.Wait()
		}
		patient := store.Patient(t.Context())
		for range 7 {
			write("feed", patient, store.Origin{Source: "gdacs"})
		}
		time.Sleep(takes + takes/2) // the second is under way
		write("editor", t.Context(), store.Origin{User: "red"})
		all.Wait()
		if want := []string{"feed", "feed", "editor", "feed", "feed", "feed", "feed", "feed"}; !slices.Equal(order, want) {
			t.Fatalf("%q, want %q", order, want)
		}
		if in[0] != in[1] || in[2] == in[3] || in[3] != in[5] || in[5] == in[6] || in[6] != in[7] {
			t.Errorf("transactions are %v, want two feeds, the editor, three feeds and two", in)
		}
	})
}
