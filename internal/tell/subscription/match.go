package subscription

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/store/lease"
	"github.com/hazardd/hazardd/internal/tell"
)

const (
	// lanesEvery is how soon notices added by other nodes are found, and the end of the last subscription.
	lanesEvery = 3 * time.Second
	// chunk is how many notices are written at once, because other writers wait.
	chunk = 500
	// skipped is how many changes nobody is notified of before that is recorded.
	skipped = 1000
)

// Run notifies subscribers until ctx ends, while there are subscriptions and no other process does
// it. It returns when every goroutine that it started has ended; its error is always nil.
func (s *Service) Run(ctx context.Context) error {
	if s.Key == nil {
		return nil
	}
	r := tell.Runner{Name: "notices", Store: s.Store.Leases, Log: s.Tail, Now: s.Now, Logger: s.Logger, Any: s.anybody,
		LostLease: "lost the lease to notify subscribers", NotRunning: "cannot notify subscribers", Failed: "cannot notify subscribers of changes",
		Open: func(_ context.Context, l *lease.Lease) tell.Queue {
			s.leading.Store(l)
			return &queue{Service: s, lease: l, noticed: -1, noted: s.Now(), lanes: map[string]*tell.Lane{}}
		}}
	return r.Run(ctx)
}

// anybody reports whether there are subscriptions. If not, it records that nobody has to be notified
// of the changes so far, so that they are not read once there is a subscriber.
func (s *Service) anybody(ctx context.Context) (bool, error) {
	any, err := s.Store.Subscriptions.Any(ctx)
	if err != nil || any {
		return any, err
	}
	last, err := s.Store.Log.Last(ctx)
	if err != nil {
		return false, err
	}
	noticed, err := s.Store.Notices.Noticed(ctx)
	if err != nil || last-noticed < skipped {
		return false, err
	}
	return false, s.Store.Notices.Add(ctx, nil, last)
}

// queue creates notices from changes, and has a lane for each server.
type queue struct {
	*Service
	lease   tell.Lease
	noticed int64 // every change up to it has become notices; -1 before it is read
	written int64 // noticed, as it is stored
	noted   time.Time
	looked  time.Time // when the store's lanes were read
	lanes   map[string]*tell.Lane
}

// Close stops all lanes.
func (q *queue) Close() {
	for _, l := range q.lanes {
		l.Stop()
	}
	q.leading.Store(nil)
}

// Reset makes Refresh read the position in the log again.
func (q *queue) Reset() { q.noticed = -1 }

// Purge removes finished notices from before a moment, and subscriptions that were not confirmed.
func (q *queue) Purge(ctx context.Context, before hazard.Instant) error {
	if err := q.Store.Notices.Purge(ctx, before); err != nil {
		return err
	}
	return errors.Join(q.forget(ctx, hazard.At(q.Now())), q.unfollow(ctx, hazard.At(q.Now())))
}

// Refresh finds notices that other nodes have added, such as confirmations. It returns the last
// change that has become notices.
func (q *queue) Refresh(ctx context.Context) (from int64, any bool, err error) {
	if q.noticed < 0 {
		if q.noticed, err = q.Store.Notices.Noticed(ctx); err != nil {
			return 0, false, err
		}
		q.written = q.noticed
	}
	if now := q.Now(); now.Sub(q.looked) >= lanesEvery {
		if any, err := q.Store.Subscriptions.Any(ctx); err != nil || !any {
			return 0, false, err
		}
		q.looked = now
		lanes, err := q.Store.Notices.Lanes(ctx)
		if err != nil {
			return 0, false, err
		}
		for _, name := range lanes {
			q.wake(ctx, name)
		}
		if err := q.tellOfDrafts(ctx); err != nil {
			return 0, false, err
		}
	}
	return q.noticed, true, nil
}

// wake makes a lane look for notices, and starts it if necessary.
func (q *queue) wake(ctx context.Context, name string) {
	l := q.lanes[name]
	if l == nil {
		s := &sender{Service: q.Service, name: name, lease: q.lease, bursts: map[burstKey]burst{}, failing: map[store.Mailbox]string{}}
		l = tell.StartLane(ctx, s, parallel, &backoff, q.Now)
		q.lanes[name] = l
	}
	l.Wake()
}

// Add creates the notices of changes.
func (q *queue) Add(ctx context.Context, changes []*follow.Entry, upTo int64) error {
	if len(changes) > 0 {
		if err := q.sync(ctx); err != nil { // a change concerns everybody who subscribed before it
			return err
		}
	}
	var list []store.Notice
	for _, c := range changes {
		more, err := q.notices(ctx, c)
		if err != nil && !q.Store.Quarantine.Telling(c.Number, err) { // nobody else waits for what is damaged
			return err
		}
		list = append(list, more...)
	}
	upTo = max(upTo, q.noticed)
	if err := q.write(ctx, list, upTo); err != nil {
		return err
	}
	q.noticed = upTo
	return nil
}

// write stores notices, and the change up to which they are complete.
func (q *queue) write(ctx context.Context, list []store.Notice, upTo int64) error {
	if len(list) == 0 && (upTo == q.written || q.Now().Sub(q.noted) < tell.NoteEvery) {
		return nil
	}
	for first := true; first || len(list) > 0; first = false {
		n, noticed := min(chunk, len(list)), upTo
		if n < len(list) {
			noticed = 0 // the rest would be lost with this process
		}
		if !q.lease.Valid() {
			return tell.ErrNoLease
		}
		if err := q.Store.Notices.Add(ctx, list[:n], noticed); err != nil {
			return err
		}
		for _, x := range list[:n] {
			q.measures.queued.WithLabelValues(kindOf(x.Lane)).Inc()
			q.wake(ctx, x.Lane)
		}
		list = list[n:]
	}
	q.written, q.noted = upTo, q.Now()
	return nil
}

// notices returns the notices of a change.
func (q *queue) notices(ctx context.Context, e *follow.Entry) ([]store.Notice, error) {
	c, now := &e.Change, hazard.At(q.Now())
	if c.Hazard == nil || c.At < now.Add(-tell.MaxAge) {
		return nil, nil
	}
	before, _, err := e.States(ctx)
	if err != nil && !q.Store.Quarantine.Telling(c.Number, err) {
		return nil, err
	}
	whole, err := q.wholeOf(ctx, c.Hazard)
	if err != nil {
		return nil, err
	}
	concerns := []*hazard.Hazard{whole}
	was := before != nil && before.Reason == hazard.EndMerged
	if was { // who was told of what it is no longer part of is asked about both
		other, err := q.wholeOf(ctx, before)
		if err != nil {
			return nil, err
		}
		concerns = append(concerns, other)
	}
	var list, waiting []store.Notice
	audiences := make([]audience, len(concerns))
	for i, h := range concerns {
		if audiences[i], err = q.audience(ctx, h, now); err != nil {
			return nil, err
		}
		waiting = append(waiting, audiences[i].waiting...)
	}
	for i, h := range concerns {
		about := *c
		if h.ID != c.HazardID {
			about.Kind, about.HazardID, about.Hazard = hazard.HazardUpdated, h.ID, h
		}
		audiences[i].waiting = waiting // what is being sent may be of either
		list = append(list, q.concerned(&about, audiences[i], now)...)
	}
	return list, nil
}

// concerned returns the notices of a change to an audience.
func (q *queue) concerned(c *hazard.Change, a audience, now hazard.Instant) []store.Notice {
	began, counting := time.Now(), q.Counting()
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.index.notices(c, a, counting, now)
	q.measures.matched.Observe(time.Since(began).Seconds())
	return list
}

// audience is what decides who is notified of a changed hazard.
type audience struct {
	waiting []store.Notice // about the hazard and its parts, not sent yet
	told    map[mailbox]*talk
	// Where an active hazard is, and the assets near to it by organization.
	shapes []geo.Shape
	assets map[string]nearAsset
}

// mailbox is a store.Mailbox, parsed.
type mailbox struct {
	subscription uuid.UUID
	channel      string
}

// possibly finds a hazard that is somewhere in a region or country at all places there: nobody is left
// out, and the message says that it is only possible.
var possibly = query.Filter{Possible: true}

// audience reads what decides who is notified of a changed hazard.
func (s *Service) audience(ctx context.Context, h *hazard.Hazard, now hazard.Instant) (a audience, err error) {
	f, err := s.familyOf(ctx, h.ExpireAt(now))
	if err != nil {
		return a, err
	}
	a.told = map[mailbox]*talk{}
	for id := range f.ids {
		waiting, err := s.Store.Notices.WaitingOfHazard(ctx, id)
		if err != nil {
			return a, err
		}
		told, err := s.Store.Notices.ToldOf(ctx, id)
		if err != nil {
			return a, err
		}
		a.waiting = append(a.waiting, waiting...)
		for _, t := range told {
			last, err := decodeMessage(t.Said)
			if err != nil {
				return a, err
			}
			subscription, err := uuid.Parse(t.Subscription)
			if err != nil {
				return a, err
			}
			box := mailbox{subscription, t.Channel}
			if a.told[box] == nil {
				a.told[box] = &talk{family: f, subscription: t.Subscription, said: map[int64]*lastMessage{}}
			}
			a.told[box].said[id] = last
		}
	}
	if !h.ActiveAt(now) {
		return a, nil
	}
	shapes, err := s.Store.Hazards.Shapes(ctx, possibly.Refs(h))
	if err != nil {
		return a, fmt.Errorf("areas of hazard %d: %w", h.ID, err)
	}
	a.shapes = possibly.Places(h, shapes)
	if a.assets, err = s.assetsNear(ctx, a.shapes); err != nil {
		return a, fmt.Errorf("assets near hazard %d: %w", h.ID, err)
	}
	return a, nil
}

// notices decides who is notified of a change of a hazard: new subscribers whom it concerns, and
// everybody for whom the last message is no longer true.
func (ix *index) notices(c *hazard.Change, a audience, counting bool, now hazard.Instant) (list []store.Notice) {
	h := c.Hazard
	// What waits is sent as of this change. A message that is being sent may describe the hazard as
	// it was before: the change is sent next.
	for _, n := range a.waiting {
		n.Change, n.Since, n.Created = c.Number, c.At, now
		list = append(list, n)
		if n.HazardID != h.ID { // as part of this one, or once part of the same one
			n.HazardID = h.ID
			list = append(list, n)
		}
	}
	active := h.ActiveAt(now)
	add := func(s *slot, r route, hazardID int64) {
		list = append(list, store.Notice{Subscription: s.id.String(), Channel: r.id, Lane: r.lane, HazardID: hazardID, Change: c.Number, Since: c.At, Created: now})
	}
	reached := map[uuid.UUID]bool{}
	if active {
		wanted := map[*criteria]bool{}
		ix.near(h.UUID, a.shapes, a.assets, func(s *slot) {
			if len(a.told) > 0 {
				reached[s.id] = true
			}
			wants, ok := wanted[s.criteria]
			if !ok {
				wants = s.criteria.match(h, counting)
				wanted[s.criteria] = wants
			}
			if !wants || s.since >= c.Number {
				return
			}
			for _, r := range s.channels.routes {
				if a.told[mailbox{s.id, r.id}] == nil {
					add(s, r, h.ID)
				}
			}
		})
	}
	for n := range ix.hazards[h.UUID] { // they are told of the end, if of nothing before
		for _, r := range ix.slots[n].channels.routes {
			if !active && a.told[mailbox{ix.slots[n].id, r.id}] == nil {
				add(&ix.slots[n], r, h.ID)
			}
		}
	}
	for box, t := range a.told {
		n, ok := ix.byID[box.subscription]
		if !ok {
			continue
		}
		s := &ix.slots[n]
		inside := reached[box.subscription] || s.hazard != uuid.Nil
		for _, r := range s.channels.routes {
			for id := range t.ids {
				if r.id == box.channel && t.due(id, inside, now) {
					add(s, r, id)
				}
			}
		}
	}
	return list
}

// Reach returns how many subscriptions would be notified of a new hazard with these areas.
func (s *Service) Reach(ctx context.Context, h *hazard.Hazard, areas []geo.Shape) (n int, err error) {
	if s.Key == nil {
		return 0, nil
	}
	if err := s.sync(ctx); err != nil {
		return 0, err
	}
	shapes := query.Footprint(h, areas)
	assets, err := s.assetsNear(ctx, shapes)
	if err != nil {
		return 0, err
	}
	counting := s.Counting()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index.near(h.UUID, shapes, assets, func(slot *slot) {
		if slot.criteria.match(h, counting) {
			n++
		}
	})
	return n, nil
}
