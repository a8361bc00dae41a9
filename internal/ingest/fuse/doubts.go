package fuse

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Join is an event that a rule joined to an active hazard; no name or person says that they are the
// same.
type Join struct {
	HazardID int64
	// Event is the joined event, With the event that matches it best.
	Event, With store.Event
	// Score is how well they match by the rule of their type: 1 for the same place and time (or
	// name), down to 0 at the rule's limit. It is also 0 beyond the limit, if sources have changed
	// their reports and other events keep the two together.
	Score float64
	// Kilometers is their distance, infinite if one has no place. Apart is the time between their
	// starts.
	Kilometers float64
	Apart      time.Duration
	Confirmed  bool // a person has decided that the two are the same
}

// ID returns the join's id: the UUID of the joined event, which belongs to one hazard at a time.
func (j *Join) ID() uuid.UUID { return hazard.EventUUID(j.Event.Source, j.Event.Key) }

// maxJoins bounds the joins that are examined for one answer.
const maxJoins = 5000

// Joins returns the events that rules joined to active hazards, most doubtful first.
func (in *Intake) Joins(ctx context.Context) ([]Join, error) {
	joined, err := in.store.Reports.EventsJoinedByRule(ctx, maxJoins)
	if err != nil {
		return nil, err
	}
	var all []Join
	var beside []store.Event
	var found store.Verdicts
	of := int64(0)
	for _, e := range joined {
		if e.HazardID != of {
			if beside, found, err = in.store.Reports.EventsOf(ctx, e.HazardID); err != nil {
				return nil, err
			}
			of = e.HazardID
		}
		if j, ok := bestOf(&e, beside); ok {
			j.Confirmed = found[j.Event.Name()][j.With.Name()] == store.One
			all = append(all, j)
		}
	}
	slices.SortStableFunc(all, func(a, b Join) int { return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.HazardID, b.HazardID)) })
	return all, nil
}

// bestOf returns the join of e with the event that matches it best.
func bestOf(e *store.Event, beside []store.Event) (best Join, ok bool) {
	closest := math.Inf(1)
	for i := range beside {
		o := &beside[i]
		rule, known := rules[e.Type]
		if o.Name() == e.Name() || !rule.compares(o.Source, e.Source) {
			continue
		}
		far := math.Inf(1)
		if known && o.Type == e.Type {
			far = rule.far(e, o)
		}
		if ok && far >= closest {
			continue
		}
		closest, ok = far, true
		best = Join{HazardID: e.HazardID, Event: *e, With: *o, Score: max(0, 1-far), Kilometers: kilometres(e, o), Apart: e.Start.Time().Sub(o.Start.Time()).Abs()}
	}
	return best, ok
}

// Confirm records a person's decision that an event belongs to its hazard. Neither rules nor later
// reports separate it; only Part does.
func (in *Intake) Confirm(tx *store.Tx, hazardID int64, src, event string) error {
	events, self, err := oneOfSeveral(tx, hazardID, src, event)
	if err != nil {
		return err
	}
	for i := range events {
		if i != self {
			if err := tx.Events.SaveVerdict(events[self].Name(), events[i].Name(), store.One); err != nil {
				return err
			}
		}
	}
	return nil
}
