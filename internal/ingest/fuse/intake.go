// Package fuse turns reports into changes: it decides which hazard a report belongs to and what
// it changes.
//
// A report's event is identified by the source's own key, or by another name that the source uses
// for it; otherwise it is a new hazard. All parts of a source's event are combined (hazard.Derive).
// So late, repeated and reordered reports give the same hazard in the end, and a report without
// news makes no change. Fields set by an editor are not overwritten. Nothing is dropped silently:
// an implausible report, or one without a known place, is held with the reason.
package fuse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/geo/lru"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
)

// Known is what intake needs to know about the sources. The zero value knows nothing.
type Known struct {
	Authority hazard.Authority
	Schemes   source.Schemes
	// Places find the shapes of a source's places, by source.
	Places map[string]source.Places
	// Countries are the alpha-2 codes of the countries of sources whose Places are areas, by
	// source; nil for a source that states none. If no area of a report is known, the outline of
	// its country is used; not for sources that are missing here.
	Countries map[string][]string
}

// Intake processes reports. It is safe for concurrent use.
type Intake struct {
	store *store.Store
	known Known
	areas areas
	drawn *lru.Cache[digest, string] // digests of stored drawings
	// damaged are the hazards that the last Pass could not process.
	damaged atomic.Pointer[map[int64]error]
	// unreadable are the reports that the last Pass could not take up, since they themselves are damaged.
	unreadable atomic.Pointer[map[int64]error]
}

// New makes an Intake that writes to s.
func New(s *store.Store, known Known) *Intake {
	return &Intake{store: s, known: known, areas: newAreas(), drawn: lru.New[digest, string](maxDrawn)}
}

// Options describe the origin of a batch.
type Options struct {
	// History means that the batch is an old payload, imported for the record. Events that ended
	// long ago create hazards too.
	History bool
	// Again processes the events of the batch again although their reports may be unchanged,
	// because places have become known.
	Again bool
	// Payload is the hexadecimal SHA-256 of the batch's payload; empty if unknown.
	Payload string
}

// maxPast is how long ago an event may have ended and still create a hazard when a live feed first
// reports it. It covers the downtime of a poller, but not a catalog's corrections of old events.
const maxPast = 7 * 24 * time.Hour

// Result counts the results of a batch.
type Result struct {
	Read      int // records of the payload
	New       int // hazards
	Updated   int // hazards, or their products
	Unchanged int // events without news
	Ignored   int // records that are not hazards by the mapping table, or that ended too long ago
	Held      int // reports held for an editor, or until a repair
	Rejected  int // unreadable records
	// Rejects are the unreadable records, and Suspects the newly held ones.
	Rejects, Suspects []source.Reject
	// Details are the addresses of detailed reports about changed events.
	Details []string
	// Events are the keys of the known events in the batch, including those in rejected records.
	Events map[string]bool
	// Lasting are the keys of the known events in source.Batch.Lasting.
	Lasting map[string]bool
	Last    int64 // number of the last change; 0 if none
	// Issued holds when the source issued the reports that changed a hazard, by their versions: the
	// newest of each event, at most maxIssued.
	Issued []hazard.Instant
	// Coarse are the hazards with a simplified, larger area, because an exact repair would have
	// been too costly.
	Coarse []uuid.UUID
}

// maxIssued bounds Result.Issued: enough to measure a source's delay.
const maxIssued = 1000

// chunk is how many reports one transaction processes, plus later ones of the same events: enough
// to amortize its cost, few enough that other writers wait only briefly.
const chunk = 100

// slight is how many slight reports count as one, because most are ignored after a look-up.
const slight = 10

// chunks divides reports into parts of at least chunk. Reports with a common name stay together, at
// the place of the first.
func chunks(reports []hazard.Report) [][]hazard.Report {
	group := make([]int, len(reports)) // report → an earlier one of the same event, or itself
	root := func(i int) int {
		for group[i] != i {
			group[i] = group[group[i]]
			i = group[i]
		}
		return i
	}
	first := map[string]int{}
	for i := range reports {
		group[i] = i
		for _, name := range reports[i].Names() {
			if j, ok := first[name]; ok {
				a, b := root(i), root(j)
				group[max(a, b)] = min(a, b)
			} else {
				first[name] = i
			}
		}
	}
	members := make([][]int, len(reports))
	for i := range reports {
		members[root(i)] = append(members[root(i)], i)
	}
	var all [][]hazard.Report
	var take []int
	work := 0 // in fractions of a report
	for i, m := range members {
		take = append(take, m...)
		for _, j := range m {
			if reports[j].Minor {
				work++
			} else {
				work += slight
			}
		}
		if work < chunk*slight && (i < len(members)-1 || work == 0) {
			continue
		}
		slices.Sort(take) // restore the batch's order
		part := make([]hazard.Report, len(take))
		for n, j := range take {
			part[n] = reports[j]
		}
		all, take, work = append(all, part), nil, 0
	}
	return all
}

// others holds the starts of other sources' events that may match reports of a batch, by type, as
// of the first look-up.
type others struct {
	starts   map[hazard.Type][]hazard.Instant
	from, to hazard.Instant // starts of the batch's first and last event
}

func othersOf(reports []hazard.Report) *others {
	o := &others{map[hazard.Type][]hazard.Instant{}, hazard.MaxInstant, hazard.MinInstant}
	for i := range reports {
		o.from, o.to = min(o.from, reports[i].Start), max(o.to, reports[i].Start)
	}
	return o
}

// Apply processes a batch of the source.
func (in *Intake) Apply(ctx context.Context, src string, batch source.Batch, clock hazard.Clock, opts Options) (Result, error) {
	res := Result{Read: batch.Read, Ignored: batch.Ignored, Rejected: len(batch.Rejects), Rejects: batch.Rejects, Events: map[string]bool{}, Lasting: map[string]bool{}}
	drawings, faults, err := in.keepDrawings(ctx, src, &batch)
	if err != nil {
		return res, fmt.Errorf("take in %s: %w", src, err)
	}
	batch.Rejects = append(slices.Clone(batch.Rejects), faults...) // they are stored with the rejects, but are not records
	parts := chunks(batch.Reports)
	if len(parts) == 0 && len(batch.Rejects) > 0 {
		parts = [][]hazard.Report{nil}
	}
	known, drawn := othersOf(batch.Reports), map[string]bool{}
	for _, take := range parts {
		in.areas.prepare(ctx, take, in.known.Places[src], clock.Now())
		keep := map[int]error{}
		for {
			err := in.write(ctx, src, clock, opts, &res, func(w *writer) error {
				w.others, w.drawings, w.given = known, drawings, take
				if err := w.rejects(batch.Rejects); err != nil {
					return err
				}
				return w.reports(keep)
			})
			if err == nil {
				break
			}
			broken, again := errors.AsType[*brokenError](err)
			if !again {
				return res, fmt.Errorf("take in %s: %w", src, err)
			}
			for _, i := range broken.reports { // repeat without them
				keep[i] = broken.err
			}
		}
		batch.Rejects = nil
		for i := range take {
			for _, name := range take[i].Names() {
				drawn[name] = keep[i] == nil
			}
		}
	}
	maps.DeleteFunc(drawings, func(name string, _ []drawing) bool { return drawn[name] })
	if err := in.drawLoose(ctx, src, drawings, clock, opts, &res); err != nil {
		return res, fmt.Errorf("take in %s: %w", src, err)
	}
	lasting, err := in.meant(ctx, src, batch.Lasting)
	if err != nil {
		return res, fmt.Errorf("take in %s: %w", src, err)
	}
	for _, name := range batch.Lasting {
		res.Lasting[latest(lasting, name).Key] = true
	}
	return res, nil
}

// write runs one transaction. Its counts in res apply only if it is committed; the names of events
// are kept in any case.
func (in *Intake) write(ctx context.Context, src string, clock hazard.Clock, opts Options, res *Result, f func(*writer) error) error {
	was := *res
	last, err := in.store.Write(ctx, clock, store.Origin{Source: src}, func(tx *store.Tx) error {
		return f(&writer{in: in, ctx: ctx, tx: tx, src: src, now: tx.Now(), opts: opts, res: res})
	})
	if err != nil {
		*res = was
	}
	res.Last = max(res.Last, last)
	return err
}

// Withdraw ends an event that its source has deleted or no longer lists, by its name here, and with
// it the hazard, unless other sources report it. The error is a *store.HazardError if the hazard is
// damaged.
func (in *Intake) Withdraw(ctx context.Context, src, event string, reason hazard.EndReason, clock hazard.Clock) (last int64, err error) {
	return in.store.Write(ctx, clock, store.Origin{Source: src}, func(tx *store.Tx) error {
		event, id, err := tx.Event(src, event)
		if err != nil {
			return err
		}
		if err = in.writer(ctx, tx, src).withdraw(event, id, reason); store.Broken(err) {
			return &store.HazardError{ID: id, Err: err}
		}
		return err
	})
}

func (w *writer) withdraw(event string, hazardID int64, reason hazard.EndReason) error {
	parts, err := w.tx.Reports(w.src, event)
	if err != nil {
		return err
	}
	for i := range parts {
		// A part that expired before is over and does not change.
		if p := &parts[i]; p.Name != "" && p.Ended == "" && p.OverAt() > w.now {
			p.Ended, p.EndedAt = reason, &w.now
			if err := w.tx.SaveReport(event, p, ""); err != nil {
				return err
			}
		}
	}
	// Compare other events with the event as it is now.
	if e, ok, err := w.tx.FindEvent(store.EventName{Source: w.src, Key: event}); err != nil {
		return err
	} else if said := hazard.Derive(parts, w.now); ok && len(parts) > 0 && e.End != said.Over() {
		e.End = said.Over()
		w.went = append(w.went, e.Name()) // its name may mean another event from now on
		if err := w.tx.SaveEvent(&e); err != nil {
			return err
		}
	}
	return errors.Join(w.renew(hazardID), w.tellReplaced())
}

// writer processes reports within one transaction.
type writer struct {
	in     *Intake
	ctx    context.Context
	tx     *store.Tx
	src    string
	now    hazard.Instant
	opts   Options
	res    *Result
	refs   map[string]bool // other sources' names of events in the batch
	others *others
	// emptied are hazards whose events have moved to others; they still must be ended.
	emptied  []emptied
	went     []store.EventName      // events that are new, or that moved to other hazards
	moves    map[int64]*store.Merge // what has moved away from hazards, by id
	again    bool                   // events wait for the hazard that is being created
	drawings drawings               // of the batch
	given    []hazard.Report        // the transaction's reports, as received
	// reopened are hazards that continue after an undone merge, by id, with their state before.
	reopened map[int64]*hazard.Hazard
}

// rejects stores the unreadable records, and records the events that they name.
func (w *writer) rejects(rejects []source.Reject) error {
	errs := make([]store.SourceError, len(rejects))
	var names []string
	for i, r := range rejects {
		errs[i] = store.SourceError{Record: r.Record, Reason: r.Reason, Raw: r.Raw, Payload: w.opts.Payload}
		names = append(names, r.Events...)
	}
	return errors.Join(w.tx.AddSourceErrors(w.src, errs), w.note(names))
}

// note records that the batch names events, known or not.
func (w *writer) note(names []string) error {
	known, err := meant(w.tx.Named, w.src, names)
	for _, e := range known {
		w.res.Events[e.Key] = true
	}
	return err
}

// group is the batch's reports about one event.
type group struct {
	event    string   // its first key; for a new event the key of the first report
	hazardID int64    // 0 for a new one
	means    []string // keys of the known events that the reports name, and unknown names
	reports  []hazard.Report
	from     []int    // indexes in writer.given of those that were not carried
	keys     []string // all names in the reports
	fresh    []string // names that were unknown
	absorbed []absorbed
	made     []int64            // hazards that the absorbed events created
	put      store.Event        // the last absorbed event that a decision put into its hazard
	before   *store.Event       // the stored event; nil for a new one
	left     int64              // its earlier hazard, if it is to create a new one
	refs     []string           // names of the event in reports that are superseded
	shapes   []hazard.ShapesRef // shapes of absorbed events and drawings of the batch
	at       int                // index of its first report in the batch
	carried  int                // how many of the first reports come from absorbed events
	parts    []string           // parts of the event that were unknown before
}

// absorbed is another event that is the same.
type absorbed struct {
	event    string
	hazardID int64
}

// brokenError is the error of a transaction that met damaged data.
type brokenError struct {
	reports []int // indexes in writer.given of the reports that cannot be processed because of it
	err     error
}

func (e *brokenError) Error() string { return e.err.Error() }

func (e *brokenError) Unwrap() error { return e.err }

// reports processes the given reports. If some cannot be processed because data is damaged, the
// error is a *brokenError. Reports in keep are held back for the error there.
func (w *writer) reports(keep map[int]error) error {
	for _, i := range slices.Sorted(maps.Keys(keep)) {
		r := &w.given[i]
		if _, err := w.suspect(r, cmp.Or(r.Suspect, store.Damaged+": "+keep[i].Error())); err != nil {
			return err
		}
		if err := w.note(r.Names()); err != nil {
			return err
		}
	}
	groups, err := w.group(keep)
	if err != nil {
		return err
	}
	for _, g := range groups {
		err := w.take(g)
		if err == nil {
			err = w.endEmptied()
		}
		if store.Broken(err) {
			err = &brokenError{g.from, err}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// group groups the reports that are not held back by event. Events linked by reports are the same.
func (w *writer) group(kept map[int]error) ([]*group, error) {
	var all []string
	for i := range w.given {
		all = append(append(all, w.given[i].Names()...), w.given[i].Earlier...)
	}
	known, err := meant(w.tx.Named, w.src, all)
	if err != nil {
		return nil, err
	}
	reports := epochs(w.given, known)
	var asRefs []string
	for i := range reports {
		for _, name := range reports[i].Names() {
			asRefs = append(asRefs, w.src+":"+name)
		}
	}
	if w.refs, err = w.tx.KnownRefs(asRefs); err != nil {
		return nil, err
	}
	events := map[string]store.Named{} // known events, by key
	for _, e := range known {
		events[e.Key] = e
	}
	var groups []*group
	of := map[string]*group{} // by name
	for i := range reports {
		if kept[i] != nil {
			continue
		}
		r := &reports[i]
		told := &group{reports: reports[i : i+1 : i+1], from: []int{i}, keys: r.Names()}
		told.shapes = mergeShapes(told.shapes, w.drawings.of(w.given[i].Names()...))
		for _, name := range told.keys {
			if e, ok := known[name]; ok {
				name = e.Key
			}
			told.means = append(told.means, name)
		}
		if key, err := w.followed(r, told.means, of, known, events); store.Broken(err) {
			return nil, &brokenError{told.from, err}
		} else if err != nil {
			return nil, err
		} else if key != "" {
			// The report's own key belongs to another event, now or later: numbers repeat each
			// year. The earlier key only applies to this report.
			told.means, told.keys = []string{key}, nil
		} else {
			r.Refs = union(r.Refs, plainNames(&w.given[i], r))
		}
		var linked []*group
		for _, name := range told.means {
			if x := of[name]; x != nil && !slices.Contains(linked, x) {
				linked = append(linked, x)
			}
		}
		slices.SortFunc(linked, func(a, b *group) int { return a.at - b.at })
		var g *group
		if len(linked) > 0 {
			g = linked[0]
			for _, x := range linked[1:] {
				g.unite(x, of)
			}
		}
		if g == nil {
			isKnown := slices.ContainsFunc(told.means, func(name string) bool { return events[name].HazardID != 0 })
			if !isKnown && r.Minor && !w.mayJoin(r) {
				w.res.Ignored++
				continue
			}
			g = &group{at: i}
			groups = append(groups, g)
		}
		g.unite(told, of)
	}
	groups = slices.DeleteFunc(groups, func(g *group) bool { return of[g.means[0]] != g })
	for _, g := range groups {
		g.event = g.means[0]
		for _, name := range g.means {
			e, ok := events[name]
			switch {
			case !ok:
			case g.hazardID == 0: // the first known one
				g.event, g.hazardID = e.Key, e.HazardID
			case e.Key != g.event && !slices.Contains(g.absorbed, absorbed{e.Key, e.HazardID}):
				g.absorbed = append(g.absorbed, absorbed{e.Key, e.HazardID})
			}
		}
		for _, name := range g.keys {
			if _, ok := known[name]; !ok {
				g.fresh = append(g.fresh, name)
			}
		}
	}
	var awaited []string // only few names identify events
	for _, g := range groups {
		awaited = append(awaited, g.awaited(w.src)...)
	}
	waiting, err := w.tx.KnownRefs(awaited)
	maps.Copy(w.refs, waiting)
	return groups, err
}

// awaited returns the names under which other events may wait for the group's event (successorRef).
func (g *group) awaited(src string) (refs []string) {
	for _, key := range g.keys {
		refs = append(refs, successorRef(src+":"+key))
	}
	for i := range g.reports {
		for _, ref := range g.reports[i].Refs {
			refs = append(refs, successorRef(ref))
		}
	}
	return refs
}

// unite merges another group into g.
func (g *group) unite(o *group, of map[string]*group) {
	g.means, g.reports, g.from, g.shapes = append(g.means, o.means...), append(g.reports, o.reports...), append(g.from, o.from...), mergeShapes(g.shapes, o.shapes)
	for _, key := range o.keys {
		if !slices.Contains(g.keys, key) {
			g.keys = append(g.keys, key)
		}
	}
	for _, name := range o.means {
		of[name] = g
	}
}

// followed returns the event with an earlier key of a report, or "" if the report's own names,
// which mean own, are those of another event. If both exist, the event that covers the report's
// places is chosen.
func (w *writer) followed(r *hazard.Report, own []string, of map[string]*group, known, events map[string]store.Named) (string, error) {
	with := func(name string) []string { // plus what the batch has linked to it
		if g := of[name]; g != nil {
			return g.means
		}
		return []string{name}
	}
	var mine []string
	leads := false
	for _, name := range own {
		_, isKnown := events[name]
		mine, leads = append(mine, with(name)...), leads || isKnown || of[name] != nil
	}
	for _, name := range r.Earlier {
		e, ok := known[name]
		if !ok || slices.Contains(mine, e.Key) {
			continue
		}
		if leads {
			here, errH := w.speakFor(mine, r.Places, of)
			there, errT := w.speakFor(with(e.Key), r.Places, of)
			if err := errors.Join(errH, errT); err != nil {
				return "", err
			}
			if here || !there {
				continue
			}
		}
		if h, err := w.tx.Hazard(e.HazardID); err != nil {
			return "", err
		} else if h.ActiveAt(w.now) {
			return e.Key, nil
		}
	}
	return "", nil
}

// speakFor reports whether any part of events, stored or in the batch, covers one of places.
func (w *writer) speakFor(events, places []string, of map[string]*group) (bool, error) {
	for _, name := range events {
		parts, err := w.tx.Reports(w.src, name)
		if err != nil {
			return false, err
		}
		if g := of[name]; g != nil {
			parts = append(parts, g.reports...)
		}
		if slices.ContainsFunc(parts, func(p hazard.Report) bool {
			return slices.ContainsFunc(p.Places, func(place string) bool { return slices.Contains(places, place) })
		}) {
			return true, nil
		}
	}
	return false, nil
}

// absorb merges the absorbed events into the group's event: their reports and decisions apply to
// it.
func (w *writer) absorb(g *group) error {
	self := store.EventName{Source: w.src, Key: g.event}
	for i, a := range g.absorbed {
		name := store.EventName{Source: w.src, Key: a.event}
		e, _, errE := w.tx.FindEvent(name)
		parts, errP := w.tx.Reports(w.src, a.event)
		verdicts, errA := w.tx.VerdictsOfEvent(name)
		refs, errR := w.tx.Refs(name)
		beside, errB := w.tx.Events(e.HazardID)
		if err := errors.Join(errE, errP, errA, errR, errB, w.tx.RenameEvent(w.src, a.event, g.event)); err != nil {
			return err
		}
		g.absorbed[i].hazardID = e.HazardID
		if decided(e.Joined) {
			g.put = e
		}
		g.shapes = mergeShapes(e.Shapes, g.shapes)
		if slices.SortFunc(beside, compareMakers); len(beside) > 0 && beside[0].Name() == name {
			g.made = append(g.made, e.HazardID)
		}
		for _, ref := range refs {
			if err := w.addRef(ref, g.event); err != nil {
				return err
			}
		}
		for other, v := range verdicts[name] {
			if err := w.tx.SaveVerdict(self, other, v); err != nil {
				return err
			}
		}
		if err := w.keepStripped(g, parts); err != nil {
			return err
		}
		g.carry(parts)
	}
	for _, name := range g.fresh { // it has no hazard, but is known to be over
		if name == g.event {
			continue
		}
		parts, err := w.tx.Reports(w.src, name)
		if err != nil {
			return err
		}
		g.carry(parts)
	}
	return nil
}

// carry adds the reports of an event under another key, without superseded ones.
func (g *group) carry(parts []hazard.Report) {
	parts = slices.DeleteFunc(parts, func(p hazard.Report) bool { return p.Name == "" })
	g.reports, g.carried = append(parts, g.reports...), g.carried+len(parts)
}

// keepStripped stores the superseded parts of an absorbed event, which still say when it began.
func (w *writer) keepStripped(g *group, parts []hazard.Report) error {
	have, err := w.tx.Reports(w.src, g.event)
	if err != nil {
		return err
	}
	for i := range parts {
		p := &parts[i]
		if p.Name != "" || slices.ContainsFunc(have, func(o hazard.Report) bool { return o.Part == p.Part && o.Version >= p.Version }) {
			continue
		}
		if err := errors.Join(w.tx.SaveReport(g.event, p, ""), w.tx.StripReport(g.event, p)); err != nil {
			return err
		}
	}
	return nil
}

// take makes the changes of one event.
func (w *writer) take(g *group) error {
	// earlier events in the batch may have moved it
	before, known, err := w.tx.FindEvent(store.EventName{Source: w.src, Key: g.event})
	if err != nil {
		return err
	}
	if g.hazardID = before.HazardID; known {
		g.before = &before
	}
	if err := w.absorb(g); err != nil {
		return err
	}
	parts, changed, err := w.merge(g)
	if err != nil || len(parts) == 0 {
		return err
	}
	shapes := mergeShapes(before.Shapes, g.shapes)
	drew := !slices.Equal(shapes, before.Shapes)
	if g.hazardID != 0 && !changed && !drew && len(g.fresh) == 0 && !w.opts.Again && len(g.absorbed) == 0 {
		w.res.Unchanged++
		w.res.Events[g.event] = true
		return nil
	}
	own := hazard.Derive(parts, w.now)
	own.Head.Key, own.Shapes = g.event, shown(shapes)
	if g.hazardID == 0 && (own.Ended == hazard.EndWithdrawn || !w.opts.History && own.Over() < w.now.Add(-maxPast)) {
		w.res.Ignored++
		return w.forget(g, parts)
	}
	// If one of several reports is not slight, the event creates a hazard, as it would in two
	// payloads.
	slight := own.Head.Minor && !slices.ContainsFunc(g.reports, func(r hazard.Report) bool { return !r.Minor })
	w.again = false
	joined, err := w.join(g, &own, slight)
	if err != nil {
		return err
	}
	if g.hazardID == 0 && slight {
		w.res.Ignored++
		return w.forget(g, parts)
	}
	others, err := w.derived(g.hazardID, nameOf(&own))
	if err != nil {
		return err
	}
	isNew, newUUID := g.hazardID == 0, uuid.Nil
	if isNew {
		if newUUID, err = w.freeUUID(own.Head.UUID, w.src, g.event); err != nil {
			return err
		}
	}
	if g.left != 0 {
		left, err := w.tx.Hazard(g.left)
		if err != nil {
			return err
		}
		own.Head.Category = category(left, &own.Head)
	}
	h, different, err := w.settle(g.hazardID, newUUID, append(others, own))
	if errors.Is(err, errNoPlace) {
		return w.holdUnplaced(g, &own)
	}
	if err != nil {
		return err
	}
	if g.left != 0 {
		if err := w.moveProducts(g.left, h.ID, w.event(&own, h.ID)); err != nil {
			return err
		}
	}
	moved, err := w.products(h, &own.Head)
	if len(w.went) > 0 { // an event from another hazard may have ended there without a record
		for i := range others {
			if err == nil {
				_, err = w.products(h, &others[i].Head)
			}
		}
	}
	if err != nil {
		return err
	}
	for _, a := range g.absorbed {
		if _, err := w.gone(h.ID, store.EventName{Source: w.src, Key: a.event}, nil); err != nil {
			return err
		}
	}
	if err := w.remember(g, h, &own, parts, joined, isNew); err != nil {
		return err
	}
	if drew || g.left != 0 { // the event had left its hazard and was forgotten until now
		if err := w.tx.SaveShapes(store.EventName{Source: w.src, Key: g.event}, shapes); err != nil {
			return err
		}
	}
	if w.again {
		self, _, err := w.tx.FindEvent(store.EventName{Source: w.src, Key: g.event})
		if err != nil {
			return err
		}
		if err := errors.Join(w.regroup(&self, h), w.renew(h.ID)); err != nil {
			return err
		}
	}
	if len(g.absorbed) > 0 || slices.ContainsFunc(g.awaited(w.src), func(ref string) bool { return w.refs[ref] }) {
		w.went = append(w.went, store.EventName{Source: w.src, Key: g.event})
	}
	switch {
	case isNew:
		w.res.New++
	case different || moved:
		w.res.Updated++
	default:
		w.res.Unchanged++
	}
	if (isNew || different || moved) && len(w.res.Issued) < maxIssued {
		newest := slices.MaxFunc(g.reports, func(a, b hazard.Report) int { return cmp.Compare(a.Version, b.Version) })
		w.res.Issued = append(w.res.Issued, hazard.Instant(newest.Version))
	}
	w.res.Events[g.event] = true
	if d := own.Head.Detail; d != "" && (changed || isNew) {
		w.res.Details = append(w.res.Details, d)
	}
	return nil
}

// saidOf returns a source's present state of an event, and whether anything is known.
func (w *writer) saidOf(event store.EventName) (said hazard.Said, known bool, err error) {
	parts, err := w.tx.Reports(event.Source, event.Key)
	if err != nil || len(parts) == 0 {
		return said, false, err
	}
	said = hazard.Derive(parts, w.now)
	said.Head.Key = event.Key // its reports may have other names
	return said, true, nil
}

// derived returns the sources' present states of all known events of a hazard, except one.
func (w *writer) derived(hazardID int64, but store.EventName) (all []hazard.Said, err error) {
	if hazardID == 0 {
		return nil, nil
	}
	events, err := w.tx.Events(hazardID)
	if err != nil {
		return nil, err
	}
	for i := range events {
		said, known, err := w.saidOf(events[i].Name())
		if err != nil {
			return nil, err
		}
		if known && events[i].Name() != but {
			said.Shapes = shown(events[i].Shapes)
			all = append(all, said)
		}
	}
	return all, nil
}

// nameOf returns the name of an event.
func nameOf(said *hazard.Said) store.EventName {
	return store.EventName{Source: said.Head.Source, Key: said.Head.Key}
}

// ifAny returns found, or nil if there is none.
func ifAny[T any](found *T, err error) (*T, error) {
	if errors.Is(err, hazard.ErrNotFound) {
		return nil, nil
	}
	return found, err
}

// errNoPlace means that nothing says where the event is.
var errNoPlace = errors.New("no place")

// settle updates a hazard to the combined state of all, and reports whether it changed. A new one
// (id 0) gets the UUID.
func (w *writer) settle(id int64, newUUID uuid.UUID, all []hazard.Said) (h *hazard.Hazard, different bool, err error) {
	var before *hazard.Hazard
	if id != 0 {
		if before, err = w.tx.Hazard(id); err != nil {
			return nil, false, err
		}
	}
	said := hazard.Combine(all, w.in.known.Authority, w.now)
	placed := w.place(&said, all)
	if before == nil && said.Head.Point == nil && len(placed) == 0 {
		return nil, false, errNoPlace
	}
	base := before
	if r := w.reopened[id]; r != nil {
		base = withoutEnd(before, r)
		delete(w.reopened, id)
	}
	if h, err = w.state(newUUID, base, &said, placed); err != nil {
		return nil, false, err
	}
	different = before == nil || !h.Equal(before)
	if different {
		if slices.ContainsFunc(placed, func(p placedArea) bool { return p.shape.Coarse() }) {
			w.res.Coarse = append(w.res.Coarse, h.UUID)
		}
		w.stamp(h)
		err := w.tx.SaveHazard(h, before)
		// A source's forbidden change is stored as its error, and the other events continue. An
		// editor gets the error instead.
		by := w.tx.Origin()
		if law, ok := errors.AsType[*hazard.LawError](err); ok && before != nil && by.User == "" && !by.Admin {
			refused := []store.SourceError{{Record: before.UUID.String(), Reason: law.Error()}}
			// It is tried again when its reports change, even if its end is unchanged.
			return before, false, errors.Join(w.tx.AddSourceErrors(cmp.Or(w.src, before.Source), refused), w.tx.SetWake(id, said.Next))
		}
		if err != nil {
			return nil, false, err
		}
	}
	return h, different, w.wake(h, before == nil, &said)
}

// wake sets when the hazard must be derived again. Its own end is such a moment only if an editor
// set it, because its sources then continue, or if a source gave a reason for it.
func (w *writer) wake(h *hazard.Hazard, isNew bool, said *hazard.Said) error {
	next := said.Next
	ofEditor := h.Source == "" || h.EditedField("end_Date") || h.EditedField("status") || h.EditedField("autoexpire")
	if h.AutoExpire && next >= h.End && !said.Ending && !ofEditor {
		next = hazard.MaxInstant
	}
	if isNew && next == hazard.MaxInstant {
		return nil
	}
	return w.tx.SetWake(h.ID, next)
}

// merge returns the latest report of each part of the event, and whether the group's reports change
// any. Suspect reports are held.
func (w *writer) merge(g *group) (parts []hazard.Report, changed bool, err error) {
	if parts, err = w.tx.Reports(w.src, g.event); err != nil { // a new event may have earlier reports without a place, or from before it was known
		return nil, false, err
	}
	for i := range g.reports {
		r := &g.reports[i]
		if r.Suspect != "" {
			believed, err := w.suspect(w.asGiven(g, i), r.Suspect)
			if err != nil {
				return nil, false, err
			}
			if !believed {
				continue
			}
		}
		j := slices.IndexFunc(parts, func(p hazard.Report) bool { return p.Part == r.Part })
		if j < 0 {
			j, parts, g.parts = len(parts), append(parts, *r), append(g.parts, r.Part)
		} else if newer, ok := supersede(&parts[j], r); ok {
			parts[j] = newer
		} else {
			if parts[j].Name == "" && len(r.Refs) > 0 {
				known, err := w.tx.Refs(store.EventName{Source: w.src, Key: g.event})
				if err != nil {
					return nil, false, err
				}
				g.refs = append(g.refs, slices.DeleteFunc(slices.Clone(r.Refs), func(ref string) bool { return slices.Contains(known, ref) })...)
				changed = changed || len(g.refs) > 0
			}
			continue
		}
		changed = true
		payload := w.opts.Payload
		if i < g.carried {
			payload = ""
		}
		if err := w.tx.SaveReport(g.event, &parts[j], payload); err != nil {
			return nil, false, err
		}
	}
	return parts, changed, nil
}

// supersede returns the state of a part after r, and whether it changed. The later report applies;
// data that a summary leaves out (products, areas) stays from the latest report with it, whichever
// came first.
func supersede(old, r *hazard.Report) (hazard.Report, bool) {
	if old.Name == "" && r.Version <= old.Version { // a stripped part that is repeated
		return *old, false
	}
	n, other := *r, old
	if r.Version < old.Version {
		n, other = *old, r
	}
	if v := toldAt(other, other.Products != nil, other.Kept.Products); v > toldAt(&n, n.Products != nil, n.Kept.Products) {
		n.Products, n.Kept.Products = other.Products, v
	}
	if v := toldAt(other, tellsWhere(other), other.Kept.Areas); v > toldAt(&n, tellsWhere(&n), n.Kept.Areas) && len(other.Places) == 0 {
		n.Areas, n.Kept.Areas = other.Areas, v
	}
	v, told := toldAt(other, other.Renewed != nil, other.Kept.Renewed), toldAt(&n, n.Renewed != nil, n.Kept.Renewed)
	if v > told || v == told && other.Renewed != nil && *other.Renewed > *n.Renewed { // or a list contains it again
		n.Renewed, n.Kept.Renewed = other.Renewed, v
	}
	if old.Lapsed() && n.Ended == "" && r.Renewed == nil {
		n.Ended, n.EndedAt = old.Ended, old.EndedAt
	}
	if n.Version == other.Version && n.End != nil && other.End != nil {
		n.End = new(max(*n.End, *other.End))
	}
	n.Aliases, n.Refs = union(old.Aliases, r.Aliases), union(old.Refs, r.Refs)
	return n, !sameReport(&n, old)
}

// toldAt returns the version of the report with the data that r has or keeps; a version before all
// others if it has none.
func toldAt(r *hazard.Report, tells bool, kept int64) int64 {
	if !tells {
		return math.MinInt64
	}
	return cmp.Or(kept, r.Version)
}

// tellsWhere reports whether a report has, or keeps, more about a place than a point.
func tellsWhere(r *hazard.Report) bool { return len(r.Areas) > 0 || len(r.Places) > 0 }

func union(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// asGiven returns a report of a group as received. It is held in this form, because its names may
// mean another event later.
func (w *writer) asGiven(g *group, i int) *hazard.Report {
	if i < g.carried {
		return &g.reports[i]
	}
	return &w.given[g.from[i-g.carried]]
}

// suspect holds a report, unless an editor has released the same one before; believed reports that.
func (w *writer) suspect(r *hazard.Report, reason string) (believed bool, err error) {
	isNew, decision, err := w.tx.Hold(r, reason)
	if err != nil || decision == store.Released {
		return err == nil, err
	}
	if decision == store.Dismissed {
		w.res.Ignored++
		return false, nil
	}
	w.res.Held++
	if isNew {
		w.res.Suspects = append(w.res.Suspects, source.Reject{Record: r.Key + " " + r.Part, Reason: reason})
	}
	return false, nil
}

// holdUnplaced holds the reports of an event that is new, or has left its hazard, until its place
// is known. Events that are over are dropped.
func (w *writer) holdUnplaced(g *group, said *hazard.Said) error {
	if g.left != 0 {
		if _, err := w.gone(g.left, nameOf(said), nil); err != nil {
			return err
		}
	}
	if said.Ended != "" {
		w.res.Ignored++
		return nil
	}
	reason := store.NoPlace + ": the report gives neither a position nor an area that can be read"
	if len(said.Places) > 0 {
		reason = fmt.Sprintf("%s: no shape is known of %s", store.NoPlace, sample(said.Places))
	}
	for i := range g.reports {
		if _, err := w.suspect(w.asGiven(g, i), reason); err != nil {
			return err
		}
	}
	return nil
}

// forget removes the reports of a new event that creates no hazard. Reports of its end stay,
// because reports that they end may come later or again. Parts of an event that left its hazard
// stay too, because what they superseded must not return.
func (w *writer) forget(g *group, parts []hazard.Report) error {
	for i := range parts {
		if !slices.Contains(g.parts, parts[i].Part) || parts[i].Ended != "" {
			continue
		}
		if err := w.tx.ForgetReport(w.src, g.event, parts[i].Part); err != nil {
			return err
		}
	}
	return nil
}

// sample lists the first few of many words.
func sample(words []string) string {
	const most = 5
	text := fmt.Sprint(words[:min(len(words), most)])
	if len(words) > most {
		text += fmt.Sprintf(" and %d more", len(words)-most)
	}
	return text
}

// remember stores the event's names and the data for comparisons, and removes superseded reports.
func (w *writer) remember(g *group, h *hazard.Hazard, own *hazard.Said, parts []hazard.Report, joined string, isNew bool) error {
	e := w.event(own, h.ID)
	e.Joined = joined
	if err := w.tx.SaveEvent(e); err != nil {
		return err
	}
	for _, key := range append(g.keys, g.event) {
		if err := w.tx.AddEventKey(w.src, key, g.event); err != nil {
			return err
		}
	}
	if next := own.Head.Successor; next != "" {
		if err := w.addRef(successorRef(w.src+":"+next), g.event); err != nil {
			return err
		}
	}
	for i := range parts {
		// Parts without places, or that replace others, may still affect late parts.
		if p := &parts[i]; !own.Owned[p.Part] && p.Name != "" && len(p.Places) > 0 && len(p.Replaces) == 0 {
			if err := w.tx.StripReport(g.event, p); err != nil {
				return err
			}
		}
	}
	placed := g.reports
	if isNew { // its held reports come with it
		placed = parts
	}
	for i := range placed {
		// Held reports have the source's original names.
		for _, key := range slices.Compact([]string{placed[i].Key, plainName(placed[i].Key)}) {
			if err := w.tx.Placed(w.src, key, placed[i].Part); err != nil {
				return err
			}
		}
	}
	return nil
}

// errBadPoint is a fault of this program: parsers reject invalid positions.
var errBadPoint = errors.New("position is not on Earth")
