package service

import (
	"context"
	"time"

	"github.com/hazardd/hazardd/internal/lease"
)

// The rhythm of the sweep.
const (
	sweepEvery = 24 * time.Hour
	sweepAgain = time.Hour // after one that failed
)

// sweepLease is the lease of who sweeps.
const sweepLease = "sweep"

// sweep removes product files that nothing names, at the start and once a day, on one node at a time. Nothing waits for it.
func (s *Service) sweep(ctx context.Context) error {
	log, holder := s.cfg.Logger, lease.Holder()
	for {
		wait := sweepEvery
		lost := func(err error) { log.Warn("another node sweeps product files now", "error", err) }
		_, err := lease.Hold(ctx, s.Store, sweepLease, holder, lost, func(ctx context.Context, _ *lease.Lease) {
			removed, err := s.Store.SweepFiles(ctx, s.Now())
			if removed > 0 {
				log.Info("product files that nothing names were removed", "count", removed)
			}
			if err != nil && ctx.Err() == nil {
				log.Warn("product files cannot be swept; those that nothing names stay", "error", err)
				wait = sweepAgain
			}
		})
		if err != nil && ctx.Err() == nil {
			log.Warn("product files cannot be swept; those that nothing names stay", "error", err)
			wait = sweepAgain
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}
