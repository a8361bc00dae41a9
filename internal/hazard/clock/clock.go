// Package clock tells the service's time: the wall clock, as long as the monotonic clock agrees
// with it.
//
// A wall clock that is set forward or back by more than Tolerance while the monotonic clock says
// otherwise is not followed. Service time then goes on by the monotonic clock, until the wall clock
// returns, has kept the new time for Settle, or Confirm says that it is right. Time that the
// machine was suspended counts as time that has passed (CLOCK_BOOTTIME on Linux; elsewhere a
// suspended machine looks like a step). A virtual machine that was paused by its host and whose
// wall clock is set afterwards looks like a step, too.
//
// Service time stands still rather than go back, by up to Still. A larger step back that has
// settled is taken: the time before it was wrong. What is wrong at the start cannot be noticed
// here: there is nothing to compare it with.
//
// It knows neither hazards nor databases.
package clock

import (
	"context"
	"sync"
	"time"
)

const (
	// tolerance is how far the wall clock may move against the monotonic clock between two
	// readings: clocks that are kept in step are slewed, or moved by less.
	tolerance = time.Second
	// Settle is for how long the wall clock must keep a new time before it is followed.
	Settle = time.Minute
	// Still is how long service time stands still at most.
	Still = time.Minute
)

// Reading is what the clocks of the machine say at one moment.
type Reading struct {
	Wall   time.Time
	Uptime time.Duration // by the monotonic clock, from any beginning
	// Asleep is for how long the machine has been suspended so far, from any beginning. It is
	// called only when Wall and Uptime disagree.
	Asleep func() time.Duration
}

// state is what the readings so far have come to.
type state struct {
	offset    time.Duration // wall − uptime that service time goes by, since 1970
	asleep    time.Duration // at the reading that offset is of
	candidate time.Duration // wall − uptime as it is now, while held
	since     time.Duration // the uptime at which candidate was read first
	shown     time.Duration // the latest service time
	held      bool
}

// begin is the state after the first reading.
func begin(r Reading) state {
	wall := time.Duration(r.Wall.UnixNano())
	return state{offset: wall - r.Uptime, asleep: r.Asleep(), shown: wall}
}

// next is the state after s and the reading r.
func (s state) next(r Reading) state {
	offset := time.Duration(r.Wall.UnixNano()) - r.Uptime
	if near(offset, s.offset) {
		s.offset, s.held = offset, false
		return s.show(r)
	}
	asleep := r.Asleep()
	s.offset, s.asleep = s.offset+asleep-s.asleep, asleep
	switch {
	case near(offset, s.offset):
		s.offset, s.held = offset, false
	case !s.held || !near(offset, s.candidate):
		s.held, s.candidate, s.since = true, offset, r.Uptime
	case r.Uptime-s.since >= Settle:
		s.offset, s.held = offset, false
	}
	return s.show(r)
}

// confirmed is s where it is known that the wall clock of its last reading is right, or that it is
// wrong.
func (s state) confirmed(right bool, r Reading) state {
	s = s.next(r)
	switch {
	case !s.held:
		return s
	case right:
		s.offset, s.held = s.candidate, false
	default:
		s.since = r.Uptime
	}
	return s.show(r)
}

// show notes the service time of r.
func (s state) show(r Reading) state {
	now := r.Uptime + s.offset
	if back := s.shown - now; back <= 0 || back > Still {
		s.shown = now
	}
	return s
}

func near(a, b time.Duration) bool { return (a - b).Abs() <= tolerance }

// Clock is the service's clock. It is safe for concurrent use.
type Clock struct {
	read  func() Reading
	mu    sync.Mutex
	state state
	steps int64
}

// New makes a clock that goes by read; nil: by this machine.
func New(read func() Reading) *Clock {
	if read == nil {
		read = machine()
	}
	return &Clock{read: read, state: begin(read())}
}

// Now is the service time, without a monotonic reading.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.move(state.next)
	return time.Unix(0, int64(c.state.shown))
}

// Step is by how much the wall clock is ahead of service time while it is not followed, else 0, and
// how often it was set so far.
func (c *Clock) Step() (by time.Duration, steps int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.move(state.next)
	if c.state.held {
		by = c.state.candidate - c.state.offset
	}
	return by, c.steps
}

// Confirm says whether the wall clock is right, by a better clock. One that is right is followed at
// once; one that is wrong is not followed for another Settle.
func (c *Clock) Confirm(right bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.move(func(s state, r Reading) state { return s.confirmed(right, r) })
}

// move takes a reading.
func (c *Clock) move(to func(state, Reading) state) {
	held := c.state.held
	if c.state = to(c.state, c.read()); c.state.held && !held {
		c.steps++
	}
}

// machine reads the clocks of this machine.
func machine() func() Reading {
	start := time.Now()
	return func() Reading {
		now := time.Now()
		return Reading{Wall: now, Uptime: now.Sub(start), Asleep: asleep}
	}
}

// Sleep returns after d, or when ctx ends, with its error.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
