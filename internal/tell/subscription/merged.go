package subscription

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// A reader who was told of a hazard that becomes part of another one goes on in the same conversation:
// the record of what was sent moves to the other one. A reader who was told of both hears of the end of
// both. If the merge is undone, the record moves back, so that each hazard is compared with what was
// said of it last, and nobody counts as told who was not.

// merged moves the records of sent messages from a merged hazard to its successor, and returns that;
// nil if there is none.
func (s *Service) merged(ctx context.Context, h *hazard.Hazard) (*hazard.Hazard, error) {
	into, err := s.Store.Hazards.ByUUID(ctx, h.Successor)
	if errors.Is(err, hazard.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	told, err := s.Store.Notices.ToldOf(ctx, h.ID)
	if err != nil || len(told) == 0 {
		return into, err
	}
	there, err := s.toldOf(ctx, into.ID)
	if err != nil {
		return nil, err
	}
	var list []store.MovedTold
	for _, t := range told {
		last, err := decodeMessage(t.Said)
		if err != nil {
			return nil, err
		}
		parts := append(slices.Clone(last.Merged), h.ID)
		if known, ok := there[store.Mailbox{Subscription: t.Subscription, Channel: t.Channel}]; ok {
			if last, err = decodeMessage(known.Said); err != nil {
				return nil, err
			}
			t = known
		}
		before := len(last.Merged)
		for _, id := range parts {
			if !slices.Contains(last.Merged, id) {
				last.Merged = append(last.Merged, id)
			}
		}
		if len(last.Merged) > before {
			t.Said = last.encode()
			list = append(list, store.MovedTold{Told: t, Into: into.ID})
		}
	}
	return into, s.Store.Notices.MoveTold(ctx, list)
}

// parted moves back what merged has moved from h, which is no longer part of the hazard into, and returns
// that hazard, and what it is part of in turn.
func (s *Service) parted(ctx context.Context, h *hazard.Hazard, into uuid.UUID) (others []*hazard.Hazard, err error) {
	own, err := s.toldOf(ctx, h.ID)
	if err != nil {
		return nil, err
	}
	var list []store.MovedTold
	var left []int64 // other parts of which the reader was told, whose conversation goes on in that of the whole
	for into != uuid.Nil {
		other, err := s.Store.Hazards.ByUUID(ctx, into)
		if errors.Is(err, hazard.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		told, err := s.Store.Notices.ToldOf(ctx, other.ID)
		if err != nil {
			return nil, err
		}
		for _, t := range told {
			moved, rest, err := s.partedIn(ctx, t, h.ID, own)
			if err != nil {
				return nil, err
			}
			list, left = append(list, moved...), append(left, rest...)
		}
		others, into = append(others, other), other.Successor
	}
	if err := s.Store.Notices.MoveTold(ctx, list); err != nil {
		return nil, err
	}
	for _, id := range left {
		part, err := s.Store.Hazards.Get(ctx, id)
		for err == nil && part != nil && part.Reason == hazard.EndMerged {
			part, err = s.merged(ctx, part)
		}
		if err != nil && !errors.Is(err, hazard.ErrNotFound) {
			return nil, err
		}
	}
	return others, nil
}

// joined returns the records of a mailbox that was sent a message about a hazard while its record of that
// may have changed. What is part of the hazard is as in the record. If that was of a part, whose
// conversation is another one, the reader was told of both: the record goes back to the part. If it is
// gone, it went with its conversation to a part that left: the hazard begins its own.
func joined(before *store.Told, told store.Told) ([]store.Told, error) {
	last, err := decodeMessage(told.Said)
	switch {
	case err != nil:
		return nil, err
	case before == nil && last.Joined:
		return nil, nil
	case before == nil:
		return []store.Told{told}, nil
	}
	known, err := decodeMessage(before.Said)
	if err != nil {
		return nil, err
	}
	last.Merged = known.Merged
	told.Said = last.encode()
	list := []store.Told{told}
	for n := len(known.Merged) - 1; n >= 0 && known.Thread != last.Thread; n-- { // those that came later have their own
		back := *before
		back.HazardID, known.Merged = known.Merged[n], known.Merged[:n]
		back.Said = known.encode()
		list = append(list, back)
	}
	return list, nil
}

// mergedMeanwhile applies the merges of hazards to records that were just made of them, and makes what
// they are part of now due.
func (s *Service) mergedMeanwhile(ctx context.Context, told []store.Told, lane string, now hazard.Instant) {
	for _, t := range told {
		h, err := s.Store.Hazards.Get(ctx, t.HazardID)
		if err == nil && h.Reason == hazard.EndMerged {
			var into *hazard.Hazard
			if into, err = s.merged(ctx, h); err == nil && into != nil {
				err = s.Store.Notices.Add(ctx, []store.Notice{{Subscription: t.Subscription, Channel: t.Channel, Lane: lane, HazardID: into.ID, Change: h.Version, Since: h.LastUpdate, Created: now}}, 0)
			}
		}
		if err != nil {
			s.Logger.Warn("cannot apply a merge to the record of sent messages", "hazard", t.HazardID, "error", err)
		}
	}
}

// partedIn returns how a record of what was sent about another hazard changes when h is no longer part of
// that one, and which parts of that one are then in no record. own are the records of h.
func (s *Service) partedIn(ctx context.Context, t store.Told, h int64, own map[store.Mailbox]store.Told) (moved []store.MovedTold, left []int64, err error) {
	last, err := decodeMessage(t.Said)
	if err != nil {
		return nil, nil, err
	}
	i, box := slices.Index(last.Merged, h), store.Mailbox{Subscription: t.Subscription, Channel: t.Channel}
	if i < 0 {
		return nil, nil, nil
	}
	if _, known := own[box]; known {
		last.Merged = slices.Delete(last.Merged, i, i+1)
		t.Said = last.encode()
		return []store.MovedTold{{Told: t, Into: t.HazardID}}, nil, nil
	}
	parts, left := last.Merged[:i], last.Merged[i+1:]
	rows, err := s.Store.Notices.Waiting(ctx, box, maxRows)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range rows { // what is being sent comes before all that is decided now
		if n.State == store.NoticeSending && n.HazardID == t.HazardID {
			said, err := decodeMessage(n.Said)
			if err != nil {
				return nil, nil, err
			}
			if said.Thread == last.Thread { // in the conversation of the part; otherwise it is of the whole alone
				last = said
			}
		}
	}
	last.Merged = parts
	t.Said = last.encode()
	return []store.MovedTold{{Told: t, Into: h}}, left, nil
}

func (s *Service) toldOf(ctx context.Context, id int64) (map[store.Mailbox]store.Told, error) {
	list, err := s.Store.Notices.ToldOf(ctx, id)
	told := make(map[store.Mailbox]store.Told, len(list))
	for _, t := range list {
		told[store.Mailbox{Subscription: t.Subscription, Channel: t.Channel}] = t
	}
	return told, err
}

// listed returns what a reader was told of a part whose record has moved to the whole, if only among
// others: nothing that is said of the whole reaches them as said of the part. Otherwise it returns nil.
func (s *Service) listed(ctx context.Context, sub *subscription, n store.Notice, part, whole *hazard.Hazard) (*lastMessage, error) {
	told, ok, err := s.Store.Notices.Told(ctx, store.Mailbox{Subscription: n.Subscription, Channel: n.Channel}, whole.ID)
	if err != nil || !ok {
		return nil, err
	}
	last, err := decodeMessage(told.Said)
	if err != nil || !last.Listed || last.Thread != threadOf(sub.ID, part.UUID) {
		return nil, err
	}
	last.Merged = last.Merged[:max(0, slices.Index(last.Merged, part.ID))]
	return last, nil
}

// overWith returns the hazard that a merged one is part of now, if that is over; else nil.
func (s *Service) overWith(ctx context.Context, h *hazard.Hazard, now hazard.Instant) (*hazard.Hazard, error) {
	for h.Reason == hazard.EndMerged {
		into, err := s.Store.Hazards.ByUUID(ctx, h.Successor)
		if errors.Is(err, hazard.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		h = into.ExpireAt(now)
	}
	if h.Status == hazard.Active {
		return nil, nil
	}
	return h, nil
}
