package mirror

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
	"github.com/hazardd/hazardd/wire"
)

// forest is the products of a hazard on their way to a tree.
type forest struct {
	products []wire.Product // by product_ID, each once
	at       map[int64]int  // product_ID → place in products
	shut     map[int64]bool // whether a product, or a folder around it, may not be mirrored
	children map[int64][]int
	keys     map[string]bool
	tree     []hazard.ReportProduct
	done     map[int64]string // product_ID → its key
	rejects  []source.Reject
}

// tree makes the product tree of a hazard, folders before what is in them, never nil. What may not be mirrored, and what is in it, is
// not there. Products whose folder is not there, is none, or lies in itself, are at the root.
func tree(l client.List[wire.Product], record string) ([]hazard.ReportProduct, []source.Reject) {
	f := &forest{at: map[int64]int{}, shut: map[int64]bool{}, children: map[int64][]int{}, keys: map[string]bool{}, tree: []hazard.ReportProduct{}, done: map[int64]string{}}
	for _, r := range l.Rejected {
		if frame.Word(frame.Member(r.Raw, "security_Flag")) == "A" && frame.Word(frame.Member(r.Raw, "org_IDs")) == "" { // of what is not open, nothing is repeated
			f.rejects = append(f.rejects, source.Reject{Record: fmt.Sprintf("%s/%d", record, r.Index), Reason: r.Err.Error(), Raw: source.Keep(r.Raw)})
		}
	}
	for i, p := range l.Items {
		switch {
		case restricted(&p):
			f.shut[p.ProductID] = true
		case p.ProductID <= 0:
			f.rejects = append(f.rejects, source.Reject{Record: fmt.Sprintf("%s/%d", record, i), Reason: fmt.Sprintf("product_ID: %d, expected a number above zero", p.ProductID)})
			continue
		}
		f.products = append(f.products, p)
	}
	slices.SortStableFunc(f.products, func(a, b wire.Product) int { return cmp.Compare(a.ProductID, b.ProductID) })
	f.products = slices.CompactFunc(f.products, func(a, b wire.Product) bool { return a.ProductID == b.ProductID })
	for i, p := range f.products {
		f.at[p.ProductID] = i
	}
	for i, p := range f.products {
		if !f.isShut(p.ProductID) {
			f.children[f.folderOf(p)] = append(f.children[f.folderOf(p)], i)
		}
	}
	f.grow(0, "")
	// What is left lies in a circle of folders: each is opened at its first product.
	for i, p := range f.products {
		if _, done := f.done[p.ProductID]; !done && !f.isShut(p.ProductID) {
			f.children[0] = []int{i}
			f.grow(0, "")
		}
	}
	return f.tree, f.rejects
}

// folderOf is the folder that holds a product; 0 is the root.
func (f *forest) folderOf(p wire.Product) int64 {
	i, ok := f.at[p.ParentID]
	if !ok || f.products[i].ProductType != string(hazard.FolderProduct) {
		return 0
	}
	return p.ParentID
}

// isShut tells whether a product may not be mirrored, for its own sake or for that of a folder around it.
func (f *forest) isShut(id int64) bool {
	path := map[int64]bool{}
	shut := false
	for !path[id] {
		var known bool
		if shut, known = f.shut[id]; known {
			break
		}
		i, ok := f.at[id]
		if !ok {
			break
		}
		path[id] = true
		id = f.products[i].ParentID
	}
	for id := range path {
		f.shut[id] = shut
	}
	return shut
}

// restricted tells whether not everybody may know of a product (section 2.7: security_Flag is "R when restricted to one or more
// organizations, otherwise A"; products assigned to organizations "are visible only to members of them"). Whatever is not plainly open
// is restricted.
func restricted(p *wire.Product) bool {
	return p.SecurityFlag != "A" || strings.Trim(p.OrgIDs, " ,") != ""
}

// grow puts what is in a folder into the tree, level by level.
func (f *forest) grow(folder int64, key string) {
	type open struct {
		folder int64
		key    string
	}
	for queue := []open{{folder, key}}; len(queue) > 0; queue = queue[1:] {
		for _, i := range f.children[queue[0].folder] {
			p := &f.products[i]
			if _, done := f.done[p.ProductID]; done {
				continue
			}
			rp, reject := f.product(p)
			f.done[p.ProductID] = rp.Key
			if reject != "" {
				f.rejects = append(f.rejects, source.Reject{Record: "product " + frame.ExcerptText(cmp.Or(p.UUID, strconv.FormatInt(p.ProductID, 10))), Reason: reject})
				continue
			}
			rp.Parent = queue[0].key
			f.tree = append(f.tree, rp)
			if rp.Type == hazard.FolderProduct {
				queue = append(queue, open{p.ProductID, rp.Key})
			}
		}
	}
}

// product maps one product.
func (f *forest) product(p *wire.Product) (rp hazard.ReportProduct, reject string) {
	rp = hazard.ReportProduct{Title: hazard.CleanLine(cmp.Or(p.Title, text(p.Filename), p.ProductType)), Type: hazard.ProductType(p.ProductType),
		Comment: hazard.Clean(p.CommentText), Time: f.time(p), Hidden: strings.EqualFold(p.IsHidden, "Y"), WKT: geometry(p.GeoLocations)}
	if id, ok := readUUID(p.UUID); ok && !f.keys[id.String()] {
		rp.Key, rp.UUID = id.String(), id
	} else {
		rp.Key, rp.UUID = "product_ID "+strconv.FormatInt(p.ProductID, 10), uuid.Nil
	}
	f.keys[rp.Key] = true
	link := func(field, s string) string {
		address, ok := webAddress(s)
		if !ok {
			return fmt.Sprintf("%s: %q, expected an absolute http or https address", field, frame.ExcerptText(s))
		}
		rp.Type, rp.Data = hazard.URLProduct, address
		return ""
	}
	switch rp.Type {
	case hazard.FolderProduct:
	case hazard.TextProduct:
		rp.Data = hazard.Clean(text(p.Data))
	case hazard.URLProduct:
		reject = link("data", text(p.Data))
	case hazard.FileProduct:
		reject = link("product_url", text(p.ProductURL))
	default:
		reject = fmt.Sprintf("product_Type: %q is none of the product types", frame.ExcerptText(p.ProductType))
	}
	return rp, reject
}

// time is the product's place on a timeline, or when it was altered or made.
func (f *forest) time(p *wire.Product) hazard.Instant {
	for _, s := range []string{p.TimelineDate, p.UpdateDate, p.CreateDate} {
		if n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64); err == nil {
			if i := hazard.Instant(n); i >= hazard.MinInstant && i <= hazard.MaxInstant {
				return i
			}
		}
	}
	return 0
}

// geometry is the place of a product, empty if it is none that can be read: a product without its place is still good.
func geometry(wkt string) string {
	if _, err := geo.ParseWKT(wkt); err != nil {
		return ""
	}
	return wkt
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
