package fuse

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// CountComparisons counts, until the test ends, how often events of a type are compared.
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

// Chunk is the number of reports per transaction, apart from further reports of the same events.
const Chunk = chunk

// Chunks divides reports into the parts that transactions process.
func Chunks(reports []hazard.Report) [][]hazard.Report { return chunks(reports) }

// Settle updates a hazard from what sources say, as a wake-up does.
func Settle(ctx context.Context, in *Intake, tx *store.Tx, id int64, state ...hazard.EventState) error {
	_, _, err := in.writer(ctx, tx, "").settle(id, uuid.Nil, state)
	return err
}
