package fuse

import (
	"context"
	"slices"
	"testing"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

const noonOfTest hazard.Instant = 1_795_262_400_000

// squares are places. A code is the degree at which a place begins.
type squares struct{}

func (squares) Shape(_ context.Context, code string) (geo.Shape, bool) {
	west := float64(code[0] - 'a')
	return geo.Box{West: west, South: 0, East: west + 1.5, North: 1}.Shape(), true
}

// The shapes of a warning's zones were joined for each of its states, inside the transaction: 41 %
// of the time of an NWS import. The point that stands for them was sought there too.
func TestPlacesAreJoinedBeforeTheTransaction(t *testing.T) {
	a := newAreas()
	a.prepare(t.Context(), []hazard.Report{ // two parts of one event, and another event
		{Key: "e", Part: "1", Version: 1, Places: []string{"b", "a"}, End: new(noonOfTest)},
		{Key: "e", Part: "2", Version: 2, Places: []string{"c"}, End: new(noonOfTest)},
		{Key: "other", Version: 2, Places: []string{"f"}, End: new(noonOfTest)},
	}, squares{}, noonOfTest-1)
	before, points := a.mended.Size(), a.points.Size()
	shapes, missing, _ := shapesOf(t.Context(), squares{}, []string{"c", "a", "b"}, nil) // the order does not matter
	placed := a.place(nil, shapes)
	if before == 0 || a.mended.Size() != before {
		t.Errorf("%d bytes were remembered before, %d after", before, a.mended.Size())
	}
	p := a.point(&placed[0])
	if lon, lat := placed[0].shape.Point(); points == 0 || a.points.Size() != points || p.Lon != lon || p.Lat != lat {
		t.Errorf("the point is %v, want %v %v; %d bytes were remembered before, %d after", p, lon, lat, points, a.points.Size())
	}
	want, err := geo.Union(shapes...)
	if err != nil || len(missing) != 0 || len(placed) != 1 || placed[0].shape.Sum() != want.Sum() {
		t.Errorf("%v, %v, %v", placed, missing, err)
	}
	slices.Reverse(shapes)
	if other := a.place(nil, shapes[1:]); other[0].shape.Sum() == want.Sum() {
		t.Error("two of three places are used as all three")
	}
}
