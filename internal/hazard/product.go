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
	Edited  bool  `json:"edited,omitzero"`
	Deleted bool  `json:"deleted,omitzero"`
	Version int64 `json:"-"` // number of the change that made this state
}

// File is the file of a file product.
type File struct {
	Name      string `json:"name"`   // as the writer named it: never a path
	Digest    string `json:"digest"` // SHA-256 of the content, hexadecimal
	Size      int64  `json:"size"`   // bytes
	MediaType string `json:"media_type"`
}

// Restricted tells whether only members of certain organizations may know of the product.
func (p *Product) Restricted() bool { return len(p.OrgIDs) > 0 }

// VisibleTo tells whether a member of orgs may know of the product. It is the one rule of visibility: lists, counts, files,
// the change log and push all ask it. Being an admin makes nobody a member.
func (p *Product) VisibleTo(orgs []int64) bool {
	return !p.Restricted() || slices.ContainsFunc(p.OrgIDs, func(o int64) bool { return slices.Contains(orgs, o) })
}

// Equal tells whether both states say the same to a reader; when they were written, and by whom, does not count.
func (p *Product) Equal(o *Product) bool {
	return p.ID == o.ID && p.UUID == o.UUID && p.HazardID == o.HazardID && p.ParentID == o.ParentID && p.Title == o.Title &&
		p.Type == o.Type && p.Data == o.Data && equalFile(p.File, o.File) && p.Comment == o.Comment && p.Hidden == o.Hidden &&
		slices.Equal(p.OrgIDs, o.OrgIDs) && p.OrgID == o.OrgID && p.AppIDs == o.AppIDs && p.UserID == o.UserID &&
		p.Timeline == o.Timeline && p.Geometry == o.Geometry && p.Source == o.Source &&
		p.Edited == o.Edited && p.Deleted == o.Deleted
}

func equalFile(a, b *File) bool { return a == b || a != nil && b != nil && *a == *b }
