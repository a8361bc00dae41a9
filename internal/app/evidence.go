package app

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/lease"
)

// evidenceLease names the lease of the node that sweeps evidence.
const evidenceLease = "evidence"

// OpenEvidence opens the evidence of a store with the limits in cfg.
func OpenEvidence(s *store.Store, cfg Config) (*evidence.Keeper, error) {
	cfg.Settings.fill()
	limits := evidence.Limits{Age: max(0, cfg.Evidence.Age), Bytes: cfg.Evidence.Bytes}
	return evidence.Open(s, filepath.Join(cfg.DataDir, "evidence"), cfg.Files, limits, cfg.Logger)
}

// sweepEvidence removes evidence beyond the limits of age and size, and once a day unreferenced
// evidence files. One node at a time does this. No request waits for it.
func (s *Service) sweepEvidence(ctx context.Context) error {
	log, holder := s.cfg.Logger, lease.Holder()
	var tidied time.Time
	warned := false
	for {
		lost := lease.Lost(log, "sweeps evidence")
		var failed error
		_, err := lease.Hold(ctx, s.Store.Leases, evidenceLease, holder, lost, func(ctx context.Context, _ *lease.Lease) {
			if _, failed = s.Evidence.Sweep(ctx, s.Now()); failed == nil && time.Since(tidied) > sweepEvery {
				if _, failed = s.Evidence.Tidy(ctx, s.Now()); failed == nil {
					tidied = time.Now()
				}
			}
		})
		if failed = cmp.Or(err, failed); failed != nil && ctx.Err() == nil && !warned {
			log.Warn("cannot sweep evidence; it is kept for longer", "error", failed)
		}
		warned = failed != nil
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(evidence.SweepEvery):
		}
	}
}
