package cap

import (
	"slices"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Values that hazardd itself writes besides CAP's own elements (package format), so that a hazard
// is the same after it was passed from one server to another. They are only used if they agree with
// the CAP elements that everybody reads.

// ownName is the parameter in which hazardd writes the name of a hazard in the language of a block,
// besides the authority's headline.
const ownName = "hazardd:name"

// ownWords are CAP's words for our levels.
var ownWords = map[hazard.Severity]string{
	hazard.Warning: "Extreme", hazard.Watch: "Severe", hazard.Advisory: "Moderate", hazard.Information: "Minor", hazard.Termination: "Minor",
}

// ownType returns the type that another hazardd has written.
func (in *Info) ownType() (hazard.Type, bool) {
	i := slices.IndexFunc(in.EventCode, func(v Value) bool { return v.Name == "hazardd:type" })
	if i < 0 {
		return "", false
	}
	typ := hazard.Type(in.EventCode[i].Value)
	_, ok := typ.Info()
	return typ, ok
}

// ownSeverity returns the level that another hazardd has written.
func (in *Info) ownSeverity() (hazard.Severity, bool) {
	s, ok := hazard.ParseSeverity(in.Param("hazardd:severity"))
	return s, ok && is(in.Severity, ownWords[s])
}

// ownCategory returns the category that another hazardd has written. It does not apply to
// exercises.
func (in *Info) ownCategory() hazard.Category {
	switch c := hazard.Category(in.Param("hazardd:category")); c {
	case hazard.Response, hazard.Other:
		return c
	}
	return hazard.Event
}

// own sets a group's point and the role of its areas, if another hazardd has written them.
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
