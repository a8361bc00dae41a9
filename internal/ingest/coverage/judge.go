package coverage

import (
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Judgement describes the coverage of a place.
type Judgement struct {
	// Word is about all types that were asked for, the worst of their words; if none was named, about official
	// warnings at large.
	Word Word
	// Types are the types that were asked for; if none was named, those that some source states here.
	Types []TypeWord
	// Sources are those that speak for the place: official ones first, then by name.
	Sources []Voice
}

// TypeWord is the word for one type.
type TypeWord struct {
	Type hazard.Type
	Word Word
	// Role is that of the sources by which the word is: RoleResponsible, or for types that are only observed
	// RoleWatches; RoleUnknown if the word is Unknown.
	Role source.Role
	// Sources are the names of those by which the word is, fresh ones first.
	Sources []string
}

// Voice is a source that covers a place.
type Voice struct {
	Name, Title, Authority string
	Role                   source.Role
	// Types are those for which it does, of those that were asked for; nil: it does not state which.
	Types []hazard.Type
	From  string
	Cite  string
	Reading
}

// Judge returns the coverage of a place for the given types, or for all if there are none.
func (m *Map) Judge(p *Place, now Readings, types ...hazard.Type) *Judgement {
	j := &Judgement{}
	for _, i := range p.covers {
		if v, ok := m.voice(i, now, types); ok {
			j.Sources = append(j.Sources, v)
		}
	}
	slices.SortStableFunc(j.Sources, func(a, b Voice) int {
		if a.Role != b.Role {
			return int(a.Role) - int(b.Role)
		}
		return strings.Compare(a.Name, b.Name)
	})
	asked := types
	if len(types) == 0 {
		for _, info := range hazard.Types() {
			if slices.ContainsFunc(j.Sources, func(v Voice) bool { return slices.Contains(v.Types, info.ID) }) {
				asked = append(asked, info.ID)
			}
		}
	}
	for _, t := range asked {
		w := judge(t, j.Sources)
		j.Types = append(j.Types, w)
		if len(types) > 0 {
			j.Word = worse(j.Word, w.Word)
		}
	}
	if len(types) == 0 {
		j.Word = atLarge(j)
	}
	return j
}

// Word returns the word of Judge.
func (m *Map) Word(p *Place, now Readings, types ...hazard.Type) Word {
	return m.Judge(p, now, types...).Word
}

// judge returns the word for a type by the sources that cover a place.
func judge(t hazard.Type, sources []Voice) TypeWord {
	w := TypeWord{Type: t, Word: Unknown, Role: source.RoleUnknown}
	roles := []source.Role{source.RoleResponsible}
	if slices.Contains(observed, t) {
		roles = append(roles, source.RoleWatches)
	}
	for _, role := range roles {
		var fresh, others []string
		for _, v := range sources {
			switch {
			case v.Role != role || !v.Polled || !slices.Contains(v.Types, t):
			case v.Fresh:
				fresh = append(fresh, v.Name)
			default:
				others = append(others, v.Name)
			}
		}
		found := Stale
		if fresh != nil {
			found = Covered
		}
		// Who watches makes good what the responsible source does not say.
		if fresh != nil && w.Word != Covered || others != nil && w.Word == Unknown {
			w.Word, w.Role, w.Sources = found, role, slices.Compact(append(fresh, others...))
		}
	}
	return w
}

// atLarge returns the word for official warnings in general.
func atLarge(j *Judgement) Word {
	word := Unknown
	for i := range j.Sources {
		if v := &j.Sources[i]; v.warns() {
			if v.Fresh {
				word = Covered
			} else if word == Unknown {
				word = Stale
			}
		}
	}
	if word == Unknown {
		return word
	}
	for _, t := range j.Types {
		if t.Word == Stale && t.Role == source.RoleResponsible {
			return Stale
		}
	}
	return word
}

// warns reports whether the source issues official warnings in general.
func (v *Voice) warns() bool {
	return v.Role == source.RoleResponsible && v.Polled && (v.Types == nil || slices.Contains(v.Types, general))
}

// by returns the sources that determine the word: in general, or for the requested types.
func (j *Judgement) by(large bool) (names []string) {
	if !large {
		for _, t := range j.Types {
			names = append(names, t.Sources...)
		}
		return names
	}
	for i := range j.Sources {
		if v := &j.Sources[i]; v.warns() {
			names = append(names, v.Name)
		}
	}
	return names
}

// voice returns the source of a statement, or none if the statement does not concern the types.
func (m *Map) voice(i int, now Readings, types []hazard.Type) (Voice, bool) {
	st := &m.statements[i]
	s := &m.sources[st.source]
	v := Voice{Name: s.Name, Title: s.Title, Authority: s.Attribution, Role: st.Role, From: st.From, Cite: st.Cite, Types: st.types}
	if st.types != nil && len(types) > 0 {
		if v.Types = slices.DeleteFunc(slices.Clone(st.types), func(t hazard.Type) bool { return !slices.Contains(types, t) }); len(v.Types) == 0 {
			return v, false
		}
	}
	read, ok := now[s.Name]
	switch {
	case !ok:
		v.Reading = Reading{State: "disabled"}
	case st.feed >= 0 && st.feed < len(read.Feeds):
		v.Reading = read.Feeds[st.feed]
	default:
		v.Reading = read.Reading
	}
	return v, true
}

// age returns the time since a source was last read, and whether it ever was.
func (r Reading) age(now hazard.Instant) (age time.Duration, ever bool) {
	if r.LastSuccess == nil {
		return 0, false
	}
	return max(0, now.Time().Sub(*r.LastSuccess)), true
}
