package model

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Person is the person who decides, with their organizations.
type Person struct {
	Name string
	Orgs []int64
}

// org returns the organization that owns what a person makes.
func (p Person) org() int64 {
	if len(p.Orgs) == 0 {
		return hazard.NoOrg
	}
	return p.Orgs[0]
}

// owns reports whether a person may change data of an organization.
func (p Person) owns(org int64) bool { return org == hazard.NoOrg || slices.Contains(p.Orgs, org) }

// Product is a product of a hazard.
type Product struct {
	UUID   uuid.UUID
	Title  string
	Folder bool
	hazard *Hazard
	parent *Product // nil: the root
	org    int64    // the organization of its author
	orgs   []int64  // organizations that may see it; empty: everybody
	key    string   // for a product of a source: its name within the event
	of     *event   // the event that provided it before a person changed it; the product moves with the event
}

// Hazard returns the hazard of the product.
func (p *Product) Hazard() *Hazard { return p.hazard }

// Visible reports whether members of the organizations may see the product.
func (p *Product) Visible(orgs []int64) bool {
	return len(p.orgs) == 0 || slices.ContainsFunc(p.orgs, func(org int64) bool { return slices.Contains(orgs, org) })
}

// String returns the data of a product that tests compare.
func (p *Product) String() string {
	parent := uuid.Nil
	if p.parent != nil {
		parent = p.parent.UUID
	}
	return fmt.Sprintf("%q of %s in %s", p.Title, p.hazard.UUID, parent)
}

// Products lists all products.
func (w *World) Products() []*Product {
	all := slices.Clone(w.products)
	for _, e := range w.events {
		if e.hazard != nil {
			all = append(all, w.given(e)...)
		}
	}
	return all
}

// Kept lists, of products in the state of a moment, those that members of the organizations may see
// now. Products deleted since are only visible to members of the organization that owns them.
func (w *World) Kept(then []Product, orgs []int64) (list []*Product) {
	now := w.Products()
	for _, p := range then {
		there := slices.ContainsFunc(now, func(o *Product) bool { return o.UUID == p.UUID })
		if p.Visible(orgs) && (there || slices.Contains(orgs, p.org)) {
			list = append(list, &p)
		}
	}
	for _, p := range list { // a folder that they may not see is left out
		if p.parent != nil && !slices.ContainsFunc(list, func(o *Product) bool { return o.UUID == p.parent.UUID }) {
			p.parent = nil
		}
	}
	return list
}

// given lists the products that an event provides for its hazard: the products of its parts in
// force while it is active, and those that a person has changed.
func (w *World) given(e *event) (list []*Product) {
	of := func(key string) *Product {
		i := slices.IndexFunc(list, func(p *Product) bool { return p.key == key })
		if i < 0 {
			return nil
		}
		return list[i]
	}
	add := func(rp hazard.ReportProduct, key string) {
		if of(key) != nil || rp.Parent != "" && of(rp.Parent) == nil {
			return
		}
		id := hazard.ProductUUID(e.Source, e.Key, key)
		if w.removed[id] || slices.ContainsFunc(w.products, func(p *Product) bool { return p.UUID == id }) { // it belongs to a person now
			return
		}
		p := &Product{UUID: id, Title: rp.Title, Folder: rp.Type == hazard.FolderProduct, hazard: e.hazard, parent: of(rp.Parent), org: hazard.NoOrg, key: key}
		if frozen := w.frozen(e, id); frozen != nil {
			p.Title, p.parent = frozen.Title, frozen.parent
		}
		list = append(list, p)
	}
	inForce, places := e.inForce(w.now)
	for i, part := range inForce {
		for _, rp := range part.Products {
			key := rp.Key
			if rp.Type != hazard.FolderProduct && places[i] != "" {
				key += "/" + places[i] // all parts share the folders
			}
			add(rp, key)
		}
	}
	for _, p := range w.changed[e] {
		if of(p.key) == nil {
			list = append(list, &Product{UUID: p.UUID, Title: p.Title, Folder: p.Folder, hazard: e.hazard, parent: p.parent, org: hazard.NoOrg, key: p.key})
		}
	}
	for _, p := range w.folders[e] { // a folder stays while it contains something that a person has made or changed
		in := func(q *Product) bool { return q.parent != nil && q.parent.UUID == p.UUID && q.hazard == e.hazard }
		put := false // a person has moved another event's product here
		for o, changed := range w.changed {
			put = put || o.hazard == e.hazard && slices.ContainsFunc(changed, func(q *Product) bool { return q.parent != nil && q.parent.UUID == p.UUID })
		}
		if of(p.key) == nil && !w.removed[p.UUID] && (put || slices.ContainsFunc(w.products, in) || slices.ContainsFunc(list, in)) {
			list = append(list, &Product{UUID: p.UUID, Title: p.Title, Folder: true, hazard: e.hazard, org: hazard.NoOrg, key: p.key})
		}
	}
	return list
}

// frozen returns a product of an event as changed by a person; nil if no person has changed it.
func (w *World) frozen(e *event, id uuid.UUID) *Product {
	i := slices.IndexFunc(w.changed[e], func(p *Product) bool { return p.UUID == id })
	if i < 0 {
		return nil
	}
	return w.changed[e][i]
}

// leaveFolders moves products to the root if their folder is now in another hazard. This applies to
// products of people, and to products of sources that people have moved.
func (w *World) leaveFolders() {
	for _, p := range w.products {
		if p.parent != nil && p.parent.key != "" && !w.folderIn(p.parent, p.hazard) {
			p.parent = nil
		}
	}
	for e, list := range w.changed {
		for i, p := range list {
			if p.parent != nil && !w.folderIn(p.parent, e.hazard) {
				other := *p
				other.parent = nil
				w.changed[e] = slices.Clone(w.changed[e])
				w.changed[e][i] = &other
			}
		}
	}
}

// folderIn reports whether a hazard has the folder.
func (w *World) folderIn(folder *Product, h *Hazard) bool {
	if folder.key == "" {
		return slices.ContainsFunc(w.products, func(p *Product) bool { return p.UUID == folder.UUID && p.hazard == h })
	}
	return slices.ContainsFunc(w.events, func(e *event) bool {
		return e.hazard == h && hazard.ProductUUID(e.Source, e.Key, folder.key) == folder.UUID
	})
}

// leaveProducts handles an event that leaves its hazard and joins no other. Products of the event
// that a person has changed then belong to that person.
func (w *World) leaveProducts(e *event) {
	if e.hazard == nil {
		return
	}
	for _, p := range w.changed[e] {
		w.products = append(w.products, &Product{UUID: p.UUID, Title: p.Title, Folder: p.Folder, hazard: e.hazard, org: hazard.NoOrg, of: e})
	}
	delete(w.changed, e)
}

// Add adds a person's product to a hazard. It reports whether that is allowed.
func (w *World) Add(h *Hazard, id uuid.UUID, title string, folder bool, parent *Product, restricted bool, at instant) bool {
	w.Pass(at)
	p := &Product{UUID: id, Title: title, Folder: folder, hazard: h, parent: parent, org: w.By.org()}
	if !w.By.owns(h.org) || parent != nil && (parent.hazard != h || !parent.Folder || !parent.Visible(w.By.Orgs)) || restricted && p.org == hazard.NoOrg {
		return false
	}
	if restricted {
		p.orgs = []int64{p.org}
	}
	if parent != nil && len(parent.orgs) > 0 { // a product is never visible to more people than its folder
		if !restricted {
			p.orgs = parent.orgs
		}
		if slices.ContainsFunc(p.orgs, func(org int64) bool { return !slices.Contains(parent.orgs, org) }) {
			return false
		}
	}
	w.products = append(w.products, p)
	return true
}

func (w *World) mayWrite(p *Product) bool {
	if p.org == hazard.NoOrg {
		return w.By.owns(p.hazard.org)
	}
	return w.By.owns(p.org)
}

// Retitle changes the title of a product for a person. A product of a source belongs to that person
// from then on.
func (w *World) Retitle(p *Product, title string, at instant) bool {
	w.Pass(at)
	if !p.Visible(w.By.Orgs) || !w.mayWrite(p) {
		return false
	}
	if p.key == "" {
		p.Title = title
		return true
	}
	if title != p.Title {
		changed := *p
		changed.Title = title
		w.change(&changed)
	}
	return true
}

// giver returns the event that provided a product of a source.
func (w *World) giver(p *Product) *event {
	return w.events[slices.IndexFunc(w.events, func(e *event) bool { return hazard.ProductUUID(e.Source, e.Key, p.key) == p.UUID })]
}

// Put moves a product into another folder of its hazard for a person; nil means the root. It
// reports whether that is allowed. A product of a source belongs to that person from then on.
func (w *World) Put(p, folder *Product, at instant) bool {
	w.Pass(at)
	if !p.Visible(w.By.Orgs) || !w.mayWrite(p) {
		return false
	}
	for up := folder; up != nil; up = up.parent {
		if up.UUID == p.UUID { // a folder cannot contain itself
			return false
		}
	}
	if folder != nil && (!folder.Folder || folder.hazard != p.hazard || !folder.Visible(w.By.Orgs) ||
		len(folder.orgs) > 0 && (len(p.orgs) == 0 || slices.ContainsFunc(p.orgs, func(org int64) bool { return !slices.Contains(folder.orgs, org) }))) {
		return false
	}
	switch {
	case p.key == "":
		p.parent = folder
	case p.parent != folder && (p.parent == nil || folder == nil || p.parent.UUID != folder.UUID):
		changed := *p
		changed.parent = folder
		w.change(&changed)
	}
	return true
}

// change stores a product of a source as a person has changed it.
func (w *World) change(p *Product) {
	e := w.giver(p)
	w.changed[e] = append(slices.DeleteFunc(slices.Clone(w.changed[e]), func(o *Product) bool { return o.UUID == p.UUID }), p)
}

// Remove deletes a product for a person. A deleted product of a source does not come back. Products
// in a folder that the person may not see stay.
func (w *World) Remove(p *Product, at instant) bool {
	w.Pass(at)
	if !p.Visible(w.By.Orgs) || !(w.mayWrite(p) || p.hazard.org != hazard.NoOrg && w.By.owns(p.hazard.org)) {
		return false
	}
	in := func(q *Product) bool { return q.parent != nil && q.parent.UUID == p.UUID }
	if slices.ContainsFunc(w.Products(), func(q *Product) bool { return in(q) && q.Visible(w.By.Orgs) }) {
		return false
	}
	for _, q := range w.products {
		if in(q) {
			q.parent = p.parent
		}
	}
	w.products = slices.DeleteFunc(w.products, func(q *Product) bool { return q == p })
	if p.key != "" {
		e := w.giver(p)
		w.removed[p.UUID] = true
		w.changed[e] = slices.DeleteFunc(slices.Clone(w.changed[e]), func(q *Product) bool { return q.UUID == p.UUID })
	}
	return true
}

// carried is a product that moved with a merge, and its folder before.
type carried struct {
	product *Product
	to      *Hazard
	parent  *Product
}

// carry moves people's products from a hazard to the one that it is merged into.
func (w *World) carry(from, to *Hazard) (list []*carried) {
	for _, p := range w.products {
		if p.hazard == from {
			list = append(list, &carried{p, to, p.parent})
			p.hazard = to
		}
	}
	return list
}

// bringBack returns to a hazard the products that a merge moved, with everything that was added to
// its folders since.
func (w *World) bringBack(h *Hazard, list []*carried, events ...*event) {
	back, all := map[*Product]*Product{}, w.Products()
	for _, p := range w.products {
		for _, e := range events {
			if p.parent != nil && p.parent.key != "" && p.hazard == e.hazard && hazard.ProductUUID(e.Source, e.Key, p.parent.key) == p.parent.UUID {
				back[p] = p.parent
			}
		}
	}
	for _, c := range list {
		if slices.Contains(w.products, c.product) && c.product.hazard == c.to {
			back[c.product] = c.parent
		}
	}
	for range w.products {
		for _, p := range w.products {
			_, goes := back[p]
			if _, folderGoes := back[p.parent]; p.parent != nil && folderGoes && !goes {
				back[p] = p.parent
			}
		}
	}
	for p, parent := range back {
		_, goes := back[parent]
		if given := parent != nil && parent.key != "" && slices.ContainsFunc(all, func(o *Product) bool { return o.UUID == parent.UUID }); !goes && !given {
			parent = nil // but a folder of a source moves with its event
		}
		p.hazard, p.parent = h, parent
	}
}
