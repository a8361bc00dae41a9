package encoded

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
)

var few = Limits{All: 100, User: 40, Wait: 5 * time.Second}

// refusal returns the limit that an error names; empty if it names none.
func refusal(err error) string {
	if over, ok := errors.AsType[*hazard.LimitError](err); ok {
		return over.Limit
	}
	return ""
}

func TestARequestWaitsForTheMemoryThatOthersHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(few)
		take := func(user string, bytes int64) *Share {
			t.Helper()
			s, err := b.Take(t.Context(), user, bytes)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		first := take("red", 40)
		began := time.Now()
		if _, err := b.Take(t.Context(), "red", 1); refusal(err) != "answer-bytes-user" || time.Since(began) != few.Wait {
			t.Errorf("more than a user's share: %v after %v", err, time.Since(began))
		}
		began = time.Now()
		others := []*Share{take("blue", 40), take("green", 20)}
		if _, err := b.Take(t.Context(), "white", 1); refusal(err) != "answer-bytes" || time.Since(began) != few.Wait {
			t.Errorf("more than there is: %v after %v", err, time.Since(began))
		}
		time.AfterFunc(time.Second, func() { first.Resize(10) }) // the answer is complete, and smaller than expected
		began = time.Now()
		second := take("red", 30)
		if time.Since(began) != time.Second {
			t.Errorf("released memory was granted after %v", time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := b.Take(ctx, "red", 1); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that has gone: %v", err)
		}
		for _, s := range append(others, first, second) {
			s.Release()
		}
		if b.held != 0 || len(b.users) != 0 || len(b.waiting) != 0 {
			t.Errorf("%d bytes are in use, by %v, and %d wait, after everything was released", b.held, b.users, len(b.waiting))
		}
		take("red", 1000).Release() // more than the total: everything that one user may have
	})
}

func TestABudgetIsNeverOverdrawn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			b := NewBudget(few)
			requests := rapid.IntRange(1, 40).Draw(rt, "requests")
			for range requests {
				user := rapid.SampledFrom([]string{"red", "blue", "green"}).Draw(rt, "user")
				bytes, begin, lasts := rapid.Int64Range(1, 50).Draw(rt, "bytes"), rapid.IntRange(0, 10).Draw(rt, "begins"), rapid.IntRange(0, 9).Draw(rt, "lasts")
				go func() {
					time.Sleep(time.Duration(begin) * time.Second)
					s, err := b.Take(t.Context(), user, bytes)
					b.mu.Lock()
					if b.held > few.All || b.users[user] > few.User {
						t.Errorf("%d bytes are in use, %d of them by one user", b.held, b.users[user])
					}
					b.mu.Unlock()
					if err != nil {
						return
					}
					time.Sleep(time.Duration(lasts) * time.Second)
					s.Release()
				}()
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if b.held != 0 || len(b.users) != 0 || len(b.waiting) != 0 {
				t.Errorf("%d bytes are in use, by %v, and %d wait, at the end", b.held, b.users, len(b.waiting))
			}
		})
	})
}
