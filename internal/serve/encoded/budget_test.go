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

// A network without an account has a part of a user's share, and all of them together leave room for
// users.
func TestNetworksHaveAShareEachAndLeaveRoomForUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(Limits{All: 100, User: 60, Wait: time.Second})
		take := func(user string, bytes int64) error {
			_, err := b.Take(t.Context(), user, bytes)
			return err
		}
		one, two, three := Network("203.0.113.1/32"), Network("203.0.113.2/32"), Network("203.0.113.3/32")
		for _, step := range []struct {
			user    string
			bytes   int64
			refused string
		}{
			{one, 20, ""}, {one, 1, "answer-bytes-address"}, {two, 20, ""}, {three, 10, ""}, {three, 1, "answer-bytes-public"}, {"red", 50, ""}, {"blue", 1, "answer-bytes"},
		} {
			if err := take(step.user, step.bytes); refusal(err) != step.refused {
				t.Errorf("%q takes %d: %v", step.user, step.bytes, err)
			}
		}
	})
}

// Reading shared lists is counted in the same way.
func TestNetworksReadSharedListsApart(t *testing.T) {
	r := Readers{Most: 3 * 4 * smallBody}
	body := func() *Body { return NewBody(make([]byte, 2*smallBody), false) }
	one, shared := Network("203.0.113.1/32"), body()
	for _, step := range []struct {
		user    string
		body    *Body
		refused string
	}{
		{one, shared, ""}, {one, shared, ""}, {one, body(), ""}, {one, body(), "list-bytes-address"},
		{Network("203.0.113.2/32"), shared, ""}, {Network("203.0.113.2/32"), body(), ""}, {Network("203.0.113.3/32"), body(), ""}, {Network("203.0.113.3/32"), body(), ""}, {Network("203.0.113.4/32"), body(), ""},
		{Network("203.0.113.5/32"), body(), "list-bytes-public"}, {Network("203.0.113.5/32"), shared, ""}, {"red", body(), ""},
	} {
		if err := r.Begin(step.user, step.body); refusal(err) != step.refused {
			t.Errorf("%q: %v", step.user, err)
		}
	}
	r.End(one, shared)
	r.End(one, shared)
	if r.reads[reading{one, shared}] != 0 || r.reads[reading{allStrangers, shared}] != 2 {
		t.Errorf("after two have ended: %v", r.reads)
	}
}
