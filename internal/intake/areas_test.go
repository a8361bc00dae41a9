package intake

import (
	"context"
	"slices"
	"testing"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// squares are places: a code is the degree at which one begins.
type squares struct{}

func (squares) Shape(_ context.Context, code string) (geo.Shape, bool) {
	west := float64(code[0] - 'a')
	return geo.Box{West: west, South: 0, East: west + 1.5, North: 1}.Shape(), true
}

// The shapes of a warning's zones were joined for each state of it, inside of the transaction: 41 % of an import of the NWS.
func TestPlacesAreJoinedBeforeTheTransaction(t *testing.T) {
	a := newAreas()
	a.prepare(t.Context(), []hazard.Report{{Places: []string{"a", "b", "c"}}}, squares{})
	before := a.mended.Size()
	shapes, missing, _ := shapesOf(t.Context(), squares{}, []string{"c", "a", "b"}, nil) // the order tells nothing
	placed := a.place(nil, shapes)
	if before == 0 || a.mended.Size() != before {
		t.Errorf("%d bytes were remembered before, %d after", before, a.mended.Size())
	}
	want, err := geo.Union(shapes...)
	if err != nil || len(missing) != 0 || len(placed) != 1 || placed[0].shape.Sum() != want.Sum() {
		t.Errorf("%v, %v, %v", placed, missing, err)
	}
	slices.Reverse(shapes)
	if other := a.place(nil, shapes[1:]); other[0].shape.Sum() == want.Sum() {
		t.Error("two of three places are taken for all three")
	}
}
