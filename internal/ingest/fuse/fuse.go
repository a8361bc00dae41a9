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
	// Repeats holds the sources of which it is unknown how a later message of the same warning is
	// known, so that two of their events may be one warning.
	Repeats map[string]bool
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
	// Parts are the messages in the batch, and Kept the keys of the events of its rejected records,
	// whose messages are not known.
	Parts map[Part]bool
	Kept  map[string]bool
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

func newResult() Result {
	return Result{Events: map[string]bool{}, Parts: map[Part]bool{}, Kept: map[string]bool{}, Lasting: map[string]bool{}}
}

// Part names a message of an event of a source.
type Part struct{ Event, Part string }

// maxIssued bounds Result.Issued: enough to measure a source's delay.
const maxIssued = 1000

// chunk is how many reports one transaction processes, plus later ones of the same events: enough
// to amortize its cost. It is fewer while others wait (store.Tx.Yield).
const chunk = 100

// slight is how many slight reports count as one, because most are ignored after a look-up.
const slight = 10

// chunks divides reports into parts of at least chunk. Reports with a common name stay together, at
// the place of the first.
func chunks(reports []hazard.Report) [][]hazard.Report {
	same := newSets(len(reports))
	first := map[string]int{} // name → the first report with it
	for i := range reports {
		for _, name := range reports[i].Names() {
			if j, ok := first[name]; ok {
				a, b := same.root(i), same.root(j)
				same.unite(min(a, b), max(a, b))
			} else {
				first[name] = i
			}
		}
	}
	var all [][]hazard.Report
	var take []int // of the next part
	work := 0      // in fractions of a report
	for i := range reports {
		if same.root(i) == i {
			for _, j := range same.of(i) {
				take = append(take, j)
				if reports[j].Minor {
					work++
				} else {
					work += slight
				}
			}
		}
		if work < chunk*slight && (i < len(reports)-1 || work == 0) {
			continue
		}
		slices.Sort(take) // restore the batch's order
		from, to := take[0], take[len(take)-1]+1
		part := reports[from:to:to]
		if len(part) > len(take) { // others lie between them
			part = make([]hazard.Report, len(take))
			for n, j := range take {
				part[n] = reports[j]
			}
		}
		all, take, work = append(all, part), nil, 0
	}
	return all
}

// Apply processes a batch of the source.
func (in *Intake) Apply(ctx context.Context, src string, batch source.Batch, clock hazard.Clock, opts Options) (Result, error) {
	res := newResult()
	res.Read, res.Ignored, res.Rejected, res.Rejects = batch.Read, batch.Ignored, len(batch.Rejects), batch.Rejects
	drawings, faults, err := in.keepDrawings(ctx, src, &batch)
	if err != nil {
		return res, fmt.Errorf("take in %s: %w", src, err)
	}
	batch.Rejects = append(slices.Clone(batch.Rejects), faults...) // they are stored with the rejects, but are not records
	// An event is known before a report follows it by an earlier key.
	if follows := func(r hazard.Report) bool { return len(r.Earlier) > 0 }; slices.ContainsFunc(batch.Reports, follows) {
		batch.Reports = slices.Clone(batch.Reports)
		slices.SortStableFunc(batch.Reports, func(a, b hazard.Report) int { return min(len(a.Earlier), 1) - min(len(b.Earlier), 1) })
	}
	all := len(batch.Reports)
	if batch.Reports, err = in.concerning(ctx, src, batch.Reports); err != nil {
		return res, fmt.Errorf("take in %s: %w", src, err)
	}
	res.Ignored += all - len(batch.Reports)
	parts := chunks(batch.Reports)
	if len(parts) == 0 && len(batch.Rejects) > 0 {
		parts = [][]hazard.Report{nil}
	}
	drawn := map[string]bool{}
	going, err := in.store.Reports.ActiveEvents(ctx, src)
	if err != nil {
		return res, fmt.Errorf("take in %s: %w", src, err)
	}
	active := map[string]bool{}
	for _, e := range going {
		active[e.Event] = true
	}
	for _, take := range parts {
		in.areas.prepare(ctx, take, in.known.Places[src], clock.Now())
		keep, err := in.applyPart(ctx, src, input{given: take, drawings: drawings, active: active}, batch.Rejects, clock, opts, &res)
		if err != nil {
			return res, fmt.Errorf("take in %s: %w", src, err)
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
	if err := in.latestOf(ctx, src, batch.Lasting, func(key string) { res.Lasting[key] = true }); err != nil {
		return res, fmt.Errorf("take in %s: %w", src, err)
	}
	if err := in.latestOf(ctx, src, batch.Listed, func(key string) {
		if key != "" {
			res.Events[key] = true
		}
	}); err != nil {
		return res, fmt.Errorf("take in %s: %w", src, err)
	}
	return res, nil
}

// applyPart takes in one part of a batch in one transaction, or in several if others wait. Reports that cannot be taken in are left out, and returned by their index.
func (in *Intake) applyPart(ctx context.Context, src string, part input, rejects []source.Reject, clock hazard.Clock, opts Options, res *Result) (map[int]error, error) {
	left := map[int]error{}
	part.parted = true
	all, at := part.given, make([]int, len(part.given)) // at is where the reports of the transaction are in all
	for i := range at {
		at[i] = i
	}
	kept := map[int]error{}
	for {
		var rest []int
		err := in.write(ctx, src, clock, opts, res, func(w *writer) (err error) {
			w.input = part
			w.others = othersOf(part.given, src, w.tx.Events.Starting)
			if err := w.rejects(rejects); err != nil {
				return err
			}
			rest, err = w.reports(kept)
			return err
		})
		if broken, ok := errors.AsType[*brokenError](err); ok {
			for _, i := range broken.reports { // repeat without them
				kept[i] = broken.err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		for i, err := range kept {
			left[at[i]] = err
		}
		if len(rest) == 0 {
			return left, nil
		}
		part.given, rejects, kept = nil, nil, map[int]error{}
		for n, i := range rest {
			rest[n] = at[i]
			part.given = append(part.given, all[at[i]])
		}
		at = rest
	}
}

// latestOf passes the key of the latest event that each name means to found: empty if there is none.
func (in *Intake) latestOf(ctx context.Context, src string, names []string, found func(key string)) error {
	meant, err := in.meant(ctx, src, names)
	if err != nil {
		return err
	}
	for _, name := range names {
		e, err := in.latest(ctx, src, meant, name)
		if err != nil {
			return err
		}
		found(e.Key)
	}
	return nil
}

// write runs one transaction. Its counts in res apply only if it is committed; the names of events
// are kept in any case.
func (in *Intake) write(ctx context.Context, src string, clock hazard.Clock, opts Options, res *Result, f func(*writer) error) error {
	was := *res
	last, err := in.store.Write(ctx, clock, store.Origin{Source: src}, func(tx *store.Tx) error {
		*res = was // it may run twice
		return f(&writer{in: in, ctx: ctx, tx: tx, src: src, now: tx.Now(), opts: opts, res: res})
	})
	if err != nil {
		*res = was
	}
	res.Last = max(res.Last, last)
	return err
}

// Withdraw ends an event that its source has deleted or no longer lists, by its name here, and with
// it the hazard, unless other sources report it. With parts, it ends only these messages of the
// event. See hazard.Report.Drop. The error is a *store.HazardError if the hazard is damaged.
func (in *Intake) Withdraw(ctx context.Context, src, event string, parts []string, reason hazard.EndReason, clock hazard.Clock) (last int64, err error) {
	return in.edit(ctx, src, event, clock, func(all []hazard.Report, now hazard.Instant) {
		newest := int64(math.MinInt64)
		for _, p := range all {
			if slices.Contains(parts, p.Part) {
				newest = max(newest, p.Version)
			}
		}
		for i := range all {
			p := &all[i]
			// Messages from before sources said what their lists mean were never held by one.
			early := p.Listed == nil && p.Version < newest && reason != ""
			// A message that is over does not change.
			if p.Ended == "" && p.OverAt() > now && (parts == nil || slices.Contains(parts, p.Part) || early) {
				p.Drop(reason, now)
			}
		}
	})
}

// Hold notes that a list made at a moment holds messages of an event in force. See
// hazard.Report.Hold.
func (in *Intake) Hold(ctx context.Context, src, event string, parts []string, at hazard.Instant, patience time.Duration, clock hazard.Clock) (last int64, err error) {
	return in.edit(ctx, src, event, clock, func(all []hazard.Report, _ hazard.Instant) {
		for i := range all {
			if slices.Contains(parts, all[i].Part) {
				all[i].Hold(at, patience)
			}
		}
	})
}

// edit changes the messages of an event.
func (in *Intake) edit(ctx context.Context, src, event string, clock hazard.Clock, change func(parts []hazard.Report, now hazard.Instant)) (last int64, err error) {
	return in.store.Write(ctx, clock, store.Origin{Source: src}, func(tx *store.Tx) error {
		event, id, err := tx.Events.Key(src, event)
		if err != nil {
			return err
		}
		if err = in.writer(ctx, tx, src).edit(event, id, change); store.Broken(err) {
			return &store.HazardError{ID: id, Err: err}
		}
		return err
	})
}

func (w *writer) edit(event string, hazardID int64, change func(parts []hazard.Report, now hazard.Instant)) error {
	parts, err := w.tx.Reports.Of(w.src, event)
	if err != nil {
		return err
	}
	changed := slices.Clone(parts)
	change(changed, w.now)
	for i := range parts {
		p := &parts[i]
		switch {
		case sameReport(p, &changed[i]):
			continue
		case p.Name != "":
			err = w.tx.Reports.Save(event, &changed[i], "")
		case changed[i].Lapsed(): // nothing else matters of what was superseded
			err = w.tx.Reports.Strip(event, &changed[i])
		default:
			continue
		}
		if err != nil {
			return err
		}
		*p = changed[i]
	}
	// Compare other events with the event as it is now.
	if e, ok, err := w.tx.Events.Find(store.EventName{Source: w.src, Key: event}); err != nil {
		return err
	} else if state := hazard.Derive(parts, w.now); ok && len(parts) > 0 && e.End != state.Over() {
		e.End = state.Over()
		w.went = append(w.went, e.Name()) // its name may mean another event from now on
		if err := w.tx.Events.Save(&e); err != nil {
			return err
		}
	}
	return errors.Join(w.renew(hazardID), w.tellReplaced())
}

// writer processes reports within one transaction.
type writer struct {
	in   *Intake
	ctx  context.Context
	tx   *store.Tx
	src  string
	now  hazard.Instant
	opts Options
	res  *Result
	input
	moves
}

// input is what a transaction processes.
type input struct {
	given    []hazard.Report // the reports, as received
	parted   bool            // another transaction can process some of them
	drawings drawings        // of the whole payload
	others   *others
	active   map[string]bool // the source's events with active hazards, as of the beginning of the batch
	refs     map[string]bool // names of events in the batch that other sources use, and those stored by this transaction
}

// moves is what has moved between hazards in a transaction.
type moves struct {
	merges   map[int64]*store.Merge   // what has left hazards, by id
	went     []store.EventName        // events that are new, or that moved to other hazards
	emptied  []emptied                // hazards without events, which must be ended
	reopened map[int64]*hazard.Hazard // hazards that continue after an undone merge, by id, with their state before
}

// rejects stores the unreadable records, and records the events that they name.
func (w *writer) rejects(rejects []source.Reject) error {
	errs := make([]store.SourceError, len(rejects))
	var names []string
	for i, r := range rejects {
		errs[i] = store.SourceError{Record: r.Record, Reason: r.Reason, Raw: r.Raw, Payload: w.opts.Payload}
		names = append(names, r.Events...)
	}
	return errors.Join(w.tx.Reports.AddErrors(w.src, errs), w.note(names))
}

// note records that the batch names events, known or not.
func (w *writer) note(names []string) error {
	known, err := meant(w.tx.Events.Named, w.src, names)
	for _, e := range known {
		w.res.Events[e.Key], w.res.Kept[e.Key] = true, true
	}
	return err
}

// brokenError is the error of a transaction that met damaged data.
type brokenError struct {
	reports []int // indexes in input.given of the reports that cannot be processed because of it
	err     error
}

func (e *brokenError) Error() string { return e.err.Error() }

func (e *brokenError) Unwrap() error { return e.err }

// reports processes the given reports, and returns the indexes of those that it leaves to another
// transaction, since others wait. If some cannot be processed because data is damaged, the error is a
// *brokenError. Reports in keep are held back for the error there.
func (w *writer) reports(keep map[int]error) (rest []int, err error) {
	for _, i := range slices.Sorted(maps.Keys(keep)) {
		r := new(w.given[i].Whole())
		if _, err := w.suspect(r, cmp.Or(r.Suspect, store.Damaged+": "+keep[i].Error())); err != nil {
			return nil, err
		}
		if err := w.note(r.Names()); err != nil {
			return nil, err
		}
	}
	groups, err := w.group(keep)
	if err != nil {
		return nil, err
	}
	for n, g := range groups {
		if n > 0 && w.parted {
			if yield, err := w.tx.Yield(); err != nil {
				return nil, err
			} else if yield {
				for _, g := range groups[n:] {
					rest = append(rest, g.from...)
				}
				slices.Sort(rest)
				return rest, nil
			}
		}
		for i := g.carried; i < len(g.reports); i++ {
			w.res.Parts[Part{g.event, g.reports[i].Part}] = true
		}
		err := w.take(g)
		if err == nil {
			err = w.endEmptied()
		}
		if store.Broken(err) {
			err = &brokenError{g.from, err}
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// stateOf returns a source's present state of an event, and whether anything is known.
func (w *writer) stateOf(event store.EventName) (state hazard.EventState, known bool, err error) {
	parts, err := w.tx.Reports.Of(event.Source, event.Key)
	if err != nil || len(parts) == 0 {
		return state, false, err
	}
	state = hazard.Derive(parts, w.now)
	state.Head.Key = event.Key // its reports may have other names
	return state, true, nil
}

// derived returns the sources' present states of all known events of a hazard, except one.
func (w *writer) derived(hazardID int64, but store.EventName) (all []hazard.EventState, err error) {
	if hazardID == 0 {
		return nil, nil
	}
	events, err := w.tx.Events.Of(hazardID)
	if err != nil {
		return nil, err
	}
	for i := range events {
		state, known, err := w.stateOf(events[i].Name())
		if err != nil {
			return nil, err
		}
		if known && events[i].Name() != but {
			state.Shapes = shown(events[i].Shapes)
			all = append(all, state)
		}
	}
	return all, nil
}

// nameOf returns the name of an event.
func nameOf(state *hazard.EventState) store.EventName {
	return store.EventName{Source: state.Head.Source, Key: state.Head.Key}
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
func (w *writer) settle(id int64, newUUID uuid.UUID, all []hazard.EventState) (h *hazard.Hazard, different bool, err error) {
	var before *hazard.Hazard
	if id != 0 {
		if before, err = w.tx.Hazard(id); err != nil {
			return nil, false, err
		}
	}
	state := hazard.Combine(all, w.in.known.Authority, w.now)
	at := w.place(&state, all)
	if before == nil && state.Head.Point == nil && at.unknown() {
		return nil, false, errNoPlace
	}
	base := before
	if r := w.reopened[id]; r != nil {
		base = withoutEnd(before, r)
		delete(w.reopened, id)
	}
	if h, err = w.hazardOf(newUUID, base, &state, &at); err != nil {
		return nil, false, err
	}
	different = before == nil || !h.Equal(before)
	if different {
		if slices.ContainsFunc(at.areas, func(p placedArea) bool { return p.shape.Coarse() }) {
			w.res.Coarse = append(w.res.Coarse, h.UUID)
		}
		if before == nil || !h.PlacedAnew(before) {
			w.stamp(h)
		}
		err := w.tx.SaveHazard(h, before)
		// A source's forbidden change is stored as its error, and the other events continue. An
		// editor gets the error instead.
		by := w.tx.Origin()
		if law, ok := errors.AsType[*hazard.LawError](err); ok && before != nil && by.User == "" && !by.Admin {
			refused := []store.SourceError{{Record: before.UUID.String(), Reason: law.Error()}}
			// It is tried again when its reports change, even if its end is unchanged.
			return before, false, errors.Join(w.tx.Reports.AddErrors(cmp.Or(w.src, before.Source), refused), w.tx.SetWake(id, state.Next))
		}
		if err != nil {
			return nil, false, err
		}
	}
	return h, different, w.wake(h, before == nil, &state)
}

// wake sets when the hazard must be derived again. Its own end is such a moment only if an editor
// set it, because its sources then continue, or if a source gave a reason for it.
func (w *writer) wake(h *hazard.Hazard, isNew bool, state *hazard.EventState) error {
	next := state.Next
	ofEditor := h.Source == "" || h.EditedField("end_Date") || h.EditedField("status") || h.EditedField("autoexpire")
	if h.AutoExpire && next >= h.End && !state.Ending && !ofEditor {
		next = hazard.MaxInstant
	}
	if isNew && next == hazard.MaxInstant {
		return nil
	}
	return w.tx.SetWake(h.ID, next)
}

// errBadPoint is a fault of this program: parsers reject invalid positions.
var errBadPoint = errors.New("position is not on Earth")
