package edit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"hazardd/internal/auth"
	"hazardd/internal/geo"
	"hazardd/internal/hazard"
	"hazardd/internal/store"
)

// Upload is the file of a product that is to be made, with its content received.
type Upload struct {
	hazard.File
	Content *store.StagedFile
}

// CreateProduct makes a product of body below a hazard. upload is the file that came with it; nil if none came. Its content is kept only if the
// product is made; else it is swept.
// With the uuid of a product that the same author made of the same body it makes nothing, and returns that one.
func (e *Editor) CreateProduct(ctx context.Context, who Author, id Ref, body []byte, upload *Upload, now hazard.Instant) (done Done[hazard.Product], err error) {
	if err := who.mayWrite(noOrg); err != nil {
		return done, err
	}
	members, err := decode(body)
	if err != nil {
		return done, err
	}
	var file *hazard.File
	if upload != nil {
		file = &upload.File
		if err := upload.Content.Put(ctx); err != nil { // no transaction waits for it
			return done, err
		}
	}
	done.Last, err = e.store.Write(ctx, now, who.origin(), func(tx *store.Tx) error {
		h, err := id.hazard(tx)
		if err != nil {
			return err
		}
		if done.State, err = e.productAgain(ctx, tx, who, h.ID, file, members); err != nil || done.State != nil {
			return err
		}
		p, err := e.newProduct(tx, who, h.ID, file, members, now)
		if err != nil {
			return err
		}
		done.State, done.New = p, true
		if upload != nil {
			if err := upload.Content.Keep(tx); err != nil {
				return err
			}
		}
		return tx.SaveProduct(p)
	})
	return done, err
}

// newProduct is the product that an author's members and file make at now.
func (e *Editor) newProduct(tx *store.Tx, who Author, hazardID int64, file *hazard.File, members members, now hazard.Instant) (*hazard.Product, error) {
	draft := &productDraft{Product: hazard.Product{UUID: uuid.Must(uuid.NewV7()), HazardID: hazardID, OrgID: ownOrg(who), AppIDs: strconv.FormatInt(e.appID, 10),
		UserID: who.Name, UpdateUser: who.Name, Created: now, Updated: now, Timeline: now, File: file}, e: e, tx: tx, who: who, now: now}
	err := apply(productFields, members, draft, create)
	return &draft.Product, err
}

// productAgain is the product of the uuid in members, if the same author made it below the same hazard of the same members and file;
// nil if there is none.
func (e *Editor) productAgain(ctx context.Context, tx *store.Tx, who Author, hazardID int64, file *hazard.File, members members) (*hazard.Product, error) {
	id, err := uuidOf(members["uuid"])
	if err != nil { // none was chosen, or one that is told with the other faults
		return nil, nil
	}
	conflict := fmt.Errorf("%w: the uuid %s names another product", hazard.ErrConflict, id)
	have, err := tx.ProductByUUID(id)
	switch {
	case errors.Is(err, hazard.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case have.Deleted || have.UserID != who.Name || !have.VisibleTo(who.Orgs):
		return nil, conflict
	}
	first, err := e.firstOfProduct(ctx, have)
	if err != nil {
		return nil, err
	}
	again, err := e.newProduct(tx, who, hazardID, file, members, first.Created)
	if err != nil {
		return nil, err
	}
	if again.ID = first.ID; again.Equal(first) {
		return have, nil
	}
	return nil, conflict
}

// firstOfProduct is the state in which a product was made.
func (e *Editor) firstOfProduct(ctx context.Context, p *hazard.Product) (*hazard.Product, error) {
	for n := int64(0); ; {
		changes, err := e.store.HazardChanges(ctx, p.HazardID, n, 1000)
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			if c.Product != nil && c.Product.ID == p.ID {
				return c.Product, nil
			}
			n = c.Number
		}
		if len(changes) == 0 {
			return nil, fmt.Errorf("product %d has no change that made it", p.ID)
		}
	}
}

// PatchProduct alters a product by a JSON merge patch (RFC 7396).
func (e *Editor) PatchProduct(ctx context.Context, who Author, id Ref, match Match, body []byte, now hazard.Instant) (Done[hazard.Product], error) {
	members, err := decode(body)
	if err != nil {
		return Done[hazard.Product]{}, err
	}
	return e.alterProduct(ctx, who, id, match, now, func(tx *store.Tx, p *hazard.Product) error {
		draft := &productDraft{Product: *p, before: p, e: e, tx: tx, who: who, now: now}
		if err := apply(productFields, members, draft, patch); err != nil {
			return err
		}
		*p = draft.Product
		return nil
	})
}

// DeleteProduct deletes a product; a folder only when nothing is in it. The history keeps it.
func (e *Editor) DeleteProduct(ctx context.Context, who Author, id Ref, match Match, now hazard.Instant) (Done[hazard.Product], error) {
	return e.alterProduct(ctx, who, id, match, now, func(tx *store.Tx, p *hazard.Product) error {
		all, err := tx.Products(p.HazardID)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(all, func(q *hazard.Product) bool { return q.ParentID == p.ID }) {
			return fmt.Errorf("%w: the folder is not empty; delete or move what is in it first", hazard.ErrConflict)
		}
		p.Deleted = true
		return nil
	})
}

// alterProduct lets f alter the state of a product, and writes it if it says something else then.
func (e *Editor) alterProduct(ctx context.Context, who Author, id Ref, match Match, now hazard.Instant, f func(*store.Tx, *hazard.Product) error) (done Done[hazard.Product], err error) {
	if err := who.mayWrite(noOrg); err != nil {
		return done, err
	}
	done.Last, err = e.store.Write(ctx, now, who.origin(), func(tx *store.Tx) error {
		before, err := id.product(tx, who)
		if err != nil {
			return err
		}
		if err := errors.Join(who.mayWrite(before.OrgID), match.check(before.Version)); err != nil {
			return err
		}
		p := new(*before)
		if err := f(tx, p); err != nil {
			return err
		}
		done.State = p
		if p.Equal(before) {
			return nil
		}
		p.Edited = p.Source != ""
		p.Updated, p.UpdateUser = now, who.Name
		return tx.SaveProduct(p)
	})
	return done, err
}

// productDraft is a product while a body is read into it.
type productDraft struct {
	hazard.Product
	before *hazard.Product // nil in a creation
	flag   string          // security_Flag as given
	e      *Editor
	tx     *store.Tx
	who    Author
	now    hazard.Instant
}

// productFields are the members of a product that an editor may write.
var productFields = []field[productDraft]{
	{"uuid", create, false, func(d *productDraft, v jsontext.Value) (err error) { d.UUID, err = uuidOf(v); return }},
	{"title", create | patch, true, func(d *productDraft, v jsontext.Value) (err error) {
		d.Title, err = text(v, hazard.MaxName, false, hazard.CleanLine)
		return
	}},
	{"product_Type", create, true, func(d *productDraft, v jsontext.Value) (err error) {
		d.Type, err = oneOf(v, productTypes(), func(s string) (hazard.ProductType, bool) {
			return hazard.ProductType(s), hazard.ProductType(s).Known()
		})
		return
	}},
	{"data", create | patch, false, func(d *productDraft, v jsontext.Value) (err error) {
		d.Data, err = text(v, hazard.MaxData, true, hazard.Clean)
		return
	}},
	{"parent_ID", create | patch, false, func(d *productDraft, v jsontext.Value) (err error) {
		d.ParentID, err = integer(v)
		return
	}},
	{"comment_Text", create | patch, false, func(d *productDraft, v jsontext.Value) (err error) {
		d.Comment, err = text(v, hazard.MaxComment, true, hazard.Clean)
		return
	}},
	{"is_Hidden", create | patch, false, func(d *productDraft, v jsontext.Value) (err error) { d.Hidden, err = flag(v); return }},
	{"security_Flag", create | patch, false, func(d *productDraft, v jsontext.Value) (err error) {
		d.flag, err = oneOf(v, []string{"A", "R"}, func(s string) (string, bool) { return s, s == "A" || s == "R" })
		return
	}},
	{"org_IDs", create | patch, false, func(d *productDraft, v jsontext.Value) (err error) { d.OrgIDs, err = d.organizations(v); return }},
	{"org_ID", create, false, func(d *productDraft, v jsontext.Value) (err error) { d.OrgID, err = d.e.ownedBy(v, d.who); return }},
	{"timeline_Date", create | patch, false, func(d *productDraft, v jsontext.Value) (err error) {
		if d.Timeline, err = instant(v); err == nil {
			err = plausible(d.Timeline, d.now)
		}
		return
	}},
	{"geo_Locations", create | patch, false, func(d *productDraft, v jsontext.Value) error {
		s, err := text(v, hazard.MaxDescription, true, func(s string) string { return s }) // the parser knows what may stand in it
		if err != nil || s == "" {
			d.Geometry = ""
			return err
		}
		shape, err := geo.ParseWKT(s)
		if err != nil {
			return fmt.Errorf("is not WKT that can be used: %w", err)
		}
		d.Geometry = shape.WKT()
		return nil
	}},
}

// organizations reads numbers of organizations separated by commas.
func (d *productDraft) organizations(v jsontext.Value) ([]int64, error) {
	s, err := text(v, hazard.MaxName, true, hazard.CleanLine)
	if err != nil || s == "" {
		return nil, err
	}
	var ids []int64
	for word := range strings.SplitSeq(s, ",") {
		id, err := strconv.ParseInt(strings.TrimSpace(word), 10, 64)
		if err != nil || !d.e.orgs(id) {
			return nil, fmt.Errorf("%q: %q is no organization", s, word)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// check looks at what members mean together, and at the folder.
func (d *productDraft) check(bad *hazard.InvalidError, given members) {
	if sound(bad, "product_Type", "data") {
		d.checkData(bad, given)
	}
	var parent *hazard.Product
	if sound(bad, "parent_ID") {
		parent = d.checkParent(bad)
	}
	if sound(bad, "security_Flag", "org_IDs", "org_ID") {
		d.checkAudience(bad, given, parent)
	}
}

func (d *productDraft) checkData(bad *hazard.InvalidError, given members) {
	_, has := given["data"]
	switch d.Type {
	case hazard.FolderProduct, hazard.FileProduct:
		if has && d.Data != "" {
			bad.Add("data", "is for text and url products; this is a %s", d.Type)
		}
	case hazard.TextProduct:
		if d.Data == "" {
			bad.Add("data", "is missing: the message of the text product")
		}
	case hazard.URLProduct:
		if has || d.before == nil {
			quoted, _ := json.Marshal(d.Data) // a string of valid UTF-8
			if _, err := link(quoted, false); err != nil {
				bad.Add("data", "%s: the hyperlink of the url product", err)
			}
		}
	}
	if d.Type == hazard.FileProduct && d.File == nil {
		bad.Add("file", "is missing: send multipart/form-data with the parts product and file")
	}
	if d.Type != hazard.FileProduct && d.File != nil {
		bad.Add("product_Type", "is %s, but a file came with it: expected %s", d.Type, hazard.FileProduct)
	}
}

// checkParent looks for the folder; nil is the root.
func (d *productDraft) checkParent(bad *hazard.InvalidError) *hazard.Product {
	if d.ParentID == 0 {
		return nil
	}
	parent, err := Ref{ID: d.ParentID}.product(d.tx, d.who)
	if err != nil || parent.HazardID != d.HazardID || parent.Type != hazard.FolderProduct {
		bad.Add("parent_ID", "%d is no folder of the same hazard", d.ParentID)
		return nil
	}
	for up := parent; d.ID != 0; {
		if up.ID == d.ID {
			bad.Add("parent_ID", "%d lies inside this folder itself", d.ParentID)
			return nil
		}
		if up.ParentID == 0 {
			break
		}
		if up, err = d.tx.Product(up.ParentID); err != nil {
			bad.Add("parent_ID", "%d is no folder of the same hazard", d.ParentID)
			return nil
		}
	}
	return parent
}

// checkAudience settles who may know of the product: never more than may know of its folder, which its place would tell them of.
func (d *productDraft) checkAudience(bad *hazard.InvalidError, given members, parent *hazard.Product) {
	_, orgsGiven := given["org_IDs"]
	switch {
	case d.flag == "A" && orgsGiven && len(d.OrgIDs) > 0:
		bad.Add("security_Flag", `is "A", but org_IDs names organizations: expected "R"`)
	case d.flag == "A":
		d.OrgIDs = nil
	case d.flag == "R" && len(d.OrgIDs) == 0 && d.OrgID != noOrg:
		d.OrgIDs = []int64{d.OrgID}
	case d.flag == "R" && len(d.OrgIDs) == 0:
		bad.Add("org_IDs", `is missing: a product with security_Flag "R" needs an organization`)
	}
	if parent != nil && parent.Restricted() {
		if d.before == nil && d.flag == "" && !orgsGiven {
			d.OrgIDs = slices.Clone(parent.OrgIDs)
		}
		if !within(d.OrgIDs, parent.OrgIDs) {
			bad.Add("org_IDs", "reaches beyond the organizations of its folder (%v)", parent.OrgIDs)
		}
	}
	if len(d.OrgIDs) > 0 && !d.VisibleTo(d.who.Orgs) {
		bad.Add("org_IDs", "names no organization of %s, who could not read the product again", d.who.Name)
	}
	if d.before != nil && d.Restricted() && d.Type == hazard.FolderProduct {
		all, err := d.tx.Products(d.HazardID)
		if err != nil || slices.ContainsFunc(all, func(q *hazard.Product) bool { return q.ParentID == d.ID && !within(q.OrgIDs, d.OrgIDs) }) {
			bad.Add("org_IDs", "would hide the folder from some who may know of what is in it: restrict that first")
		}
	}
}

// within tells whether a product for orgs reaches nobody beyond those of a folder for limit.
func within(orgs, limit []int64) bool {
	return len(orgs) > 0 && !slices.ContainsFunc(orgs, func(o int64) bool { return !slices.Contains(limit, o) })
}

func productTypes() (ids []string) {
	for _, t := range hazard.ProductTypes() {
		ids = append(ids, string(t.Type))
	}
	return ids
}

// MayUpload tells whether the author may send files at all, before one is read.
func (a Author) MayUpload() bool { return a.Role == auth.Editor || a.Role == auth.Admin }
