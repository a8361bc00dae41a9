package service

import (
	"context"

	"hazardd/internal/hazard"
	"hazardd/internal/store"
)

// RecordEnds records the end of each hazard that has come at or before now, each as of its own moment: what a service would have recorded
// that ran all the time. A running service does so by itself.
func RecordEnds(ctx context.Context, s *store.Store, now hazard.Instant) error {
	for {
		end, any, err := s.NextEnd(ctx)
		if err != nil || !any || end > now {
			return err
		}
		if err := recordDue(ctx, s, end); err != nil {
			return err
		}
	}
}

// recordDue records, as of now, the ends that have come.
func recordDue(ctx context.Context, s *store.Store, now hazard.Instant) error {
	_, err := s.Write(ctx, now, store.Origin{}, func(tx *store.Tx) error {
		due, err := tx.Due()
		if err != nil {
			return err
		}
		for _, h := range due {
			if err := tx.SaveHazard(h.ExpireAt(now), h); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}
