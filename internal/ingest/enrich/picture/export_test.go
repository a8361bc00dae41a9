package picture

import (
	"context"
	"testing"
	"time"
)

// Begin creates the worker, as if this process had the lease. Pass is one pass of it.
func (k *Keeper) Begin(ctx context.Context) (*worker, error) { return k.begin(ctx) }

func (w *worker) Pass(ctx context.Context) error { return w.pass(ctx) }

// HastyFor limits the time for a picture to d, until the test ends.
func HastyFor(t *testing.T, d time.Duration) {
	before := patience
	patience = d
	t.Cleanup(func() { patience = before })
}
