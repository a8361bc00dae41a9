// Package edit makes all changes that people decide on: new hazards and products, changes, ends,
// retractions, merges, splits, and decisions about held reports.
//
// A request is a JSON object with the field names of the base interface. It is parsed, cleaned and
// checked before any transaction begins. All errors in it are reported at once, and nothing is
// written. The rights of the author (Author) and the state that the client has read (Match) are
// checked in the writing transaction, for every hazard and product that it changes. A UUID chosen
// by the client makes a creation safe to repeat. Nothing is erased except by an admin's redaction:
// the log keeps every state.
package edit

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/store"
)

// Editor writes the changes of people. It is safe for concurrent use.
type Editor struct {
	store  *store.Store
	intake *fuse.Intake
	appID  int64               // id of this installation
	orgs   func(id int64) bool // reports whether an organization exists
	shapes chan struct{}       // held while a geometry is processed, so that half of the processors stay free for readers
	// Two says which changes wait for a second person; nil means none.
	Two *TwoPeople
	// OrgUploads bounds the bytes that an organization uploads per day; 0 means no bound.
	OrgUploads int64
	// Evidence is where redactions look for payloads of sources; nil means that none are kept.
	Evidence Evidence
}

// New creates an Editor that writes to s and uses in to join and split reported events. appID is
// the id of this installation; orgExists reports whether an organization exists.
func New(s *store.Store, in *fuse.Intake, appID int64, orgExists func(id int64) bool) *Editor {
	return &Editor{store: s, intake: in, appID: appID, orgs: orgExists, shapes: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// Match is the condition If-Match. It reports whether a state, as the caller reads it, is one that
// the caller named. A nil Match always holds.
type Match interface {
	// Hazard checks a hazard with the number of its products that the caller may see.
	Hazard(h *hazard.Hazard, products int) bool
	Product(p *hazard.Product) bool
}

// fresh returns ErrStale unless the caller has read the present state of the hazard in the path.
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

// freshProduct does the same as fresh for a product.
func freshProduct(match Match, p *hazard.Product) error {
	if match == nil || match.Product(p) {
		return nil
	}
	return stale(p.Version)
}

// nothingYet returns ErrStale if there is a condition, because a new thing has no state that could
// match.
func nothingYet(match Match) error {
	if match == nil {
		return nil
	}
	return fmt.Errorf("%w: If-Match was sent, but this path has no state that it could name; send the request without it", hazard.ErrStale)
}

func stale(version int64) error {
	return fmt.Errorf("%w: it is now at change %d; read it again and decide again", hazard.ErrStale, version)
}

// Done is the result of a write.
type Done[T any] struct {
	State *T
	Last  int64 // number of the last change; 0 if nothing had to change
	New   bool
}

// write runs f in one transaction, in the author's name.
func (e *Editor) write(ctx context.Context, who Author, clock hazard.Clock, f func(*store.Tx) error) (last int64, err error) {
	return e.store.Write(ctx, clock, who.origin(), f)
}

// CreateHazard creates a hazard from a body. If the same author has already created a hazard with
// the same UUID and body, it returns that one.
func (e *Editor) CreateHazard(ctx context.Context, who Author, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Hazard], err error) {
	b, err := written(e, who, hazardFields, text, create, clock)
	if err != nil {
		return done, err
	}
	if err := nothingYet(match); err != nil {
		return done, err
	}
	if _, chosen := b.given["uuid"]; !chosen { // with a chosen UUID the hazard may exist already
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

// draft returns an empty hazard of an author and organization, to be filled from a body.
func (e *Editor) draft(who Author, org int64, at hazard.Instant) *hazardDraft {
	return &hazardDraft{Hazard: hazard.Hazard{UUID: uuid.Must(uuid.NewV7()), Category: hazard.Event, Status: hazard.Active, Start: at, Created: at,
		Creator: who.Name, OrgID: org, AppID: e.appID}, now: at}
}

// newHazard creates the hazard of a body, in organization org unless the body names another.
func (e *Editor) newHazard(tx *store.Tx, who Author, b *body[hazardDraft], org int64, at hazard.Instant) (*hazard.Hazard, error) {
	draft := e.draft(who, org, at)
	if err := b.into(draft); err != nil {
		return nil, err
	}
	return &draft.Hazard, draft.keepAreas(tx)
}

// hazardAgain returns the existing hazard with the UUID of a body if the same author created it
// from the same body, or nil if there is none. The body is interpreted as of then: an end that was
// in the future may have passed, and the author may have joined an organization since.
func (e *Editor) hazardAgain(tx *store.Tx, who Author, b *body[hazardDraft]) (*hazard.Hazard, error) {
	id, err := uuidOf(nil, b.given["uuid"])
	if err != nil { // there is none, or it is invalid, which is reported with the other faults
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
	if first.Actor == who.Name || first.Hazard.Creator == who.Name { // with approval, the actor is the second person
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

// PatchHazard changes a hazard by a JSON merge patch (RFC 7396). {"status":"E"} ends it.
func (e *Editor) PatchHazard(ctx context.Context, who Author, id Ref, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Hazard], err error) {
	b, err := written(e, who, hazardFields, text, patch, clock)
	if err != nil {
		return done, err
	}
	ends := len(b.given) == 1 && string(b.given["status"]) == `"E"`
	return e.alterHazard(ctx, who, id, match, text, ends, clock, func(tx *store.Tx, h *hazard.Hazard) error {
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
		case draft.Status == hazard.Active && !draft.ActiveAt(tx.Now()): // the given end has passed already
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

// Retract withdraws a false hazard in one step: it ends now, with severity TERMINATION and the
// reason in the body ({"reason": …}). No source can reactivate it.
func (e *Editor) Retract(ctx context.Context, who Author, id Ref, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Hazard], err error) {
	reason, err := asked(who, reasonFields, text)
	if err != nil {
		return done, err
	}
	return e.alterHazard(ctx, who, id, match, text, true, clock, func(tx *store.Tx, h *hazard.Hazard) error {
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

// alterHazard lets f change a hazard, and writes the result if it differs. What only ends a hazard
// (ends) is also done if its present state is damaged: to its last state that can be read.
func (e *Editor) alterHazard(ctx context.Context, who Author, id Ref, match Match, text []byte, ends bool, clock hazard.Clock, f func(*store.Tx, *hazard.Hazard) error) (done Done[hazard.Hazard], err error) {
	done.Last, err = e.decide(ctx, who, about(deedAlter, id, text), clock, func(tx *store.Tx) error {
		stored, before, err := present(tx, who, id, match)
		if _, damaged := errors.AsType[*store.DamagedError](err); damaged && ends {
			if stored, err = tx.LastReadable(id.ID, id.UUID); err == nil {
				before, err = stored, who.mayWrite(stored)
			}
		}
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

// present returns the hazard of a request, as stored and as of now, if the author may write it and
// Match holds.
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

// Ref is a hazard or a product in a path: its id or its UUID.
type Ref struct {
	ID   int64 // 0 means by UUID
	UUID uuid.UUID
}

// ParseRef reads an id, in decimal digits without leading zeros, or a UUID of 36 characters. ok is
// false for anything else.
func ParseRef(text string) (ref Ref, ok bool) {
	if id, err := strconv.ParseInt(text, 10, 64); err == nil && id > 0 && strconv.FormatInt(id, 10) == text {
		return Ref{ID: id}, true
	}
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return Ref{}, false
	}
	return Ref{UUID: id}, true
}

func (r Ref) hazard(tx *store.Tx) (*hazard.Hazard, error) {
	if r.ID != 0 {
		return tx.Hazard(r.ID)
	}
	return tx.HazardByUUID(r.UUID)
}

// product returns the product if the author may see it.
func (r Ref) product(tx *store.Tx, who Author) (*hazard.Product, error) {
	p, err := r.productEver(tx, who)
	if err == nil && p.Deleted {
		return nil, hazard.ErrNotFound
	}
	return p, err
}

// productEver does the same as product, also for a deleted product.
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

// ownOrg returns the organization of an author's new things, unless the body names another.
func ownOrg(who Author) int64 {
	if len(who.Orgs) > 0 {
		return who.Orgs[0]
	}
	return hazard.NoOrg
}
