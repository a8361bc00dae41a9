package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/db"
)

// Fork is where the history was replaced by another that had not got all of it.
type Fork struct {
	Last   int64 // the last change that both have
	Start  int64 // the numbers of the new history are above this one
	At     hazard.Instant
	Reason ForkReason
}

// ForkReason tells why a history was replaced.
type ForkReason string

// The reasons of forks.
const (
	Failover ForkReason = "failover" // a standby took over; what its primary had not sent it is lost
	Restored ForkReason = "restore"  // a backup was restored; what came after it is lost
	Damage   ForkReason = "damage"   // the store came back without its last changes
)

// ForkedError is the error of a number that was of a history which another has replaced: whatever was read after Fork.Last is void, and the log goes
// on behind Fork.Start.
type ForkedError struct{ Fork }

func (e *ForkedError) Error() string {
	return fmt.Sprintf("the history was replaced (%s at %s): what followed change %d is void, it goes on after %d", e.Reason, e.At, e.Last, e.Start)
}

// By how much numbers jump at a fork: more than a history that was lost can have given. A number means one thing for ever.
const (
	jump   = 1_000_000
	idJump = 10_000
)

// forked tells, by a *ForkedError, if the log cannot be read on from n because n is of a history that was replaced.
func forked(ctx context.Context, q *db.Queries, n int64) error {
	row, err := q.ForkOf(ctx, n)
	if none(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return &ForkedError{Fork{Last: row.ForkN, Start: row.StartN, At: hazard.Instant(row.AtMs), Reason: ForkReason(row.Reason)}}
}

// Fork notes that what followed the last change that is in the store is void, wherever anybody has seen it: the store was restored from a backup. Numbers
// jump, and readers who are beyond it are told.
func (s *Store) Fork(ctx context.Context, now hazard.Instant, reason ForkReason) (f Fork, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx *sql.Tx, q *db.Queries) (err error) {
		if f, err = fork(ctx, q, now, reason); err != nil {
			return err
		}
		return s.database.told(ctx, tx)
	})
	if err == nil {
		s.reach.Wake()
	}
	return f, err
}

// settle makes the history that the database tells the store's, in a transaction of its own: where it is another than before, numbers
// jump.
func (s *Store) settle(ctx context.Context) error {
	if s.database.settled() {
		return nil
	}
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return storeError(err)
	}
	q := s.writeQ.WithTx(tx)
	history, err := s.settleIn(ctx, tx, q)
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("settle the history: %w", storeError(err)), rollback(tx))
	}
	s.database.settle(history)
	s.reach.Wake()
	return nil
}

func (s *Store) settleIn(ctx context.Context, tx *sql.Tx, q *db.Queries) (history timeline, err error) {
	if err := s.database.alone(ctx, tx); err != nil {
		return history, err
	}
	if history, err = s.database.history(ctx, tx); err != nil || history == (timeline{}) {
		return history, err
	}
	before, err := q.Meta(ctx, "history")
	switch {
	case none(err): // the store is new
	case err != nil:
		return history, err
	case before == history.String():
		return history, nil
	default:
		now, err := s.database.now(ctx, tx, hazard.At(time.Now()))
		if err != nil {
			return history, err
		}
		if _, err := fork(ctx, q, now, Failover); err != nil {
			return history, err
		}
		if err := s.database.told(ctx, tx); err != nil {
			return history, err
		}
	}
	return history, q.SetMeta(ctx, db.SetMetaParams{Name: "history", Value: history.String()})
}

// fork notes that what followed the last change that is there is void, wherever anybody has seen it.
func fork(ctx context.Context, q *db.Queries, now hazard.Instant, reason ForkReason) (f Fork, err error) {
	counters, err := q.Counters(ctx)
	if err != nil {
		return f, err
	}
	values := map[string]int64{}
	for _, c := range counters {
		values[c.Name] = c.Value
	}
	f = Fork{Last: values["change"], Start: values["change"] + jump, At: now, Reason: reason}
	for name, value := range values {
		switch {
		case name == "change":
			value += jump
		case name == "searchable" || name == "found" || name == "noticed":
			if value < f.Last { // what is left to be made findable, or told, is
				continue
			}
			value += jump
		default: // the numbers of hazards and all else, and the versions that others compare
			value += idJump
		}
		if err := q.SetCounter(ctx, db.SetCounterParams{Name: name, Value: value}); err != nil {
			return f, err
		}
	}
	if reason == Restored {
		if err := q.SetMeta(ctx, db.SetMetaParams{Name: "epoch", Value: "urn:uuid:" + uuid.NewString()}); err != nil {
			return f, err
		}
	}
	return f, q.AddFork(ctx, db.AddForkParams{StartN: f.Start, ForkN: f.Last, AtMs: int64(now), Reason: string(reason)})
}
