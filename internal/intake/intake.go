// Package intake makes changes of reports: it decides which hazard a report belongs to and what it changes, and nothing else.
//
// First by identity: the source's own key, or any other name under which the source is known to know the event. Else a
// new hazard. What a source has said in all parts of an event is taken together (hazard.Derive), so late, repeated and reordered
// reports come to the same hazard in the end, and a report that says nothing new makes no change. What an
// editor has set is not overwritten. Nothing is dropped silently: a report that is not believed, or that cannot be placed, is
// held with its reason.
package intake

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

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lru"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/store"
)

// Known is what intake has to know of the sources. The zero value knows none.
type Known struct {
	Authority hazard.Authority
	Schemes   source.Schemes
	// Places find the shapes of the places that a source names, by the source's name.
	Places map[string]source.Places
	// Countries are the countries, as alpha-2 codes, of the sources whose Places are areas, by the source's name; nil for one that says
	// none. Where no area of a report is known, the outline of its country stands in for it; a source that is not there has no stand-in.
	Countries map[string][]string
}

// Intake takes reports in. It is safe for concurrent use.
type Intake struct {
	store *store.Store
	known Known
	areas areas
	drawn *lru.Cache[digest, string] // under which digest what a source drew was kept
	// damaged are the hazards that the last Pass could not work with.
	damaged atomic.Pointer[map[int64]error]
	// unreadable are the reports that the last Pass could not take up, since they themselves are damaged.
	unreadable atomic.Pointer[map[int64]error]
}

// New makes an Intake that writes to s.
func New(s *store.Store, known Known) *Intake {
	return &Intake{store: s, known: known, areas: newAreas(), drawn: lru.New[digest, string](maxDrawn)}
}

// Options say how a batch came.
type Options struct {
	// History: the batch is old payloads, read for the record. What was over long ago makes hazards too.
	History bool
	// Again: take the events of the batch together anew, though its reports may say nothing new: places have become known.
	Again bool
	// Payload is the SHA-256 of the payload that the batch was read from, in hexadecimal; empty: not known.
	Payload string
}

// maxPast is how long ago an event may have ended that makes a new hazard when a live feed first tells of it: long enough for
// what a poller missed while it was down, short enough that a catalogue's correction of an old event makes no hazard.
const maxPast = 7 * 24 * time.Hour

// Result counts what became of a batch.
type Result struct {
	Read      int // records of the payload
	New       int // hazards
	Updated   int // hazards, their products included
	Unchanged int // events of which nothing new was said
	Ignored   int // records that are no hazard by the mapping table, or over too long
	Held      int // reports that wait for an editor, or until something is mended
	Rejected  int // records that could not be read
	// Rejects are the rejected records, and Suspects the newly held ones.
	Rejects, Suspects []source.Reject
	// Details are the addresses of fuller reports of events that have changed.
	Details []string
	// Events are the keys of the known events that the batch named, its rejected records included.
	Events map[string]bool
	// Lasting are the keys of the known events that source.Batch.Lasting means.
	Lasting map[string]bool
	Last    int64 // number of the last change; 0: none
	// Issued is when the source issued the reports that made or changed a hazard, by their versions, each event's newest; at most
	// maxIssued of them.
	Issued []hazard.Instant
	// Coarse are the hazards whose area is larger than the source says, since mending it would have cost too much.
	Coarse []uuid.UUID
}

// maxIssued bounds Result.Issued: enough to measure how late a source is.
const maxIssued = 1000

// chunk is how many reports are taken in by one transaction, and those of the same events that follow them in the batch: enough
// to make the cost of a transaction small for each, few enough that other writers wait for a moment only.
const chunk = 100

// slight is how many reports too slight to make a hazard count as one: most are ignored after a look
// at what is known.
const slight = 10

// chunks cuts reports into parts of chunk or more. Reports that have a name in common stay together, where the first of them is.
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
	work := 0 // in parts of a report
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
		slices.Sort(take) // in the order of the batch
		part := make([]hazard.Report, len(take))
		for n, j := range take {
			part[n] = reports[j]
		}
		all, take, work = append(all, part), nil, 0
	}
	return all
}

// others are when events of other sources began that reports of a batch may be part of, by type: what was known when the first
// report asked.
type others struct {
	starts   map[hazard.Type][]hazard.Instant
	from, to hazard.Instant // when the first and the last event of the batch began
}

func othersOf(reports []hazard.Report) *others {
	o := &others{map[hazard.Type][]hazard.Instant{}, hazard.MaxInstant, hazard.MinInstant}
	for i := range reports {
		o.from, o.to = min(o.from, reports[i].Start), max(o.to, reports[i].Start)
	}
	return o
}

// Apply takes in a batch of the source.
func (in *Intake) Apply(ctx context.Context, src string, batch source.Batch, clock hazard.Clock, opts Options) (Result, error) {
	res := Result{Read: batch.Read, Ignored: batch.Ignored, Rejected: len(batch.Rejects), Rejects: batch.Rejects, Events: map[string]bool{}, Lasting: map[string]bool{}}
	drawings, faults, err := in.keepDrawings(ctx, src, &batch)
	if err != nil {
		return res, fmt.Errorf("take in %s: %w", src, err)
	}
	batch.Rejects = append(slices.Clone(batch.Rejects), faults...) // they are kept with the rejects, and are no records
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
			for _, i := range broken.reports { // once more, without them
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
	maps.DeleteFunc(drawings, func(name string, _ []hazard.ShapesRef) bool { return drawn[name] })
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

// write takes something in by one transaction. What res counts counts only if it is committed; events that were named are noted in any case.
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

// Withdraw ends an event, by the name that it has here, that its source has deleted or lists no longer, and with it the hazard, unless other sources
// go on with it. Its error is a *store.HazardError if the hazard is damaged.
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
		// A part that ran out before is over already, and stays what it was.
		if p := &parts[i]; p.Name != "" && p.Ended == "" && p.OverAt() > w.now {
			p.Ended, p.EndedAt = reason, &w.now
			if err := w.tx.SaveReport(event, p, ""); err != nil {
				return err
			}
		}
	}
	// Others are compared with the event as it is over now.
	if e, ok, err := w.tx.FindEvent(store.EventName{Source: w.src, Key: event}); err != nil {
		return err
	} else if said := hazard.Derive(parts, w.now); ok && len(parts) > 0 && e.End != said.Over() {
		e.End = said.Over()
		w.went = append(w.went, e.Name()) // its name may mean another event from then on
		if err := w.tx.SaveEvent(&e); err != nil {
			return err
		}
	}
	return errors.Join(w.renew(hazardID), w.tellReplaced())
}

// writer takes in reports within one transaction.
type writer struct {
	in     *Intake
	ctx    context.Context
	tx     *store.Tx
	src    string
	now    hazard.Instant
	opts   Options
	res    *Result
	refs   map[string]bool // what others call events of the batch
	others *others
	// emptied are hazards whose events have become part of others, which are still to end.
	emptied  []emptied
	went     []store.EventName             // events that have become known, or part of other hazards
	moves    map[int64]*store.Merge        // what has moved away from hazards, by their numbers
	again    bool                          // events wait for the hazard that the present one is to make
	drawings map[string][]hazard.ShapesRef // what the batch draws, by the names of events
	given    []hazard.Report               // what the transaction takes in, as the source said it
	// reopened are hazards that go on after a merge, by their numbers: what they were before it.
	reopened map[int64]*hazard.Hazard
}

// rejects keeps the records that could not be read, and notes the events that they name.
func (w *writer) rejects(rejects []source.Reject) error {
	errs := make([]store.SourceError, len(rejects))
	var names []string
	for i, r := range rejects {
		errs[i] = store.SourceError{Record: r.Record, Reason: r.Reason, Raw: r.Raw, Payload: w.opts.Payload}
		names = append(names, r.Events...)
	}
	return errors.Join(w.tx.AddSourceErrors(w.src, errs), w.note(names))
}

// note notes that the batch names events, which are known or not.
func (w *writer) note(names []string) error {
	known, err := meant(w.tx.Named, w.src, names)
	for _, e := range known {
		w.res.Events[e.Key] = true
	}
	return err
}

// group is what a batch says of one event.
type group struct {
	event    string   // the key that it was first known by; the first report's key for a new one
	hazardID int64    // 0: new
	means    []string // the keys of the known events that the reports name, and the names that no event has
	reports  []hazard.Report
	from     []int    // the places in writer.given of those that are not carried
	keys     []string // all names that the reports give it
	fresh    []string // those of them that were not known
	absorbed []absorbed
	made     []int64            // the hazards that the absorbed events made
	put      store.Event        // the last absorbed event that a decision put into its hazard, if there is one
	before   *store.Event       // as it is kept, nil for a new one
	left     int64              // the hazard that it was part of, if it is to make a new one
	refs     []string           // names of the event that reports of parts told which are superseded for good
	shapes   []hazard.ShapesRef // those of absorbed events, and what the batch draws of it
	at       int                // the place of its first report in the batch
	carried  int                // how many of the reports, the first ones, are those of absorbed events
	parts    []string           // of the event that nothing was remembered of before
}

// absorbed is another event that turned out to be the same.
type absorbed struct {
	event    string
	hazardID int64
}

// brokenError is the error of a transaction that met something damaged.
type brokenError struct {
	reports []int // the places in writer.given of those that cannot be taken in for it
	err     error
}

func (e *brokenError) Error() string { return e.err.Error() }

func (e *brokenError) Unwrap() error { return e.err }

// reports takes in what was given. What cannot be taken in, since something is damaged, is a *brokenError; those of which keep says why are kept back.
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

// group puts the reports that are not kept back together by event. Events that reports link are one.
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
	events := map[string]store.Named{} // the known ones, by their keys
	for _, e := range known {
		events[e.Key] = e
	}
	var groups []*group
	of := map[string]*group{} // by what they mean
	for i := range reports {
		if kept[i] != nil {
			continue
		}
		r := &reports[i]
		told := &group{reports: reports[i : i+1 : i+1], from: []int{i}, keys: r.Names()}
		for _, name := range w.given[i].Names() {
			told.shapes = mergeShapes(told.shapes, w.drawings[name])
		}
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
			// The report's own key is another event's, or will be: numbers come round each year. The earlier one leads here
			// for this report alone.
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
	var awaited []string // of all that was read, few make events
	for _, g := range groups {
		awaited = append(awaited, g.awaited(w.src)...)
	}
	waiting, err := w.tx.KnownRefs(awaited)
	maps.Copy(w.refs, waiting)
	return groups, err
}

// awaited are the names under which events may wait for that of the group (successorRef).
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

// unite adds what another group says to g.
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

// followed returns the event that an earlier key of a report leads to, empty if its own names, which mean own, lead elsewhere: where both lead
// somewhere, it is the event that speaks for the report's places.
func (w *writer) followed(r *hazard.Report, own []string, of map[string]*group, known, events map[string]store.Named) (string, error) {
	with := func(name string) []string { // and what the batch has linked it with
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

// speakFor reports whether any part of events, or what the batch says of them, names one of places.
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

// absorb makes the absorbed events part of the group's: all that was said and decided of them holds for it.
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
	for _, name := range g.fresh { // what was remembered of it, though it made no hazard: that it is over
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

// carry adds what was said of an event under another key, but for what is superseded for good.
func (g *group) carry(parts []hazard.Report) {
	parts = slices.DeleteFunc(parts, func(p hazard.Report) bool { return p.Name == "" })
	g.reports, g.carried = append(parts, g.reports...), g.carried+len(parts)
}

// keepStripped keeps, of the parts of an absorbed event, those that are superseded for good: they still say when it began.
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
		if err := errors.Join(w.tx.SaveReport(g.event, p, ""), w.tx.StripReport(w.src, g.event, p.Part)); err != nil {
			return err
		}
	}
	return nil
}

// take makes the changes of one event.
func (w *writer) take(g *group) error {
	// Events before this one in the batch may have moved it.
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
	// One that was worth a hazard before it was found slight makes one, as it does in two payloads.
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
	if len(w.went) > 0 { // what comes from another hazard may have run out there, and that was not recorded yet
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
	if drew || g.left != 0 { // what left a hazard was forgotten until now
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

// saidOf is what a source says of an event now, and whether anything is known of it.
func (w *writer) saidOf(event store.EventName) (said hazard.Said, known bool, err error) {
	parts, err := w.tx.Reports(event.Source, event.Key)
	if err != nil || len(parts) == 0 {
		return said, false, err
	}
	said = hazard.Derive(parts, w.now)
	said.Head.Key = event.Key // its reports may come under other names
	return said, true, nil
}

// derived is what the sources say now of each event of a hazard of which something is known, but for one.
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

// nameOf names the event of which something is said.
func nameOf(said *hazard.Said) store.EventName {
	return store.EventName{Source: said.Head.Source, Key: said.Head.Key}
}

// ifAny is what was found; nil if there is none.
func ifAny[T any](found *T, err error) (*T, error) {
	if errors.Is(err, hazard.ErrNotFound) {
		return nil, nil
	}
	return found, err
}

// errNoPlace: nothing that was said tells where it is.
var errNoPlace = errors.New("no place")

// settle makes a hazard what all say of it, and reports whether it differs from before. A new one (id 0) gets the uuid.
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
		// What a source asks for and no hazard may go through is kept among its errors, and its neighbors go on; a person is told.
		by := w.tx.Origin()
		if law, ok := errors.AsType[*hazard.LawError](err); ok && before != nil && by.User == "" && !by.Admin {
			refused := []store.SourceError{{Record: before.UUID.String(), Reason: law.Error()}}
			// It is asked again when what is said of it changes, whatever the end that it still has.
			return before, false, errors.Join(w.tx.AddSourceErrors(cmp.Or(w.src, before.Source), refused), w.tx.SetWake(id, said.Next))
		}
		if err != nil {
			return nil, false, err
		}
	}
	return h, different, w.wake(h, before == nil, &said)
}

// wake sets when the hazard must be derived again. Its own end is no such moment, unless an editor
// set it, for its sources go on then, or a source has given a reason for it.
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

// merge is the latest report of each part of the event, and whether the group's reports change any. Suspect ones are held.
func (w *writer) merge(g *group) (parts []hazard.Report, changed bool, err error) {
	if parts, err = w.tx.Reports(w.src, g.event); err != nil { // of a new event there may be what came before its place, or before it
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

// supersede is what a part says after r, and whether that differs from what it said before. The latest of the two speaks; what a summary
// leaves out (products, areas) it keeps of the latest report that told, whichever of them came first.
func supersede(old, r *hazard.Report) (hazard.Report, bool) {
	if old.Name == "" && r.Version <= old.Version { // a stripped part come again
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
	if v > told || v == told && other.Renewed != nil && *other.Renewed > *n.Renewed { // or a list names it on
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

// toldAt is the version of the report that told what r says, or keeps, of something; before all others if it says nothing of it.
func toldAt(r *hazard.Report, tells bool, kept int64) int64 {
	if !tells {
		return math.MinInt64
	}
	return cmp.Or(kept, r.Version)
}

// tellsWhere tells whether a report says, or keeps, more of a place than a point.
func tellsWhere(r *hazard.Report) bool { return len(r.Areas) > 0 || len(r.Places) > 0 }

func union(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// asGiven is a report of a group as its source said it. So it is held: when it is taken in, its names may mean another event.
func (w *writer) asGiven(g *group, i int) *hazard.Report {
	if i < g.carried {
		return &g.reports[i]
	}
	return &w.given[g.from[i-g.carried]]
}

// suspect holds a report, and tells whether an editor has released the very same one before.
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

// holdUnplaced holds what the reports say of an event that is new, or has left its hazard, until its place becomes known; what is over already is of
// no use to anybody without one.
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

// forget takes back the reports of a new event of which no hazard is made. What says that the event
// is over stays: a report that it ends may come after it, or again. So do parts of an event that left
// its hazard: what they superseded must not come back.
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

// sample names the first few of many.
func sample(words []string) string {
	const most = 5
	text := fmt.Sprint(words[:min(len(words), most)])
	if len(words) > most {
		text += fmt.Sprintf(" and %d more", len(words)-most)
	}
	return text
}

// remember notes under which names the event is known and what it is compared with, and forgets what is superseded for good.
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
		// Without places, or replacing others, what a part said may still matter to parts that come late.
		if p := &parts[i]; !own.Owned[p.Part] && p.Name != "" && len(p.Places) > 0 && len(p.Replaces) == 0 {
			if err := w.tx.StripReport(w.src, g.event, p.Part); err != nil {
				return err
			}
		}
	}
	placed := g.reports
	if isNew { // with it came what had waited for a place
		placed = parts
	}
	for i := range placed {
		// What is held has the names that its source gave.
		for _, key := range slices.Compact([]string{placed[i].Key, plainName(placed[i].Key)}) {
			if err := w.tx.Placed(w.src, key, placed[i].Part); err != nil {
				return err
			}
		}
	}
	return nil
}

// errBadPoint is our own fault: parsers refuse positions that are none.
var errBadPoint = errors.New("position is not on Earth")
