package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup"
	"github.com/hazardd/hazardd/internal/store/lease"
)

// Retention says how long history and the audit trail are kept, and where older rows are archived.
// Without an archive nothing is pruned.
type Retention struct {
	History time.Duration // 0 means forever
	Audit   time.Duration // 0 means 400 days
	Archive backup.Keep   // zero means that nothing is pruned
}

// on reports whether anything is pruned.
func (r *Retention) on() bool { return r.Archive != backup.Keep{} }

// Check returns an error if the settings contradict each other.
func (r *Retention) Check() error {
	if r.History > 0 && !r.on() {
		return errors.New("a history that is not kept forever needs an archive: set archive to a folder or a bucket")
	}
	if r.Audit > 0 && r.Audit != auth.KeepAudit && !r.on() {
		return errors.New("keeping the audit trail for another time than 400 days needs an archive: set archive to a folder or a bucket")
	}
	for name, keep := range map[string]time.Duration{"history": r.History, "audit trail": r.Audit} {
		if keep > 0 && keep < backup.Shortest {
			return fmt.Errorf("the %s must be kept for at least %d days", name, backup.Shortest/(24*time.Hour))
		}
	}
	return nil
}

// pruneLease names the lease of the node that prunes.
const pruneLease = "prune"

// pruneMeasures holds this node's counters of pruning.
type pruneMeasures struct{ history, audit, failures atomic.Int64 }

// prune moves rows past their retention to archives, once a day, on one node at a time. No request
// waits for it.
func (s *Service) prune(ctx context.Context) error {
	if !s.cfg.Retention.on() {
		return nil
	}
	log, holder := s.cfg.Logger, lease.Holder()
	for {
		wait := sweepEvery
		lost := lease.Lost(log, "prunes")
		var failed error
		_, err := lease.Hold(ctx, s.Store.Leases, pruneLease, holder, lost, func(ctx context.Context, _ *lease.Lease) {
			failed = s.pruneOnce(ctx)
		})
		if failed = cmp.Or(err, failed); failed != nil && ctx.Err() == nil {
			s.pruned.failures.Add(1)
			log.Warn("cannot prune; history and audit trail are kept for longer", "error", failed)
			wait = sweepAgain
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

func (s *Service) pruneOnce(ctx context.Context) error {
	now := s.Now().Time()
	for _, of := range []struct {
		what  store.Prunable
		keep  time.Duration
		count *atomic.Int64
	}{
		{store.History, s.cfg.Retention.History, &s.pruned.history},
		{store.Trail, s.cfg.Retention.Audit, &s.pruned.audit},
	} {
		if of.keep == 0 {
			continue
		}
		done, err := backup.Prune(ctx, s.Store, s.cfg.Retention.Archive, of.what, now.Add(-of.keep), s.cfg.Version, now, nil)
		if done != nil && done.Rows > 0 {
			of.count.Add(done.Rows)
			s.cfg.Logger.Info("pruned; the removed rows are in an archive", "of", of.what, "before", done.Before, "rows", done.Rows, "areas", done.Geometries, "files", done.Files,
				"archives", done.Archives)
		}
		if err != nil {
			return fmt.Errorf("prune the %s: %w", of.what, err)
		}
	}
	return nil
}
