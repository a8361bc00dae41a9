package tell

import (
	"context"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/net/outbound"
	"github.com/hazardd/hazardd/internal/store"
)

// Backoff says when a failed delivery is tried again, and how a receiver that keeps failing is
// spared.
type Backoff struct {
	Delays []time.Duration // after each failed attempt; after the last one the delivery is given up
	// A receiver that has failed maxFailures times in a row gets one message after each pause. The
	// pauses double from First to Max.
	First, Max time.Duration
}

// maxFailures is how many failures in a row are accepted before the pauses begin.
const maxFailures = 3

// Retry returns the delay after an attempt that failed, at least as long as the receiver asked for.
// ok is false if the delivery is given up.
func (b *Backoff) Retry(attempts int, asked time.Duration) (delay time.Duration, ok bool) {
	if attempts > len(b.Delays) {
		return 0, false
	}
	return max(outbound.Jitter(b.Delays[attempts-1]), asked), true
}

// Health is how a receiver has answered recently. It belongs to the goroutine of its Lane.
type Health struct {
	backoff  *Backoff
	failures int       // in a row
	pause    time.Time // nothing is sent before
}

// Failing reports whether the last message failed.
func (h *Health) Failing() bool { return h.failures > 0 }

// Succeeded records that the receiver works.
func (h *Health) Succeeded() { h.failures = 0 }

// Fail records a failure, which may begin a pause.
func (h *Health) Fail(now time.Time) {
	if h.failures++; h.failures >= maxFailures {
		h.pause = now.Add(outbound.Jitter(min(h.backoff.First<<min(h.failures-maxFailures, 10), h.backoff.Max)))
	}
}

// Pause ensures that nothing is sent before a moment.
func (h *Health) Pause(until time.Time) {
	if until.After(h.pause) {
		h.pause = until
	}
}

// job is a message that is being sent. Messages with equal keys are sent one after the other.
type job[K comparable] interface{ Key() K }

// Sender prepares and sends the messages of a Lane. Only Send is called by several goroutines.
type Sender[K comparable, J job[K]] interface {
	// Prepare returns messages to send, none with a key in busy, and when to look again if nothing
	// else happens. free is how many can be sent at once.
	Prepare(ctx context.Context, h *Health, free int, busy map[K]bool) (jobs []J, again time.Time)
	// Send makes one attempt and records the result in the job.
	Send(ctx context.Context, job J)
	// Finish stores the results of attempts.
	Finish(ctx context.Context, h *Health, jobs []J)
	// Release gives back prepared messages that were not sent.
	Release(ctx context.Context, jobs []J)
}

// Lane sends the messages to one receiver.
type Lane struct {
	cancel context.CancelFunc
	ended  chan struct{}
	wake   chan struct{} // capacity 1
}

// StartLane starts a lane that sends at most parallel messages at once. It ends with ctx, or when
// it is stopped.
func StartLane[K comparable, J job[K]](ctx context.Context, s Sender[K, J], parallel int, b *Backoff, now func() time.Time) *Lane {
	ctx, cancel := context.WithCancel(ctx)
	l := &Lane{cancel: cancel, ended: make(chan struct{}), wake: make(chan struct{}, 1)}
	go func() {
		defer close(l.ended)
		send(ctx, l.wake, s, parallel, &Health{backoff: b}, now)
	}()
	return l
}

// Stop ends the lane and waits for its end.
func (l *Lane) Stop() {
	l.cancel()
	<-l.ended
}

// Wake makes the lane look for new messages.
func (l *Lane) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// send sends messages until ctx ends.
func send[K comparable, J job[K]](ctx context.Context, wake <-chan struct{}, s Sender[K, J], parallel int, h *Health, clock func() time.Time) {
	var ready []J           // prepared, not sent yet
	busy := map[K]bool{}    // prepared or being sent
	results := make(chan J) // of what is being sent
	sending := 0
	finish := func(jobs []J) {
		sending -= len(jobs)
		for _, j := range jobs {
			delete(busy, j.Key())
		}
		s.Finish(ctx, h, jobs)
	}
	defer func() {
		var last []J
		for range sending {
			last = append(last, <-results)
		}
		finish(last)
		s.Release(ctx, ready)
	}()
	for ctx.Err() == nil {
		now := clock()
		again := now.Add(LookEvery)
		if h.pause.After(now) {
			again = h.pause
		} else {
			slots := parallel
			if h.Failing() {
				slots = 1
			}
			if len(ready) == 0 && sending < slots {
				ready, again = s.Prepare(ctx, h, slots-sending, busy)
				for _, j := range ready {
					busy[j.Key()] = true
				}
			}
			for ; sending < slots && len(ready) > 0; sending++ {
				job := ready[0]
				ready = ready[1:]
				go func() { s.Send(ctx, job); results <- job }()
			}
		}
		timer := time.NewTimer(again.Sub(now))
		select {
		case <-ctx.Done():
		case <-wake:
		case <-timer.C:
		case job := <-results:
			finish(drain(results, job, sending))
		}
		timer.Stop()
	}
}

// drain returns job and all further results that are there, at most n in all.
func drain[J any](results <-chan J, job J, n int) []J {
	jobs := []J{job}
	for len(jobs) < n {
		select {
		case job := <-results:
			jobs = append(jobs, job)
		default:
			return jobs
		}
	}
	return jobs
}

// Again returns when to look for messages again: at next, if ok, within a minute, or soon after an
// error.
func Again(now time.Time, next hazard.Instant, ok bool, err error) time.Time {
	if err != nil {
		return now.Add(LookEvery)
	}
	again := now.Add(time.Minute)
	if at := next.Time(); ok && at.Before(again) {
		return at
	}
	return again
}

// Due returns stored deliveries to a receiver that are due, none of a hazard in busy, and when to look
// again if nothing else happens. free is how many can be sent at once.
func Due(ctx context.Context, w *store.Webhooks, receiver string, now time.Time, free int, busy map[int64]bool) (due []store.Delivery, again time.Time, err error) {
	list, err := w.DueDeliveries(ctx, receiver, hazard.At(now), free+len(busy))
	if err != nil {
		return nil, now.Add(LookEvery), err
	}
	for _, d := range list {
		if !busy[d.HazardID] && len(due) < free {
			due = append(due, d)
		}
	}
	next, ok, err := w.NextDelivery(ctx, receiver, hazard.At(now))
	return due, Again(now, next, ok, err), nil
}
