package encoded

import (
	"bufio"
	"context"
	"io"
	"slices"
	"sync"
	"time"
)

// turnTime is how long one costly answer is made before another one that waits goes on.
const turnTime = 20 * time.Millisecond

// maxRemembered bounds the users and networks whose last turn is remembered while answers are being made.
const maxRemembered = 4096

// Turns share some of the processors between the costly answers that are being made, so that the others
// stay free for everybody else. Answers that wait go on in the order in which their users, or networks, last
// had a turn, so many requests of one delay nobody else's. It is safe for concurrent use.
type Turns struct {
	all int // how many go on at once

	mu      sync.Mutex // guards the fields below
	free    int
	waiting []*entrant
	last    map[string]uint64 // the number of the last turn of each user or network
	number  uint64
}

// entrant is an answer that waits for its turn.
type entrant struct {
	payer string
	ready chan struct{} // closed when it is its turn
}

// NewTurns returns Turns of which n go on at once.
func NewTurns(n int) *Turns {
	n = max(1, n)
	return &Turns{all: n, free: n, last: map[string]uint64{}}
}

// Turn is an answer that is made in turns. It is for one goroutine.
type Turn struct {
	of    *Turns
	payer string
	held  bool
	since time.Time
}

// Begin waits for a turn of a user, or of a Network. The caller must end it. The error is ctx's.
func (t *Turns) Begin(ctx context.Context, payer string) (*Turn, error) {
	turn := &Turn{of: t, payer: payer}
	return turn, turn.enter(ctx)
}

func (t *Turn) enter(ctx context.Context) error {
	t.of.mu.Lock()
	mine := &entrant{t.payer, make(chan struct{})}
	t.of.waiting = append(t.of.waiting, mine)
	t.of.next()
	t.of.mu.Unlock()
	select {
	case <-mine.ready:
	case <-ctx.Done():
		t.of.mu.Lock()
		defer t.of.mu.Unlock()
		if i := slices.Index(t.of.waiting, mine); i >= 0 {
			t.of.waiting = slices.Delete(t.of.waiting, i, i+1)
		} else { // its turn came at this moment
			t.of.free++
			t.of.next()
		}
		return ctx.Err()
	}
	t.held, t.since = true, time.Now()
	return nil
}

// next gives free turns to those that wait. The caller holds t.mu.
func (t *Turns) next() {
	for t.free > 0 && len(t.waiting) > 0 {
		first := 0
		for i, w := range t.waiting {
			if t.last[w.payer] < t.last[t.waiting[first].payer] {
				first = i
			}
		}
		chosen := t.waiting[first]
		t.waiting = slices.Delete(t.waiting, first, first+1)
		t.number++
		t.last[chosen.payer] = t.number
		t.free--
		close(chosen.ready)
	}
	if t.free == t.all || len(t.last) > maxRemembered {
		clear(t.last)
	}
}

// Pause lets another answer go on if one waits and this one has had its time. The error is ctx's: the
// turn has ended then.
func (t *Turn) Pause(ctx context.Context) error {
	if t == nil || !t.held || time.Since(t.since) < turnTime {
		return nil
	}
	t.End()
	return t.enter(ctx)
}

// End ends the turn. Ending it again does nothing.
func (t *Turn) End() {
	if t == nil || !t.held {
		return
	}
	t.held = false
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.free++
	t.of.next()
}

// Writer returns a buffered writer to out that holds no turn while out is waited for. The caller must
// flush it.
func (t *Turn) Writer(ctx context.Context, out io.Writer) *bufio.Writer {
	return bufio.NewWriterSize(&outOfTurn{t, ctx, out}, 64<<10)
}

type outOfTurn struct {
	turn *Turn
	ctx  context.Context
	out  io.Writer
}

func (w *outOfTurn) Write(b []byte) (int, error) {
	w.turn.End()
	n, err := w.out.Write(b)
	if err == nil {
		err = w.turn.enter(w.ctx)
	}
	return n, err
}
