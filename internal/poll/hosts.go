package poll

import (
	"context"
	"maps"
	"net/url"
	"sync"
	"time"
)

// Limits of the requests that are in flight at a time: many feeds are at one host, which is asked by one
// connection, and a feed that hangs must not delay its neighbors.
const (
	// allWell and allSlow are how many requests are in flight in all: for what answered the last time, and for what did not.
	allWell = 16
	allSlow = 16
	// patience is how long a request keeps its host to itself. From then on the host is asked for the next thing beside it.
	patience = 5 * time.Second
	// mostLate is how many requests of one host may have run out of patience: with as many more, the host as a whole is slow.
	mostLate = 4
	// atOnce is how many payloads are parsed at a time: parsing takes several times the memory of the payload.
	atOnce = 2
)

// lane is where a request waits for its turn: what hung the last time waits behind its like alone.
type lane int

const (
	well lane = iota
	slow
	lanes
)

// hosts lets requests through, for each host and lane one at a time, in the order in which they came. It is safe for concurrent use.
type hosts struct {
	mu     sync.Mutex
	of     map[string]*host
	paused map[string]time.Time // hosts that want to be left alone, and until when
	all    [lanes]chan struct{}
}

// host is one host with requests. Its members are guarded by hosts.mu, but for the channels.
type host struct {
	users int // requests that wait or run
	late  int // that have run out of patience
	turn  [lanes]chan struct{}
}

func newHosts() *hosts {
	return &hosts{of: map[string]*host{}, paused: map[string]time.Time{}, all: [lanes]chan struct{}{make(chan struct{}, allWell), make(chan struct{}, allSlow)}}
}

// nameOf is what a host is known by.
func nameOf(address string) string {
	if u, err := url.Parse(address); err == nil {
		return authority(u)
	}
	return address
}

// pause leaves a host alone for a while: it answered that it is asked too often, which counts requests of all feeds.
func (h *hosts) pause(address string, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(h.paused, func(_ string, until time.Time) bool { return !now.Before(until) })
	h.paused[nameOf(address)] = now.Add(d)
}

// rest is for how long the host of an address is to be left alone.
func (h *hosts) rest(address string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(0, time.Until(h.paused[nameOf(address)]))
}

// enter waits until the host of an address may be asked. leave must be called once the answer was read. Its error is that of ctx.
func (h *hosts) enter(ctx context.Context, address string, in lane) (leave func(), err error) {
	name := nameOf(address)
	at := h.use(name)
	select {
	case at.turn[in] <- struct{}{}:
	case <-ctx.Done():
		h.unuse(name, at)
		return nil, ctx.Err()
	}
	select {
	case h.all[in] <- struct{}{}:
	case <-ctx.Done():
		<-at.turn[in]
		h.unuse(name, at)
		return nil, ctx.Err()
	}
	late, over := false, false // guarded by mu
	give := func() { <-h.all[in]; <-at.turn[in] }
	timer := time.AfterFunc(patience, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if over || at.late >= mostLate {
			return
		}
		late = true
		at.late++
		give()
	})
	return func() {
		timer.Stop()
		h.mu.Lock()
		over = true
		if late {
			at.late--
		} else {
			give()
		}
		h.mu.Unlock()
		h.unuse(name, at)
	}, nil
}

func (h *hosts) use(name string) *host {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.of[name]
	if at == nil {
		at = &host{turn: [lanes]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}}
		h.of[name] = at
	}
	at.users++
	return at
}

func (h *hosts) unuse(name string, at *host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at.users--; at.users == 0 {
		delete(h.of, name)
	}
}

// laneOf returns the lane of what failed so the last time; "" if it did not.
func laneOf(last Class) lane {
	switch last {
	case ClassUnreachable, ClassTimeout, ClassTooSlow, ClassTooLarge:
		return slow
	}
	return well
}
