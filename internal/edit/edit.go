// Package edit is the one gate for what people decide: new hazards and products, alterations, ends, retractions, merges, splits, and
// decisions about held reports.
//
// A request is a JSON object in the field names of the base interface. It is read, cleaned and measured before any transaction
// begins; every fault in it is named at once, and nothing is written. Who may write (Author), and whether the state is still the one
// that was read (Match), is checked in the transaction that writes, for every hazard and product that it touches, and against
// the state as it is then. A client-chosen uuid makes a creation safe to repeat. Nothing is erased but what an admin redacts: the log
// keeps every state.
package edit

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/intake"
	"github.com/hazardd/hazardd/internal/store"
)

// Editor writes what people decide. It is safe for concurrent use.
type Editor struct {
	store  *store.Store
	intake *intake.Intake
	appID  int64               // the number of this installation
	orgs   func(id int64) bool // whether there is an organization of that number
	shapes chan struct{}       // held while a geometry is read: half of the processors are left to readers
	// Two says what waits for a second person; nil: nothing does.
	Two *TwoPeople
	// OrgUploads bounds the bytes of files that an organization uploads in a day; 0: any number.
	OrgUploads int64
}

// New makes an Editor that writes to s, and joins and parts what sources report by in. appID is the number of this installation;
// orgExists reports whether there is an organization of a number.
func New(s *store.Store, in *intake.Intake, appID int64, orgExists func(id int64) bool) *Editor {
	return &Editor{store: s, intake: in, appID: appID, orgs: orgExists, shapes: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// Match is the condition If-Match: it reports whether a present state, as the caller reads it, is one that the caller named.
// A nil Match holds always.
type Match interface {
	// Hazard is asked about a hazard with the number of its products that the caller may know of.
	Hazard(h *hazard.Hazard, products int) bool
	Product(p *hazard.Product) bool
}

// fresh is ErrStale unless the hazard is one that the caller has read. The path of the request names it.
func fresh(match Match, tx *store.Tx, who Author, h *hazard.Hazard) error {
	if match == nil {
		return nil
	}
	total, err := tx.CountProducts(h.ID, who.Orgs)
	if err != nil {
		return err
	}
	if match.Hazard(h, total) {
		return nil
	}
	return stale(h.Version)
}

// freshProduct is fresh for a product.
func freshProduct(match Match, p *hazard.Product) error {
	if match == nil || match.Product(p) {
		return nil
	}
	return stale(p.Version)
}

// nothingYet is ErrStale if there is a condition: what is only about to be made has no state to meet one.
func nothingYet(match Match) error {
	if match == nil {
		return nil
	}
	return fmt.Errorf("%w: If-Match was sent, but this path has no state that it could name; send the request without it", hazard.ErrStale)
}

func stale(version int64) error {
	return fmt.Errorf("%w: it is at change %d now; read it again and decide anew", hazard.ErrStale, version)
}

// Done is the outcome of a write.
type Done[T any] struct {
	State *T
	Last  int64 // number of the last change; 0: nothing had to change
	New   bool
}

// write runs f in one transaction, in the author's name.
func (e *Editor) write(ctx context.Context, who Author, clock hazard.Clock, f func(*store.Tx) error) (last int64, err error) {
	return e.store.Write(ctx, clock, who.origin(), f)
}

// CreateHazard makes a hazard of body. With the uuid of a hazard that the same author made of the same body it makes nothing, and
// returns that one.
func (e *Editor) CreateHazard(ctx context.Context, who Author, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Hazard], err error) {
	b, err := written(e, who, hazardFields, text, create, clock)
	if err != nil {
		return done, err
	}
	if err := nothingYet(match); err != nil {
		return done, err
	}
	if _, chosen := b.given["uuid"]; !chosen { // else it may be there already, and sound then
		if err := b.into(e.draft(who, ownOrg(who), clock.Now())); err != nil {
			return done, err
		}
	}
	done.Last, err = e.decide(ctx, who, deed{name: deedCreate, body: text}, clock, func(tx *store.Tx) error {
		if done.State, err = e.hazardAgain(tx, who, b); err != nil || done.State != nil {
			return err
		}
		h, err := e.newHazard(tx, who, b, ownOrg(who), tx.Now())
		if err != nil {
			return err
		}
		h.LastUpdate, h.Updated, h.UpdateUser = tx.Now(), tx.Now(), who.Name
		done.State, done.New = h, true
		return tx.SaveHazard(h, nil)
	})
	return done, err
}

// draft is the hazard that an author makes at a moment, of organization org, before a body is put into it.
func (e *Editor) draft(who Author, org int64, at hazard.Instant) *hazardDraft {
	return &hazardDraft{Hazard: hazard.Hazard{UUID: uuid.Must(uuid.NewV7()), Category: hazard.Event, Status: hazard.Active, Start: at, Created: at,
		Creator: who.Name, OrgID: org, AppID: e.appID}, now: at}
}

// newHazard is the hazard that a body makes at a moment, of organization org unless the body names another.
func (e *Editor) newHazard(tx *store.Tx, who Author, b *body[hazardDraft], org int64, at hazard.Instant) (*hazard.Hazard, error) {
	draft := e.draft(who, org, at)
	if err := b.into(draft); err != nil {
		return nil, err
	}
	return &draft.Hazard, draft.keepAreas(tx)
}

// hazardAgain is the hazard of the uuid in a body, if the same author made it of the same body; nil if there is none. What the
// body means is what it meant then: an end that was to come may be past, and the author may have joined an organization.
func (e *Editor) hazardAgain(tx *store.Tx, who Author, b *body[hazardDraft]) (*hazard.Hazard, error) {
	id, err := uuidOf(nil, b.given["uuid"])
	if err != nil { // none was chosen, or one that is named with the other faults
		return nil, nil
	}
	have, err := tx.HazardByUUID(id)
	if errors.Is(err, hazard.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	first, err := tx.HazardMade(have.ID)
	if err != nil {
		return nil, err
	}
	if first.Actor == who.Name || first.Hazard.Creator == who.Name { // a second person may have approved it
		again, err := e.newHazard(tx, who, b, first.Hazard.OrgID, first.Hazard.Created)
		if err != nil {
			return nil, err
		}
		if again.ID = have.ID; again.Equal(first.Hazard) {
			return have, nil
		}
	}
	return nil, fmt.Errorf("%w: the uuid %s names another hazard", hazard.ErrConflict, id)
}

// PatchHazard alters a hazard by a JSON merge patch (RFC 7396). {"status":"E"} ends it.
func (e *Editor) PatchHazard(ctx context.Context, who Author, id Ref, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Hazard], err error) {
	b, err := written(e, who, hazardFields, text, patch, clock)
	if err != nil {
		return done, err
	}
	return e.alterHazard(ctx, who, id, match, text, clock, func(tx *store.Tx, h *hazard.Hazard) error {
		draft := &hazardDraft{Hazard: *h, before: h, now: tx.Now()}
		if err := b.into(draft); err != nil {
			return err
		}
		if err := draft.keepAreas(tx); err != nil {
			return err
		}
		if h.Source != "" {
			draft.markEdited(b.given)
		}
		switch {
		case draft.Status == hazard.Expired && h.Status == hazard.Active:
			draft.Reason, draft.End = hazard.EndAllClear, max(tx.Now(), draft.Start)
		case draft.Status == hazard.Active && !draft.ActiveAt(tx.Now()): // an end that is past already
			draft.Status, draft.Reason = hazard.Expired, hazard.EndExpired
		case h.Status == hazard.Expired && draft.End != h.End && draft.End > tx.Now():
			return fmt.Errorf("%w: hazard %d ended at %s; its end_Date cannot be moved to the future: make a new hazard", hazard.ErrConflict, h.ID, h.End)
		case h.Status == hazard.Expired && h.AutoExpire && !draft.AutoExpire:
			return fmt.Errorf("%w: hazard %d ended at %s; autoexpire cannot be turned off now: make a new hazard", hazard.ErrConflict, h.ID, h.End)
		}
		*h = draft.Hazard
		return nil
	})
}

// Retract takes back a false hazard in one step: it ends now, with severity TERMINATION and the reason that body gives
// ({"reason": …}), and no source brings it back.
func (e *Editor) Retract(ctx context.Context, who Author, id Ref, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Hazard], err error) {
	reason, err := asked(who, reasonFields, text)
	if err != nil {
		return done, err
	}
	return e.alterHazard(ctx, who, id, match, text, clock, func(tx *store.Tx, h *hazard.Hazard) error {
		if h.Reason == hazard.EndRetracted {
			return nil
		}
		if h.Status == hazard.Active {
			h.Status, h.End = hazard.Expired, max(tx.Now(), h.Start)
		}
		h.Severity, h.Reason, h.Note = hazard.Termination, hazard.EndRetracted, reason
		h.MarkEdited("status")
		h.MarkEdited("severity_ID")
		return nil
	})
}

// alterHazard lets f alter the state of a hazard, and writes it if it says something else then.
func (e *Editor) alterHazard(ctx context.Context, who Author, id Ref, match Match, text []byte, clock hazard.Clock, f func(*store.Tx, *hazard.Hazard) error) (done Done[hazard.Hazard], err error) {
	done.Last, err = e.decide(ctx, who, about(deedAlter, id, text), clock, func(tx *store.Tx) error {
		stored, before, err := present(tx, who, id, match)
		if err != nil {
			return err
		}
		h := new(*before)
		if err := f(tx, h); err != nil {
			return err
		}
		if h, err = e.intake.Agree(ctx, tx, h); err != nil {
			return err
		}
		done.State = h
		if h.Equal(before) {
			return nil
		}
		h.LastUpdate, h.Updated, h.UpdateUser = tx.Now(), tx.Now(), who.Name
		return tx.SaveHazard(h, stored)
	})
	return done, err
}

// present is the hazard that a request is about, if the author may write it and Match holds: as it is stored, and as it reads now.
func present(tx *store.Tx, who Author, id Ref, match Match) (stored, now *hazard.Hazard, err error) {
	if stored, err = id.hazard(tx); err != nil {
		return nil, nil, err
	}
	if err := who.mayWrite(stored); err != nil {
		return nil, nil, err
	}
	now = stored.ExpireAt(tx.Now())
	return stored, now, fresh(match, tx, who, now)
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
func (r Ref) product(tx *store.Tx, who Author) (*hazard.Product, error) {
	p, err := r.productEver(tx, who)
	if err == nil && p.Deleted {
		return nil, hazard.ErrNotFound
	}
	return p, err
}

// productEver is product, also of one that is deleted.
func (r Ref) productEver(tx *store.Tx, who Author) (p *hazard.Product, err error) {
	if r.ID != 0 {
		p, err = tx.Product(r.ID)
	} else {
		p, err = tx.ProductByUUID(r.UUID)
	}
	if err != nil {
		return nil, err
	}
	alive := *p
	if alive.Deleted = false; !alive.VisibleTo(who.Orgs) {
		return nil, hazard.ErrNotFound
	}
	return p, nil
}

// ownOrg is the organization that what an author makes belongs to unless the body says another.
func ownOrg(who Author) int64 {
	if len(who.Orgs) > 0 {
		return who.Orgs[0]
	}
	return hazard.NoOrg
}
