// Package edit makes changes of what editors ask for: new hazards and products, alterations, ends and retractions.
//
// A request is a JSON object in the field names of the base interface. Every fault in it is named at once, and nothing is
// written. Who may write is checked in the transaction that writes, against the state as it is then. A client-chosen uuid
// makes a creation safe to repeat. Nothing is ever erased: the log keeps every state.
package edit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"hazardd/internal/auth"
	"hazardd/internal/hazard"
	"hazardd/internal/store"
)

// Editor writes what editors ask for. It is safe for concurrent use.
type Editor struct {
	store *store.Store
	appID int64               // the number of this installation
	orgs  func(id int64) bool // whether there is an organization of that number
}

// New makes an Editor that writes to s. appID is the number of this installation; orgExists tells whether there is an
// organization of a number.
func New(s *store.Store, appID int64, orgExists func(id int64) bool) *Editor {
	return &Editor{s, appID, orgExists}
}

// Author is who asks, and from where.
type Author struct {
	auth.Caller
	Addr string
}

func (a Author) origin() store.Origin { return store.Origin{User: a.Name, Addr: a.Addr} }

// mayWrite tells whether the author may alter what belongs to org: an editor what is the own organizations' and what no
// organization owns (a source's), an admin everything.
func (a Author) mayWrite(org int64) error {
	switch {
	case a.Role == auth.Admin:
		return nil
	case a.Role != auth.Editor:
		return fmt.Errorf("%w: this takes the role editor; %s has the role %s", hazard.ErrForbidden, a.Name, a.Role)
	case org == noOrg || slices.Contains(a.Orgs, org):
		return nil
	}
	return fmt.Errorf("%w: it belongs to an organization that %s is no member of", hazard.ErrForbidden, a.Name)
}

// noOrg is the org_ID of what no organization owns.
const noOrg = -1

// Match is a condition on the state that a request alters: the change numbers that If-Match named. Nil: none.
type Match []int64

// check is ErrStale unless the state's version is one of those that the caller has read.
func (m Match) check(version int64) error {
	if m == nil || slices.Contains(m, version) {
		return nil
	}
	return fmt.Errorf("%w: it is at change %d now; read it again and decide anew", hazard.ErrStale, version)
}

// Done is the outcome of a write.
type Done[T any] struct {
	State *T
	Last  int64 // number of the last change; 0: nothing had to change
	New   bool
}

// CreateHazard makes a hazard of body. With the uuid of a hazard that the same author made of the same body it makes nothing, and
// returns that one.
func (e *Editor) CreateHazard(ctx context.Context, who Author, body []byte, now hazard.Instant) (Done[hazard.Hazard], error) {
	var done Done[hazard.Hazard]
	if err := who.mayWrite(noOrg); err != nil {
		return done, err
	}
	members, err := decode(body)
	if err != nil {
		return done, err
	}
	draft, fault := e.newHazard(who, members, now)
	if _, chosen := members["uuid"]; fault != nil && !chosen {
		return done, fault
	}
	done.Last, err = e.store.Write(ctx, now, who.origin(), func(tx *store.Tx) error {
		if done.State, err = e.hazardAgain(ctx, tx, who, members); err != nil || done.State != nil {
			return err
		}
		if fault != nil {
			return fault
		}
		h := &draft.Hazard
		if h.Areas, err = tx.KeepAreas(draft.areas); err != nil {
			return err
		}
		h.LastUpdate, h.Updated, h.UpdateUser = now, now, who.Name
		done.State, done.New = h, true
		return tx.SaveHazard(h, nil)
	})
	return done, err
}

// newHazard is the hazard that an author's members make at now.
func (e *Editor) newHazard(who Author, members members, now hazard.Instant) (*hazardDraft, error) {
	draft := &hazardDraft{Hazard: hazard.Hazard{UUID: uuid.Must(uuid.NewV7()), Category: hazard.Event, Status: hazard.Active, Start: now, Created: now,
		Creator: who.Name, OrgID: ownOrg(who), AppID: e.appID}, e: e, who: who, now: now}
	return draft, apply(hazardFields, members, draft, create)
}

// hazardAgain is the hazard of the uuid in members, if the same author made it of the same members; nil if there is none. What the
// members mean is what they meant then: an end that was to come may be past.
func (e *Editor) hazardAgain(ctx context.Context, tx *store.Tx, who Author, members members) (*hazard.Hazard, error) {
	id, err := uuidOf(members["uuid"])
	if err != nil { // none was chosen, or one that is told with the other faults
		return nil, nil
	}
	have, err := tx.HazardByUUID(id)
	if errors.Is(err, hazard.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	first, err := e.store.HazardChanges(ctx, have.ID, 0, 1)
	if err != nil {
		return nil, err
	}
	if len(first) == 1 && first[0].Actor == who.Name && first[0].Hazard != nil {
		again, err := e.newHazard(who, members, first[0].At)
		if err != nil {
			return nil, err
		}
		if again.Areas, err = tx.KeepAreas(again.areas); err != nil {
			return nil, err
		}
		if again.ID = have.ID; again.Hazard.Equal(first[0].Hazard) {
			return have, nil
		}
	}
	return nil, fmt.Errorf("%w: the uuid %s names another hazard", hazard.ErrConflict, id)
}

// PatchHazard alters a hazard by a JSON merge patch (RFC 7396). {"status":"E"} ends it.
func (e *Editor) PatchHazard(ctx context.Context, who Author, id Ref, match Match, body []byte, now hazard.Instant) (Done[hazard.Hazard], error) {
	members, err := decode(body)
	if err != nil {
		return Done[hazard.Hazard]{}, err
	}
	return e.alterHazard(ctx, who, id, match, now, func(tx *store.Tx, h *hazard.Hazard) error {
		draft := &hazardDraft{Hazard: *h, before: h, e: e, who: who, now: now}
		if err := apply(hazardFields, members, draft, patch); err != nil {
			return err
		}
		if draft.areas != nil {
			refs, err := tx.KeepAreas(draft.areas)
			if err != nil {
				return err
			}
			draft.Areas = refs
		}
		for name := range members {
			if h.Source != "" {
				draft.MarkEdited(name)
			}
		}
		switch {
		case draft.Status == hazard.Expired && h.Status == hazard.Active:
			draft.Reason, draft.End = hazard.EndAllClear, max(now, draft.Start)
		case draft.Status == hazard.Active && !draft.ActiveAt(now): // an end that is past already
			draft.Status, draft.Reason = hazard.Expired, hazard.EndExpired
		}
		*h = draft.Hazard
		return nil
	})
}

// Retract takes back a false hazard in one step: it ends now, with severity TERMINATION and the reason that body gives
// ({"reason": …}), and no source brings it back.
func (e *Editor) Retract(ctx context.Context, who Author, id Ref, match Match, body []byte, now hazard.Instant) (Done[hazard.Hazard], error) {
	members, err := decode(body)
	if err != nil {
		return Done[hazard.Hazard]{}, err
	}
	var r retraction
	if err := apply(retractionFields, members, &r, create); err != nil {
		return Done[hazard.Hazard]{}, err
	}
	return e.alterHazard(ctx, who, id, match, now, func(_ *store.Tx, h *hazard.Hazard) error {
		if h.Reason == hazard.EndRetracted {
			return nil
		}
		if h.Status == hazard.Active {
			h.Status, h.End = hazard.Expired, max(now, h.Start)
		}
		h.Severity, h.Reason, h.Note = hazard.Termination, hazard.EndRetracted, r.reason
		h.MarkEdited("status")
		h.MarkEdited("severity_ID")
		return nil
	})
}

// alterHazard lets f alter the state of a hazard, and writes it if it says something else then.
func (e *Editor) alterHazard(ctx context.Context, who Author, id Ref, match Match, now hazard.Instant, f func(*store.Tx, *hazard.Hazard) error) (done Done[hazard.Hazard], err error) {
	if err := who.mayWrite(noOrg); err != nil {
		return done, err
	}
	done.Last, err = e.store.Write(ctx, now, who.origin(), func(tx *store.Tx) error {
		stored, err := id.hazard(tx)
		if err != nil {
			return err
		}
		before := stored.ExpireAt(now)
		if err := errors.Join(who.mayWrite(before.OrgID), match.check(before.Version)); err != nil {
			return err
		}
		h := new(*before)
		if err := f(tx, h); err != nil {
			return err
		}
		done.State = h
		if h.Equal(before) {
			return nil
		}
		h.LastUpdate, h.Updated, h.UpdateUser = now, now, who.Name
		return tx.SaveHazard(h, stored)
	})
	return done, err
}

// Ref names a hazard or a product in a path: by its number, or by its uuid.
type Ref struct {
	ID   int64 // 0: by UUID
	UUID uuid.UUID
}

func (r Ref) hazard(tx *store.Tx) (*hazard.Hazard, error) {
	if r.ID != 0 {
		return tx.Hazard(r.ID)
	}
	return tx.HazardByUUID(r.UUID)
}

// product is the product as far as the author may know of it.
func (r Ref) product(tx *store.Tx, who Author) (p *hazard.Product, err error) {
	if r.ID != 0 {
		p, err = tx.Product(r.ID)
	} else {
		p, err = tx.ProductByUUID(r.UUID)
	}
	if err == nil && (p.Deleted || !p.VisibleTo(who.Orgs)) {
		return nil, hazard.ErrNotFound
	}
	return p, err
}

// ownOrg is the organization that what an author makes belongs to unless the body says another.
func ownOrg(who Author) int64 {
	if len(who.Orgs) > 0 {
		return who.Orgs[0]
	}
	return noOrg
}
