package hazard

import (
	"math"
	"slices"

	"github.com/google/uuid"
)

// ProductType is a product_Type of the base interface (section 2.7; decisions, "product_Type").
type ProductType string

// The four product types.
const (
	FolderProduct ProductType = "FOLDER_PRODUCT"
	FileProduct   ProductType = "FILE_PRODUCT"
	TextProduct   ProductType = "TEXT_PRODUCT"
	URLProduct    ProductType = "URL_PRODUCT"
)

// ProductTypeInfo describes a product type.
type ProductTypeInfo struct {
	Type        ProductType
	Description string
}

var productTypes = []ProductTypeInfo{
	{FolderProduct, "A folder that contains other products"},
	{FileProduct, "A file, to be requested at its product_url"},
	{TextProduct, "A text message, in data"},
	{URLProduct, "A hyperlink, in data"},
}

// ProductTypes lists the product types. The caller must not change the slice.
func ProductTypes() []ProductTypeInfo { return productTypes }

// Known reports whether t is one of the four product types.
func (t ProductType) Known() bool {
	return slices.ContainsFunc(productTypes, func(p ProductTypeInfo) bool { return p.Type == t })
}

// Product is the state of one product after one change (base interface, section 2.7).
type Product struct {
	ID       int64       `json:"id"` // product_ID
	UUID     uuid.UUID   `json:"uuid"`
	HazardID int64       `json:"hazard"`
	ParentID int64       `json:"parent,omitzero"` // product_ID of a folder of the same hazard; 0 means the root
	Title    string      `json:"title"`
	Type     ProductType `json:"type"`
	// Data is the text of a text product or the address of a url product, otherwise empty.
	Data    string `json:"data,omitzero"`
	File    *File  `json:"file,omitzero"` // set for a file product
	Comment string `json:"comment,omitzero"`
	Hidden  bool   `json:"hidden,omitzero"` // hides it in user interfaces only; the API lists it
	// OrgIDs, if not empty, lists the organizations whose members alone may see the product
	// (security_Flag R). Sorted.
	OrgIDs     []int64 `json:"orgs,omitzero"`
	OrgID      int64   `json:"org"` // organization of the creator
	AppIDs     string  `json:"apps,omitzero"`
	UserID     string  `json:"user,omitzero"` // username of the creator
	UpdateUser string  `json:"update_user,omitzero"`
	Created    Instant `json:"created"`
	Updated    Instant `json:"updated"`
	Timeline   Instant `json:"timeline"`
	Geometry   string  `json:"wkt,omitzero"`    // geo_Locations: WKT, longitude latitude
	Source     string  `json:"source,omitzero"` // name of the source that it came from; empty for an editor's product
	// Event is the source's key of the event that the product came with; the product moves with
	// that event. Empty for an editor's product, and for products stored by releases without this
	// member.
	Event string `json:"event,omitzero"`
	// Edited means that an editor has changed a source's product. The source no longer overwrites
	// it.
	Edited   bool        `json:"edited,omitzero"`
	Deleted  bool        `json:"deleted,omitzero"`
	Redacted []Redaction `json:"redacted,omitzero"` // what was permanently removed from this state, oldest first
	Version  int64       `json:"-"`                 // number of the change that created this state
	// Present is who may see the product today, if this state is an earlier one; nil for the latest
	// known state.
	Present *Audience `json:"-"`
}

// Audience holds the members of a product's state that decide who may see it.
type Audience struct {
	OrgIDs  []int64 `json:"orgs,omitzero"`
	OrgID   int64   `json:"org"` // only used after the deletion
	Deleted bool    `json:"deleted,omitzero"`
}

// Nobody returns the audience of a product whose present audience is not known: no organization has
// this number.
func Nobody() *Audience { return &Audience{OrgIDs: []int64{math.MinInt64}} }

// Equal reports whether a and o allow the same readers.
func (a Audience) Equal(o Audience) bool {
	return slices.Equal(a.OrgIDs, o.OrgIDs) && a.Deleted == o.Deleted && (!a.Deleted || a.OrgID == o.OrgID)
}

// admits reports whether the restriction allows a member of orgs. Without a restriction it is true.
func (a Audience) admits(orgs []int64) bool { return len(a.OrgIDs) == 0 || meet(a.OrgIDs, orgs) }

func meet(a, b []int64) bool {
	return slices.ContainsFunc(a, func(o int64) bool { return slices.Contains(b, o) })
}

// Audience returns who may see this state on its own, ignoring later states.
func (p *Product) Audience() Audience { return Audience{p.OrgIDs, p.OrgID, p.Deleted} }

// Today returns who may see the product today as far as this state knows: Present, or else its own
// audience.
func (p *Product) Today() Audience {
	if p.Present != nil {
		return *p.Present
	}
	return p.Audience()
}

// File is the file of a file product.
type File struct {
	Name      string `json:"name"`   // the uploaded name; never a path
	Digest    string `json:"digest"` // hexadecimal SHA-256 of the content
	Size      int64  `json:"size"`   // in bytes
	MediaType string `json:"media_type"`
}

// Restricted reports whether this state has a restriction of its own (security_Flag R).
func (p *Product) Restricted() bool { return len(p.OrgIDs) > 0 }

// Open reports whether everybody may see this state. An answer with any other state must not be
// stored by a shared cache.
func (p *Product) Open() bool {
	today := p.Today()
	return !p.Restricted() && len(today.OrgIDs) == 0 && !today.Deleted
}

// VisibleTo reports whether a member of orgs may see this state. It is the only rule of visibility:
// lists, counts, files, the change log, at= and push all use it. Admins are not members of all
// organizations.
//
// Readers of the past see only what they may see today: both the restriction of a state and the
// present one must allow them. Only members of the owning organization see the states of a deleted
// product.
func (p *Product) VisibleTo(orgs []int64) bool {
	today := p.Today()
	return p.Audience().admits(orgs) && today.admits(orgs) && (!today.Deleted || slices.Contains(orgs, today.OrgID))
}

// tombstone returns a deleted state without any editor's text. It is what readers learn of the
// deletion.
func (p *Product) tombstone() *Product {
	t := &Product{ID: p.ID, UUID: p.UUID, HazardID: p.HazardID, ParentID: p.ParentID, Title: "[deleted]", Type: p.Type, OrgIDs: p.OrgIDs, OrgID: p.OrgID, UserID: p.UserID,
		UpdateUser: p.UpdateUser, Created: p.Created, Updated: p.Updated, Timeline: p.Timeline, Source: p.Source, Deleted: true, Version: p.Version, Present: p.Present}
	if p.File != nil {
		t.File = &File{}
	}
	return t
}

// Equal reports whether two states have the same content for a reader. It ignores when and by whom
// they were written.
func (p *Product) Equal(o *Product) bool {
	return p.ID == o.ID && p.UUID == o.UUID && p.HazardID == o.HazardID && p.ParentID == o.ParentID && p.Title == o.Title &&
		p.Type == o.Type && p.Data == o.Data && equal(p.File, o.File) && p.Comment == o.Comment && p.Hidden == o.Hidden &&
		slices.Equal(p.OrgIDs, o.OrgIDs) && p.OrgID == o.OrgID && p.AppIDs == o.AppIDs && p.UserID == o.UserID &&
		p.Timeline == o.Timeline && p.Geometry == o.Geometry && p.Source == o.Source &&
		p.Edited == o.Edited && p.Deleted == o.Deleted
}
