package fuse

import (
	"fmt"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Ignores returns the rule by which reports about one event make no hazard when they are the first
// about it, at now; "" if they make one. Suspect reports do not count. slight reports whether the
// rule is that of reports too slight for a hazard.
func Ignores(reports []hazard.Report, now hazard.Instant, opts Options) (rule string, slight bool) {
	e := &event{key: reports[0].Key, reports: reports, held: make([]bool, len(reports))}
	for i := range reports {
		e.held[i] = reports[i].Suspect != ""
	}
	d := decide(e, now, opts)
	switch {
	case d.outcome == ignored && d.state.Ended == hazard.EndWithdrawn:
		return "its source withdrew it, and it was not shown before", false
	case d.outcome == ignored:
		return fmt.Sprintf("it was over at %v, more than %d days before it came", d.state.Over(), int(maxPast.Hours()/24)), false
	case d.outcome != counted || !d.slight:
		return "", false
	case d.state.Ended != "":
		return "it only ends an event, and none of that name was shown", false
	}
	return "too slight for a hazard of its own: it only changes a hazard that is shown, and none of that name was", true
}
