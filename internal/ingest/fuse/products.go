package fuse

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// products makes the product tree of a hazard's event what is said of it, and reports whether anything differed. Products of editors, and those
// that an editor has changed, stay as they are. A hazard that is new has no others.
func (w *writer) products(h *hazard.Hazard, head *hazard.Report, isNew bool) (changed bool, err error) {
	if head.Products == nil {
		return false, nil
	}
	event := store.EventName{Source: head.Source, Key: head.Key}
	ids := map[string]int64{"": 0} // key → product_ID
	wanted := map[int64]bool{}
	for _, rp := range head.Products {
		parent, ok := ids[rp.Parent]
		if !ok {
			continue // its folder was taken away by an editor, and it with it
		}
		id, have, err := w.productOf(h.ID, event, rp)
		if err != nil {
			return false, err
		}
		want := &hazard.Product{UUID: id, HazardID: h.ID, ParentID: parent, Title: hazard.CleanLine(rp.Title),
			Type: rp.Type, Data: hazard.Clean(rp.Data), Comment: hazard.Clean(rp.Comment), OrgID: -1, AppIDs: "0", UserID: h.Creator,
			UpdateUser: h.Creator, Created: w.now, Updated: w.now, Timeline: rp.Time, Hidden: rp.Hidden, Geometry: rp.WKT, Source: event.Source, Event: event.Key}
		switch {
		case have == nil:
		case have.Source != event.Source || have.Edited: // relayed, and known from who made it; or a person has changed it
			if !have.Deleted {
				wanted[have.ID] = true
				if ids[rp.Key], err = w.open(have); err != nil {
					return false, err
				}
			}
			continue
		default:
			want.ID, want.Created, want.UserID, want.UpdateUser = have.ID, have.Created, have.UserID, have.UpdateUser
			if want.Equal(have) {
				ids[rp.Key], wanted[have.ID] = have.ID, true
				continue
			}
		}
		if err := w.tx.SaveProduct(want); err != nil {
			return false, err
		}
		ids[rp.Key], wanted[want.ID] = want.ID, true
		changed = true
	}
	if isNew {
		return changed, nil
	}
	gone, err := w.gone(h.ID, event, wanted)
	return changed || gone, err
}

// open returns the folder in which everybody sees what is given into folder f: f itself, or, if people have restricted that, the first
// one around it that they have not, 0 for the root. A product must not name a folder that its readers may not know of.
func (w *writer) open(f *hazard.Product) (id int64, err error) {
	for f.Restricted() {
		if f.ParentID == 0 {
			return 0, nil
		}
		if f, err = w.tx.Product(f.ParentID); err != nil {
			return 0, err
		}
	}
	return f.ID, nil
}

// Left takes a folder of a source away that a product has left, if nothing else is in it and its source gives it no longer.
func (in *Intake) Left(ctx context.Context, tx *store.Tx, folder int64) error {
	f, err := tx.Product(folder)
	if err != nil || f.Source == "" || f.Event == "" {
		return err
	}
	w := in.writer(ctx, tx, f.Source)
	h, errH := tx.Hazard(f.HazardID)
	state, known, errS := w.stateOf(store.EventName{Source: f.Source, Key: f.Event})
	if err := errors.Join(errH, errS); err != nil || !known {
		return err
	}
	if state.Head.Products == nil { // the parts that gave some are superseded for good
		state.Head.Products = []hazard.ReportProduct{}
	}
	_, err = w.products(h, &state.Head, false)
	return err
}

// productOf finds the product that the source gave under key, nil if it gave none, and its uuid. A uuid that follows from known names may have
// been chosen by somebody else: what is not this source's is left alone, and another uuid follows.
func (w *writer) productOf(hazardID int64, event store.EventName, rp hazard.ReportProduct) (uuid.UUID, *hazard.Product, error) {
	if rp.UUID != uuid.Nil {
		have, err := ifAny(w.tx.ProductByUUID(rp.UUID))
		if err != nil || have == nil || have.HazardID == hazardID { // what a server says of one hazard moves nothing of another
			return rp.UUID, have, err
		}
	}
	for n := 0; ; n++ {
		id := hazard.ProductUUID(event.Source, event.Key, nth(rp.Key, "#", n))
		have, err := ifAny(w.tx.ProductByUUID(id))
		if err != nil || have == nil || have.Source == event.Source {
			return id, have, err
		}
	}
}

// gone deletes what the event gave before and gives no longer, children first. A folder in which
// something stays, stays.
func (w *writer) gone(hazardID int64, event store.EventName, wanted map[int64]bool) (changed bool, err error) {
	have, err := w.tx.Products(hazardID)
	if err != nil {
		return false, err
	}
	folders := map[int64]int64{} // product → the folder that it is in
	for _, p := range have {
		folders[p.ID] = p.ParentID
	}
	kept := map[int64]bool{}
	for _, p := range have {
		own, err := w.gaveIt(p, hazardID, event)
		if err != nil {
			return false, err
		}
		if own && !wanted[p.ID] && !p.Edited {
			continue
		}
		for id := p.ID; id != 0 && !kept[id]; id = folders[id] { // it may be older than the folder that somebody put it into
			kept[id] = true
		}
	}
	slices.Reverse(have) // what an event gave in a folder has a greater number than that
	for _, p := range have {
		if kept[p.ID] {
			continue
		}
		deleted := *p
		deleted.Deleted, deleted.Updated = true, w.now
		if err := w.tx.SaveProduct(&deleted); err != nil {
			return false, err
		}
		changed = true
	}
	return changed, nil
}

// gaveIt reports whether an event gave a product of the hazard that it is part of. Of a product that
// does not say so it did if its source has no other event there.
func (w *writer) gaveIt(p *hazard.Product, hazardID int64, event store.EventName) (bool, error) {
	if p.Source != event.Source || p.Event != "" {
		return p.Source == event.Source && p.Event == event.Key, nil
	}
	events, err := w.tx.Events.Of(hazardID)
	return err == nil && !slices.ContainsFunc(events, func(e store.Event) bool { return e.Source == event.Source && e.Key != event.Key }), err
}
