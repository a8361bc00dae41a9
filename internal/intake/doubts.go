package intake

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

// Join is an event that a rule has made part of an active hazard: no name and no person says that it is.
type Join struct {
	HazardID int64
	// Event is the one that was joined, With the one of another source that it fits best.
	Event, With store.Event
	// Score is how well they fit by the rule of their type: 1 is the same place and moment (or name), 0 is just within the rule, or
	// beyond it by now: the sources have revised what they say, and others of the hazard hold the two together.
	Score float64
	// Kilometers are between the two, Apart is between their beginnings. Kilometers is infinite if one has no place.
	Kilometers float64
	Apart      time.Duration
	Confirmed  bool // a person has found that the two are one
}

// ID is the join's name: the uuid of the event that was joined, which is in one hazard at a time.
func (j *Join) ID() uuid.UUID { return hazard.EventUUID(j.Event.Source, j.Event.Key) }

// maxJoins bounds the joins that are looked at for one answer.
const maxJoins = 5000

// Joins lists the events that rules have made part of active hazards, the most doubtful first.
func (in *Intake) Joins(ctx context.Context) ([]Join, error) {
	joined, err := in.store.EventsJoinedByRule(ctx, maxJoins)
	if err != nil {
		return nil, err
	}
	var all []Join
	var beside []store.Event
	var found store.Verdicts
	of := int64(0)
	for _, e := range joined {
		if e.HazardID != of {
			if beside, found, err = in.store.EventsOf(ctx, e.HazardID); err != nil {
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

// bestOf is the join of e with the event of another source that it fits best.
func bestOf(e *store.Event, beside []store.Event) (best Join, ok bool) {
	least := math.Inf(1)
	for i := range beside {
		o := &beside[i]
		if o.Source == e.Source {
			continue
		}
		far := math.Inf(1)
		if rule, known := rules[e.Type]; known && o.Type == e.Type {
			far = rule.far(e, o)
		}
		if ok && far >= least {
			continue
		}
		least, ok = far, true
		best = Join{HazardID: e.HazardID, Event: *e, With: *o, Score: max(0, 1-far), Kilometers: kilometres(e, o), Apart: e.Start.Time().Sub(o.Start.Time()).Abs()}
	}
	return best, ok
}

// Confirm notes that an event is one with the others of its hazard, as a person has found. No rule, and nothing that the sources say later,
// parts them; Part does.
func (in *Intake) Confirm(tx *store.Tx, hazardID int64, src, event string) error {
	events, self, err := oneOfSeveral(tx, hazardID, src, event)
	if err != nil {
		return err
	}
	for i := range events {
		if i != self {
			if err := tx.SaveVerdict(events[self].Name(), events[i].Name(), store.One); err != nil {
				return err
			}
		}
	}
	return nil
}
