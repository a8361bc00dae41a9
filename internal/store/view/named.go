package view

import (
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// namedEntry is an entry as readers without an account see it, under the names of a version.
type namedEntry struct {
	names uint64
	entry *entry
}

// Named returns the view with the names of n, for readers without an account. It is v itself if n is
// nil or no login is in the view. Views share what holds no login, so that a hazard that did not change is the same pointer
// in the next view.
func (v *View) Named(n hazard.Names) *View {
	if n == nil || v.base != nil {
		return v
	}
	v.naming.Lock()
	defer v.naming.Unlock()
	if names := n.Names(); v.named.names != names {
		v.named = namedView{names, v.withNames(n, names)}
	}
	return v.named.view
}

// namedView is a view under the names of a version.
type namedView struct {
	names uint64
	view  *View
}

// withNames returns v itself if it holds no login.
func (v *View) withNames(n hazard.Names, names uint64) *View {
	t := &View{number: v.number, at: v.at, digits: v.digits, list: make([]*entry, len(v.list)), byID: make(map[int64]*entry, len(v.byID)),
		byUUID: make(map[uuid.UUID]*entry, len(v.byUUID)), product: make(map[int64]*hazard.Product, len(v.product)), restricted: v.restricted, nextEnd: v.nextEnd,
		base: v, names: names}
	same := true
	for i, o := range v.list {
		e := o.withNames(n, names)
		same = same && e == o
		t.list[i], t.byID[e.hazard.ID], t.byUUID[e.hazard.UUID] = e, e, e
		for _, p := range e.products {
			t.product[p.ID] = p
		}
	}
	if same {
		return v
	}
	return t
}

func (e *entry) withNames(n hazard.Names, names uint64) *entry {
	if known := e.named.Load(); known != nil && known.names == names {
		return known.entry
	}
	named := e
	h, products, same := e.hazard.Named(n), hazard.NamedProducts(e.products, n), true
	for i, p := range products {
		same = same && p == e.products[i]
	}
	if h != e.hazard || !same {
		named = &entry{hazard: h, products: products}
	}
	e.named.Store(&namedEntry{names, named})
	return named
}

// Base returns the view with login names.
func (v *View) Base() *View {
	if v.base != nil {
		return v.base
	}
	return v
}

// Names is the version of the names in the view; 0 means login names. It is part of the key of
// whatever is kept of a view.
func (v *View) Names() uint64 { return v.names }
