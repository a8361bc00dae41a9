package encoded

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// At most two answers are made at once, and a user with many waits behind a user with one.
func TestTurnsAreSharedByUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(2)
		var mu sync.Mutex
		running, most := 0, 0
		var order []string
		start := func(user string, works time.Duration) {
			go func() {
				turn, err := turns.Begin(t.Context(), user)
				if err != nil {
					t.Error(err)
				}
				defer turn.End()
				mu.Lock()
				running++
				most = max(most, running)
				order = append(order, user)
				mu.Unlock()
				time.Sleep(works)
				mu.Lock()
				running--
				mu.Unlock()
			}()
			synctest.Wait() // they come in this order
		}
		for range 6 {
			start("many", 10*time.Millisecond)
		}
		start("one", 10*time.Millisecond)
		start("two", 10*time.Millisecond)
		time.Sleep(time.Second)
		synctest.Wait()
		slices.Sort(order[2:4]) // both begin at once
		if want := []string{"many", "many", "one", "two", "many", "many", "many", "many"}; most != 2 || !slices.Equal(order, want) {
			t.Errorf("%d at once, in the order %v; want 2, %v", most, order, want)
		}
	})
}

// A long answer pauses for a short one, and not while nobody waits.
func TestALongAnswerPausesForAShortOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		long, err := turns.Begin(t.Context(), "long")
		if err != nil {
			t.Fatal(err)
		}
		var short time.Duration
		go func() {
			time.Sleep(time.Second)
			began := time.Now()
			turn, err := turns.Begin(t.Context(), "short")
			if err != nil {
				t.Error(err)
			}
			short = time.Since(began)
			time.Sleep(5 * time.Millisecond)
			turn.End()
		}()
		began := time.Now()
		for range 2000 { // two seconds of work, a millisecond at a time
			time.Sleep(time.Millisecond)
			if err := long.Pause(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		long.End()
		long.End()
		if took := time.Since(began); short > turnTime || took > 2*time.Second+5*time.Millisecond {
			t.Errorf("the short one waited %v, the long one took %v", short, took)
		}
	})
}

// Who gives up leaves no turn behind, neither one that waits nor one that is just given.
func TestATurnThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		first, err := turns.Begin(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := turns.Begin(ctx, "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		time.Sleep(turnTime)
		if err := first.Pause(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		first.End()
		for range 3 {
			turn, err := turns.Begin(t.Context(), "c")
			if err != nil {
				t.Fatal(err)
			}
			turn.End()
		}
		if turns.free != 1 || len(turns.waiting) != 0 || len(turns.last) != 0 {
			t.Errorf("%+v", turns)
		}
	})
}

// A reader who is waited for holds no turn.
func TestASlowReaderHoldsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		turn, err := turns.Begin(t.Context(), "slow")
		if err != nil {
			t.Fatal(err)
		}
		in, out := io.Pipe()
		go func() {
			w := turn.Writer(t.Context(), out)
			_, err := w.Write(make([]byte, 100<<10))
			turn.End()
			_ = out.CloseWithError(cmp.Or(err, w.Flush()))
		}()
		synctest.Wait()
		other, err := turns.Begin(t.Context(), "other")
		if err != nil {
			t.Fatal(err)
		}
		other.End()
		if got, err := io.ReadAll(in); err != nil || len(got) != 100<<10 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}

// Strangers from ever new networks leave no more behind than what is bounded, also while a turn is never free.
func TestTurnsRememberNoMoreThanTheirBound(t *testing.T) {
	turns := NewTurns(2)
	busy, err := turns.Begin(t.Context(), "busy")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.End()
	for i := range 3 * maxRemembered {
		turn, err := turns.Begin(t.Context(), strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		turn.End()
		if n := len(turns.last); n > maxRemembered+1 {
			t.Fatalf("%d remembered; want at most %d", n, maxRemembered+1)
		}
	}
}
