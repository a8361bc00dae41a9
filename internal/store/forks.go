package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Fork is a point where another history replaced the one before and lacks a part of it.
type Fork struct {
	Last   int64 // the last change in both histories
	Start  int64 // numbers of the new history are above this one
	At     hazard.Instant
	Reason ForkReason
}

// ForkReason says why a history was replaced.
type ForkReason string

// The reasons of forks.
const (
	Failover ForkReason = "failover" // a standby took over; changes that its primary had not sent are lost
	Restored ForkReason = "restore"  // a backup was restored; later changes are lost
	Damage   ForkReason = "damage"   // the store came back without its last changes
)

// ForkedError is the error for a number of a replaced history. Everything after Fork.Last is void,
// and the log continues after Fork.Start.
type ForkedError struct{ Fork }

func (e *ForkedError) Error() string {
	return fmt.Sprintf("the history was replaced (%s at %s): everything after change %d is void, and it continues after %d", e.Reason, e.At, e.Last, e.Start)
}

// How far numbers jump at a fork: farther than the lost history can have reached, so that no number
// ever means two things.
const (
	jump   = 1_000_000
	idJump = 10_000
)

// forked returns a *ForkedError if n belongs to a replaced history.
func forked(ctx context.Context, q *sqlc.Queries, n int64) error {
	row, err := q.ForkOf(ctx, n)
	if none(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return &ForkedError{Fork{Last: row.ForkN, Start: row.StartN, At: hazard.Instant(row.AtMs), Reason: ForkReason(row.Reason)}}
}

// Fork records that the store was restored from a backup: all changes after the last one in the
// store are void, wherever they were seen. Numbers jump, and readers that are ahead learn of it.
func (s *Store) Fork(ctx context.Context, now hazard.Instant, reason ForkReason) (f Fork, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) (err error) {
		if f, err = fork(ctx, q, now, reason); err != nil {
			return err
		}
		return s.database.notify(ctx, tx)
	})
	if err == nil {
		s.reach.wakeAll()
	}
	return f, err
}

// Behind makes a fork if the log ends before change n, which was read from it: the database was replaced
// by an earlier state of it while it was in use.
func (s *Log) Behind(ctx context.Context, n int64) error {
	err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) error {
		f, err := forkBefore(ctx, tx, q, n)
		if err != nil || f.Start == 0 {
			return err
		}
		return s.database.notify(ctx, tx)
	})
	if err == nil {
		s.reach.wakeAll()
	}
	return err
}

// settle compares the database's timeline with the store's, in a transaction of its own. If it
// differs, numbers jump.
func (s *core) settle(ctx context.Context) error {
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
	s.reach.wakeAll()
	return nil
}

func (s *core) settleIn(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) (history timeline, err error) {
	if err := s.database.alone(ctx, tx); err != nil {
		return history, err
	}
	if history, err = s.database.history(ctx, tx); err != nil || history == (timeline{}) {
		return history, err
	}
	reason := ForkReason("")
	for _, known := range []struct {
		name, now string
		reason    ForkReason
	}{{"table", history.table, Damage}, {"history", history.String(), Failover}} {
		before, err := q.Meta(ctx, known.name)
		switch {
		case err != nil && !none(err):
			return history, err
		case err == nil && before == known.now:
			continue
		case err == nil: // else the store is new, or was not asked that before
			reason = known.reason
		}
		if err := q.SetMeta(ctx, sqlc.SetMetaParams{Name: known.name, Value: known.now}); err != nil {
			return history, err
		}
	}
	if reason == "" {
		return history, nil
	}
	now, err := s.database.now(ctx, tx, hazard.At(time.Now()))
	if err != nil {
		return history, err
	}
	if _, err := fork(ctx, q, now, reason); err != nil {
		return history, err
	}
	return history, s.database.notify(ctx, tx)
}

// fork records that all changes after the last one in the store are void.
func fork(ctx context.Context, q *sqlc.Queries, now hazard.Instant, reason ForkReason) (f Fork, err error) {
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
		case name == "searchable" || name == "found" || name == "named" || name == "noticed":
			if value < f.Last { // positions of background work stay at the last change
				continue
			}
			value += jump
		default: // ids of hazards and so on, and versions that others compare
			value += idJump
		}
		if err := q.SetCounter(ctx, sqlc.SetCounterParams{Name: name, Value: value}); err != nil {
			return f, err
		}
	}
	if reason == Restored {
		if err := q.SetMeta(ctx, sqlc.SetMetaParams{Name: "epoch", Value: "urn:uuid:" + uuid.NewString()}); err != nil {
			return f, err
		}
	}
	return f, q.AddFork(ctx, sqlc.AddForkParams{StartN: f.Start, ForkN: f.Last, AtMs: int64(now), Reason: string(reason)})
}
