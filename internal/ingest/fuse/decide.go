package fuse

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// maxPast is how long ago an event may have ended and still create a hazard when a live feed first
// reports it. It covers the downtime of a poller, but not a catalog's corrections of old events.
const maxPast = 7 * 24 * time.Hour

// event is what is known of an event when reports about it arrive.
type event struct {
	key      string             // its name
	inHazard bool               // it belongs to a hazard
	active   bool               // that hazard was active before the batch
	parts    []hazard.Report    // the latest stored report of each part; one without a name was superseded and stripped
	refs     []string           // its names at other sources; only if a report may add some to a stripped part
	shapes   []hazard.ShapesRef // its stored drawings
	reports  []hazard.Report    // the reports that arrive, in order
	held     []bool             // report → it is suspect and waits for an editor
	drawings []hazard.ShapesRef // the drawings that arrive
	renamed  bool               // it has new names, or other events are the same as it
}

// outcome says what becomes of an event.
type outcome int

const (
	held      outcome = iota // all of its reports wait for an editor
	unchanged                // the reports contain nothing new
	ignored                  // it is not a hazard, or was over long ago
	counted                  // it belongs to a hazard, if not to an existing one, then, unless it is slight, to a new one
)

// decision is what becomes of an event.
type decision struct {
	outcome outcome
	parts   []hazard.Report // the latest report of each part
	saves   []save          // changes of parts, in order
	added   []string        // parts that were unknown
	refs    []string        // names from reports that were superseded before
	changed bool            // a part, or a name, changed
	shapes  []hazard.ShapesRef
	drew    bool // the drawings changed
	// compare means that the event is compared with others: it is new, or its reports or names changed.
	compare bool
	// state is the present state of the event, and slight means that it creates no hazard by itself.
	// Both are unset if nothing is known of it, or if nothing changed.
	state  hazard.EventState
	slight bool
}

// save is a part of an event that has changed.
type save struct {
	part   hazard.Report
	report int // index of the report that changed it
}

// decide returns what becomes of an event when reports about it arrive. It depends on its arguments
// only: all that it needs from the store is in e.
//
// How long a report counts is decided in three places, and nowhere else: supersede says which data
// of a part stays when another report of the same part arrives; hazard.Derive says which parts are
// still in force at a moment, and when the next one ends; decide says whether an event that is over
// still creates a hazard.
func decide(e *event, now hazard.Instant, opts Options) (d decision) {
	d.parts = slices.Clone(e.parts)
	for i := range e.reports {
		if !e.held[i] {
			d.add(i, e)
		}
	}
	if len(d.parts) == 0 {
		return d
	}
	d.shapes = mergeShapes(e.shapes, e.drawings)
	d.drew = !slices.Equal(d.shapes, e.shapes)
	d.compare = !e.inHazard || d.changed || e.renamed || opts.Again
	news := d.compare || d.drew
	if !news && e.active {
		d.outcome = unchanged
		return d
	}
	d.state = hazard.Derive(d.parts, now)
	// What is repeated and is not past its end goes on, though a wrong clock has ended it.
	if !news && (d.state.Ended != "" || d.state.Over() <= now) {
		d.outcome = unchanged
		return d
	}
	d.state.Head.Key, d.state.Shapes = e.key, shown(d.shapes)
	// If one of several reports is not slight, the event creates a hazard, as it would in two
	// payloads.
	d.slight = d.state.Head.Minor && !slices.ContainsFunc(e.reports, func(r hazard.Report) bool { return !r.Minor })
	d.outcome = counted
	if !e.inHazard && (d.state.Ended == hazard.EndWithdrawn || !opts.History && d.state.Over() < now.Add(-maxPast)) {
		d.outcome = ignored
	}
	return d
}

// add applies report i of e.
func (d *decision) add(i int, e *event) {
	r := &e.reports[i]
	j := slices.IndexFunc(d.parts, func(p hazard.Report) bool { return p.Part == r.Part })
	if j < 0 {
		j, d.parts, d.added = len(d.parts), append(d.parts, *r), append(d.added, r.Part)
	} else {
		newer, ok := supersede(&d.parts[j], r)
		if newer.Name == "" {
			for _, ref := range r.Refs {
				if !slices.Contains(e.refs, ref) {
					d.refs = append(d.refs, ref)
				}
			}
			d.changed = d.changed || len(d.refs) > 0
		}
		if !ok {
			return
		}
		d.parts[j] = newer
	}
	d.changed = true
	d.saves = append(d.saves, save{d.parts[j], i})
}

// supersede returns the state of a part after r, and whether it changed. The later report applies;
// data that a summary leaves out (products, areas) stays from the latest report with it, whichever
// came first.
func supersede(old, r *hazard.Report) (hazard.Report, bool) {
	if old.Name == "" && (r.Version < old.Version || r.Version == old.Version && r.Listed == nil) { // a stripped part that is repeated
		n := *old
		n.RememberStart(old, r)
		return n, !slices.Equal(n.Begun, old.Begun)
	}
	n, other := *r, old
	if r.Version < old.Version {
		n, other = *old, r
	}
	if v := versionWith(other, other.Products != nil, other.Kept.Products); v > versionWith(&n, n.Products != nil, n.Kept.Products) {
		n.Products, n.Kept.Products = other.Products, v
	}
	if v := versionWith(other, hasArea(other), other.Kept.Areas); v > versionWith(&n, hasArea(&n), n.Kept.Areas) && len(other.Places) == 0 {
		n.Areas, n.Kept.Areas = other.Areas, v
	}
	v, with := versionWith(other, other.Renewed != nil, other.Kept.Renewed), versionWith(&n, n.Renewed != nil, n.Kept.Renewed)
	if v > with || v == with && other.Renewed != nil && *other.Renewed > *n.Renewed { // or a list contains it again
		n.Renewed, n.Kept.Renewed = other.Renewed, v
	}
	switch {
	case old.Lapsed() && n.Ended == "" && r.Renewed == nil:
		n.Ended, n.EndedAt = old.Ended, old.EndedAt
	case old.Dropped() && r.Listed == nil && r.Version <= old.Version: // only a list takes back what a list dropped
		n.Ended, n.EndedAt, n.Listed = old.Ended, old.EndedAt, old.Listed
	case r.Listed != nil && n.Dropped():
		n.Ended, n.EndedAt, n.Listed = "", nil, r.Listed
	case n.Ended == "" && other.Listed != nil && (n.Listed == nil || *n.Listed < *other.Listed):
		n.Listed = other.Listed
	}
	if n.Version == other.Version && n.End != nil && other.End != nil {
		n.End = new(max(*n.End, *other.End))
	}
	n.Aliases, n.Refs = union(old.Aliases, r.Aliases), union(old.Refs, r.Refs)
	n.RememberStart(r, old)
	return n, !sameReport(&n, old)
}

// versionWith returns the version of the report with the data that r has or keeps; a version before all
// others if it has none.
func versionWith(r *hazard.Report, has bool, kept int64) int64 {
	if !has {
		return math.MinInt64
	}
	return cmp.Or(kept, r.Version)
}

// hasArea reports whether a report has, or keeps, more about a place than a point.
func hasArea(r *hazard.Report) bool { return len(r.Areas) > 0 || len(r.Places) > 0 }

func union(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}
