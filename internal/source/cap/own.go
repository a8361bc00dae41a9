package cap

import (
	"slices"

	"github.com/hazardd/hazardd/internal/hazard"
)

// What hazardd writes beside the words of CAP (package format), so that a hazard that goes from one server to another is the same at
// both. It is only understood where it agrees with the words that everybody reads.

// ownName is the parameter in which a hazardd says the name of a hazard in the language of a block, beside the authority's headline.
const ownName = "hazardd:name"

// ownWords are CAP's words for our levels.
var ownWords = map[hazard.Severity]string{
	hazard.Warning: "Extreme", hazard.Watch: "Severe", hazard.Advisory: "Moderate", hazard.Information: "Minor", hazard.Termination: "Minor",
}

// ownType is the type that a hazardd says.
func (in *Info) ownType() (hazard.Type, bool) {
	i := slices.IndexFunc(in.EventCode, func(v Value) bool { return v.Name == "hazardd:type" })
	if i < 0 {
		return "", false
	}
	typ := hazard.Type(in.EventCode[i].Value)
	_, ok := typ.Info()
	return typ, ok
}

// ownSeverity is the level that a hazardd says.
func (in *Info) ownSeverity() (hazard.Severity, bool) {
	s, ok := hazard.ParseSeverity(in.Param("hazardd:severity"))
	return s, ok && is(in.Severity, ownWords[s])
}

// ownCategory is the category that a hazardd says of what is no exercise.
func (in *Info) ownCategory() hazard.Category {
	switch c := hazard.Category(in.Param("hazardd:category")); c {
	case hazard.Response, hazard.Other:
		return c
	}
	return hazard.Event
}

// own gives a group what a hazardd says of it: its point, and what its areas are.
func (g *group) own() {
	if _, ok := g.in.ownType(); !ok {
		return
	}
	if p, err := Position(g.in.Param("hazardd:position")); err == nil {
		g.point = &p
	}
	role := hazard.AreaRole(g.in.Param("hazardd:area"))
	for i := range g.areas {
		if g.areas[i].Role == hazard.AlertArea && slices.Contains([]hazard.AreaRole{hazard.ImpactArea, hazard.TrackArea}, role) {
			g.areas[i].Role = role
		}
	}
}
