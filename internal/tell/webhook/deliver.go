package webhook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/net/outbound"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/store/lease"
	"github.com/hazardd/hazardd/internal/tell"
)

// parallel is how many messages a webhook gets at once, about different hazards.
const parallel = 4

// backoff follows Standard Webhooks ("Deliverability and reliability"). After the last delay, 75
// hours and 35 minutes after the first attempt, a delivery is given up.
var backoff = tell.Backoff{First: 10 * time.Second, Max: 10 * time.Minute, Delays: []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour,
	5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour}}

// Run makes deliveries until ctx ends, whenever there are webhooks and no other process does. It
// returns when every goroutine that it started has ended; its error is always nil.
func (s *Service) Run(ctx context.Context) error {
	defer s.clients.Close()
	r := tell.Runner{Name: "webhooks", Store: s.Store.Leases, Log: s.Tail, Now: s.Now, Logger: s.Logger,
		LostLease: "lost the lease to deliver to webhooks", NotRunning: "webhooks are not delivered to", Failed: "cannot deliver changes to webhooks",
		Any: func(ctx context.Context) (bool, error) {
			active, err := s.hooks(ctx)
			return len(active) > 0, err
		},
		Open: func(_ context.Context, l *lease.Lease) tell.Queue { return s.queue(l) }}
	return r.Run(ctx)
}

// hooks reads the active webhooks.
func (s *Service) hooks(ctx context.Context) (map[string]*hook, error) {
	all, err := s.Store.Webhooks.List(ctx)
	if err != nil {
		return nil, err
	}
	active := map[string]*hook{}
	for _, w := range all {
		h, err := s.read(w)
		if err != nil { // an unreadable one must not block the others
			s.Logger.Error("a webhook cannot be read", "webhook", w.ID, "error", err)
			continue
		}
		if h.Status == Active {
			active[h.ID] = h
		}
	}
	return active, nil
}

// queue turns changes into deliveries, and has a sender for each active webhook.
type queue struct {
	*Service
	lease   tell.Lease
	version int64
	hooks   map[string]*hook
	told    map[string]int64 // by webhook: deliveries exist for every change up to it
	noted   time.Time        // when told was stored
	senders map[string]*sender
}

func (s *Service) queue(l tell.Lease) *queue {
	return &queue{Service: s, lease: l, version: -1, told: map[string]int64{}, senders: map[string]*sender{}, noted: s.Now()}
}

// Close stops all senders.
func (q *queue) Close() {
	for _, s := range q.senders {
		s.lane.Stop()
	}
}

// Reset makes Refresh read everything again.
func (q *queue) Reset() { q.version, q.told = -1, map[string]int64{} }

// Purge removes the results of deliveries from before a moment.
func (q *queue) Purge(ctx context.Context, before hazard.Instant) error {
	return q.Store.Webhooks.PurgeDeliveries(ctx, before)
}

// Refresh follows changes of the webhooks. It returns the last change for which deliveries exist for
// every webhook.
func (q *queue) Refresh(ctx context.Context) (from int64, any bool, err error) {
	version, err := q.Store.Webhooks.Version(ctx)
	if err != nil {
		return 0, false, err
	}
	if version != q.version {
		hooks, err := q.Service.hooks(ctx)
		if err != nil {
			return 0, false, err
		}
		for id, s := range q.senders {
			if hooks[id] == nil {
				s.lane.Stop()
				delete(q.senders, id)
			}
		}
		for id, h := range hooks {
			q.told[id] = max(q.told[id], h.Told)
			if s := q.senders[id]; s != nil {
				s.hook.Store(h)
				s.lane.Wake()
			} else {
				q.senders[id] = q.start(ctx, h)
			}
		}
		maps.DeleteFunc(q.told, func(id string, _ int64) bool { return hooks[id] == nil })
		q.hooks, q.version = hooks, version
	}
	if len(q.told) == 0 {
		return 0, false, nil
	}
	return slices.Min(slices.Collect(maps.Values(q.told))), true, nil
}

// Add creates the deliveries of changes.
func (q *queue) Add(ctx context.Context, changes []*follow.Entry, upTo int64) error {
	var list []store.Delivery
	for _, c := range changes {
		more, err := q.deliveries(ctx, c)
		if err != nil && !q.Store.Quarantine.Telling(c.Number, err) { // nobody else waits for what is damaged
			return err
		}
		list = append(list, more...)
	}
	told := map[string]int64{}
	for id, n := range q.told {
		told[id] = max(n, upTo)
	}
	if len(list) > 0 || q.Now().Sub(q.noted) > tell.NoteEvery && !maps.Equal(told, q.told) {
		if !q.lease.Valid() {
			return tell.ErrNoLease
		}
		if err := q.Store.Webhooks.AddDeliveries(ctx, list, told, hazard.At(q.Now())); err != nil {
			return err
		}
		q.noted = q.Now()
	}
	q.told = told
	for id, n := range told {
		q.senders[id].told.Store(n)
	}
	for _, d := range list {
		q.senders[d.Webhook].lane.Wake()
	}
	return nil
}

// deliveries returns the deliveries of a change.
func (q *queue) deliveries(ctx context.Context, c *follow.Entry) (list []store.Delivery, err error) {
	now := hazard.At(q.Now())
	if c.At < now.Add(-tell.MaxAge) {
		return nil, nil
	}
	for _, id := range slices.Sorted(maps.Keys(q.hooks)) {
		h := q.hooks[id]
		if q.told[id] >= c.Number {
			continue
		}
		role, orgs, ok := q.Standing(h.Owner)
		if !ok || !mayHave(role) {
			if err := q.disable(ctx, id, fmt.Sprintf("its owner, %s, may have no webhooks any more", h.Owner), now); err != nil {
				return nil, err
			}
			delete(q.hooks, id)
			delete(q.told, id)
			continue
		}
		wanted, left, err := q.wants(ctx, h, &c.Change, orgs, c.States)
		if err != nil {
			return nil, err
		}
		if wanted {
			d := store.Delivery{Webhook: id, HazardID: c.HazardID, Change: c.Number, Left: left}
			if c.Product != nil {
				d.ProductID = c.Product.ID
			}
			list = append(list, d)
		}
	}
	return list, nil
}

// sender makes the deliveries of one webhook, in order for each hazard.
type sender struct {
	*Service
	lease    tell.Lease
	lane     *tell.Lane
	hook     atomic.Pointer[hook] // as it is now
	told     atomic.Int64         // every change up to it has become deliveries
	disabled *hook                // as it was when it was disabled: nothing is sent until it changes; of the lane's goroutine
}

func (q *queue) start(ctx context.Context, h *hook) *sender {
	s := &sender{Service: q.Service, lease: q.lease}
	s.hook.Store(h)
	s.told.Store(q.told[h.ID])
	s.lane = tell.StartLane(ctx, s, parallel, &backoff, s.Now)
	return s
}

// job is a delivery and the result of an attempt.
type job struct {
	store.Delivery
	failed   bool  // the receiver did not accept it
	disabled *hook // the webhook that was disabled because of it
	err      error // our own error: nothing was sent, or the result was not stored
}

// Key returns the hazard: its deliveries are made one after the other.
func (j *job) Key() int64 { return j.HazardID }

// Prepare returns deliveries that are due.
func (s *sender) Prepare(ctx context.Context, _ *tell.Health, free int, busy map[int64]bool) (jobs []*job, again time.Time) {
	h, now := s.hook.Load(), s.Now()
	if h == s.disabled {
		return nil, now.Add(time.Minute)
	}
	due, again, err := tell.Due(ctx, s.Store.Webhooks, h.ID, now, free, busy)
	if err != nil && ctx.Err() == nil {
		s.Logger.Warn("the deliveries of a webhook cannot be read", "webhook", h.ID, "error", err)
	}
	for _, d := range due {
		jobs = append(jobs, &job{Delivery: d})
	}
	return jobs, again
}

// Finish updates the receiver's state after deliveries.
func (s *sender) Finish(ctx context.Context, h *tell.Health, jobs []*job) {
	for _, j := range jobs {
		if j.disabled != nil {
			s.disabled = j.disabled
		}
		switch {
		case errors.Is(j.err, errBehind):
			h.Pause(s.Now().Add(tell.LookEvery / 10))
		case j.err != nil:
			if ctx.Err() == nil {
				s.Logger.Warn("a delivery could not be made", "webhook", j.Webhook, "error", j.err)
			}
			h.Pause(s.Now().Add(tell.LookEvery))
		case j.failed:
			h.Fail(s.Now())
		default:
			h.Succeeded()
		}
	}
}

// Release has nothing to do: the deliveries still wait in the store.
func (s *sender) Release(context.Context, []*job) {}

// Send makes a delivery and stores the result.
func (s *sender) Send(ctx context.Context, j *job) { j.err = s.attempt(ctx, j) }

func (s *sender) attempt(ctx context.Context, j *job) error {
	h, now := s.hook.Load(), hazard.At(s.Now())
	m, err := s.message(ctx, h, j.Delivery, s.told.Load(), now)
	if err != nil {
		return err
	}
	if m == nil {
		j.State, j.Last = store.Dropped, now
		return s.save(ctx, j.Delivery)
	}
	header, err := s.header(h, m, now)
	if err != nil {
		return err
	}
	if !s.lease.Valid() {
		return tell.ErrNoLease
	}
	out := s.post(ctx, h.URL, header, m.body)
	if ctx.Err() != nil { // it may have arrived; it is sent again
		return ctx.Err()
	}
	j.failed = out.fault != ""
	s.measures.attempt(j.failed, out.took)
	for i := range m.covers {
		c := &m.covers[i]
		c.Last, c.Took, c.Status, c.Error, c.Message = now, out.took.Milliseconds(), out.status, out.fault, m.id
		if !j.failed {
			c.State = store.Delivered
		}
		if c.ID == j.ID || !j.failed {
			c.Attempts++
		}
		if c.First == 0 {
			c.First = now
		}
		if c.ID == j.ID {
			j.Delivery = *c
		}
	}
	if !j.failed {
		return s.save(ctx, m.covers...)
	}
	now = hazard.At(s.Now())
	if out.status == http.StatusGone {
		j.Next, j.disabled = now, h
		return errors.Join(s.save(ctx, j.Delivery), s.disable(ctx, h.ID, "the receiver answered 410 Gone: it wants nothing more", now))
	}
	if wait, ok := backoff.Retry(j.Attempts, out.retry); ok {
		j.Next = now.Add(wait)
		return s.save(ctx, j.Delivery)
	}
	return s.giveUp(ctx, h, j, now)
}

// giveUp ends the attempts at a delivery. If nothing else was accepted since the first of them, it
// disables the webhook.
func (s *sender) giveUp(ctx context.Context, h *hook, j *job, now hazard.Instant) error {
	alive, err := s.Store.Webhooks.DeliveredSince(ctx, h.ID, j.First)
	if err != nil {
		return err
	}
	j.State = store.Failed
	if err := s.save(ctx, j.Delivery); err != nil || alive {
		return err
	}
	what := "error " + j.Error
	if j.Status != 0 {
		what = fmt.Sprintf("%d %s", j.Status, http.StatusText(j.Status))
	}
	j.disabled = h
	return s.disable(ctx, h.ID, fmt.Sprintf("nothing came through since %s, in %d attempts; the last ended with %s", j.First, j.Attempts, what), now)
}

// save stores the results of deliveries, if this process still has the lease.
func (s *sender) save(ctx context.Context, list ...store.Delivery) error {
	if !s.lease.Valid() {
		return tell.ErrNoLease
	}
	if err := s.Store.Webhooks.SaveDeliveries(context.WithoutCancel(ctx), list); err != nil {
		return err
	}
	s.measures.done(list)
	return nil
}

// outcome is the result of an attempt.
type outcome struct {
	status int           // HTTP status; 0 without an answer
	fault  string        // kind of the error; empty if it was delivered
	retry  time.Duration // how long the receiver wants to be left alone
	took   time.Duration
}

// post sends a message once. Only the receiver's status is stored: the rest of the answer could
// show internal data to the owner of the webhook.
func (s *Service) post(ctx context.Context, address string, header http.Header, body string) outcome {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, outbound.AttemptTimeout)
	defer cancel()
	status, retry, err := s.Targets.Post(ctx, s.clients, address, header, body)
	out := outcome{status: status, took: time.Since(began)}
	switch {
	case err != nil:
		out.fault = outbound.FaultOf(err)
	case status == http.StatusGone:
		out.fault = "gone"
	case status >= 300 && status < 400:
		out.fault = "redirect"
	case status < 200 || status > 299:
		out.fault = "status"
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			out.retry = retry
		}
	}
	return out
}
