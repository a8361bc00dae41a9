package encoded

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

func TestACostlyAnswerIsMadeOnceForEachViewAndRequest(t *testing.T) {
	live := open(t, 1, []*hazard.Hazard{flood(1, start.Add(time.Hour)), flood(2, start.Add(2*time.Hour))})
	answers, made := NewAnswers(1<<20), atomic.Int32{}
	get := func(at hazard.Instant, said, text string) string {
		body, err := answers.Get(live.View(at), said, func() (*Body, error) {
			made.Add(1)
			return NewBody([]byte(text), false), nil
		})
		if err != nil {
			t.Error(err)
			return ""
		}
		return string(body.Bytes(Identity))
	}
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			if got := get(start, "one", "a"); got != "a" {
				t.Errorf("%q", got)
			}
		})
	}
	readers.Wait()
	for i, want := range []struct {
		at       hazard.Instant
		said, is string
		made     int32
	}{{start, "one", "a", 1}, {start, "two", "b", 2}, {start, "one", "a", 2}, {start.Add(time.Hour), "one", "c", 3}, {start.Add(time.Hour), "one", "c", 3}} {
		if got := get(want.at, want.said, want.is); got != want.is || made.Load() != want.made {
			t.Errorf("%d: %q, made %d times; want %q, %d", i, got, made.Load(), want.is, want.made)
		}
	}
}

// A view that was replaced makes its answers for the reader that still has it, and leaves the present
// ones alone.
func TestACostlyAnswerOfAnOlderViewIsNotKept(t *testing.T) {
	live := open(t, 1, []*hazard.Hazard{flood(1, start.Add(time.Hour))})
	answers := NewAnswers(1 << 20)
	get := func(of hazard.Instant, text string) string {
		v := live.View(of)
		body, err := answers.Get(v, "", func() (*Body, error) { return NewBody([]byte(text), false), nil })
		if err != nil {
			t.Fatal(err)
		}
		return string(body.Bytes(Identity))
	}
	old := live.View(start)
	get(start.Add(time.Hour), "new")
	if body, err := answers.Get(old, "", func() (*Body, error) { return NewBody([]byte("old"), false), nil }); err != nil || string(body.Bytes(Identity)) != "old" {
		t.Errorf("%v, %v", body, err)
	}
	if got := get(start.Add(time.Hour), "later"); got != "new" {
		t.Errorf("%q", got)
	}
}

func TestCostlyAnswersTakeABoundedShareOfMemory(t *testing.T) {
	v := open(t, 1, nil).View(start)
	answers, made := NewAnswers(300), 0
	get := func(said string, size int) error {
		_, err := answers.Get(v, said, func() (*Body, error) {
			made++
			body := NewBody(bytes.Repeat([]byte("x"), size), false)
			body.Plain = true
			return body, nil
		})
		return err
	}
	for range 2 { // it is not made to be dropped
		if err := get("large", 151); !errors.Is(err, ErrLarge) {
			t.Error(err)
		}
	}
	for _, said := range []string{"a", "b", "c", "d", "a", "d"} {
		if err := get(said, 100); err != nil {
			t.Error(err)
		}
	}
	if want := 1 + 4 + 1; made != want {
		t.Errorf("made %d times, want %d: a was dropped for d", made, want)
	}
	failed := errors.New("failed")
	if _, err := answers.Get(v, "e", func() (*Body, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	if err := get("e", 1); err != nil {
		t.Errorf("after a failure: %v", err)
	}
}
