package edit

import (
	"fmt"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Author is the user behind a request, and where it comes from.
type Author struct {
	auth.Caller
	Addr   string
	Client string  // the User-Agent
	second *second // who approves the draft; nil if nobody does
	// Tag returns the condition that an entity tag in a body names, as Match is that of If-Match;
	// nil: tags in bodies are not checked.
	Tag func(tag string) Match
}

func (a Author) actor() hazard.Actor {
	return hazard.Actor{User: a.Name, Admin: a.Role == auth.Admin, Orgs: a.Orgs}
}

// origin returns the origin of a change: the person who approved it if two people decided. The
// hazard's state names the author.
func (a Author) origin() store.Origin {
	if a.second != nil {
		return a.second.origin()
	}
	by := a.actor()
	return store.Origin{User: by.User, Admin: by.Admin, Orgs: by.Orgs, Addr: a.Addr, Client: a.Client}
}

// All rules for rights. Each returns nil, or hazard.ErrForbidden with what is missing. They are
// checked in the writing transaction, for each hazard and product that it changes.

// mayEdit allows editors and admins to write.
func (a Author) mayEdit() error {
	if a.Role == auth.Editor || a.Role == auth.Admin {
		return nil
	}
	return fmt.Errorf("%w: requires the role %s; %s has the role %s", hazard.ErrForbidden, auth.Editor, a.Name, a.Role)
}

// mayWrite allows an editor to write the hazards of the editor's organizations and those of no
// organization (a source's), and an admin to write all.
func (a Author) mayWrite(h *hazard.Hazard) error {
	return a.mayWriteOf(h.OrgID, fmt.Sprintf("hazard %d", h.ID))
}

// mayWriteProduct allows the organization that made a product to write it. A product of no
// organization may be written by everybody who may write the hazard.
func (a Author) mayWriteProduct(p *hazard.Product, of *hazard.Hazard) error {
	if p.OrgID == hazard.NoOrg {
		return a.mayWrite(of)
	}
	return a.mayWriteOf(p.OrgID, fmt.Sprintf("product %d", p.ID))
}

// mayManage allows the owner of a hazard, or an admin, to hide and remove any product of it. A
// hazard of no organization has no owner: its products are managed by their authors and by admins
// only.
func (a Author) mayManage(h *hazard.Hazard) error {
	if h.OrgID == hazard.NoOrg && a.Role != auth.Admin {
		return fmt.Errorf("%w: hazard %d belongs to no organization; only the author's organization or an admin can hide or remove a product of it", hazard.ErrForbidden, h.ID)
	}
	return a.mayWrite(h)
}

// mayRedact allows an admin to remove texts and files permanently.
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
