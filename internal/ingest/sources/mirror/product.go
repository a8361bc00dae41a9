package mirror

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// item is a product in the list of a server of the base interface (section 2.7), with the members
// that a mirror reads. Members about visibility and position are raw values, to distinguish
// unreadable members from missing ones.
type item struct {
	ProductID    jsontext.Value `json:"product_ID"`
	ParentID     jsontext.Value `json:"parent_ID"` // 0 means the root
	SecurityFlag jsontext.Value `json:"security_Flag"`
	OrgIDs       jsontext.Value `json:"org_IDs"`
	UUID         string         `json:"uuid"`
	Title        string         `json:"title"`
	ProductType  string         `json:"product_Type"`
	Data         string         `json:"data"`
	Filename     string         `json:"filename"`
	ProductURL   string         `json:"product_url"`
	CommentText  string         `json:"comment_Text"`
	IsHidden     string         `json:"is_Hidden"` // Y or N
	CreateDate   string         `json:"create_Date"`
	UpdateDate   string         `json:"update_Date"`
	TimelineDate string         `json:"timeline_Date"`
	GeoLocations string         `json:"geo_Locations"` // WKT

	id, parent int64
}

// forest collects the products of a hazard to build their tree.
type forest struct {
	record   string         // the name of the list, for rejects
	products []item         // by product_ID, each once
	at       map[int64]int  // product_ID → index in products
	shut     map[int64]bool // whether a product, or a folder around it, must not be mirrored
	nameless bool           // a restricted product has an unreadable number; so products in an unlisted folder may be in it
	children map[int64][]int
	keys     map[string]bool
	tree     []hazard.ReportProduct
	done     map[int64]string // product_ID → its key
	rejects  lenient.Batch
}

// readProducts builds the product tree of a hazard, each folder before its content. The tree is
// never nil. It leaves out products that must not be mirrored, and their content. Products whose
// folder is missing, is not a folder, or is part of a cycle are at the root.
func readProducts(payload []byte, record string) ([]hazard.ReportProduct, []source.Reject, error) {
	f := &forest{record: record, at: map[int64]int{}, shut: map[int64]bool{}, children: map[int64][]int{}, keys: map[string]bool{}, tree: []hazard.ReportProduct{}, done: map[int64]string{}}
	i := 0
	err := lenient.List(payload, "products", func(_ func() string, raw []byte) {
		f.read(i, raw)
		i++
	})
	if err != nil {
		return nil, nil, err // an incomplete tree would delete the missing products
	}
	tree := f.grown()
	return tree, f.rejects.Done().Rejects, nil
}

// read reads one product. Nothing of a restricted product may appear in a reject, nor of an
// unreadable one, because it might be restricted.
func (f *forest) read(i int, raw []byte) {
	var p item
	notes, err := lenient.Decode(raw, &p)
	if err != nil {
		f.rejects.Reject(lenient.At(fmt.Sprintf("%s/%d", f.record, i)), nil, "a product that cannot be read, and is not repeated here")
		if raw[0] == '{' {
			f.close(number(lenient.Scalar(lenient.Member(raw, "product_ID"))))
		}
		return
	}
	p.id, p.parent = number(lenient.Scalar(p.ProductID)), number(lenient.Scalar(p.ParentID))
	parent := word(p.ParentID)
	closed := restricted(&p, notes)
	if closed {
		f.close(p.id)
	}
	switch {
	case p.id > 0 && (p.parent > 0 || parent == "" || parent == "0"):
		f.products = append(f.products, p)
	case closed:
	case p.id == 0:
		f.rejects.Reject(lenient.At(fmt.Sprintf("%s/%d", f.record, i)), raw, fmt.Sprintf("product_ID: %s, expected a number above zero", word(p.ProductID)))
	default:
		f.rejects.Reject(lenient.At(fmt.Sprintf("%s/%d", f.record, i)), raw, fmt.Sprintf("parent_ID: %s, expected the number of a folder, or 0", parent))
	}
}

// close marks a product, and its content, as not to be mirrored. 0 means a product with an
// unreadable number.
func (f *forest) close(id int64) {
	if id == 0 {
		f.nameless = true
	} else {
		f.shut[id] = true
	}
}

// grown returns the tree.
func (f *forest) grown() []hazard.ReportProduct {
	slices.SortStableFunc(f.products, func(a, b item) int { return cmp.Compare(a.id, b.id) })
	f.products = slices.CompactFunc(f.products, func(a, b item) bool { return a.id == b.id })
	for i, p := range f.products {
		f.at[p.id] = i
	}
	for i, p := range f.products {
		if !f.isShut(p.id) {
			f.children[f.folderOf(p)] = append(f.children[f.folderOf(p)], i)
		}
	}
	f.grow(0, "")
	// The remaining products are in cycles of folders. Each cycle is opened at its first product.
	for i, p := range f.products {
		if _, done := f.done[p.id]; !done && !f.isShut(p.id) {
			f.children[0] = []int{i}
			f.grow(0, "")
		}
	}
	return f.tree
}

// folderOf returns the folder of a product; 0 means the root.
func (f *forest) folderOf(p item) int64 {
	i, ok := f.at[p.parent]
	if !ok || f.products[i].ProductType != string(hazard.FolderProduct) {
		return 0
	}
	return p.parent
}

// isShut reports whether a product must not be mirrored, because of itself or because of a folder
// around it.
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
			shut = id != 0 && f.nameless
			break
		}
		path[id] = true
		id = f.products[i].parent
	}
	for id := range path {
		f.shut[id] = shut
	}
	return shut
}

// restricted reports whether a product is not visible to everybody (section 2.7: security_Flag is
// "R when restricted to one or more organizations, otherwise A"; products assigned to organizations
// "are visible only to members of them"). A product is restricted unless it is clearly open. It is
// also restricted if these members had to be repaired, which the notes show.
func restricted(p *item, notes []string) bool {
	mended := func(note string) bool {
		return strings.Contains(note, "security_Flag") || strings.Contains(note, "org_IDs")
	}
	return word(p.SecurityFlag) != "A" || strings.Trim(word(p.OrgIDs), " ,") != "" || slices.ContainsFunc(notes, mended)
}

// grow adds the content of a folder to the tree, level by level.
func (f *forest) grow(folder int64, key string) {
	type open struct {
		folder int64
		key    string
	}
	for queue := []open{{folder, key}}; len(queue) > 0; queue = queue[1:] {
		for _, i := range f.children[queue[0].folder] {
			p := &f.products[i]
			if _, done := f.done[p.id]; done {
				continue
			}
			rp, reject := f.product(p)
			f.done[p.id] = rp.Key
			if reject != "" {
				f.rejects.Reject(lenient.At("product "+lenient.ExcerptText(cmp.Or(p.UUID, strconv.FormatInt(p.id, 10)))), nil, reject)
				continue
			}
			rp.Parent = queue[0].key
			f.tree = append(f.tree, rp)
			if rp.Type == hazard.FolderProduct {
				queue = append(queue, open{p.id, rp.Key})
			}
		}
	}
}

// product converts one product.
func (f *forest) product(p *item) (rp hazard.ReportProduct, reject string) {
	rp = hazard.ReportProduct{Title: hazard.CleanLine(cmp.Or(p.Title, p.Filename, p.ProductType)), Type: hazard.ProductType(p.ProductType),
		Comment: hazard.Clean(p.CommentText), Time: f.time(p), Hidden: strings.EqualFold(p.IsHidden, "Y"), WKT: geometry(p.GeoLocations)}
	if id, ok := readUUID(p.UUID); ok && !f.keys[id.String()] {
		rp.Key, rp.UUID = id.String(), id
	} else {
		rp.Key, rp.UUID = "product_ID "+strconv.FormatInt(p.id, 10), uuid.Nil
	}
	f.keys[rp.Key] = true
	link := func(field, s string) string {
		address, ok := webAddress(s)
		if !ok {
			return fmt.Sprintf("%s: %q, expected an absolute http or https address", field, lenient.ExcerptText(s))
		}
		rp.Type, rp.Data = hazard.URLProduct, address
		return ""
	}
	switch rp.Type {
	case hazard.FolderProduct:
	case hazard.TextProduct:
		rp.Data = hazard.Clean(p.Data)
	case hazard.URLProduct:
		reject = link("data", p.Data)
	case hazard.FileProduct:
		reject = link("product_url", p.ProductURL)
	default:
		reject = fmt.Sprintf("product_Type: %q is none of the product types", lenient.ExcerptText(p.ProductType))
	}
	return rp, reject
}

// time returns the product's time on the timeline, or when it was changed or created.
func (f *forest) time(p *item) hazard.Instant {
	for _, s := range []string{p.TimelineDate, p.UpdateDate, p.CreateDate} {
		if n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64); err == nil {
			if i := hazard.Instant(n); i >= hazard.MinInstant && i <= hazard.MaxInstant {
				return i
			}
		}
	}
	return 0
}

// geometry returns the place of a product, or "" if it is unreadable, because a product is useful
// without a place too.
func geometry(wkt string) string {
	if _, err := geo.ParseWKT(wkt); err != nil {
		return ""
	}
	return wkt
}
