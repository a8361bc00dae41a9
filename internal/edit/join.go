package edit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/store"
)

// Merge merges the hazard id into the hazard in the body ({"into": id or UUID}), which keeps the
// products and reports of both. It returns the latter. Two hazards change: match is the condition
// for the one that ends, and the optional member "into_ETag" names the state of the other that the
// caller was shown.
func (e *Editor) Merge(ctx context.Context, who Author, id Ref, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Hazard], err error) {
	into, err := asked(who, targetFields, text)
	if err != nil {
		return done, err
	}
	var matchInto Match
	if into.tag != "" && who.Tag != nil {
		matchInto = who.Tag(into.tag)
	}
	done.Last, err = e.decide(ctx, who, about(deedMerge, id, text), clock, func(tx *store.Tx) error {
		from, _, err := present(tx, who, id, match)
		if err != nil {
			return err
		}
		to, _, err := present(tx, who, into.Ref, matchInto)
		if errors.Is(err, hazard.ErrStale) {
			return fmt.Errorf("into_ETag: hazard %d, which would take over, has changed: %w", to.ID, err)
		}
		if err != nil {
			return err
		}
		if from.Reason == hazard.EndMerged {
			return fmt.Errorf("%w: hazard %d is part of another already", hazard.ErrConflict, from.ID)
		}
		if err := e.intake.Join(ctx, tx, from, to, "found by "+who.Name); err != nil {
			return err
		}
		done.State, err = tx.Hazard(to.ID)
		return err
	})
	return done, err
}

// Split removes an event of a source ({"source", "event"}) from a hazard. The event becomes a
// hazard of its own, which is returned. No rule rejoins the two.
func (e *Editor) Split(ctx context.Context, who Author, id Ref, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Hazard], err error) {
	event, err := asked(who, eventFields, text)
	if err != nil {
		return done, err
	}
	done.Last, err = e.decide(ctx, who, about(deedSplit, id, text), clock, func(tx *store.Tx) error {
		h, _, err := present(tx, who, id, match)
		if err != nil {
			return err
		}
		made, err := e.intake.Part(ctx, tx, h.ID, event.source, event.key)
		if err != nil {
			return err
		}
		done.State, err = tx.Hazard(made)
		return err
	})
	return done, err
}

// Confirm confirms that an event of a source ({"source", "event"}) belongs to a hazard. The two
// then stay together whatever sources report later, until somebody splits them. The hazard itself
// does not change.
func (e *Editor) Confirm(ctx context.Context, who Author, id Ref, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Hazard], err error) {
	event, err := asked(who, eventFields, text)
	if err != nil {
		return done, err
	}
	done.Last, err = e.write(ctx, who, clock, func(tx *store.Tx) error {
		h, _, err := present(tx, who, id, match)
		if err != nil {
			return err
		}
		done.State = h
		return e.intake.Confirm(tx, h.ID, event.source, event.key)
	})
	return done, err
}

// Judge decides about a join that a rule made: {"verdict": "same" or "different"}. It confirms the
// joined event or splits it off.
func (e *Editor) Judge(ctx context.Context, who Author, join *fuse.Join, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Hazard], err error) {
	verdict, err := asked(who, verdictFields, text)
	if err != nil {
		return done, err
	}
	event, err := json.Marshal(map[string]string{"source": join.Event.Source, "event": join.Event.Key})
	if err != nil {
		return done, err
	}
	say := e.Confirm
	if verdict == differ {
		say = e.Split
	}
	return say(ctx, who, Ref{ID: join.HazardID}, match, event, clock)
}

// Decide releases or dismisses a held report of a source: {"decision": "released" or "dismissed"}. What is released is taken in as if it had
// never been held. It returns the result.
func (e *Editor) Decide(ctx context.Context, who Author, source string, held int64, match Match, text []byte, clock hazard.Clock) (res fuse.Result, err error) {
	decision, err := asked(who, decisionFields, text)
	if err != nil {
		return res, err
	}
	if err := nothingYet(match); err != nil {
		return res, err
	}
	last, err := e.decide(ctx, who, deed{deedRelease, fmt.Sprintf("%s/%d", source, held), text}, clock, func(tx *store.Tx) error {
		report, err := tx.Reports.Decide(held, decision)
		if err != nil {
			return err
		}
		if report.Report.Source != source {
			return fmt.Errorf("%w: held report %d of source %s", hazard.ErrNotFound, held, source)
		}
		if decision == store.Dismissed {
			return nil
		}
		if report.Unread != nil {
			return fmt.Errorf("%w: %v. The source may report the same again; then dismiss it", hazard.ErrConflict, report.Unread)
		}
		res, err = e.intake.Take(ctx, tx, report.Report)
		if store.Broken(err) {
			return stillDamaged(report, err)
		}
		return err
	})
	res.Last = last
	return res, err
}

// stillDamaged returns the error for releasing a report whose hazard is damaged: what is damaged, and what to do.
func stillDamaged(report *store.Held, err error) error {
	what, then := err.Error(), "then release it again"
	if damaged, ok := errors.AsType[*store.DamagedError](err); ok {
		what = damaged.What
	}
	if strings.HasPrefix(report.Reason, store.Damaged) {
		then = "then the report is taken in by itself within a minute"
	}
	return fmt.Errorf("%w: held report %d stays held: what is stored of its event %s:%s is damaged and cannot be read (%s). Have the operator mend it with hazardd check --mend; %s",
		hazard.ErrConflict, report.ID, report.Report.Source, report.Report.Key, what, then)
}

// target is the hazard that takes over in a merge.
type target struct {
	Ref
	tag string // its ETag, as the caller was shown it; empty: whatever it is now
}

var targetFields = []field[target]{
	{"into", create, true, to(func(t *target) *Ref { return &t.Ref }, reference)},
	{"into_ETag", create, false, to(func(t *target) *string { return &t.tag }, text(hazard.MaxLink, false, asIs))},
}

// reference parses the id or the UUID of a hazard.
func reference(_ *reading, v jsontext.Value) (ref Ref, err error) {
	word := strings.Trim(string(v), `"`)
	if ref.ID, err = strconv.ParseInt(word, 10, 64); err == nil && ref.ID > 0 {
		return ref, nil
	}
	if ref.UUID, err = uuid.Parse(word); err == nil && len(word) == 36 {
		return Ref{UUID: ref.UUID}, nil
	}
	return ref, fmt.Errorf("%s is neither the number nor the uuid of a hazard", brief(v))
}

// eventName is the body of a split.
type eventName struct{ source, key string }

var eventFields = []field[eventName]{
	{"source", create, true, to(func(e *eventName) *string { return &e.source }, text(hazard.MaxLink, false, asIs))},
	{"event", create, true, to(func(e *eventName) *string { return &e.key }, text(hazard.MaxLink, false, asIs))},
}

const differ = "different"

var (
	verdictFields  = only("verdict", oneOf("same", differ))
	decisionFields = only("decision", oneOf(store.Released, store.Dismissed))
)
