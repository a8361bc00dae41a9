package poll

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/lease"
)

func TestOfTwoProcessesOnePolls(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(5 * time.Second)
			_, _ = io.WriteString(w, list("x"))
		})
		first, second := b.poller(src), b.pollerOn(b.open(), src)
		stopFirst := b.start(first)
		stopSecond := b.start(second)
		time.Sleep(10 * time.Minute)
		if n := len(b.net.asks("a.example")); n < 9 || n > 10 {
			t.Errorf("%d polls in ten minutes", n)
		}
		// A clean stop of one process delays no poll beyond the interval.
		stopFirst()
		time.Sleep(5 * time.Minute)
		stopSecond()
		asks := b.net.asks("a.example")
		for i := range asks[1:] {
			if gap := asks[i+1].at.Sub(asks[i].at); gap < time.Minute || gap > 80*time.Second {
				t.Errorf("gap of %s", gap)
			}
		}
		if b.net.most["a.example"] != 1 {
			t.Errorf("%d requests at once", b.net.most["a.example"])
		}
		b.wantActive("a", "x")
		if n := b.log.count("level=WARN"); n != 0 {
			t.Errorf("warnings:\n%s", b.log)
		}
	})
}

func TestAProcessTakesOverWithinTenSecondsOfADeath(t *testing.T) {
	for range 20 {
		bubble(t, func(t *testing.T, b *bed) {
			src := testSource("a")
			b.net.text("a.example", list("x"))
			dead := b.open()
			p := b.poller(src)
			// The holder renews for the last time between two tries of the other process, and then
			// never again.
			died := time.Now()
			if ok, err := dead.Leases.Take(t.Context(), leaseName, "dead", hazard.At(died), hazard.At(died.Add(lease.For))); !ok || err != nil {
				t.Fatal(ok, err)
			}
			time.Sleep(time.Duration(p.random() * float64(lease.Try)))
			stop := b.start(p)
			time.Sleep(30 * time.Second)
			stop()
			asks := b.net.asks("a.example")
			if len(asks) != 1 || asks[0].at.Sub(died) > 10*time.Second || asks[0].at.Sub(died) < lease.For {
				t.Errorf("%d polls, the first after %s", len(asks), asks[0].at.Sub(died))
			}
		})
	}
}

func TestAHolderThatLostItsLeaseStopsAndWritesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(20 * time.Second)
			_, _ = io.WriteString(w, list("x"))
		})
		p := b.poller(src)
		stop := b.start(p)
		time.Sleep(2 * time.Second) // the request is in flight
		if err := b.store.Leases.Drop(t.Context(), leaseName, p.holder); err != nil {
			t.Fatal(err)
		}
		end := b.otherHolds()
		time.Sleep(30 * time.Minute)
		if b.wantActive("a"); len(b.net.asks("a.example")) != 1 {
			t.Errorf("%d polls", len(b.net.asks("a.example")))
		}
		end()
		time.Sleep(time.Minute)
		b.wantActive("a", "x")
		stop()
	})
}

// otherHolds lets another process take the lease, which must be free, until end is called.
func (b *bed) otherHolds() (end func()) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	has, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		lost := func(err error) { b.t.Errorf("the other has lost its lease: %v", err) }
		ran, err := lease.Hold(ctx, b.store.Leases, leaseName, "other", lost, func(ctx context.Context, _ *lease.Lease) { close(has); <-ctx.Done() })
		if err != nil {
			b.t.Error(err)
		}
		if !ran {
			b.t.Error("somebody else has the lease")
			close(has)
		}
	}()
	<-has
	return func() { cancel(); <-done }
}

func TestAWorkerWithoutALeaseTakesNothingIn(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		b.net.text("a.example", list("x"))
		p := b.poller(src)
		l := &lease.Lease{} // a lease that was never held
		w := newWorker(p, &p.sources[0], l)
		if !w.begin(t.Context()) {
			t.Fatal("cannot begin")
		}
		if err := w.read(t.Context(), w.feeds[0], hazard.At(time.Now())); !errors.Is(err, errStopped) {
			t.Errorf("error %v", err)
		}
		b.wantActive("a")
	})
}

func TestAPollerWithoutSourcesKeepsNobodyFromPolling(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		off := testSource("a")
		off.Disabled = true
		on := testSource("a")
		b.net.text("a.example", list("x"))
		stopNone := b.start(b.poller(off))
		time.Sleep(time.Minute)
		stop := b.start(b.poller(on))
		time.Sleep(time.Minute)
		b.wantActive("a", "x")
		if s := b.status(off)[0]; s.State != OK {
			t.Errorf("where it is disabled it is seen as %s though another process polls it", s.State)
		}
		stop()
		time.Sleep(time.Hour)
		stopNone()
		if s := b.status(off)[0]; s.State != Stale { // not disabled, because a process that may poll it has stopped
			t.Errorf("status %+v", s)
		}
	})
}

func TestDisabledSourcesAreSeenAsSuchEverywhere(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		a, c := testSource("a"), testSource("c")
		b.net.text("a.example", list("x"))
		b.net.text("c.example", list("x"))
		c.Disabled = true
		b.run(b.poller(a, c), time.Minute)
		c.Disabled = false // a command may have it enabled
		all := b.status(a, c)
		if all[0].State != OK || all[1].State != Disabled || len(b.net.asks("c.example")) != 0 {
			t.Errorf("states %s, %s", all[0].State, all[1].State)
		}
		if sum := Summary(all); sum != "ok=1; stale=0; disabled=1" {
			t.Errorf("summary %s", sum)
		}
		b.run(b.poller(a, c), time.Minute)
		if s := b.status(c)[0]; s.State != OK {
			t.Errorf("state %s", s.State)
		}
	})
}

// pollOne polls one source once.
func pollOne(ctx context.Context, p *Poller, name string) (Status, error) {
	all, err := p.PollOnce(ctx, name)
	if err != nil {
		return Status{}, err
	}
	return all[0].Status, all[0].Err
}

func TestPollOnceBesideARunningPoller(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		src.Feeds[0].Every = time.Hour
		src.Feeds = append(src.Feeds, source.Feed{URL: "https://a.example/second", Every: 2 * time.Hour, MaxBytes: 1000})
		b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(3 * time.Second)
			_, _ = io.WriteString(w, list("x"))
		})
		server, command := b.poller(src), b.pollerOn(b.open(), src)
		stop := b.start(server)
		time.Sleep(10 * time.Minute)
		began := time.Now()
		s, err := pollOne(t.Context(), command, "a")
		if err != nil || s.State != OK || s.Last.Unchanged != 1 || s.LastPoll.Before(began) {
			t.Errorf("%v, %+v", err, s)
		}
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("took %s", took)
		}
		if _, err := pollOne(t.Context(), server, "a"); err != nil { // inside the server's own process
			t.Error(err)
		}
		if err := server.Poll(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		stop()
		if n := len(b.net.asks("a.example/feed")); n < 3 || n > 4 {
			t.Errorf("%d polls", n)
		}
		if b.net.most["a.example"] != 1 {
			t.Errorf("%d requests at once", b.net.most["a.example"])
		}
		// The next process does not serve a request again.
		n := len(b.net.asks("a.example"))
		b.run(b.poller(src), time.Minute)
		if more := len(b.net.asks("a.example")) - n; more != 0 {
			t.Errorf("%d polls after a restart", more)
		}
	})
}

func TestPollOnceWithoutAServer(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		b.net.text("a.example", list("x"))
		p := b.poller(src)
		s, err := pollOne(t.Context(), p, "a")
		if err != nil || s.State != OK || s.Last.New != 1 {
			t.Errorf("%v, %+v", err, s)
		}
		time.Sleep(time.Minute)
		b.net.serve("a.example", http.NotFound)
		s, err = pollOne(t.Context(), p, "a")
		if f, ok := errors.AsType[*Failure](err); !ok || f.Class != ClassNotFound || s.State != Failing {
			t.Errorf("%v, %+v", err, s)
		}
		if _, err := p.PollOnce(t.Context(), "b"); !errors.Is(err, hazard.ErrNotFound) {
			t.Errorf("unknown source: %v", err)
		}
		if err := p.Poll(t.Context(), "b"); !errors.Is(err, hazard.ErrNotFound) {
			t.Errorf("unknown source: %v", err)
		}
		defer b.otherHolds()() // a server that does not respond
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := p.PollOnce(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func TestARequestDoesNotOverrideRetryAfter(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "1800")
			w.WriteHeader(http.StatusTooManyRequests)
		})
		stop := b.start(b.poller(src))
		time.Sleep(time.Minute)
		_, err := pollOne(t.Context(), b.pollerOn(b.open(), src), "a")
		if f, ok := errors.AsType[*Failure](err); !ok || f.Class != ClassBusy {
			t.Errorf("error %v", err)
		}
		stop()
		if n := len(b.net.asks("a.example")); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestEveryGoroutineEndsWithRun(t *testing.T) {
	// A synctest bubble fails if a goroutine remains. A request that never ends is the hardest
	// case.
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		src := testSource("a")
		b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		stop := b.start(b.poller(src))
		time.Sleep(10 * time.Second)
		began := time.Now()
		stop()
		if took := time.Since(began); took > time.Second {
			t.Errorf("took %s to stop", took)
		}
		if s := b.status(src)[0]; s.Error != nil || s.State != Starting {
			t.Errorf("stopping was counted as the source's failure: %+v", s)
		}
		if ok, err := b.store.Leases.Take(t.Context(), leaseName, "next", hazard.At(time.Now()), hazard.At(time.Now())); !ok || err != nil {
			t.Errorf("the lease was not given back: %v", err)
		}
	})
}

func TestAStoreThatIsAwayEndsNothingAndIsWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		b.net.text("a.example", list("x"))
		closed, err := store.Open(t.Context(), t.TempDir(), "sqlite:?synchronous=off")
		if err != nil {
			t.Fatal(err)
		}
		if err := closed.Close(); err != nil {
			t.Fatal(err)
		}
		b.run(b.pollerOn(closed, src), 10*time.Minute)
		if n := b.log.count("level=WARN"); n != 1 {
			t.Errorf("%d warnings in ten minutes, want 1", n)
		}
	})
}
