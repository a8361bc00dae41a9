package geo

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// near finds the same pairs of sides as the index, whether it looks through few or many.
func TestSidesThatMayMeetAreFoundWithoutAnIndexToo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		corner := rapid.Map(rapid.SliceOfN(rapid.Int32Range(-20, 20), 2, 2), func(c []int32) position { return position{c[0], c[1]} })
		var sides []side
		for range rapid.SampledFrom([]int{0, 1, 2, 20, 5 * maxNear}).Draw(t, "sides") {
			sides = append(sides, newSide(corner.Draw(t, "a"), corner.Draw(t, "b"), 1))
		}
		sides = net(sides)
		found, want := map[[2]int]int{}, map[[2]int]int{}
		w := looseWork(len(sides))
		w.valid = true
		if err := near(w, sides, func(i, j int) { found[[2]int{i, j}]++ }); err != nil {
			t.Fatal(err)
		}
		if err := pairs(looseWork(len(sides)), sides, func(i, j int) bool { want[[2]int{i, j}]++; return true }); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(found, want) {
			t.Fatalf("%d pairs, the index finds %d", len(found), len(want))
		}
	})
}

// So many pieces stand apart that they are looked through with an index, after the first.
func TestPiecesApartAreJoined(t *testing.T) {
	const pieces = 3 * maxNear
	var sides []side
	for i := range int32(pieces) {
		x := 20 * i
		for _, size := range []int32{9, 5} { // each has another one in it
			sides = appendRing(sides, ring{{x - size, -size}, {x + size, -size}, {x + size, size}, {x - size, size}}, 1)
		}
	}
	w := looseWork(len(sides))
	w.valid = true
	all, err := region(w, sides, func(winding int32) bool { return winding == 1 })
	if err != nil || len(all) != pieces || slices.ContainsFunc(all, func(p polygon) bool {
		return len(p) != 2 || doubleArea(p[0]) != 2*18*18 || doubleArea(p[1]) != -2*10*10
	}) {
		t.Fatal(fmt.Sprint(len(all), " pieces: ", err))
	}
}
