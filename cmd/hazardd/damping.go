package main

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// damped is a handler that passes on only a few warnings and errors of one class a minute, and how
// many more there were: an outage is a handful of lines, and not one for each request and source.
// While it lasts, each further time has one line and a count, and is twice as long as the one before,
// up to longestDamp. The class of a line is its message. Lines below a warning are passed on.
type damped struct {
	slog.Handler
	*classes
}

type classes struct {
	mu   sync.Mutex
	of   map[string]*class // by message
	last slog.Handler      // without attributes, for the counts
}

type class struct {
	level slog.Level
	began time.Time     // of the present time
	lasts time.Duration // the present time
	left  int           // lines that may still be logged in it
	held  int           // lines that were not
}

// maxAlike is how many lines of one class are logged within dampTime. maxClasses bounds the memory.
const (
	maxAlike    = 5
	dampTime    = time.Minute
	longestDamp = 10 * time.Minute
	maxClasses  = 1000
)

// next returns the time after k, which ends now; k may be nil.
func (k *class) next(level slog.Level, now time.Time) *class {
	if k == nil || k.held == 0 {
		return &class{level: level, began: now, lasts: dampTime, left: maxAlike}
	}
	return &class{level: level, began: now, lasts: min(2*k.lasts, longestDamp), left: 1}
}

func damp(h slog.Handler) *damped {
	return &damped{h, &classes{of: map[string]*class{}, last: h}}
}

// Handle passes a line on, or counts it.
func (d *damped) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && !d.pass(ctx, &r) {
		return nil
	}
	return d.Handler.Handle(ctx, r)
}

// WithAttrs returns a handler that counts with this one.
func (d *damped) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &damped{d.Handler.WithAttrs(attrs), d.classes}
}

// WithGroup returns a handler that counts with this one.
func (d *damped) WithGroup(name string) slog.Handler {
	return &damped{d.Handler.WithGroup(name), d.classes}
}

func (c *classes) pass(ctx context.Context, r *slog.Record) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of[r.Message]
	if k == nil && len(c.of) == maxClasses {
		return true
	}
	if k == nil || r.Time.Sub(k.began) >= k.lasts {
		c.count(ctx, r.Message, k, r.Time)
		k = k.next(r.Level, r.Time)
		c.of[r.Message] = k
	}
	if k.left--; k.left < 0 {
		k.held++
		return false
	}
	return true
}

// count logs how many lines of a class were held back. The caller holds mu.
func (c *classes) count(ctx context.Context, message string, k *class, now time.Time) {
	if k == nil || k.held == 0 {
		return
	}
	r := slog.NewRecord(now, k.level, "more lines of this kind were left out: "+message, 0)
	r.AddAttrs(slog.Int("lines", k.held), slog.Time("since", k.began))
	_ = c.last.Handle(ctx, r) // nobody else can be told
}

// sweep logs how many messages of each class were held back, once its period is over (or now, if all
// is true). It forgets a class of which none was.
func (c *classes) sweep(now time.Time, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for message, k := range c.of {
		if !all && now.Sub(k.began) < k.lasts {
			continue
		}
		c.count(context.Background(), message, k, now)
		if c.of[message] = k.next(k.level, now); all || k.held == 0 {
			delete(c.of, message)
		}
	}
}

// run sweeps each minute until stop is closed, and then a last time.
func (c *classes) run(stop <-chan struct{}) {
	ticker := time.NewTicker(dampTime)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			c.sweep(now, false)
		case <-stop:
			c.sweep(time.Now(), true)
			return
		}
	}
}
