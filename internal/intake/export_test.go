package intake

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// CountComparisons counts, until the test ends, how often events of a type are held against each other.
func CountComparisons(t testing.TB, typ hazard.Type) *int {
	n := 0
	before := rules[typ]
	counted := before
	counted.far = func(a, b *store.Event) float64 {
		n++
		return before.far(a, b)
	}
	rules[typ] = counted
	t.Cleanup(func() { rules[typ] = before })
	return &n
}

// Chunk is how many reports one transaction takes in, and those of the same events.
const Chunk = chunk

// Chunks cuts reports into what transactions take in.
func Chunks(reports []hazard.Report) [][]hazard.Report { return chunks(reports) }

// Settle makes a hazard what is said of it, as a wake-up does.
func Settle(ctx context.Context, in *Intake, tx *store.Tx, id int64, said ...hazard.Said) error {
	_, _, err := in.writer(ctx, tx, "").settle(id, uuid.Nil, said)
	return err
}
