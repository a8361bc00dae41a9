// Package replay repeats past decisions from the evidence, and reports whether the results are the
// same.
//
// It processes each receipt again in order, at its original time, with the functions that poll, in
// a store that is empty at first. It also applies the changes that are due by time. Then it
// compares the changes of each hazard and product in both logs, in order: every member of the
// state, and the time. Times may differ by Slack, because polling reads the clock again in each
// transaction.
//
// Two kinds of hazards cannot be repeated and are only counted. One is hazards with decisions of
// people, because the evidence does not contain those. The other is hazards that are older than the
// evidence, which then lacks their first reports. The replay uses the rules of the running program,
// so a difference may mean that they have changed.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/store"
)

// slack is the largest difference of times that still counts as the same.
const slack = 5 * time.Second

// maxDifferences bounds the listed differences; all are counted.
const maxDifferences = 100

// Sources are the sources of the installation.
type Sources interface {
	Find(name string) (poll.Source, error)
	Intake(s *store.Store) *fuse.Intake
}

// Span selects the decisions to compare. The replay always begins with the oldest evidence, because
// earlier reports also matter.
type Span struct {
	From, To hazard.Instant // both ends are included; To is limited to the last change or receipt
	Hazard   uuid.UUID      // uuid.Nil means all
	Source   string         // hazards with reports of this source; empty means all
}

// Result is the result of a replay. Hazards and products count as objects.
type Result struct {
	Begins   time.Time `json:"evidence_from"` // time of the first receipt
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Receipts int       `json:"receipts"` // repeated receipts
	Lost     int       `json:"payloads_lost"`
	Changes  int       `json:"changes"`   // compared changes
	Same     int       `json:"same"`      // objects with the same result
	Differ   int       `json:"different"` // objects with a different result
	ByPeople int       `json:"by_people"` // objects with decisions of people, not compared
	Older    int       `json:"older"`     // objects older than the evidence, not compared
	// Differences holds the first difference of each object.
	Differences []Difference `json:"differences"`
}

// Difference is the first difference of an object.
type Difference struct {
	Hazard  uuid.UUID `json:"hazard"`
	Product uuid.UUID `json:"product,omitzero"`
	Name    string    `json:"name"`
	Change  int64     `json:"change,omitzero"` // its number in the log; absent if only the replay has this change
	At      time.Time `json:"at"`
	What    string    `json:"what"`
}

// Run repeats the decisions of a span. progress, if not nil, gets the number of repeated receipts
// and the total.
func Run(ctx context.Context, s *store.Store, k *evidence.Keeper, known Sources, span Span, progress func(done, all int64)) (_ *Result, err error) {
	first, err := s.Evidence.Receipts(ctx, 0, 1)
	if err != nil {
		return nil, err
	}
	if len(first) == 0 {
		return nil, fmt.Errorf("%w: there is no evidence; polls and imports store it, unless --evidence-age is 0", hazard.ErrNotFound)
	}
	begins := first[0].Taken
	end, err := s.Log.LastMoment(ctx)
	if err != nil {
		return nil, err
	}
	latest, err := s.Evidence.LastReceipt(ctx)
	if err != nil {
		return nil, err
	}
	last, err := s.Evidence.Receipts(ctx, latest-1, 1)
	if err != nil {
		return nil, err
	}
	for _, r := range last {
		end = max(end, r.Taken)
	}
	span.To = min(span.To, end)
	if span.From < begins {
		span.From = begins
	}
	if span.To < span.From {
		return nil, fmt.Errorf("%w: the evidence begins at %s; earlier decisions cannot be repeated", hazard.ErrNotFound, begins)
	}
	dir, err := os.MkdirTemp("", "hazardd-replay-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	scratch, err := store.Open(ctx, dir, "sqlite:?synchronous=off")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, scratch.Close()) }()
	if err := s.Evidence.CopyPlaces(ctx, scratch, begins); err != nil {
		return nil, err
	}
	res := &Result{Begins: begins.Time(), From: span.From.Time(), To: span.To.Time(), Differences: []Difference{}}
	if err := res.repeat(ctx, s, k, known, scratch, span.To, progress); err != nil {
		return nil, err
	}
	return res, res.compare(ctx, s, scratch, span, begins)
}

// repeat repeats the receipts up to the time to.
func (res *Result) repeat(ctx context.Context, s *store.Store, k *evidence.Keeper, known Sources, scratch *store.Store, to hazard.Instant, progress func(done, all int64)) error {
	const page = 500
	in := known.Intake(scratch)
	again := poll.NewReplay(scratch, in, hazard.MinInstant, slog.New(slog.DiscardHandler))
	sources := map[string]*poll.Source{}
	last, err := s.Evidence.LastReceipt(ctx)
	if err != nil {
		return err
	}
	for after := int64(0); ; {
		list, err := s.Evidence.Receipts(ctx, after, page)
		if err != nil {
			return err
		}
		for i := range list {
			r := &list[i]
			after = r.ID
			if r.Taken > to {
				continue
			}
			src := sources[r.Source]
			if src == nil {
				found, err := known.Find(r.Source)
				if err != nil {
					return fmt.Errorf("receipt %d: %w; name the sources as for the server", r.ID, err)
				}
				src = &found
				sources[r.Source] = src
			}
			var payload []byte
			if r.Payload != "" {
				if payload, err = k.Read(ctx, r.Payload); errors.Is(err, hazard.ErrNotFound) {
					res.Lost++
					continue
				} else if err != nil {
					return err
				}
			}
			err = again.Repeat(ctx, src, r, payload)
			if _, found := errors.AsType[*poll.Failure](err); err != nil && !found {
				return fmt.Errorf("receipt %d of %s at %s: %w", r.ID, r.Source, r.Taken, err)
			}
			res.Receipts++
			if progress != nil {
				progress(r.ID, last)
			}
		}
		if len(list) < page {
			return in.PassUntil(ctx, to)
		}
	}
}

// step is a change of an object.
type step struct {
	number  int64
	at      hazard.Instant
	kind    hazard.ChangeKind
	actor   string
	hazard  *hazard.Hazard
	product *hazard.Product
}

// object is a hazard or a product with its changes.
type object struct {
	uuid   uuid.UUID
	hazard uuid.UUID // the UUID of the hazard, or of the product's hazard
	steps  []step
}

// history reads the changes of a log with numbers above a given one, by object.
func history(ctx context.Context, s *store.Store, above int64, until hazard.Instant) (map[uuid.UUID]*object, error) {
	const page = 1000
	all := map[uuid.UUID]*object{}
	owners := map[int64]uuid.UUID{}
	owner := func(id int64) (uuid.UUID, error) {
		if _, ok := owners[id]; !ok {
			h, err := s.Hazards.Get(ctx, id)
			if err != nil {
				return uuid.Nil, err
			}
			owners[id] = h.UUID
		}
		return owners[id], nil
	}
	for {
		changes, err := s.Log.SinceAt(ctx, above, page, until)
		if err != nil {
			return nil, err
		}
		for i := range changes {
			c := &changes[i]
			above = c.Number
			of, err := owner(c.HazardID)
			if err != nil {
				return nil, err
			}
			id := of
			if c.Product != nil {
				id = c.Product.UUID
			}
			o := all[id]
			if o == nil {
				o = &object{uuid: id, hazard: of}
				all[id] = o
			}
			o.steps = append(o.steps, step{c.Number, c.At, c.Kind, c.Actor, c.Hazard, c.Product})
		}
		if len(changes) < page {
			return all, nil
		}
	}
}

// compare compares the original changes with those of the replay.
func (res *Result) compare(ctx context.Context, s, scratch *store.Store, span Span, begins hazard.Instant) error {
	above, err := s.Log.ChangeAt(ctx, begins.Add(-time.Millisecond))
	if err != nil {
		return err
	}
	until := span.To
	then, err := history(ctx, s, above, until)
	if err != nil {
		return err
	}
	now, err := history(ctx, scratch, 0, until)
	if err != nil {
		return err
	}
	ids := map[uuid.UUID]bool{}
	people := map[uuid.UUID]bool{} // hazards about which people have decided
	for id, o := range then {
		ids[id] = true
		people[o.hazard] = people[o.hazard] || slices.ContainsFunc(o.steps, func(s step) bool { return s.actor != "" })
	}
	for id := range now {
		ids[id] = true
	}
	for id := range ids {
		was, is := then[id], now[id]
		some := cmp.Or(was, is)
		if span.Hazard != uuid.Nil && some.hazard != span.Hazard || span.Source != "" && !some.of(span.Source) {
			continue
		}
		within := was.within(span) + is.within(span)
		if within == 0 {
			continue
		}
		older, err := olderThan(ctx, s, scratch, was, is, begins)
		switch {
		case err != nil:
			return err
		case people[some.hazard]:
			res.ByPeople++
			continue
		case older:
			res.Older++
			continue
		}
		res.Changes += was.within(span)
		if d := differ(was, is, span); d != nil {
			res.Differ++
			res.Differences = append(res.Differences, *d)
		} else {
			res.Same++
		}
	}
	slices.SortFunc(res.Differences, func(a, b Difference) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Change, b.Change), strings.Compare(a.Hazard.String()+a.Product.String(), b.Hazard.String()+b.Product.String()))
	})
	res.Differences = res.Differences[:min(len(res.Differences), maxDifferences)]
	return nil
}

// of reports whether an object has a report of a source.
func (o *object) of(source string) bool {
	return slices.ContainsFunc(o.steps, func(s step) bool {
		if s.product != nil {
			return s.product.Source == source
		}
		return s.hazard.Source == source || slices.Contains(s.hazard.Sources, source)
	})
}

// within counts the steps of an object in a span. o may be nil.
func (o *object) within(span Span) (n int) {
	if o == nil {
		return 0
	}
	for _, s := range o.steps {
		if span.From <= s.at && s.at <= span.To {
			n++
		}
	}
	return n
}

// olderThan reports whether an object, or its hazard, existed before the evidence began. Then its
// first changes cannot be repeated.
func olderThan(ctx context.Context, s, scratch *store.Store, was, is *object, begins hazard.Instant) (bool, error) {
	old := func(h *hazard.Hazard) bool { return h.Created < begins }
	if was != nil {
		h, err := s.Hazards.ByUUID(ctx, was.hazard)
		return err == nil && old(h) || err == nil && was.steps[0].product != nil && was.steps[0].product.Created < begins, err
	}
	h, err := s.Hazards.ByUUID(ctx, is.hazard)
	if err == nil {
		return old(h), nil
	} else if !errors.Is(err, hazard.ErrNotFound) {
		return false, err
	}
	made, err := scratch.Hazards.ByUUID(ctx, is.hazard)
	if err != nil {
		return false, err
	}
	events, err := scratch.Reports.Of(ctx, made.ID)
	if err != nil {
		return false, err
	}
	for _, e := range events {
		called, err := s.Hazards.Called(ctx, e.Source+":"+e.Key)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(called, old) {
			return true, nil
		}
	}
	return false, nil
}

// differ returns the first difference of an object if it lies in the span, or nil.
func differ(was, is *object, span Span) *Difference {
	var a, b []step
	if was != nil {
		a = was.steps
	}
	if is != nil {
		b = is.steps
	}
	for i := range max(len(a), len(b)) {
		var d Difference
		switch {
		case i >= len(a):
			d = b[i].difference(is, "only the replay has this change: "+string(b[i].kind))
			d.Change = 0
		case i >= len(b):
			d = a[i].difference(was, "the replay does not have this change: "+string(a[i].kind))
		default:
			what := a[i].compare(&b[i])
			if what == "" {
				continue
			}
			d = a[i].difference(was, what)
		}
		if at := hazard.At(d.At); span.From <= at && at <= span.To {
			return &d
		}
		return nil // the first difference is outside the span
	}
	return nil
}

func (s *step) difference(o *object, what string) Difference {
	d := Difference{Hazard: o.hazard, Change: s.number, At: s.at.Time(), What: what}
	if s.product != nil {
		d.Product, d.Name = s.product.UUID, s.product.Title
	} else {
		d.Name = s.hazard.Name
	}
	return d
}

// compare describes how two changes differ, or returns "". It ignores the numbers that a store
// assigns.
func (s *step) compare(o *step) string {
	if !near(s.at, o.at) {
		return fmt.Sprintf("made at %s, the replay makes it at %s", s.at, o.at)
	}
	if s.kind != o.kind {
		return fmt.Sprintf("%s, the replay says %s", s.kind, o.kind)
	}
	if s.product != nil && o.product != nil {
		a, b := *s.product, *o.product
		a.ID, a.HazardID, a.ParentID, a.Version, a.Present = b.ID, b.HazardID, b.ParentID, b.Version, b.Present
		return members(reflect.ValueOf(a), reflect.ValueOf(b))
	}
	if s.hazard != nil && o.hazard != nil {
		a, b := *s.hazard, *o.hazard
		a.ID, a.Version, a.Undoes = b.ID, b.Version, b.Undoes
		return members(reflect.ValueOf(a), reflect.ValueOf(b))
	}
	return "a change of a hazard, the replay makes one of a product"
}

// members describes the differing members of two states, with their values.
func members(a, b reflect.Value) string {
	var names []string
	for i := range a.NumField() {
		x, y := a.Field(i).Interface(), b.Field(i).Interface()
		if m, ok := x.(hazard.Instant); ok && near(m, y.(hazard.Instant)) || reflect.DeepEqual(x, y) {
			continue
		}
		names = append(names, fmt.Sprintf("%s %.60q, the replay says %.60q", a.Type().Field(i).Name, fmt.Sprint(x), fmt.Sprint(y)))
	}
	return strings.Join(names, "; ")
}

func near(a, b hazard.Instant) bool { return a <= b.Add(slack) && b <= a.Add(slack) }
