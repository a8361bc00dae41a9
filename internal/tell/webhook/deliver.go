package webhook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/net/outbound"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/store/lease"
)

// The intervals of deliveries.
const (
	leaseName = "webhooks"
	// lookEvery is how soon a change of a webhook takes effect.
	lookEvery = time.Second
	// noteEvery is how often the position in the log is stored while there is nothing to deliver.
	noteEvery = 10 * time.Second
	// parallel is how many messages a webhook gets at once, about different hazards.
	parallel = 4
	// missed is the maximum age of a change that a reactivated webhook still gets.
	missed = 3 * 24 * time.Hour
	// keep is how long the results of deliveries are stored.
	keep       = 30 * 24 * time.Hour
	purgeEvery = time.Hour
)

// schedule holds the delays after each failed attempt, varied by a tenth (Standard Webhooks,
// "Deliverability and reliability"). After the last one, 75 hours and 35 minutes after the first
// attempt, a delivery is given up.
var schedule = []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour}

// A receiver that has failed often in a row is tried with one message at a time, and after a pause that doubles: the messages that wait
// need not each find out.
const (
	firstPause = 10 * time.Second
	maxPause   = 10 * time.Minute
)

// Run makes deliveries until ctx ends, whenever there are webhooks and no other process does. It returns when every goroutine that it
// started has ended; its error is always nil.
func (s *Service) Run(ctx context.Context) error {
	holder := lease.Holder()
	warned := false
	for ctx.Err() == nil {
		active, err := s.hooks(ctx)
		if err == nil && len(active) > 0 {
			lost := func(err error) { s.logger.Warn("lost the lease to deliver to webhooks", "error", err) }
			_, err = lease.Hold(ctx, s.store, leaseName, holder, lost, s.lead)
		}
		if err != nil && !warned && ctx.Err() == nil {
			s.logger.Warn("webhooks are not delivered to", "error", err)
		}
		warned = err != nil
		clock.Sleep(ctx, lease.Try)
	}
	s.clients.Close()
	return nil
}

// hooks reads the active webhooks.
func (s *Service) hooks(ctx context.Context) (map[string]*hook, error) {
	all, err := s.store.Webhooks(ctx)
	if err != nil {
		return nil, err
	}
	active := map[string]*hook{}
	for _, w := range all {
		h, err := s.read(w)
		if err != nil { // an unreadable one must not block the others
			s.logger.Error("a webhook cannot be read", "webhook", w.ID, "error", err)
			continue
		}
		if h.Status == Active {
			active[h.ID] = h
		}
	}
	return active, nil
}

// right is the right to deliver, which may be lost.
type right interface{ Valid() bool }

// teller turns changes into deliveries, and has a runner for each webhook. It belongs to one goroutine.
type teller struct {
	*Service
	lease   right
	version int64
	hooks   map[string]*hook
	told    map[string]int64 // by webhook: deliveries exist for every change up to it
	noted   time.Time        // when told was stored
	purged  time.Time
	runners map[string]*runner
}

// lead makes deliveries until ctx ends or there are no webhooks any more.
func (s *Service) lead(ctx context.Context, l *lease.Lease) {
	t := &teller{Service: s, lease: l, version: -1, told: map[string]int64{}, runners: map[string]*runner{}, noted: s.now()}
	defer func() {
		for _, r := range t.runners {
			r.stop()
		}
	}()
	for ctx.Err() == nil {
		err := t.look(ctx)
		if err == nil && len(t.hooks) == 0 {
			return
		}
		var wake <-chan struct{}
		if err == nil {
			wake, err = t.tell(ctx)
		}
		if err == nil && t.now().Sub(t.purged) > purgeEvery {
			t.purged = t.now()
			err = t.store.PurgeDeliveries(ctx, hazard.At(t.now()).Add(-keep))
		}
		if err != nil {
			if ctx.Err() == nil {
				s.logger.Warn("cannot deliver changes to webhooks", "error", err)
			}
			clock.Sleep(ctx, lookEvery)
			continue
		}
		look := time.NewTimer(lookEvery)
		select {
		case <-ctx.Done():
		case <-wake:
		case <-look.C:
		}
		look.Stop()
	}
}

// look follows changes of the webhooks.
func (t *teller) look(ctx context.Context) error {
	version, err := t.store.WebhookVersion(ctx)
	if err != nil || version == t.version {
		return err
	}
	hooks, err := t.Service.hooks(ctx)
	if err != nil {
		return err
	}
	for id, r := range t.runners {
		if hooks[id] == nil {
			r.stop()
			delete(t.runners, id)
		}
	}
	for id, h := range hooks {
		t.told[id] = max(t.told[id], h.Told)
		if r := t.runners[id]; r != nil {
			r.set(h)
			continue
		}
		t.runners[id] = t.start(ctx, h)
	}
	maps.DeleteFunc(t.told, func(id string, _ int64) bool { return hooks[id] == nil })
	t.hooks, t.version = hooks, version
	return nil
}

// tell creates deliveries for new changes. wake is closed when there may be more.
func (t *teller) tell(ctx context.Context) (wake <-chan struct{}, err error) {
	for len(t.told) > 0 {
		from := slices.Min(slices.Collect(maps.Values(t.told)))
		changes, last, wake, err := t.tail.After(ctx, from)
		if _, ok := errors.AsType[*store.ForkedError](err); ok { // what was told last was told of a history that is void; the store knows how far this one is told
			t.version, t.told = -1, map[string]int64{}
		}
		if err != nil {
			return nil, err
		}
		var list []store.Delivery
		for _, c := range changes {
			more, err := t.deliveries(ctx, c)
			if err != nil {
				return nil, err
			}
			list = append(list, more...)
		}
		told := map[string]int64{}
		for id, n := range t.told {
			told[id] = max(n, last)
		}
		if len(list) > 0 || t.now().Sub(t.noted) > noteEvery && !maps.Equal(told, t.told) {
			if !t.lease.Valid() {
				return nil, errNoLease
			}
			if err := t.store.AddDeliveries(ctx, list, told, hazard.At(t.now())); err != nil {
				return nil, err
			}
			t.noted = t.now()
		}
		t.told = told
		for id, n := range told {
			t.runners[id].told.Store(n)
		}
		for _, d := range list {
			t.runners[d.Webhook].alarm()
		}
		if wake != nil {
			return wake, nil
		}
	}
	return nil, nil
}

// deliveries returns the deliveries of a change.
func (t *teller) deliveries(ctx context.Context, c *follow.Entry) (list []store.Delivery, err error) {
	now := hazard.At(t.now())
	if c.At < now.Add(-missed) {
		return nil, nil
	}
	for _, id := range slices.Sorted(maps.Keys(t.hooks)) {
		h := t.hooks[id]
		if t.told[id] >= c.Number {
			continue
		}
		role, orgs, ok := t.standing(h.Owner)
		if !ok || !takes(role) {
			if err := t.disable(ctx, id, fmt.Sprintf("its owner, %s, may have no webhooks any more", h.Owner), now); err != nil {
				return nil, err
			}
			delete(t.hooks, id)
			delete(t.told, id)
			continue
		}
		tell, left, err := t.Service.told(ctx, h, &c.Change, orgs, c.States)
		if err != nil {
			return nil, err
		}
		if tell {
			d := store.Delivery{Webhook: id, HazardID: c.HazardID, Change: c.Number, Left: left}
			if c.Product != nil {
				d.ProductID = c.Product.ID
			}
			list = append(list, d)
		}
	}
	return list, nil
}

// runner makes the deliveries of one webhook.
type runner struct {
	*Service
	lease  right
	cancel context.CancelFunc
	ended  chan struct{}
	wake   chan struct{} // capacity 1

	told atomic.Int64 // every change up to it has become deliveries

	mu   sync.Mutex
	hook *hook // guarded by mu

	// Of the goroutine of run alone.
	failures int       // consecutive failures
	pause    time.Time // nothing is sent before
	gone     *hook     // as it was when it was disabled: nothing is sent until it is another
}

func (t *teller) start(ctx context.Context, h *hook) *runner {
	ctx, cancel := context.WithCancel(ctx)
	r := &runner{Service: t.Service, lease: t.lease, cancel: cancel, ended: make(chan struct{}), wake: make(chan struct{}, 1), hook: h}
	r.told.Store(t.told[h.ID])
	go func() {
		defer close(r.ended)
		r.run(ctx)
	}()
	return r
}

// stop ends the runner, and waits until it has ended.
func (r *runner) stop() {
	r.cancel()
	<-r.ended
}

func (r *runner) set(h *hook) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hook = h
	r.alarm()
}

func (r *runner) current() *hook {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hook
}

func (r *runner) alarm() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// done is a delivery after an attempt. failed says that the receiver did not accept it.
type done struct {
	hazard int64
	failed bool
	gone   *hook // the webhook that was disabled for it
	err    error // our own error: nothing was sent, or the result was not stored
}

// run makes deliveries until ctx ends, in order for each hazard.
func (r *runner) run(ctx context.Context) {
	busy := map[int64]bool{} // by hazard
	results := make(chan done)
	defer func() {
		for range busy {
			<-results
		}
	}()
	for ctx.Err() == nil {
		now := r.now()
		next := now.Add(lookEvery) // another process may have added something
		if r.pause.After(now) {
			next = r.pause
		} else if r.gone == r.current() {
			next = now.Add(time.Minute)
		} else if due, err := r.due(ctx, busy, hazard.At(now)); err != nil {
			if ctx.Err() == nil {
				r.logger.Warn("the deliveries of a webhook cannot be read", "webhook", r.current().ID, "error", err)
			}
		} else {
			for _, d := range due {
				busy[d.HazardID] = true
				go func() { results <- r.attempt(ctx, d) }()
			}
			if at, ok, err := r.store.NextDelivery(ctx, r.current().ID, hazard.At(now)); err == nil {
				next = now.Add(time.Minute)
				if ok && at.Time().Before(next) {
					next = at.Time()
				}
			}
		}
		timer := time.NewTimer(next.Sub(now))
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-timer.C:
		case res := <-results:
			delete(busy, res.hazard)
			r.note(ctx, res)
		}
		timer.Stop()
	}
}

// due returns the deliveries that may be sent now.
func (r *runner) due(ctx context.Context, busy map[int64]bool, now hazard.Instant) ([]store.Delivery, error) {
	slots := parallel
	if r.failures > 0 {
		slots = 1
	}
	if slots -= len(busy); slots <= 0 {
		return nil, nil
	}
	due, err := r.store.DueDeliveries(ctx, r.current().ID, now, slots+len(busy))
	due = slices.DeleteFunc(due, func(d store.Delivery) bool { return busy[d.HazardID] })
	return due[:min(slots, len(due))], err
}

// note updates the receiver's state after a delivery.
func (r *runner) note(ctx context.Context, res done) {
	if res.gone != nil {
		r.gone = res.gone
	}
	switch {
	case errors.Is(res.err, errBehind):
		r.pause = r.now().Add(lookEvery / 10)
	case res.err != nil:
		if ctx.Err() == nil {
			r.logger.Warn("a delivery could not be made", "webhook", r.current().ID, "error", res.err)
		}
		r.pause = r.now().Add(lookEvery)
	case !res.failed:
		r.failures = 0
	default:
		if r.failures++; r.failures >= outbound.Tolerated {
			r.pause = r.now().Add(outbound.Pause(r.failures, firstPause, maxPause))
		}
	}
}

// attempt makes a delivery and stores the result.
func (r *runner) attempt(ctx context.Context, d store.Delivery) done {
	res := done{hazard: d.HazardID}
	h, now := r.current(), hazard.At(r.now())
	m, err := r.message(ctx, h, d, r.told.Load(), now)
	if err != nil {
		res.err = err
		return res
	}
	if m == nil {
		d.State, d.Last = store.Dropped, now
		res.err = r.write(ctx, []store.Delivery{d})
		return res
	}
	header, err := r.header(h, m, now)
	if err == nil && !r.lease.Valid() {
		err = errNoLease
	}
	if err != nil {
		res.err = err
		return res
	}
	out := r.post(ctx, h.URL, header, m.body)
	if ctx.Err() != nil { // it may have arrived; it is sent again
		res.err = ctx.Err()
		return res
	}
	res.failed = out.fault != ""
	r.measures.attempt(res.failed, out.took)
	for i := range m.covers {
		c := &m.covers[i]
		c.Last, c.Took, c.Status, c.Error, c.Message = now, out.took.Milliseconds(), out.status, out.fault, m.id
		if !res.failed {
			c.State = store.Delivered
		}
		if c.ID == d.ID || !res.failed {
			c.Attempts++
		}
		if c.First == 0 {
			c.First = now
		}
	}
	if !res.failed {
		res.err = r.write(ctx, m.covers)
		return res
	}
	i := slices.IndexFunc(m.covers, func(c store.Delivery) bool { return c.ID == d.ID })
	d = m.covers[i]
	if out.gone {
		d.Next, res.gone = hazard.At(r.now()), h
		res.err = errors.Join(r.write(ctx, []store.Delivery{d}), r.disable(ctx, h.ID, "the receiver answered 410 Gone: it wants nothing more", d.Next))
		return res
	}
	if d.Attempts <= len(schedule) {
		d.Next = hazard.At(r.now()).Add(max(outbound.Jitter(schedule[d.Attempts-1]), out.retry))
		res.err = r.write(ctx, []store.Delivery{d})
		return res
	}
	res.gone, res.err = r.giveUp(ctx, h, d)
	return res
}

// giveUp ends the attempts at a delivery. If nothing else has come through meanwhile, the receiver is dead: the webhook is disabled, and returned.
func (r *runner) giveUp(ctx context.Context, h *hook, d store.Delivery) (*hook, error) {
	alive, err := r.store.DeliveredSince(ctx, h.ID, d.First)
	if err != nil {
		return nil, err
	}
	d.State = store.Failed
	if err := r.write(ctx, []store.Delivery{d}); err != nil || alive {
		return nil, err
	}
	what := "error " + d.Error
	if d.Status != 0 {
		what = fmt.Sprintf("%d %s", d.Status, http.StatusText(d.Status))
	}
	return h, r.disable(ctx, h.ID, fmt.Sprintf("nothing came through since %s, in %d attempts; the last ended with %s", d.First, d.Attempts, what), hazard.At(r.now()))
}

// write stores the results of deliveries, if this process still has the lease.
func (r *runner) write(ctx context.Context, list []store.Delivery) error {
	if !r.lease.Valid() {
		return errNoLease
	}
	if err := r.store.SaveDeliveries(context.WithoutCancel(ctx), list); err != nil {
		return err
	}
	r.measures.done(list)
	return nil
}

// errNoLease: another process may be delivering by now.
var errNoLease = errors.New("the lease is over")
