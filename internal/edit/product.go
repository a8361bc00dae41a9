package edit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Upload is the received file of a new product.
type Upload struct {
	hazard.File
	Content *store.StagedFile
}

// MayContribute returns nil if an author may add products to a hazard, otherwise an error. Call it
// before receiving a file; CreateProduct checks again.
func (e *Editor) MayContribute(ctx context.Context, who Author, id Ref, clock hazard.Clock) error {
	if err := who.mayEdit(); err != nil {
		return err
	}
	h, err := e.store.Hazards.Get(ctx, id.ID)
	if id.ID == 0 {
		h, err = e.store.Hazards.ByUUID(ctx, id.UUID)
	}
	if err != nil {
		return err
	}
	if err := who.mayWrite(h); err != nil {
		return err
	}
	return e.mayUpload(ctx, ownOrg(who), clock.Now())
}

// mayUpload returns nil if an organization may upload a file now, otherwise an error.
func (e *Editor) mayUpload(ctx context.Context, org int64, now hazard.Instant) error {
	if e.OrgUploads == 0 {
		return nil
	}
	used, err := e.store.Files.Uploaded(ctx, org, now)
	if err == nil && used >= e.OrgUploads {
		err = e.overUploads(now)
	}
	return err
}

// countUpload counts an upload of an organization, or returns an error if the organization is over
// its limit.
func (e *Editor) countUpload(tx *store.Tx, org int64, file *hazard.File) error {
	if e.OrgUploads == 0 {
		return nil
	}
	used, err := tx.CountUpload(org, file.Size)
	if err == nil && used > e.OrgUploads {
		err = e.overUploads(tx.Now())
	}
	return err
}

// overUploads returns the error for an upload over the limit of the day.
func (e *Editor) overUploads(now hazard.Instant) error {
	const day = 24 * time.Hour
	left := now.Time().Truncate(day).Add(day).Sub(now.Time())
	return &hazard.LimitError{Limit: "org-uploads", Kind: hazard.LimitShare, RetryAfter: left,
		Detail: fmt.Sprintf("your organization may upload %d bytes of files in a day (limit org-uploads), and this file would be more; "+
			"the next day begins at 00:00 UTC", e.OrgUploads)}
}

// CreateProduct creates a product from a body, below a hazard that the author may write. upload is
// the file that came with it, or nil. If the product is not created, a sweep removes the file's
// content. Match concerns the hazard. If the same author has already created a product with the
// same UUID and body, it returns that one.
func (e *Editor) CreateProduct(ctx context.Context, who Author, id Ref, match Match, text []byte, upload *Upload, clock hazard.Clock) (done Done[hazard.Product], err error) {
	b, err := written(e, who, productFields, text, create, clock)
	if err != nil {
		return done, err
	}
	var file *hazard.File
	if upload != nil {
		file = &upload.File
		if err := upload.Content.Put(ctx); err != nil { // before the transaction, which must not wait for it
			return done, err
		}
	}
	done.Last, err = e.write(ctx, who, clock, func(tx *store.Tx) error {
		h, _, err := present(tx, who, id, nil)
		if err != nil {
			return err
		}
		if done.State, err = e.productAgain(tx, who, h.ID, file, b); err != nil || done.State != nil {
			return err
		}
		if err := fresh(match, tx, who, h.ExpireAt(tx.Now())); err != nil { // not earlier: the request that is repeated has itself changed the hazard
			return err
		}
		p, err := e.newProduct(tx, who, h.ID, ownOrg(who), file, b, tx.Now())
		if err != nil {
			return err
		}
		done.State, done.New = p, true
		if upload != nil {
			if err := e.countUpload(tx, p.OrgID, file); err != nil {
				return err
			}
			if err := upload.Content.Keep(tx); err != nil {
				return err
			}
		}
		return tx.SaveProduct(p)
	})
	return done, err
}

// newProduct creates the product of a body and a file, in organization org unless the body names
// another.
func (e *Editor) newProduct(tx *store.Tx, who Author, hazardID, org int64, file *hazard.File, b *body[productDraft], at hazard.Instant) (*hazard.Product, error) {
	draft := &productDraft{Product: hazard.Product{UUID: uuid.Must(uuid.NewV7()), HazardID: hazardID, OrgID: org, AppIDs: strconv.FormatInt(e.appID, 10),
		UserID: who.Name, UpdateUser: who.Name, Created: at, Updated: at, Timeline: at, File: file}, tx: tx, who: who}
	err := b.into(draft)
	return &draft.Product, err
}

// productAgain returns the existing product with the UUID of a body if the same author created it
// below the same hazard from the same body and file, or nil if there is none.
func (e *Editor) productAgain(tx *store.Tx, who Author, hazardID int64, file *hazard.File, b *body[productDraft]) (*hazard.Product, error) {
	id, err := uuidOf(nil, b.given["uuid"])
	if err != nil { // there is none, or it is invalid, which is reported with the other faults
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
	made, err := tx.ProductMade(have.ID)
	if err != nil {
		return nil, err
	}
	first := made.Product
	again, err := e.newProduct(tx, who, hazardID, first.OrgID, file, b, first.Created)
	if err != nil {
		return nil, err
	}
	if again.ID = first.ID; again.Equal(first) {
		return have, nil
	}
	return nil, conflict
}

// PatchProduct changes a product by a JSON merge patch (RFC 7396).
func (e *Editor) PatchProduct(ctx context.Context, who Author, id Ref, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Product], err error) {
	b, err := written(e, who, productFields, text, patch, clock)
	if err != nil {
		return done, err
	}
	_, hides := b.given["is_Hidden"]
	may := func(p *hazard.Product, of *hazard.Hazard) error {
		if hides && len(b.given) == 1 && who.mayManage(of) == nil {
			return nil
		}
		if err := who.mayWriteProduct(p, of); err != nil || !hides {
			return err
		}
		return who.mayWrite(of) // the hazard's owner decides about hiding
	}
	return e.alterProduct(ctx, who, id, match, clock, may, func(tx *store.Tx, p *hazard.Product) error {
		draft := &productDraft{Product: *p, before: p, tx: tx, who: who}
		if err := b.into(draft); err != nil {
			return err
		}
		if draft.Restricted() && p.Type == hazard.FolderProduct {
			if err := moveUp(tx, who, p, func(q *hazard.Product) bool { return !within(q.OrgIDs, draft.OrgIDs) }); err != nil {
				return err
			}
		}
		*p = draft.Product
		return nil
	})
}

// MayReplace returns nil if an author may replace the file of a product, otherwise an error. Call
// it before receiving a file; ReplaceFile checks again.
func (e *Editor) MayReplace(ctx context.Context, who Author, id Ref, clock hazard.Clock) error {
	if err := who.mayEdit(); err != nil {
		return err
	}
	p, err := e.store.Hazards.Product(ctx, id.ID, who.Orgs)
	if id.ID == 0 {
		p, err = e.store.Hazards.ProductByUUID(ctx, id.UUID, who.Orgs)
	}
	if err != nil {
		return err
	}
	of, err := e.store.Hazards.Get(ctx, p.HazardID)
	if err != nil {
		return err
	}
	if err := who.mayWriteProduct(p, of); err != nil {
		return err
	}
	if err := replaceable(p); err != nil {
		return err
	}
	return e.mayUpload(ctx, p.OrgID, clock.Now())
}

func replaceable(p *hazard.Product) error {
	if p.Type != hazard.FileProduct {
		return fmt.Errorf("%w: product %d is a %s, which has no file", hazard.ErrConflict, p.ID, p.Type)
	}
	return nil
}

// ReplaceFile replaces the file of a product. The history keeps the earlier file as a version of
// the product.
func (e *Editor) ReplaceFile(ctx context.Context, who Author, id Ref, match Match, upload *Upload, clock hazard.Clock) (Done[hazard.Product], error) {
	if err := upload.Content.Put(ctx); err != nil { // before the transaction, which must not wait for it
		return Done[hazard.Product]{}, err
	}
	return e.alterProduct(ctx, who, id, match, clock, who.mayWriteProduct, func(tx *store.Tx, p *hazard.Product) error {
		if err := replaceable(p); err != nil {
			return err
		}
		if p.File != nil && *p.File == upload.File {
			return nil
		}
		if err := e.countUpload(tx, p.OrgID, &upload.File); err != nil {
			return err
		}
		p.File = new(upload.File)
		return upload.Content.Keep(tx)
	})
}

// DeleteProduct deletes a product; a folder only if the author sees nothing in it. The history
// keeps it.
func (e *Editor) DeleteProduct(ctx context.Context, who Author, id Ref, match Match, clock hazard.Clock) (Done[hazard.Product], error) {
	may := func(p *hazard.Product, of *hazard.Hazard) error {
		if who.mayManage(of) == nil {
			return nil
		}
		return who.mayWriteProduct(p, of)
	}
	return e.alterProduct(ctx, who, id, match, clock, may, func(tx *store.Tx, p *hazard.Product) error {
		inside, err := contents(tx, p)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(inside, func(q *hazard.Product) bool { return q.VisibleTo(who.Orgs) }) {
			return fmt.Errorf("%w: the folder is not empty; delete or move its contents first", hazard.ErrConflict)
		}
		p.Deleted = true
		return moveUp(tx, who, p, func(*hazard.Product) bool { return true })
	})
}

// contents returns the products in a folder, including those that the caller may not see.
func contents(tx *store.Tx, folder *hazard.Product) ([]*hazard.Product, error) {
	if folder.Type != hazard.FolderProduct {
		return nil, nil
	}
	all, err := tx.Products(folder.HazardID)
	return slices.DeleteFunc(all, func(q *hazard.Product) bool { return q.ParentID != folder.ID }), err
}

// moveUp moves the products that the author may not see, and that move selects, from a folder to
// its parent. So the author can change the folder as if they were not there, and other users keep
// them: a folder's audience is part of its parent's.
func moveUp(tx *store.Tx, who Author, folder *hazard.Product, move func(*hazard.Product) bool) error {
	inside, err := contents(tx, folder)
	if err != nil {
		return err
	}
	for _, q := range inside {
		if q.VisibleTo(who.Orgs) || !move(q) {
			continue
		}
		q.ParentID, q.Updated, q.UpdateUser = folder.ParentID, tx.Now(), who.Name
		if err := tx.SaveProduct(q); err != nil {
			return err
		}
	}
	return nil
}

// alterProduct lets f change a product if may allows it, and writes the result if it differs.
func (e *Editor) alterProduct(ctx context.Context, who Author, id Ref, match Match, clock hazard.Clock, may func(p *hazard.Product, of *hazard.Hazard) error, f func(*store.Tx, *hazard.Product) error) (done Done[hazard.Product], err error) {
	if err := who.mayEdit(); err != nil {
		return done, err
	}
	done.Last, err = e.write(ctx, who, clock, func(tx *store.Tx) error {
		before, err := id.product(tx, who)
		if err != nil {
			return err
		}
		of, err := tx.Hazard(before.HazardID)
		if err != nil {
			return err
		}
		if err := may(before, of); err != nil {
			return err
		}
		if err := freshProduct(match, before); err != nil {
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
		p.Updated, p.UpdateUser = tx.Now(), who.Name
		if err := tx.SaveProduct(p); err != nil || before.ParentID == 0 || !p.Deleted && p.ParentID == before.ParentID {
			return err
		}
		return e.intake.Left(ctx, tx, before.ParentID)
	})
	return done, err
}

// productDraft is a product that is being filled from a body.
type productDraft struct {
	hazard.Product
	before *hazard.Product // nil in a creation
	flag   string          // security_Flag as given
	tx     *store.Tx
	who    Author
}

// productFields are the members of a product that an editor may write.
var productFields = []field[productDraft]{
	{"uuid", create, false, to(func(d *productDraft) *uuid.UUID { return &d.UUID }, uuidOf)},
	{"title", create | patch, true, to(func(d *productDraft) *string { return &d.Title }, text(hazard.MaxName, false, hazard.CleanLine))},
	{"product_Type", create, true, to(func(d *productDraft) *hazard.ProductType { return &d.Type },
		oneOf(ids(hazard.ProductTypes(), func(t hazard.ProductTypeInfo) hazard.ProductType { return t.Type })...))},
	{"data", create | patch, false, to(func(d *productDraft) *string { return &d.Data }, text(hazard.MaxData, true, hazard.Clean))},
	{"parent_ID", create | patch, false, to(func(d *productDraft) *int64 { return &d.ParentID }, integer)},
	{"comment_Text", create | patch, false, to(func(d *productDraft) *string { return &d.Comment }, text(hazard.MaxComment, true, hazard.Clean))},
	{"is_Hidden", create | patch, false, to(func(d *productDraft) *bool { return &d.Hidden }, flag)},
	{"security_Flag", create | patch, false, to(func(d *productDraft) *string { return &d.flag }, oneOf("A", "R"))},
	{"org_IDs", create | patch, false, to(func(d *productDraft) *[]int64 { return &d.OrgIDs }, organizations)},
	{"org_ID", create, false, to(func(d *productDraft) *int64 { return &d.OrgID }, owner)},
	{"timeline_Date", create | patch, false, to(func(d *productDraft) *hazard.Instant { return &d.Timeline }, instant)},
	{"geo_Locations", create | patch, false, to(func(d *productDraft) *string { return &d.Geometry }, location)},
}

// location parses WKT and formats it in canonical form.
func location(c *reading, v jsontext.Value) (string, error) {
	s, err := text(hazard.MaxDescription, true, asIs)(c, v) // the WKT parser rejects anything else
	if err != nil || s == "" {
		return "", err
	}
	defer c.e.shape()()
	shape, err := geo.ParseWKT(s)
	if err != nil {
		return "", fmt.Errorf("is not WKT that can be used: %w", err)
	}
	return shape.WKT(), nil
}

// organizations parses ids of organizations separated by commas.
func organizations(c *reading, v jsontext.Value) ([]int64, error) {
	s, err := text(hazard.MaxName, true, hazard.CleanLine)(c, v)
	if err != nil || s == "" {
		return nil, err
	}
	var ids []int64
	for word := range strings.SplitSeq(s, ",") {
		id, err := strconv.ParseInt(strings.TrimSpace(word), 10, 64)
		if err != nil || !c.e.orgs(id) {
			return nil, fmt.Errorf("%q: %q is not an organization", s, word)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// check checks the members against each other and against the folder.
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
			quoted, _ := json.Marshal(d.Data) // cannot fail for valid UTF-8
			if _, err := link(false)(nil, quoted); err != nil {
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

// checkParent finds the folder; nil means the root.
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

// checkAudience determines who may see the product. It is never more than the audience of its
// folder, because its place would reveal the folder.
func (d *productDraft) checkAudience(bad *hazard.InvalidError, given members, parent *hazard.Product) {
	_, orgsGiven := given["org_IDs"]
	switch {
	case d.flag == "A" && orgsGiven && len(d.OrgIDs) > 0:
		bad.Add("security_Flag", `is "A", but org_IDs names organizations: expected "R"`)
	case d.flag == "A":
		d.OrgIDs = nil
	case d.flag == "R" && len(d.OrgIDs) == 0 && d.OrgID != hazard.NoOrg:
		d.OrgIDs = []int64{d.OrgID}
	case d.flag == "R" && len(d.OrgIDs) == 0:
		bad.Add("org_IDs", `is missing: a product with security_Flag "R" needs an organization`)
	}
	if d.flag == "" && d.before != nil && d.before.Restricted() && !d.Restricted() && (parent == nil || !parent.Restricted()) {
		bad.Add("org_IDs", `is empty, which would publish a restricted product: send security_Flag "A" too if that is meant`)
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
		bad.Add("org_IDs", "has no organization of %s, so its author could not read the product any more", d.who.Name)
	}
	if d.before != nil && d.Restricted() {
		inside, err := contents(d.tx, &d.Product)
		if err != nil || slices.ContainsFunc(inside, func(q *hazard.Product) bool { return q.VisibleTo(d.who.Orgs) && !within(q.OrgIDs, d.OrgIDs) }) {
			bad.Add("org_IDs", "would hide the folder from readers of its contents: restrict the contents first")
		}
	}
}

// within reports whether the audience orgs is part of the audience limit of a folder.
func within(orgs, limit []int64) bool {
	return len(orgs) > 0 && !slices.ContainsFunc(orgs, func(o int64) bool { return !slices.Contains(limit, o) })
}
