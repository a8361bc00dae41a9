package view

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/follow"
)

// followLog keeps the view up to date until the test ends.
func followLog(t *testing.T, log follow.Log, l *Live, logger *slog.Logger) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- follow.New(log, l, l.now, follow.Memory, logger).Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
}

func now() hazard.Instant { return hazard.At(time.Now()) }

// wantLen checks how many hazards the present view holds.
func wantLen(t *testing.T, l *Live, want int, when string) {
	t.Helper()
	if got := l.View(now()).Len(); got != want {
		t.Errorf("%s the view has %d hazards, want %d", when, got, want)
	}
}

func TestHazardLeavesTheViewAtExactlyItsEnd(t *testing.T) {
	for name, following := range map[string]bool{"while it follows the log": true, "though nothing follows the log": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newMemoryLog()
				log.write(flood(1, now().Add(time.Minute)), nil)
				l := open(t, log, now)
				if following {
					followLog(t, log, l, discard)
				}
				time.Sleep(time.Minute - time.Millisecond)
				wantLen(t, l, 1, "a millisecond before the end")
				time.Sleep(time.Millisecond)
				wantLen(t, l, 0, "at the end")
				if _, ok := l.View(now()).Hazard(1); ok {
					t.Error("the hazard is still found by its number")
				}
			})
		})
	}
}

func TestHazardLeavesTheViewThoughNobodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newMemoryLog()
		log.write(flood(1, now().Add(time.Minute)), nil)
		l := open(t, log, now)
		followLog(t, log, l, discard)
		time.Sleep(time.Minute + 2*time.Millisecond)
		synctest.Wait()
		if got := l.view.Load().Len(); got != 0 { // not with View, which would remove it itself
			t.Errorf("the view has %d hazards two milliseconds after the end", got)
		}
	})
}

func TestHazardThatDoesNotEndByItselfStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newMemoryLog()
		h := flood(1, now().Add(time.Minute))
		h.AutoExpire = false
		log.write(h, nil)
		l := open(t, log, now)
		followLog(t, log, l, discard)
		time.Sleep(time.Hour)
		wantLen(t, l, 1, "an hour after the expected end")
	})
}

func TestClockThatIsSetBackBringsNothingBack(t *testing.T) {
	start := now()
	log := newMemoryLog()
	log.write(flood(1, start.Add(time.Minute)), nil)
	l := open(t, log, now)
	if got := l.View(start.Add(time.Minute)).Len(); got != 0 {
		t.Fatalf("%d hazards at the end, want none", got)
	}
	for _, back := range []time.Duration{time.Millisecond, time.Hour, 24 * time.Hour} {
		if got := l.View(start.Add(-back)).Len(); got != 0 {
			t.Errorf("with the clock %v before the start %d hazards are active again", back, got)
		}
	}
	log.write(flood(1, start.Add(time.Minute)), nil)
	log.write(flood(2, start.Add(time.Hour)), nil)
	catchUp(t, log, l) // it uses the machine's clock: before the end
	if _, back := l.View(start).Hazard(1); back || l.View(start).Len() != 1 {
		t.Errorf("after more changes there are %d hazards, want only the new one; the ended one is back: %v", l.View(start).Len(), back)
	}
}

func TestFollowDoesNotAskTheLogWithoutAPause(t *testing.T) {
	for name, hazards := range map[string][]*hazard.Hazard{
		"without a hazard":                      nil,
		"with a hazard that never ends":         {func() *hazard.Hazard { h := flood(1, 0); h.AutoExpire = false; return h }()},
		"with a hazard that ends in a year":     {flood(1, now().Add(365*24*time.Hour))},
		"with a hazard that ends in year 9999":  {flood(1, hazard.MaxInstant)},
		"with a hazard whose end was yesterday": {flood(1, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newMemoryLog()
				for _, h := range hazards {
					log.write(h, nil)
				}
				followLog(t, log, open(t, log, now), discard)
				time.Sleep(time.Minute)
				synctest.Wait()
				log.mu.Lock()
				defer log.mu.Unlock()
				if log.waits < 50 || log.waits > 100 {
					t.Errorf("the log was read %d times in a minute, want about once per second", log.waits)
				}
			})
		})
	}
}

func TestFollowSurvivesALogThatFailsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newMemoryLog()
		log.write(flood(1, now().Add(30*time.Second)), nil)
		l := open(t, log, now)
		var logged bytes.Buffer
		followLog(t, log, l, textLogger(&logged))
		synctest.Wait()

		log.fail(errors.New("the disk is gone"))
		broken := now()
		log.write(flood(2, now().Add(time.Hour)), nil)
		time.Sleep(20 * time.Second)
		wantLen(t, l, 1, "while the log fails")
		if age := now() - l.ReadAt(); age < 19_000 || l.ReadAt() > broken+1000 {
			t.Errorf("after 20 s without the log the age of the view is %d ms", age)
		}
		time.Sleep(10 * time.Second)
		wantLen(t, l, 0, "when the end comes while the log fails")

		log.fail(nil)
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		wantLen(t, l, 1, "when the log is back")
		if age := now() - l.ReadAt(); age > 1100 {
			t.Errorf("when the log is available again the age of the view is %d ms", age)
		}
		// Failures are logged at the start and at the end: an hour of them must not hide other log
		// entries.
		if away, back := strings.Count(logged.String(), "the disk is gone"), strings.Count(logged.String(), "can be read again"); away != 1 || back != 1 {
			t.Errorf("30 s without the log cause %d log lines, and their end %d", away, back)
		}
	})
}

func TestWriterSeesItsOwnWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newMemoryLog()
		l := open(t, log, now)
		followLog(t, log, l, discard)
		n := log.write(flood(1, now().Add(time.Hour)), nil)
		if err := l.WaitFor(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		wantLen(t, l, 1, "after WaitFor")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.WaitFor(ctx, n+1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WaitFor for a change that never comes returns %v, want the context's error", err)
		}
	})
}

func TestReaderKeepsItsViewWhileTheViewIsSwapped(t *testing.T) {
	start := now()
	log := newMemoryLog()
	log.write(flood(1, start.Add(time.Hour)), nil)
	log.write(nil, note(1, 1))
	log.write(nil, note(2, 1, 7))
	l := open(t, log, now)
	kept := l.View(start)
	members := []int64{7}
	bodies := func() [3]string {
		products, _ := kept.Products(1, members)
		titles := ""
		for _, p := range products {
			titles += p.Title + " "
		}
		return [3]string{activeText(kept, Filter{}, nil), activeText(kept, Filter{}, members), titles}
	}
	want := bodies()

	var readers sync.WaitGroup
	swapping, stop := context.WithCancel(t.Context())
	for range 4 {
		readers.Go(func() {
			for swapping.Err() == nil {
				if got := bodies(); got != want || kept.Number() != 3 || kept.Len() != 1 {
					t.Errorf("the view of change 3 now has %q (change %d, %d hazards)", got, kept.Number(), kept.Len())
					return
				}
				v := l.View(start)
				if v.Len() != len(v.list) || len(v.byID) != len(v.list) || len(v.byUUID) != len(v.list) {
					t.Errorf("half a change is seen: %d listed, %d by number, %d by uuid", len(v.list), len(v.byID), len(v.byUUID))
					return
				}
			}
		})
	}
	for i := range int64(100) {
		switch i % 4 {
		case 0:
			log.write(flood(i+2, start.Add(time.Hour)), nil)
		case 1:
			h := flood(1, start.Add(time.Hour))
			h.Severity = hazard.Severity(1 + i%5)
			log.write(h, nil)
		case 2:
			log.write(nil, note(1, 1, i%3))
		case 3:
			p := note(2, 1)
			p.Deleted = true
			log.write(nil, p)
		}
		catchUp(t, log, l)
	}
	stop()
	readers.Wait()
	if got := l.View(start).Number(); got != 103 {
		t.Errorf("the present view is of change %d, want 103", got)
	}
}

// The log is read in pieces. A view that ends with a piece contains nothing of the next, even if
// that already exists.
func TestAViewHoldsNothingThatComesAfterItsNumber(t *testing.T) {
	log := newMemoryLog()
	l, err := Open(t.Context(), log, discard, now)
	if err != nil {
		t.Fatal(err)
	}
	end := now().Add(time.Hour)
	ended := flood(2, end)
	ended.Status = hazard.Expired
	log.write(flood(1, end), nil)
	log.write(nil, note(1, 1))
	log.write(flood(1, end.Add(time.Hour)), nil)
	log.write(flood(2, end), nil)
	log.write(nil, note(2, 2))
	log.write(ended, nil)
	piece := log.write(flood(2, end), nil) // the hazard is active again
	log.write(nil, note(3, 1))
	log.write(nil, note(4, 2))
	changes := log.after(0, int(piece))
	back, err := l.returning(t.Context(), changes)
	if err != nil || !l.apply(changes, back, now()) {
		t.Fatal(err)
	}
	for id := range int64(2) {
		if got := l.View(now()).ProductTotal(id+1, nil); got != 1 {
			t.Errorf("as of change %d hazard %d has %d products, want 1", piece, id+1, got)
		}
	}
	if log.asked != 1 {
		t.Errorf("products were read %d times, want once, for the reactivated hazard", log.asked)
	}
	catchUp(t, log, l)
	for id := range int64(2) {
		if got := l.View(now()).ProductTotal(id+1, nil); got != 2 {
			t.Errorf("at the end hazard %d has %d products, want 2", id+1, got)
		}
	}
}

// A hazard that ends by the clock while its change is being read keeps its products if the change
// prolongs it.
func TestAHazardThatEndsWhileItIsProlongedKeepsItsProducts(t *testing.T) {
	log := newMemoryLog()
	end := now().Add(time.Minute)
	log.write(flood(1, end), nil)
	log.write(nil, note(1, 1))
	l, err := Open(t.Context(), log, discard, now)
	if err != nil {
		t.Fatal(err)
	}
	n := log.write(flood(1, end.Add(time.Hour)), nil)
	changes := log.after(n-1, 1)
	back, err := l.returning(t.Context(), changes)
	if err != nil {
		t.Fatal(err)
	}
	l.View(end) // a reader reads the view
	if l.apply(changes, back, end) {
		t.Error("apply succeeded without the products")
	}
	if back, err = l.returning(t.Context(), changes); err != nil || !l.apply(changes, back, end) {
		t.Fatal("not applied with the products", err)
	}
	if got := l.View(end).ProductTotal(1, nil); got != 1 {
		t.Errorf("%d products, want 1", got)
	}
}
