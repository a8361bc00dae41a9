package poll

import (
	"context"
	"maps"
	"net/url"
	"sync"
	"time"
)

// The limits of concurrent requests. Many feeds share a host, which gets one request at a time, and
// a hanging feed must not delay its neighbors.
const (
	// allWell and allSlow bound the concurrent requests in total: of feeds whose last request
	// succeeded, and of others.
	allWell = 16
	allSlow = 16
	// patience is how long a request blocks its host. After that, the next request to the host
	// starts beside it.
	patience = 5 * time.Second
	// maxLate is how many requests of one host may exceed patience; with as many more, the whole
	// host counts as slow.
	maxLate = 4
	// atOnce is how many payloads are parsed at a time, because parsing takes several times the
	// payload's memory.
	atOnce = 2
)

// lane is the queue of a request: requests that hung last time only delay each other.
type lane int

const (
	well lane = iota
	slow
	lanes
)

// hosts admits requests in order, one at a time for each host and lane. It is safe for concurrent
// use.
type hosts struct {
	mu     sync.Mutex
	of     map[string]*host
	paused map[string]time.Time // paused hosts, with the end of the pause
	early  map[string]bool      // hosts and addresses that were to be left alone for long, and are asked early once
	all    [lanes]chan struct{}
}

// host is one host with requests. hosts.mu guards its members, except for the channels.
type host struct {
	users int // waiting and running requests
	late  int // requests that exceed patience
	turn  [lanes]chan struct{}
}

func newHosts() *hosts {
	return &hosts{of: map[string]*host{}, paused: map[string]time.Time{}, early: map[string]bool{}, all: [lanes]chan struct{}{make(chan struct{}, allWell), make(chan struct{}, allSlow)}}
}

// againAfter is when a source that warns is asked again, once, although it wants to be left alone for
// longer: one answer of a misled proxy must not hide an hour of warnings.
const againAfter = 5 * time.Minute

// wait returns how long a host or address is left alone that asks for a wait: for all of it, but when a
// source that warns is asked there for the first time since the last success.
func (h *hosts) wait(key string, asked time.Duration, warns bool) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !warns || asked <= againAfter || h.early[key] {
		return asked
	}
	h.early[key] = true
	return againAfter
}

// succeeded records that an address has answered as it should.
func (h *hosts) succeeded(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.early, address)
	delete(h.early, nameOf(address))
}

// nameOf returns the key of a host.
func nameOf(address string) string {
	if u, err := url.Parse(address); err == nil {
		return authority(u)
	}
	return address
}

// pause pauses a host that answered that it gets too many requests, because it counts those of all
// feeds.
func (h *hosts) pause(address string, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(h.paused, func(_ string, until time.Time) bool { return !now.Before(until) })
	h.paused[nameOf(address)] = now.Add(d)
}

// rest returns the remaining pause of an address's host.
func (h *hosts) rest(address string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(0, time.Until(h.paused[nameOf(address)]))
}

// enter waits until a request may be sent to the host of an address. Call leave after reading the
// response. The error is ctx's.
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
		if over || at.late >= maxLate {
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

// laneOf returns the lane after a failure of class last; "" after a success.
func laneOf(last Class) lane {
	switch last {
	case ClassUnreachable, ClassTimeout, ClassTooSlow, ClassTooLarge:
		return slow
	}
	return well
}
