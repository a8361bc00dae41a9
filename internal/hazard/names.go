package hazard

import "slices"

// Names says under which names readers without an account see the people who write here. A nil
// Names is for readers with an account: they see login names.
type Names interface {
	// Public returns the name that stands for a login on a record of an organization (NoOrg: of
	// none). It is a name that the user chose, or the organization's, and never the login itself.
	Public(login string, org int64) string
	// Names changes whenever any result of Public may change. It is never 0.
	Names() uint64
}

// Named returns the hazard with the names of n, or h itself if it holds no login. It is the only
// rule of who is named to readers without an account, together with those of Product and Change.
// The creator of a source's hazard is an authority, and stays. Do not call it on its own result.
func (h *Hazard) Named(n Names) *Hazard {
	if n == nil || h == nil || h.UpdateUser == "" && len(h.Redacted) == 0 && (h.Source != "" || h.Creator == "") {
		return h
	}
	named := *h
	if h.Source == "" && h.Creator != "" {
		named.Creator = n.Public(h.Creator, h.OrgID)
	}
	if h.UpdateUser != "" {
		named.UpdateUser = n.Public(h.UpdateUser, h.OrgID)
	}
	named.Redacted = namedMarks(h.Redacted, n, h.OrgID)
	return &named
}

// Named is Hazard.Named for a product. A source's product holds the source's authority as its user,
// until a user changes it.
func (p *Product) Named(n Names) *Product {
	if n == nil || p == nil || p.Source != "" && p.UpdateUser == p.UserID && len(p.Redacted) == 0 {
		return p
	}
	named := *p
	if p.UpdateUser != "" && (p.Source == "" || p.UpdateUser != p.UserID) {
		named.UpdateUser = n.Public(p.UpdateUser, p.OrgID)
	}
	if p.UserID != "" && p.Source == "" {
		named.UserID = n.Public(p.UserID, p.OrgID)
	}
	named.Redacted = namedMarks(p.Redacted, n, p.OrgID)
	return &named
}

// Named is Hazard.Named for a change and the state after it.
func (c *Change) Named(n Names) *Change {
	if n == nil {
		return c
	}
	named := *c
	named.Hazard, named.Product = c.Hazard.Named(n), c.Product.Named(n)
	if c.Actor == "" {
		return &named
	}
	org := int64(NoOrg)
	if c.Hazard != nil {
		org = c.Hazard.OrgID
	} else if c.Product != nil {
		org = c.Product.OrgID
	}
	named.Actor = n.Public(c.Actor, org)
	return &named
}

// NamedProducts returns the products with the names of n.
func NamedProducts(products []*Product, n Names) []*Product {
	if n == nil {
		return products
	}
	named := make([]*Product, len(products))
	for i, p := range products {
		named[i] = p.Named(n)
	}
	return named
}

func namedMarks(marks []Redaction, n Names, org int64) []Redaction {
	marks = slices.Clone(marks)
	for i := range marks {
		if marks[i].User != "" {
			marks[i].User = n.Public(marks[i].User, org)
		}
	}
	return marks
}
