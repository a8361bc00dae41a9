package subscription

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/store/lease"
)

// The intervals of notifying.
const (
	leaseName = "notices"
	lookEvery = time.Second
	// lanesEvery is how soon notices added by other nodes are found.
	lanesEvery = 3 * time.Second
	// noteEvery is how often the position in the log is stored while there is nothing to send.
	noteEvery = 10 * time.Second
	// missed is the maximum age of a change that still creates notices.
	missed = 3 * 24 * time.Hour
	// keep is how long finished notices are stored.
	keep       = 30 * 24 * time.Hour
	purgeEvery = time.Hour
	// chunk is how many notices are written at once, because other writers wait.
	chunk = 500
)

// Run notifies subscribers until ctx ends, while there are subscriptions and no other process does
// it. It returns when every goroutine that it started has ended; its error is always nil.
func (s *Service) Run(ctx context.Context) error {
	if s.Key == nil {
		return nil
	}
	holder, warned := lease.Holder(), false
	for ctx.Err() == nil {
		any, err := s.Store.AnySubscription(ctx)
		if err == nil && any {
			lost := func(err error) { s.Logger.Warn("lost the lease to notify subscribers", "error", err) }
			_, err = lease.Hold(ctx, s.Store, leaseName, holder, lost, s.lead)
		} else if err == nil {
			err = s.skip(ctx)
		}
		if err != nil && !warned && ctx.Err() == nil {
			s.Logger.Warn("cannot notify subscribers", "error", err)
		}
		warned = err != nil
		clock.Sleep(ctx, lease.Try)
	}
	return nil
}

// skip notes that nobody is to be told of what has happened, so that it is not read once there is a subscriber.
func (s *Service) skip(ctx context.Context) error {
	last, err := s.Store.Last(ctx)
	if err != nil {
		return err
	}
	noticed, err := s.Store.Noticed(ctx)
	if err != nil || last-noticed < skipped {
		return err
	}
	return s.Store.AddNotices(ctx, nil, last)
}

// skipped is how many changes nobody is to be told of before that is noted.
const skipped = 1000

// teller creates notices from changes, and has a sender per lane. It belongs to one goroutine.
type teller struct {
	*Service
	lease   right
	noticed int64 // every change up to it has become notices
	written int64 // noticed, as the store knows it
	noted   time.Time
	purged  time.Time
	looked  time.Time // at the lanes of the store
	lanes   map[string]*lane
}

// right is the right to tell, which may be lost.
type right interface{ Valid() bool }

// errNoLease means that another process may be sending by now.
var errNoLease = errors.New("the lease is over")

// lead notifies subscribers until ctx ends or there are no more subscriptions.
func (s *Service) lead(ctx context.Context, l *lease.Lease) {
	s.leading.Store(l)
	defer s.leading.Store(nil)
	t := &teller{Service: s, lease: l, noticed: -1, noted: s.Now(), lanes: map[string]*lane{}}
	defer func() {
		for _, l := range t.lanes {
			l.stop()
		}
	}()
	for ctx.Err() == nil {
		wake, err := t.tell(ctx)
		if err == nil && t.Now().Sub(t.looked) >= lanesEvery {
			t.looked = t.Now()
			err = t.look(ctx)
		}
		if err == nil && t.Now().Sub(t.purged) > purgeEvery {
			t.purged = t.Now()
			now := hazard.At(t.Now())
			if err = t.Store.PurgeNotices(ctx, now.Add(-keep)); err == nil {
				err = s.forget(ctx, now)
			}
		}
		if err != nil {
			if ctx.Err() == nil {
				s.Logger.Warn("cannot notify subscribers of changes", "error", err)
			}
			clock.Sleep(ctx, lookEvery)
			continue
		}
		if any, err := s.Store.AnySubscription(ctx); err == nil && !any {
			return
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

// look sees to it that every lane in which something waits has its sender: other nodes add notices too, of confirmations.
func (t *teller) look(ctx context.Context) error {
	lanes, err := t.Store.NoticeLanes(ctx)
	if err != nil {
		return err
	}
	for _, name := range lanes {
		if l := t.lanes[name]; l != nil {
			l.alarm()
		} else {
			t.lanes[name] = t.start(ctx, name)
		}
	}
	return nil
}

// tell creates notices for new changes. wake is closed when there may be more.
func (t *teller) tell(ctx context.Context) (wake <-chan struct{}, err error) {
	if t.noticed < 0 {
		if t.noticed, err = t.Store.Noticed(ctx); err != nil {
			return nil, err
		}
		t.written = t.noticed
	}
	for {
		changes, last, wake, err := t.Tail.After(ctx, t.noticed)
		if _, ok := errors.AsType[*store.ForkedError](err); ok { // what was told last was told of a history that is void; the store knows how far this one is told
			t.noticed = -1
		}
		if err != nil {
			return nil, err
		}
		if len(changes) > 0 {
			if err := t.sync(ctx); err != nil { // who subscribed before the change is told of it
				return nil, err
			}
		}
		var list []store.Notice
		for _, c := range changes {
			if list, err = t.notices(ctx, c, list); err != nil {
				return nil, err
			}
		}
		last = max(last, t.noticed)
		if err := t.add(ctx, list, last); err != nil {
			return nil, err
		}
		t.noticed = last
		if wake != nil {
			return wake, nil
		}
	}
}

// add writes notices, and up to which change that is complete.
func (t *teller) add(ctx context.Context, list []store.Notice, last int64) error {
	if len(list) == 0 && (last == t.written || t.Now().Sub(t.noted) < noteEvery) {
		return nil
	}
	for first := true; first || len(list) > 0; first = false {
		n := min(chunk, len(list))
		noticed := last
		if n < len(list) {
			noticed = 0 // the rest would be lost with this process
		}
		if !t.lease.Valid() {
			return errNoLease
		}
		if err := t.Store.AddNotices(ctx, list[:n], noticed); err != nil {
			return err
		}
		for _, x := range list[:n] {
			t.measures.queued.WithLabelValues(kindOf(x.Lane)).Inc()
			l := t.lanes[x.Lane]
			if l == nil {
				l = t.start(ctx, x.Lane)
				t.lanes[x.Lane] = l
			}
			l.alarm()
		}
		list = list[n:]
	}
	t.written, t.noted = last, t.Now()
	return nil
}

// notices appends the notices of a change.
func (t *teller) notices(ctx context.Context, c *follow.Entry, list []store.Notice) ([]store.Notice, error) {
	now := hazard.At(t.Now())
	if c.Hazard == nil || c.At < now.Add(-missed) {
		return list, nil
	}
	h := c.Hazard
	if h.Reason == hazard.EndMerged {
		return list, t.merged(ctx, h)
	}
	told, err := t.Store.ToldOf(ctx, h.ID)
	if err != nil {
		return nil, err
	}
	// What is being told says what was: the change is told next. What waits is told as of the change.
	waiting, err := t.Store.WaitingOfHazard(ctx, h.ID)
	if err != nil {
		return nil, err
	}
	for _, n := range waiting {
		n.Change, n.Since, n.Created = c.Number, c.At, now
		list = append(list, n)
	}
	active, shown := h.ActiveAt(now), h.ExpireAt(now)
	if !active && len(told) == 0 {
		return list, nil // what has ended is not announced
	}
	var shapes []geo.Shape
	var assets map[string]nearAsset
	if active {
		if shapes, err = t.Store.Shapes(ctx, h.Areas); err != nil {
			return nil, fmt.Errorf("areas of hazard %d: %w", h.ID, err)
		}
		shapes = query.Footprint(h, shapes)
		if assets, err = t.assetsNear(ctx, shapes); err != nil {
			return nil, fmt.Errorf("assets near hazard %d: %w", h.ID, err)
		}
	}
	began := time.Now()
	add := func(s *slot, w way) {
		list = append(list, store.Notice{Subscription: s.id.String(), Channel: w.id, Lane: w.lane, HazardID: h.ID, Change: c.Number, Since: c.At, Created: now})
	}
	type mailbox struct {
		id      uuid.UUID
		channel string
	}
	known := make(map[mailbox]*said, len(told))
	for _, o := range told {
		said, err := decodeSaid(o.Said)
		if err != nil {
			return nil, err
		}
		id, err := uuid.Parse(o.Subscription)
		if err != nil {
			return nil, err
		}
		known[mailbox{id, o.Channel}] = &said
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	reached := map[uuid.UUID]bool{}
	if active {
		wanted := map[*what]bool{}
		t.index.near(shapes, assets, func(s *slot) {
			if len(known) > 0 {
				reached[s.id] = true
			}
			wants, ok := wanted[s.what]
			if !ok {
				wants = s.what.wants(h, t.Counting)
				wanted[s.what] = wants
			}
			if !wants || s.since >= c.Number {
				return
			}
			for _, w := range s.post.ways {
				if known[mailbox{s.id, w.id}] == nil {
					add(s, w)
				}
			}
		})
	}
	for box, said := range known {
		n, ok := t.index.byID[box.id]
		if !ok {
			continue
		}
		s := &t.index.slots[n]
		for _, w := range s.post.ways {
			if w.id == box.channel && !said.holds(shown, reached[box.id], now) {
				add(s, w)
			}
		}
	}
	t.measures.matched.Observe(time.Since(began).Seconds())
	return list, nil
}

// merged transfers the record of sent messages from a merged hazard to its successor.
func (t *teller) merged(ctx context.Context, h *hazard.Hazard) error {
	into, err := t.Store.HazardByUUID(ctx, h.Successor)
	if errors.Is(err, hazard.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return t.Store.MergeTold(ctx, h.ID, into.ID)
}
