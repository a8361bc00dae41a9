package lease_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/lease"
)

// leases gives a lease, until a moment from which on then answers.
type leases struct {
	good time.Time
	then func() (bool, error)
}

func (s leases) Take(context.Context, string, string, hazard.Instant, hazard.Instant) (bool, error) {
	if time.Now().Before(s.good) {
		return true, nil
	}
	return s.then()
}

func (leases) Drop(context.Context, string, string) error { return nil }

// A node that cannot renew its lease, as on a full disk, does not say that another one has it.
func TestALostLeaseSaysWhoHasTheWorkNow(t *testing.T) {
	for name, tt := range map[string]struct {
		then  func() (bool, error)
		want  string
		after time.Duration // at most
	}{
		"another node has it":  {func() (bool, error) { return false, nil }, "another node now counts people", 5 * time.Second},
		"it cannot be renewed": {func() (bool, error) { return false, hazard.ErrFull }, "no node does its work until that succeeds", lease.For + 3*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				began := time.Now()
				ran, err := lease.Hold(t.Context(), leases{began.Add(time.Second), tt.then}, "exposure", "me", lease.Lost(slog.New(slog.NewTextHandler(&log, nil)), "counts people"),
					func(ctx context.Context, _ *lease.Lease) { <-ctx.Done() })
				if !ran || err != nil || time.Since(began) > tt.after || !strings.Contains(log.String(), tt.want) || strings.Count(log.String(), "\n") != 1 {
					t.Errorf("%v, %v after %v: %s", ran, err, time.Since(began), &log)
				}
			})
		})
	}
}
