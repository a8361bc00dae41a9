package source

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hazardd/hazardd/internal/hazard"
)

// AuthorityOf orders sources by their ranks, for every type. Sources of the same rank keep their
// order in all. Sources that are not in all come after all sources of the rank National.
func AuthorityOf(all []Source) hazard.Authority {
	type ranked struct {
		name string
		rank Rank
	}
	order := hazard.Authority{}
	for _, info := range hazard.Types() {
		var list []ranked
		for i := range all {
			if rank, ok := all[i].Rank.Of(info.ID); ok && all[i].Reports(info.ID) {
				list = append(list, ranked{all[i].Name, rank})
			}
		}
		list = append(list, ranked{"", National})
		slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
		for _, r := range list {
			order[info.ID] = append(order[info.ID], r.name)
		}
	}
	return order
}

// Schemes are the schemes of references by name.
type Schemes map[string]Scheme

// SchemesOf returns the schemes of sources: the name of each source, and the schemes that it
// declares. Its error names a scheme that two sources declare.
func SchemesOf(all []Source) (Schemes, error) {
	schemes, of := Schemes{}, map[string]string{}
	for i := range all {
		s := &all[i]
		own := Scheme{Name: s.Name}
		if len(s.Types) == 1 {
			own.Type = s.Types[0]
		}
		declared := s.Schemes
		if !slices.ContainsFunc(declared, func(d Scheme) bool { return d.Name == s.Name }) {
			declared = slices.Concat([]Scheme{own}, declared)
		}
		for _, d := range declared {
			if other, twice := of[d.Name]; twice {
				return nil, fmt.Errorf("source %q: scheme %q is declared by the source %q", s.Name, d.Name, other)
			}
			schemes[d.Name], of[d.Name] = d, s.Name
		}
	}
	return schemes, nil
}
