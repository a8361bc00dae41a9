package subscription

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell"
	"github.com/hazardd/hazardd/internal/tell/channel"
)

// A subscription to one hazard follows it: wherever it is and however severe, until it is over. Its
// first message says what holds now, so that the reader knows that messages arrive. Its last one says
// that the hazard is over, even if there was none before. keptOver later the subscription is removed.

// keptOver is for how long a subscription to one hazard is kept after its end: what has ended may be
// reopened.
const keptOver = 7 * 24 * time.Hour

// The limits of subscriptions to one hazard by people without an account and without email, which
// nobody confirms: from one network in a day, and in a day in all.
const (
	maxFollowsFromNetwork = 50
	maxFollows            = 50_000
)

// follow sets the only hazard that a subscription is about.
func (k *kept) follow(id string, bad *hazard.InvalidError) {
	k.Hazard = uuid.Nil
	if id == "" {
		return
	}
	known, err := uuid.Parse(id)
	if err != nil || known == uuid.Nil {
		bad.Add("hazard", "%.60q is not the uuid of a hazard", id)
		return
	}
	k.Hazard, k.Drills = known, true // who follows a drill has seen that it is one
	if k.Where != nil {
		bad.Add("hazard", "cannot be combined with where: one hazard is followed wherever it is")
	}
}

// followed checks that the hazard of a new subscription exists, is visible to its author and is not
// over, and returns the notices by which its active channels are told what holds now.
func (s *Service) followed(ctx context.Context, who tell.Author, sub *subscription, now hazard.Instant) ([]store.Notice, error) {
	if sub.Hazard == uuid.Nil {
		return nil, nil
	}
	h, err := s.Store.Hazards.ByUUID(ctx, sub.Hazard)
	bad := &hazard.InvalidError{}
	switch {
	case errors.Is(err, hazard.ErrNotFound):
		bad.Add("hazard", "%s is not known", sub.Hazard)
		return nil, bad.Err()
	case err != nil:
		return nil, err
	case !h.ActiveAt(now):
		bad.Add("hazard", "%s is over: there is nothing to follow", sub.Hazard)
		return nil, bad.Err()
	}
	var list []store.Notice
	for _, c := range sub.Channels {
		if c.Status == Active {
			list = append(list, store.Notice{Subscription: sub.ID, Channel: c.ID, Lane: c.Lane, HazardID: h.ID, Change: h.Version, Since: now, Created: now})
		}
	}
	return list, nil
}

// followsWithConsent reports whether a subscription needs no confirmation although nobody owns it: it
// follows one hazard over Web Push alone, which the reader has allowed in the browser that gets it.
func (sub *subscription) followsWithConsent() bool {
	if sub.Hazard == uuid.Nil || len(sub.Channels) == 0 {
		return false
	}
	for _, c := range sub.Channels {
		if c.Kind != channel.WebPush {
			return false
		}
	}
	return true
}

// mayFollow takes the shares of a subscription by somebody without an account and without email.
func (s *Service) mayFollow(ctx context.Context, who tell.Author, now hazard.Instant) error {
	shares := []store.AskShare{
		{Name: "from this network", Key: "follow " + s.Key.hash("network", networkOf(who.Addr)), Limit: maxFollowsFromNetwork},
		{Name: "in all", Key: "follow", Limit: maxFollows},
	}
	full, err := s.Store.Notices.MayAsk(ctx, shares, now.Add(-confirmPeriod), now)
	if err == nil && full != "" {
		err = &hazard.LimitError{Limit: "follows", Kind: hazard.LimitShare, RetryAfter: time.Hour, Detail: "too many hazards were followed in a day: " + full + " (limit follows)"}
	}
	return err
}

// unfollow removes the subscriptions to hazards that have been over for keptOver.
func (s *Service) unfollow(ctx context.Context, now hazard.Instant) error {
	s.mu.Lock()
	followers := map[uuid.UUID][]string{}
	for id, slots := range s.index.hazards {
		for n := range slots {
			followers[id] = append(followers[id], s.index.slots[n].id.String())
		}
	}
	s.mu.Unlock()
	for id, subs := range followers {
		h, err := s.Store.Hazards.ByUUID(ctx, id)
		if err != nil && !errors.Is(err, hazard.ErrNotFound) {
			return err
		}
		if err == nil && (h.ActiveAt(now) || h.ExpireAt(now).End.Add(keptOver) > now) {
			continue
		}
		for _, sub := range subs {
			audit := &auth.Audit{At: now, Action: "subscription.delete", Subject: sub, Detail: "its hazard is over", OK: true}
			if err := s.Store.Subscriptions.Drop(ctx, sub, audit); err != nil && !errors.Is(err, hazard.ErrNotFound) {
				return err
			}
		}
	}
	return nil
}
