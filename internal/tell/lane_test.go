package tell

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// letter is a message to a key.
type letter struct {
	key    string
	failed bool
}

func (l *letter) Key() string { return l.key }

// post sends letters, each of which takes a second.
type post struct {
	fails    bool
	prepared int // how many letters are prepared at once; 0 for as many as are free

	mu       sync.Mutex
	waiting  []*letter
	sending  int
	peak     int // sent at once
	sent     []time.Time
	finished []string
	released []string
}

func (p *post) Prepare(_ context.Context, _ *Health, free int, busy map[string]bool) (list []*letter, again time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := map[string]bool{}
	rest := p.waiting[:0:0]
	for _, l := range p.waiting {
		if busy[l.key] || taken[l.key] || len(list) == max(free, p.prepared) {
			rest = append(rest, l)
			continue
		}
		taken[l.key] = true
		list = append(list, l)
	}
	p.waiting = rest
	return list, time.Now().Add(time.Minute)
}

func (p *post) Send(_ context.Context, l *letter) {
	p.mu.Lock()
	p.sending++
	p.peak = max(p.peak, p.sending)
	p.sent = append(p.sent, time.Now())
	p.mu.Unlock()
	time.Sleep(time.Second)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sending--
	l.failed = p.fails
}

func (p *post) Finish(_ context.Context, h *Health, list []*letter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range list {
		p.finished = append(p.finished, l.key)
		if !l.failed {
			h.Succeeded()
			continue
		}
		p.waiting = append(p.waiting, l)
		h.Fail(time.Now())
	}
}

func (p *post) Release(_ context.Context, list []*letter) {
	for _, l := range list {
		p.released = append(p.released, l.key)
	}
}

func (p *post) start(t *testing.T, parallel int, keys ...string) *Lane {
	for _, k := range keys {
		p.waiting = append(p.waiting, &letter{key: k})
	}
	return StartLane(t.Context(), p, parallel, &Backoff{First: 10 * time.Second, Max: 40 * time.Second}, time.Now)
}

func TestALaneSendsSeveralAtOnceButOneToAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{}
		l := p.start(t, 2, "a", "a", "b", "c")
		time.Sleep(10 * time.Second)
		l.Stop()
		slices.Sort(p.finished)
		if p.peak != 2 || !slices.Equal(p.finished, []string{"a", "a", "b", "c"}) {
			t.Errorf("%d at once, %v", p.peak, p.finished)
		}
	})
}

func TestALaneSparesAReceiverThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{fails: true}
		l := p.start(t, 1, "a")
		time.Sleep(5 * time.Minute)
		l.Stop()
		for i, want := range []time.Duration{0, 0, 10 * time.Second, 20 * time.Second, 40 * time.Second, 40 * time.Second} {
			gap := p.sent[i+1].Sub(p.sent[i]) - time.Second
			if gap < want-want/10 || gap > want+want/10 {
				t.Errorf("the pause after failure %d is %v, want %v", i+1, gap, want)
			}
		}
	})
}

func TestALaneWaitsForWhatIsSentAndReleasesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{prepared: 4}
		l := p.start(t, 2, "a", "b", "c", "d")
		time.Sleep(time.Second / 2)
		l.Stop()
		slices.Sort(p.finished)
		if !slices.Equal(p.finished, []string{"a", "b"}) || !slices.Equal(p.released, []string{"c", "d"}) {
			t.Errorf("sent %v, released %v", p.finished, p.released)
		}
	})
}

func TestRetriesEnd(t *testing.T) {
	b := &Backoff{Delays: []time.Duration{time.Second, time.Minute}}
	if d, ok := b.Retry(1, time.Hour); !ok || d != time.Hour {
		t.Errorf("a receiver that asks for an hour: %v, %v", d, ok)
	}
	if d, ok := b.Retry(2, 0); !ok || d < 54*time.Second || d > 66*time.Second {
		t.Errorf("after the second attempt: %v, %v", d, ok)
	}
	if _, ok := b.Retry(3, 0); ok {
		t.Error("it is tried after the last delay")
	}
}
