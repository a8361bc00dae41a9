package hazard

import (
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

// Known tells whether t is one of the four product types.
func (t ProductType) Known() bool {
	return slices.ContainsFunc(productTypes, func(p ProductTypeInfo) bool { return p.Type == t })
}

// Product is the state of one product as of one change (base interface, section 2.7).
type Product struct {
	ID       int64       `json:"id"` // product_ID
	UUID     uuid.UUID   `json:"uuid"`
	HazardID int64       `json:"hazard"`
	ParentID int64       `json:"parent,omitzero"` // product_ID of a folder of the same hazard; 0 is the root
	Title    string      `json:"title"`
	Type     ProductType `json:"type"`
	// Data is the message of a text product, the hyperlink of a url product; empty for the others.
	Data    string `json:"data,omitzero"`
	File    *File  `json:"file,omitzero"` // of a file product
	Comment string `json:"comment,omitzero"`
	Hidden  bool   `json:"hidden,omitzero"` // for user interfaces; the API lists hidden products too
	// OrgIDs, when not empty, are the organizations whose members alone may know of the product (security_Flag R). Sorted.
	OrgIDs     []int64 `json:"orgs,omitzero"`
	OrgID      int64   `json:"org"` // organization of the creator
	AppIDs     string  `json:"apps,omitzero"`
	UserID     string  `json:"user,omitzero"` // username of the creator
	UpdateUser string  `json:"update_user,omitzero"`
	Created    Instant `json:"created"`
	Updated    Instant `json:"updated"`
	Timeline   Instant `json:"timeline"`
	Geometry   string  `json:"wkt,omitzero"`    // geo_Locations: WKT, longitude latitude
	Source     string  `json:"source,omitzero"` // name of the source that gave it; empty for an editor's
	// Event is the source's key of the event that gave it: it goes where the event goes. Empty for an
	// editor's, and for what a release before this member kept.
	Event string `json:"event,omitzero"`
	// Edited: an editor has changed a source's product; the source no longer overwrites it.
	Edited   bool        `json:"edited,omitzero"`
	Deleted  bool        `json:"deleted,omitzero"`
	Redacted []Redaction `json:"redacted,omitzero"` // what was removed from this state for good, oldest first
	Version  int64       `json:"-"`                 // number of the change that made this state
	// Present is who may read the product today, where this state is one of the past; nil: this state is the latest that is known.
	Present *Audience `json:"-"`
}

// Audience is what decides who may read a product: its members in the stored state.
type Audience struct {
	OrgIDs  []int64 `json:"orgs,omitzero"`
	OrgID   int64   `json:"org"` // matters once the product is deleted
	Deleted bool    `json:"deleted,omitzero"`
}

// Equal reports whether a and o admit the same readers.
func (a Audience) Equal(o Audience) bool {
	return slices.Equal(a.OrgIDs, o.OrgIDs) && a.Deleted == o.Deleted && (!a.Deleted || a.OrgID == o.OrgID)
}

// admits reports whether the restriction, if there is one, lets a member of orgs in.
func (a Audience) admits(orgs []int64) bool { return len(a.OrgIDs) == 0 || meet(a.OrgIDs, orgs) }

func meet(a, b []int64) bool {
	return slices.ContainsFunc(a, func(o int64) bool { return slices.Contains(b, o) })
}

// Audience is who may read this state by itself, whatever came later.
func (p *Product) Audience() Audience { return Audience{p.OrgIDs, p.OrgID, p.Deleted} }

// Today is who may read the product today, as far as this state knows: Present, or by this state.
func (p *Product) Today() Audience {
	if p.Present != nil {
		return *p.Present
	}
	return p.Audience()
}

// File is the file of a file product.
type File struct {
	Name      string `json:"name"`   // as the writer named it: never a path
	Digest    string `json:"digest"` // SHA-256 of the content, hexadecimal
	Size      int64  `json:"size"`   // bytes
	MediaType string `json:"media_type"`
}

// Restricted reports whether this state has a restriction of its own (security_Flag R).
func (p *Product) Restricted() bool { return len(p.OrgIDs) > 0 }

// Open reports whether everybody may read this state: an answer that holds another must not be kept by a shared cache.
func (p *Product) Open() bool {
	today := p.Today()
	return !p.Restricted() && len(today.OrgIDs) == 0 && !today.Deleted
}

// VisibleTo reports whether a member of orgs may read this state. It is the one rule of visibility: lists, counts, files, the
// change log, at= and push all ask it. Being an admin makes nobody a member.
//
// The past shows readers only what they may see today: a state must be open to them by its own restriction and by that of the
// present state. The states of a deleted product are open to members of the organization that owns it, and to nobody else.
func (p *Product) VisibleTo(orgs []int64) bool {
	today := p.Today()
	return p.Audience().admits(orgs) && today.admits(orgs) && (!today.Deleted || slices.Contains(orgs, today.OrgID))
}

// tombstone is a deleted state without anything that an editor wrote: what readers learn of the deletion.
func (p *Product) tombstone() *Product {
	t := &Product{ID: p.ID, UUID: p.UUID, HazardID: p.HazardID, ParentID: p.ParentID, Title: "[deleted]", Type: p.Type, OrgIDs: p.OrgIDs, OrgID: p.OrgID, UserID: p.UserID,
		UpdateUser: p.UpdateUser, Created: p.Created, Updated: p.Updated, Timeline: p.Timeline, Source: p.Source, Deleted: true, Version: p.Version, Present: p.Present}
	if p.File != nil {
		t.File = &File{}
	}
	return t
}

// Equal tells whether both states say the same to a reader; when they were written, and by whom, does not count.
func (p *Product) Equal(o *Product) bool {
	return p.ID == o.ID && p.UUID == o.UUID && p.HazardID == o.HazardID && p.ParentID == o.ParentID && p.Title == o.Title &&
		p.Type == o.Type && p.Data == o.Data && equal(p.File, o.File) && p.Comment == o.Comment && p.Hidden == o.Hidden &&
		slices.Equal(p.OrgIDs, o.OrgIDs) && p.OrgID == o.OrgID && p.AppIDs == o.AppIDs && p.UserID == o.UserID &&
		p.Timeline == o.Timeline && p.Geometry == o.Geometry && p.Source == o.Source &&
		p.Edited == o.Edited && p.Deleted == o.Deleted
}
