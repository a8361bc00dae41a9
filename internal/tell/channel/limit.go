package channel

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/hazardd/hazardd/internal/tell/message"
)

// Limits bound how many messages are sent; 0 means no limit.
type Limits struct {
	Minute  int `yaml:"minute"`  // in a minute, in all
	Address int `yaml:"address"` // in a minute, to one address
}

// maxAddresses is how many addresses are counted at a time; after that, counting starts again.
const maxAddresses = 100_000

// limitWait is how long a message waits for its turn before it is put back.
const limitWait = 5 * time.Second

type limiter struct {
	limits Limits
	all    *rate.Limiter
	mu     sync.Mutex
	each   map[string]*rate.Limiter // by the hash of the address; guarded by mu
}

func newLimiter(l Limits) *limiter {
	return &limiter{limits: l, all: perMinute(l.Minute), each: map[string]*rate.Limiter{}}
}

// perMinute allows n in a minute, a tenth of them at once.
func perMinute(n int) *rate.Limiter {
	if n <= 0 {
		return rate.NewLimiter(rate.Inf, 1)
	}
	return rate.NewLimiter(rate.Limit(float64(n)/60), max(1, n/10))
}

// wait waits until a message to an address may be sent. If that takes long, it returns Busy at once.
func (l *limiter) wait(ctx context.Context, to Address) error {
	for _, r := range []*rate.Limiter{l.of(to), l.all} {
		turn := r.Reserve()
		d := turn.Delay()
		if d == 0 {
			continue
		}
		if d > limitWait {
			turn.Cancel()
			return fmt.Errorf("%v: %w", to, Busy{Wait: d, All: r == l.all})
		}
		timer := time.NewTimer(d)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			turn.Cancel()
			return fmt.Errorf("%v: %w", to, context.Cause(ctx))
		}
	}
	return nil
}

func (l *limiter) of(to Address) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := to.hash()
	r, ok := l.each[name]
	if !ok {
		if len(l.each) >= maxAddresses {
			clear(l.each)
		}
		r = perMinute(l.limits.Address)
		l.each[name] = r
	}
	return r
}

// Limited is a Sender within limits.
type Limited struct {
	Sender
	limiter *limiter
}

// Limit limits a Sender.
func Limit(s Sender, l Limits) *Limited { return &Limited{s, newLimiter(l)} }

// Send waits until the message may be sent, and sends it.
func (l *Limited) Send(ctx context.Context, to Address, n message.Notice) error {
	if err := l.limiter.wait(ctx, to); err != nil {
		return err
	}
	return l.Sender.Send(ctx, to, n)
}
