package fuse

// sets divides the numbers below n into disjoint sets (union-find). At first, each number is a set
// of its own.
type sets struct {
	parent  []int
	members [][]int // by root
}

func newSets(n int) *sets {
	s := &sets{parent: make([]int, n), members: make([][]int, n)}
	for i := range n {
		s.parent[i] = i
	}
	one := append([]int(nil), s.parent...)
	for i := range n {
		s.members[i] = one[i : i+1 : i+1]
	}
	return s
}

// root returns the number that stands for the set of i.
func (s *sets) root(i int) int {
	for s.parent[i] != i {
		s.parent[i] = s.parent[s.parent[i]]
		i = s.parent[i]
	}
	return i
}

// unite adds the set of b to the set of a: the root of a stands for both, and the members of b
// follow those of a.
func (s *sets) unite(a, b int) {
	a, b = s.root(a), s.root(b)
	if a == b {
		return
	}
	s.parent[b] = a
	s.members[a], s.members[b] = append(s.members[a], s.members[b]...), nil
}

// of returns the members of the set of i, in the order in which they joined it.
func (s *sets) of(i int) []int { return s.members[s.root(i)] }
