package fuse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Unjoin takes a merge back: its events and products are those of the hazard that ended again, which is what it was before, as far as time and its
// sources allow, and no rule joins the two again. What was changed of the products since stays changed. Its error is
// hazard.ErrConflict, and names what, if something is no longer where the merge put it. Who may do that is the caller's business.
func (in *Intake) Unjoin(ctx context.Context, tx *store.Tx, m *store.Merge) error {
	w := in.writer(ctx, tx, "")
	events, back, err := w.stillMerged(m)
	if err != nil {
		return err
	}
	for i := range events {
		w.went = append(w.went, events[i].Name())
		if err := tx.Events.Save(&events[i]); err != nil {
			return err
		}
	}
	staying, errS := tx.Events.Of(m.Into)
	into, errI := tx.Hazard(m.Into)
	if err := errors.Join(errS, errI); err != nil {
		return err
	}
	if len(staying) == 0 && into.Source != "" { // their events are one by now
		return fmt.Errorf("%w: the merge of change %d cannot be undone: all reports of hazard %d would belong to hazard %d", hazard.ErrConflict, m.Change, m.Into, m.From)
	}
	parted := slices.Clone(m.Joined) // the events are others than those of the hazard that they leave
	for i := range events {
		for j := range staying {
			parted = append(parted, [2]store.EventName{events[i].Name(), staying[j].Name()})
		}
	}
	for _, pair := range parted {
		if err := tx.Events.SaveVerdict(pair[0], pair[1], store.Apart); err != nil {
			return err
		}
	}
	if err := w.bringBack(m, back, events...); err != nil {
		return err
	}
	from, err := tx.Hazard(m.From)
	if err != nil {
		return err
	}
	before, err := tx.HazardAsOf(m.From, m.Change-1)
	if err != nil {
		return err
	}
	if err := in.Restore(ctx, tx, from, before); err != nil {
		return err
	}
	if err := tx.Merges.Drop(m.Change); err != nil {
		return err
	}
	for _, h := range []*hazard.Hazard{from, into} { // apart, the events of each may fit others
		events, err := tx.Events.Of(h.ID)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			continue
		}
		if err := w.regroup(&events[0], h); err != nil {
			return err
		}
	}
	return errors.Join(w.renew(m.From), w.renew(m.Into), w.endEmptied())
}

// stillMerged returns the events that a merge moved, as they were before, and the products, each with
// its folder. Its error is hazard.ErrConflict if something is no longer where the merge put it.
func (w *writer) stillMerged(m *store.Merge) (events []store.Event, back map[int64]int64, err error) {
	var elsewhere []string
	for _, moved := range m.Events {
		if moved.To != m.Into { // left for another hazard: what it says decides where it is part of now
			continue
		}
		e, ok, err := w.tx.Events.Find(moved.EventName)
		if err != nil {
			return nil, nil, err
		}
		if !ok || e.HazardID != moved.To {
			elsewhere = append(elsewhere, fmt.Sprintf("event %s:%s is part of hazard %d now", moved.Source, moved.Key, e.HazardID))
		}
		e.HazardID, e.Joined = m.From, moved.Joined
		events = append(events, e)
	}
	back = map[int64]int64{} // product_ID → its folder
	for _, moved := range m.Products {
		p, err := w.tx.Product(moved.ID)
		switch {
		case err != nil:
			return nil, nil, err
		case p.Deleted || moved.To != m.Into:
		case p.HazardID != moved.To:
			elsewhere = append(elsewhere, fmt.Sprintf("product %d is part of hazard %d since change %d", p.ID, p.HazardID, p.Version))
		default:
			back[p.ID] = moved.Parent
		}
	}
	if elsewhere != nil {
		return nil, nil, fmt.Errorf("%w: the merge of change %d cannot be undone: %s", hazard.ErrConflict, m.Change, strings.Join(elsewhere, "; "))
	}
	return events, back, nil
}

// bringBack gives products back to the hazard that a merge took them from, with what its events have given and what has been put into their
// folders since. A product whose folder is gone comes to the root.
func (w *writer) bringBack(m *store.Merge, back map[int64]int64, events ...store.Event) error {
	products, err := w.tx.Products(m.Into)
	if err != nil {
		return err
	}
	for _, p := range products {
		for i := range events {
			if gave, err := w.gaveIt(p, m.Into, events[i].Name()); err != nil {
				return err
			} else if _, goes := back[p.ID]; gave && !goes {
				back[p.ID] = p.ParentID
			}
		}
	}
	for more := true; more; {
		more = false
		for _, p := range products {
			_, goes := back[p.ID]
			if _, folderGoes := back[p.ParentID]; !goes && folderGoes {
				back[p.ID], more = p.ParentID, true
			}
		}
	}
	for _, loose := range m.Loose {
		if folder, goes := back[loose.ID]; goes && folder == 0 {
			back[loose.ID] = loose.Parent
		}
	}
	for _, id := range slices.Sorted(maps.Keys(back)) {
		folder := back[id]
		p, err := w.tx.Product(id)
		if err != nil {
			return err
		}
		if _, ok := back[folder]; !ok {
			folder = 0
		}
		p.HazardID, p.ParentID, p.Updated = m.From, folder, w.now
		if err := w.tx.SaveProduct(p); err != nil {
			return err
		}
	}
	return nil
}

// ending are the fields that an end may set, by the names of the base interface.
var ending = []string{"status", "severity_ID", "end_Date", "autoexpire"}

// withoutEnd is hazard h without its end: its level, its end, and what editors had set of them are as before.
func withoutEnd(h, before *hazard.Hazard) *hazard.Hazard {
	r := new(*h)
	r.Status, r.Severity, r.End, r.AutoExpire = before.Status, before.Severity, before.End, before.AutoExpire
	r.Reason, r.Successor, r.Note = before.Reason, before.Successor, before.Note
	r.Edited = slices.DeleteFunc(slices.Clone(h.Edited), func(field string) bool { return slices.Contains(ending, field) })
	for _, field := range ending {
		if before.EditedField(field) {
			r.MarkEdited(field)
		}
	}
	return r
}

// Restore takes the end of a hazard back: it is what its sources say now, with what was changed of it since. It is hazard.ErrConflict if all events of an active
// hazard have become part of others since.
func (in *Intake) Restore(ctx context.Context, tx *store.Tx, h, before *hazard.Hazard) error {
	w := in.writer(ctx, tx, h.Source)
	r := withoutEnd(h, before)
	events, err := tx.Events.Of(h.ID)
	if err != nil {
		return err
	}
	if h.Source != "" && len(events) == 0 && before.Status == hazard.Active {
		return fmt.Errorf("%w: all that sources report of hazard %d is part of other hazards now", hazard.ErrConflict, h.ID)
	}
	if r.End < r.Start && r.EditedField("start_Date") && (r.EditedField("end_Date") || r.EditedField("status")) {
		return fmt.Errorf("%w: hazard %d would end at %s again, before its start, which was set to %s since", hazard.ErrConflict, h.ID, r.End, r.Start)
	}
	if r, err = w.agree(r); err != nil {
		return err
	}
	r = new(*r.ExpireAt(w.now))
	w.stamp(r)
	return tx.SaveHazard(r, h)
}

// Agree returns the state that a hazard has once an editor has altered it: what the editor has set, and what its sources
// say now of all else.
func (in *Intake) Agree(ctx context.Context, tx *store.Tx, h *hazard.Hazard) (*hazard.Hazard, error) {
	return in.writer(ctx, tx, h.Source).agree(h)
}

// agree is Agree. It returns h itself if no source says anything of it.
func (w *writer) agree(h *hazard.Hazard) (*hazard.Hazard, error) {
	all, err := w.derived(h.ID, store.EventName{})
	if err != nil || len(all) == 0 {
		return h, err
	}
	state := hazard.Combine(all, w.in.known.Authority, w.now)
	at := w.place(&state, all)
	r, err := w.hazardOf(h.UUID, h, &state, &at)
	if err != nil {
		return nil, err
	}
	return r, w.wake(r, false, &state)
}
