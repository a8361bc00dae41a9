package edit

import (
	"fmt"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Author is who asks, and from where.
type Author struct {
	auth.Caller
	Addr   string
	Client string  // the program that the user uses
	second *second // who approves the decision; nil: nobody has
}

func (a Author) actor() hazard.Actor {
	return hazard.Actor{User: a.Name, Admin: a.Role == auth.Admin, Orgs: a.Orgs}
}

// origin names who approves a decision, where two have made it; the state names its author.
func (a Author) origin() store.Origin {
	if a.second != nil {
		return a.second.origin()
	}
	by := a.actor()
	return store.Origin{User: by.User, Admin: by.Admin, Orgs: by.Orgs, Addr: a.Addr, Client: a.Client}
}

// The rules for rights, all of them. Each is nil, or hazard.ErrForbidden with what is missing. They are asked in the transaction that
// writes, for each hazard and product that it touches.

// mayEdit: editors and admins write.
func (a Author) mayEdit() error {
	if a.Role == auth.Editor || a.Role == auth.Admin {
		return nil
	}
	return fmt.Errorf("%w: requires the role %s; %s has the role %s", hazard.ErrForbidden, auth.Editor, a.Name, a.Role)
}

// mayWrite: an editor writes the hazards of the editor's organizations and those that no organization owns (a source's); an admin all.
func (a Author) mayWrite(h *hazard.Hazard) error {
	return a.mayWriteOf(h.OrgID, fmt.Sprintf("hazard %d", h.ID))
}

// mayWriteProduct: a product is written by the organization that made it; one of no organization by who may write the hazard.
func (a Author) mayWriteProduct(p *hazard.Product, of *hazard.Hazard) error {
	if p.OrgID == hazard.NoOrg {
		return a.mayWrite(of)
	}
	return a.mayWriteOf(p.OrgID, fmt.Sprintf("product %d", p.ID))
}

// mayManage: the owner of a hazard, or an admin, hides and removes any product of it. Hazards that no organization owns have no owner:
// their products are only their authors' business, and the admins'.
func (a Author) mayManage(h *hazard.Hazard) error {
	if h.OrgID == hazard.NoOrg && a.Role != auth.Admin {
		return fmt.Errorf("%w: hazard %d belongs to no organization; only the author's organization or an admin can hide or remove a product of it", hazard.ErrForbidden, h.ID)
	}
	return a.mayWrite(h)
}

// mayRedact: an admin removes texts and files for good.
func (a Author) mayRedact() error {
	if a.Role == auth.Admin {
		return nil
	}
	return fmt.Errorf("%w: requires the role %s; %s has the role %s", hazard.ErrForbidden, auth.Admin, a.Name, a.Role)
}

func (a Author) mayWriteOf(org int64, what string) error {
	if a.second != nil {
		if err := a.second.mayWriteOf(org, what); err != nil {
			return err
		}
	}
	if err := a.mayEdit(); err != nil {
		return err
	}
	if a.actor().Owns(org) {
		return nil
	}
	return fmt.Errorf("%w: %s belongs to an organization that %s is not a member of", hazard.ErrForbidden, what, a.Name)
}
