package live

import (
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hazardd/internal/hazard"
)

// listing writes what it is given as text, and counts how often it is asked.
type listing struct {
	asked atomic.Int32
	fails error
}

func (l *listing) encode(list iter.Seq2[*hazard.Hazard, int]) ([]byte, error) {
	l.asked.Add(1)
	if l.fails != nil {
		return nil, l.fails
	}
	text := ""
	for h, products := range list {
		text += fmt.Sprintf("%d:%d ", h.ID, products)
	}
	return []byte(text), nil
}

func TestAFormIsMadeOnceForEachChangeAndAudience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newMemoryLog()
		log.write(flood(1, now().Add(time.Hour)), nil)
		log.write(flood(2, now().Add(time.Minute)), nil)
		log.write(nil, note(1, 1, 7))
		l := open(t, log, now())
		form := &listing{}
		get := func(f Filter, orgs ...int64) *Body {
			t.Helper()
			body, err := l.View(now()).Form("csv", f, orgs, form.encode)
			if err != nil {
				t.Fatal(err)
			}
			return body
		}
		want := func(b *Body, text string, restricted bool, asked int32) {
			t.Helper()
			if got := string(b.Bytes(Identity)); got != text || b.Restricted != restricted || form.asked.Load() != asked {
				t.Errorf("%q restricted %v, made %d times, want %q %v, %d times", got, b.Restricted, form.asked.Load(), text, restricted, asked)
			}
		}
		want(get(Filter{}), "1:0 2:0 ", false, 1)
		want(get(Filter{}, 8), "1:0 2:0 ", false, 1) // a membership that makes no difference
		want(get(Filter{}, 7), "1:1 2:0 ", true, 2)
		want(get(Filter{Severity: hazard.Termination}), "", false, 3)
		time.Sleep(time.Minute)
		want(get(Filter{}), "1:0 ", false, 4) // the second has ended

		form.fails = errors.New("the store is away")
		if _, err := l.View(now()).Form("kml", Filter{}, nil, form.encode); !errors.Is(err, form.fails) {
			t.Errorf("%v, want %v", err, form.fails)
		}
		form.fails = nil
		if body, err := l.View(now()).Form("kml", Filter{}, nil, form.encode); err != nil || string(body.Bytes(Identity)) != "1:0 " {
			t.Errorf("after a failure: %v", err)
		}
		before := form.asked.Load()
		var readers sync.WaitGroup
		for range 20 {
			readers.Go(func() {
				if _, err := l.View(now()).Form("atom", Filter{}, nil, form.encode); err != nil {
					t.Error(err)
				}
			})
		}
		readers.Wait()
		if n := form.asked.Load() - before; n != 1 {
			t.Errorf("20 readers at once had it made %d times", n)
		}
	})
}
