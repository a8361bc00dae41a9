package subscription

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// What a mailbox was told is recorded by hazard: what the last message that named it said, and in which
// thread. Only messages change these records. A hazard that becomes part of another one goes on in that: a
// change of the whole is told in the thread of a part that the reader knows. So whenever hazards change,
// merge or part, everybody is asked who was told of one of the family: is what was said last what holds now?

// family is a hazard that is part of no other one, with the hazards that are part of it.
type family struct {
	whole *hazard.Hazard
	ids   map[int64]uuid.UUID // of the whole and its parts
}

// familyOf returns the family whose whole is h.
func (s *Service) familyOf(ctx context.Context, h *hazard.Hazard) (*family, error) {
	f := &family{whole: h, ids: map[int64]uuid.UUID{h.ID: h.UUID}}
	for list := []int64{h.ID}; len(list) > 0; list = list[1:] {
		parts, err := s.Store.Hazards.MergedInto(ctx, list[0])
		if err != nil {
			return nil, err
		}
		for _, id := range parts {
			part, err := s.Store.Hazards.Get(ctx, id)
			switch {
			case store.Broken(err): // it must not silence the others
			case err != nil:
				return nil, err
			case f.ids[id] == uuid.Nil && part.Reason == hazard.EndMerged && part.Successor == f.ids[list[0]]:
				f.ids[id] = part.UUID
				list = append(list, id)
			}
		}
	}
	return f, nil
}

// wholeOf returns the hazard that h is part of now: h itself if it is part of none. Hazards that are parts of
// each other, which no law allows, are damaged.
func (s *Service) wholeOf(ctx context.Context, h *hazard.Hazard) (*hazard.Hazard, error) {
	for seen := map[int64]bool{}; h.Reason == hazard.EndMerged; {
		if seen[h.ID] {
			return nil, &store.DamagedError{What: fmt.Sprintf("what hazard %d is part of", h.ID)}
		}
		seen[h.ID] = true
		into, err := s.Store.Hazards.ByUUID(ctx, h.Successor)
		if errors.Is(err, hazard.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		h = into
	}
	return h, nil
}

// talk is what a mailbox was told of a family.
type talk struct {
	*family
	subscription string
	said         map[int64]*lastMessage // by hazard
}

// begun returns the hazard of the family that a thread began with.
func (t *talk) begun(thread string) (id int64, ok bool) {
	for id, u := range t.ids {
		if threadOf(t.subscription, u) == thread {
			return id, true
		}
	}
	return 0, false
}

// current reports whether what was said of a hazard is the last word of a thread of the family.
func (t *talk) current(id int64) bool {
	begun, ok := t.begun(t.said[id].Thread)
	if !ok {
		return false
	}
	first := t.said[begun]
	return first == nil || cmp.Or(first.Went, begun) == id
}

// stands reports whether what was said of a hazard has arrived, is the last word of its thread, and is true
// of the whole.
func (t *talk) stands(id int64, inside bool, now hazard.Instant) bool {
	last := t.said[id]
	return last.Unsure == "" && t.current(id) && last.holds(t.whole, inside, now)
}

// last returns what a message about a hazard goes on from: what was said of it, or, if the hazard is the
// whole, of a part of it; of several parts, something that stands. of is 0 if there is nothing.
func (t *talk) last(id int64, inside bool, now hazard.Instant) (of int64) {
	if t.said[id] != nil {
		return id
	}
	if id != t.whole.ID || t.whole.Status != hazard.Active {
		return 0 // the parts are over by themselves
	}
	rank := func(id int64) int {
		switch {
		case t.stands(id, inside, now):
			return 0
		case t.said[id].Listed || !t.current(id):
			return 2
		}
		return 1
	}
	for _, id := range slices.Sorted(maps.Keys(t.said)) {
		if of == 0 || rank(id) < rank(of) {
			of = id
		}
	}
	return of
}

// due reports whether a mailbox that was told of a family must hear of one of its hazards.
func (t *talk) due(id int64, inside bool, now hazard.Instant) bool {
	of := t.last(id, inside, now)
	if of == 0 {
		return false
	}
	last, whole := t.said[of], t.said[t.whole.ID]
	_, ours := t.begun(last.Thread)
	switch {
	case t.whole.Status != hazard.Active && last.Over:
		return last.Unsure != "" || id == t.whole.ID && ours && !t.current(id)
	case t.whole.Status != hazard.Active && id != t.whole.ID: // unless the end of the whole is the last word of its thread
		return whole == nil || !ours || whole.Thread != last.Thread || whole.Over && !t.current(t.whole.ID)
	case t.whole.Status != hazard.Active:
		return true
	case id != t.whole.ID:
		return false
	case !inside && !last.Inside && !last.Over && last.Unsure == "": // it went away, and the message said so
		return false
	}
	return !t.stands(of, inside, now)
}

// thread returns the thread in which a hazard is told, and the hazard with which that began; 0 for itself.
func (t *talk) thread(id, of int64) (thread string, begun int64) {
	if of != 0 && !t.said[of].Listed { // a part that was only listed has no conversation that could go on
		if begun, ok := t.begun(t.said[of].Thread); ok && begun != id {
			return t.said[of].Thread, begun
		}
	}
	return threadOf(t.subscription, t.ids[id]), 0
}

// talk returns what a mailbox was told of a family.
func (s *Service) talk(ctx context.Context, box store.Mailbox, f *family) (*talk, error) {
	t := &talk{family: f, subscription: box.Subscription, said: map[int64]*lastMessage{}}
	for id := range f.ids {
		told, known, err := s.Store.Notices.Told(ctx, box, id)
		if err == nil && known {
			t.said[id], err = decodeMessage(told.Said)
		}
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// withThreads adds to the records of what a mailbox was told those of the hazards with which its threads
// began: their threads have gone on with another hazard.
func (s *Service) withThreads(ctx context.Context, list []store.Told) ([]store.Told, error) {
	for _, t := range slices.Clone(list) {
		last, err := decodeMessage(t.Said)
		if err != nil {
			return nil, err
		}
		if last.Begun == 0 {
			continue
		}
		i := slices.IndexFunc(list, func(o store.Told) bool {
			return o.Subscription == t.Subscription && o.Channel == t.Channel && o.HazardID == last.Begun
		})
		if i < 0 {
			first, known, err := s.Store.Notices.Told(ctx, store.Mailbox{Subscription: t.Subscription, Channel: t.Channel}, last.Begun)
			if err != nil {
				return nil, err
			}
			if !known {
				continue
			}
			i, list = len(list), append(list, first)
		}
		if first, err := decodeMessage(list[i].Said); err == nil { // a damaged one stays as it is
			first.Went = t.HazardID
			list[i].Said = first.encode()
		}
	}
	return list, nil
}
