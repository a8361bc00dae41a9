package fuse

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestUnitedSetsHaveTheRootOfTheFirstAndKeepTheOrderOfTheirMembers(t *testing.T) {
	s := newSets(6)
	for i := range 6 {
		if s.root(i) != i || !slices.Equal(s.of(i), []int{i}) {
			t.Fatalf("%d starts in set %d with %v, want a set of its own", i, s.root(i), s.of(i))
		}
	}
	s.unite(4, 1)
	s.unite(0, 5)
	s.unite(0, 4)
	s.unite(1, 5) // the same set
	for _, i := range []int{0, 5, 4, 1} {
		if got := s.of(i); s.root(i) != 0 || !slices.Equal(got, []int{0, 5, 4, 1}) {
			t.Errorf("%d is in set %d with %v, want 0 with [0 5 4 1]", i, s.root(i), got)
		}
	}
	if !slices.Equal(s.of(2), []int{2}) || !slices.Equal(s.of(3), []int{3}) {
		t.Errorf("2 and 3 are in %v and %v, want sets of their own", s.of(2), s.of(3))
	}
}

func TestSetsAreTheConnectedPartsOfWhatWasUnited(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		s, part := newSets(n), make([]int, n) // part numbers the sets, by exhaustive renaming
		for i := range part {
			part[i] = i
		}
		number := rapid.IntRange(0, n-1)
		for range rapid.IntRange(0, 20).Draw(t, "unions") {
			a, b := number.Draw(t, "a"), number.Draw(t, "b")
			s.unite(a, b)
			into, from := part[a], part[b]
			for i := range part {
				if part[i] == from {
					part[i] = into
				}
			}
		}
		for i := range n {
			if s.root(i) != part[i] {
				t.Fatalf("%d is in set %d, want %d", i, s.root(i), part[i])
			}
			for j := range n {
				if together := slices.Contains(s.of(i), j); together != (part[i] == part[j]) {
					t.Fatalf("%d with %d: %v, want %v", i, j, together, !together)
				}
			}
		}
	})
}
