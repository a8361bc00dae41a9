package app

import (
	"context"
	"time"

	"github.com/hazardd/hazardd/internal/store/lease"
)

// The intervals of the sweep.
const (
	sweepEvery = 24 * time.Hour
	sweepAgain = time.Hour // after a failure
)

// sweepLease names the lease of the node that sweeps.
const sweepLease = "sweep"

// sweep removes unreferenced product files, at the start and once a day, on one node at a time. No
// request waits for it.
func (s *Service) sweep(ctx context.Context) error {
	log, holder := s.cfg.Logger, lease.Holder()
	for {
		wait := sweepEvery
		lost := lease.Lost(log, "sweeps product files")
		_, err := lease.Hold(ctx, s.Store.Leases, sweepLease, holder, lost, func(ctx context.Context, _ *lease.Lease) {
			removed, err := s.Store.Files.Sweep(ctx, s.Now())
			if removed > 0 {
				log.Info("removed unreferenced product files", "count", removed)
			}
			if err != nil && ctx.Err() == nil {
				log.Warn("cannot sweep product files; unreferenced files stay", "error", err)
				wait = sweepAgain
			}
		})
		if err != nil && ctx.Err() == nil {
			log.Warn("cannot sweep product files; unreferenced files stay", "error", err)
			wait = sweepAgain
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}
