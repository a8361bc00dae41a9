package subscription

import (
	"context"
	"errors"
	"math"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/format/headline"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/channel"
	"github.com/hazardd/hazardd/internal/tell/message"
)

// maxRows is how many notices one message can include.
const maxRows = 1000

// plan decides what is sent to a mailbox now, and what becomes of all else that waits for it. bursts
// is what was sent recently.
func (s *Service) plan(ctx context.Context, box store.Mailbox, bursts map[burstKey]burst) (*plan, error) {
	p, now := &plan{box: box, burst: burstKey{Mailbox: box}}, hazard.At(s.Now())
	rows, err := s.Store.Notices.Waiting(ctx, box, maxRows)
	if err != nil || len(rows) == 0 {
		return p, err
	}
	row, err := s.Store.Subscriptions.Get(ctx, box.Subscription)
	if errors.Is(err, hazard.ErrNotFound) {
		return p, nil // its notices go with it
	}
	if err != nil {
		return nil, err
	}
	sub, err := read(&row)
	if err != nil {
		return nil, err
	}
	if c := sub.channel(box.Channel); c != nil && s.ofPerson(c) {
		p.burst = burstKey{stamp: c.Stamp} // of all subscriptions with this address
	}
	r := &recipient{box: box, sub: sub, ownerActive: true, counting: s.Counting(), storm: s.Storm, burst: bursts[p.burst]}
	if sub.Owner != "" {
		_, _, r.ownerActive = s.Standing(sub.Owner)
	}
	if why := r.muted(rows[0]); why != "" {
		for _, n := range rows {
			if err := p.silence(n, why, now); err != nil {
				return nil, err
			}
		}
		return p, nil
	}
	if sub.addresses, err = s.Key.open(sub.ID, sub.Sealed); err != nil {
		return nil, err
	}
	var list []facts
	for _, n := range p.needed(rows, now) {
		f, err := s.facts(ctx, sub, n, now)
		if f.damaged = err != nil && s.Store.Quarantine.Telling(n.Change, err); err != nil && !f.damaged {
			return nil, err
		}
		list = append(list, f)
	}
	if len(list) > 0 {
		p.decide(r, list, now)
	}
	if p.rows != nil {
		c := sub.channel(box.Channel)
		p.to = channel.Address{Kind: c.Kind, To: sub.addresses[c.ID], Template: c.Template}
		p.message = s.compose(sub, c, p.deliveries, p.more, p.kind, p.id, now)
		if p.kind == message.Drafts {
			p.message.Drafts, p.message.More = list[0].drafts, list[0].more
			for _, f := range list {
				if f.row.HazardID < 0 {
					p.message.Drafts, p.message.More = f.drafts, f.more
				}
			}
		}
	}
	return p, nil
}

// facts reads what is known of a waiting notice. With an error, the row and what a message says that may have arrived are set.
func (s *Service) facts(ctx context.Context, sub *subscription, n store.Notice, now hazard.Instant) (f facts, err error) {
	f.row = n
	sending := n.State == store.NoticeSending
	switch n.HazardID {
	case 0:
		return f, nil
	case store.DraftsNotice:
		f.drafts, f.more, err = s.drafts(ctx, sub.Owner, now)
		return f, err
	case store.OutcomesNotice:
		f.drafts, f.more, err = s.outcomes(ctx, sub.Owner, n.Created, now)
		return f, err
	}
	if sending {
		last, err := decodeMessage(n.Said)
		if err != nil {
			return f, err
		}
		f.last = last
	}
	h, err := s.Store.Hazards.Get(ctx, n.HazardID)
	if !sending && errors.Is(err, hazard.ErrNotFound) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	whole, err := s.wholeOf(ctx, h)
	if err != nil {
		return f, err
	}
	whole = whole.ExpireAt(now)
	if f.hazard = h.ExpireAt(now); h.ID == whole.ID {
		f.hazard = whole
	} else if whole.Status != hazard.Active { // it is over with that one
		f.hazard = new(*f.hazard)
		f.hazard.Reason, f.hazard.Note, f.hazard.Successor, f.hazard.Severity = whole.Reason, whole.Note, uuid.Nil, whole.Severity
	}
	f.part = h.ID != whole.ID && whole.Status == hazard.Active
	if sending {
		f.then, err = s.Store.Log.HazardAsOf(ctx, n.HazardID, n.Change)
	} else {
		family, bad := s.familyOf(ctx, whole)
		if bad != nil {
			return f, bad
		}
		f.talk, err = s.talk(ctx, store.Mailbox{Subscription: n.Subscription, Channel: n.Channel}, family)
	}
	if err == nil {
		f.near, err = s.nearness(ctx, sub, f.hazard)
	}
	if err == nil {
		f.near.around, err = s.headlines.Around(ctx, f.hazard)
	}
	return f, err
}

// nearness is where a hazard is, seen from the places of a subscription.
type nearness struct {
	inside   bool // it reaches one of them
	place    string
	distance *float64 // km
	around   *headline.Around
	anywhere bool // the subscription names no place
}

// nearness returns how near a hazard comes to the places of a subscription.
func (s *Service) nearness(ctx context.Context, sub *subscription, h *hazard.Hazard) (near nearness, err error) {
	if sub.Where == nil { // or one hazard is followed, wherever it is
		near.inside, near.anywhere = true, true
		return near, nil
	}
	shapes, err := s.Store.Hazards.Shapes(ctx, possibly.Refs(h))
	if err != nil {
		return near, err
	}
	near.inside = len(shapes) < len(possibly.Refs(h)) // a damaged area proves nobody to be outside
	shapes = possibly.Places(h, shapes)
	both := make([]geo.Shape, len(shapes))
	for i, x := range shapes {
		both[i] = x.BothSides()
	}
	if len(sub.Where.Points) > 0 {
		reach, best := geo.NewReach(shapes...), math.Inf(1)
		for _, p := range sub.Where.Points {
			// Float32, as in the index: both must decide the same.
			metres, far := reach.Distance(p.Lon, p.Lat, float64(float32(p.Radius*1000)))
			if !far && metres < best {
				best, near.inside, near.place = metres, true, p.Name
				near.distance = new(math.Round(metres/100) / 10)
			}
		}
	}
	if !near.inside && len(sub.Where.Areas) > 0 {
		shape, err := geo.ReadStored(string(sub.Where.Areas))
		if err != nil {
			return near, err
		}
		near.inside = (&area{shape: shape}).meets(both)
	}
	if a := sub.Where.Assets; a != nil && !near.inside && s.mayKnow(sub.Owner, a.Organization) {
		found, err := s.nearest(ctx, shapes, map[string]float64{a.Organization: a.Within})
		if err != nil {
			return near, err
		}
		if at, ok := found[a.Organization]; ok {
			near.inside, near.place, near.distance = true, at.name, new(math.Round(at.metres/100)/10)
		}
	}
	for _, code := range sub.Where.Regions {
		if near.inside {
			break
		}
		if shape, margin, ok := s.Region(code); ok && (&area{shape: shape, margin: margin}).meets(both) {
			near.inside, near.place = true, code
		}
	}
	return near, nil
}

// item returns a hazard for a message.
func (n *nearness) item(h *hazard.Hazard) message.Item {
	i := message.Item{Hazard: *h, Around: n.around, Anywhere: n.anywhere, Place: n.place, DistanceKM: n.distance}
	if e := h.Exposed(); e != nil && e.People != nil {
		i.People = new(e.People.People)
	}
	return i
}
