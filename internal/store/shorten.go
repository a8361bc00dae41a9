package store

import (
	"context"
	"sync"
	"time"
)

// By itself SQLite moves its write-ahead log into the file within the commit that makes the log long:
// that commit and the next one sync the disk three times and twice instead of once, and everybody
// waits. So a connection of its own moves it, beside the writers (sqlite.org/wal.html, section 3.2).

// shortener is what the goroutine that moves the log needs.
type shortener struct {
	moving    sync.Mutex    // held by who moves the log: SQLite refuses a second one
	committed chan struct{} // wakes it
}

// partOfLog is how many frames of the log are moved at a time, and boundOfLog how many it may have
// until background work waits for it to begin anew: with pages of 8 KiB, 8 and 32 MiB.
const (
	partOfLog  = 1000
	boundOfLog = 4 * partOfLog
)

// noteCommit wakes keepLogShort.
func (s *core) noteCommit() {
	select {
	case s.committed <- struct{}{}:
	default:
	}
}

// lookAtLog is how long keepLogShort does not look at the log again: it would share the processor with each commit.
const lookAtLog = 50 * time.Millisecond

// keepLogShort moves the log until ctx ends. What it cannot move stays in the log, which is as safe.
func (s *core) keepLogShort(ctx context.Context) {
	for {
		_ = s.shortenLog(ctx) // the next commit tries again
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookAtLog):
		}
		select {
		case <-ctx.Done():
			return
		case <-s.committed:
		}
	}
}

// shortenLog moves the log if it is long. Under steady writing there is no moment at which all of a
// long log is in the file, and only then does SQLite begin it anew. So background work waits for that;
// people do not.
func (s *core) shortenLog(ctx context.Context) error {
	if s.disk.why() != nil { // see recover: nobody holds the log's index but who reads
		return nil
	}
	frames, moved, err := s.moveLog(ctx, "NOOP")
	if err != nil || frames-moved < partOfLog {
		return err
	}
	if frames, moved, err = s.moveLog(ctx, "PASSIVE"); err != nil || frames == moved || frames < boundOfLog {
		return err
	}
	return s.peopleOnly(ctx, func() error {
		for range 5 { // people may write meanwhile
			if frames, moved, err = s.moveLog(ctx, "PASSIVE"); err != nil || frames == moved {
				return err
			}
		}
		return nil
	})
}

// peopleOnly runs f while nobody but people writes, in this process.
func (s *core) peopleOnly(ctx context.Context, f func() error) error {
	turn := s.turns.join(Warnings, nil)
	select {
	case <-turn.come:
	case <-ctx.Done():
		s.turns.leave(turn)
		return ctx.Err()
	}
	s.turns.hold(true)
	defer s.turns.hold(false)
	s.turns.leave(turn)
	return f()
}

// moveLog runs a checkpoint that waits for nobody, and returns how many frames the log has, and how
// many of them are in the file (sqlite.org/pragma.html#pragma_wal_checkpoint).
func (s *core) moveLog(ctx context.Context, mode string) (frames, moved int, err error) {
	s.moving.Lock()
	defer s.moving.Unlock()
	var busy int
	err = s.mover.QueryRowContext(ctx, `PRAGMA wal_checkpoint(`+mode+`)`).Scan(&busy, &frames, &moved)
	return frames, moved, storeError(err)
}
