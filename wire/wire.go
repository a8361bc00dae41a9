// Package wire defines the JSON of the base interface, which a hazard data service and its clients
// exchange.
//
// The structs are the resources of section 2 of the base interface. The names of their members,
// with their case, order and JSON types, are normative. Server and client share these types.
//
// Timestamps are strings of digits: milliseconds since 1970-01-01T00:00:00Z. Positions are WGS 84
// degrees.
package wire

import (
	"path"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
)

// TokenPair is the answer of the authorize operation (section 2.1).
type TokenPair struct {
	AccessToken  string `json:"accessToken"`
	RefreshToken string `json:"refreshToken"`
}

// Credential is the body of the authorize operation (section 2.2).
type Credential struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// HazardType is a hazard type (section 2.3).
type HazardType struct {
	TypeID   string `json:"type_id"`
	TypeName string `json:"type_name"`
	TypeIcon string `json:"type_icon"`
}

// HazardSeverity is a hazard severity (section 2.4).
type HazardSeverity struct {
	SeverityID   string `json:"severity_id"`
	SeverityName string `json:"severity_name"`
	SeverityIcon string `json:"severity_icon"`
}

// HazardCategory is a hazard category (section 2.5).
type HazardCategory struct {
	CategoryID   string `json:"category_id"`
	CategoryName string `json:"category_name"`
}

// ProductType is a value of product_Type, with its description.
type ProductType struct {
	Type        string `json:"type"`
	Description string `json:"description"`
}

// Hazard is a hazard (section 2.6).
type Hazard struct {
	HazardID         int64   `json:"hazard_ID"`
	UUID             string  `json:"uuid"`
	HazardName       string  `json:"hazard_Name"`
	Description      string  `json:"description"`
	TypeID           string  `json:"type_ID"`
	SeverityID       string  `json:"severity_ID"`
	CategoryID       string  `json:"category_ID"`
	Status           string  `json:"status"`     // A or E
	AutoExpire       string  `json:"autoexpire"` // Y or N
	StartDate        string  `json:"start_Date"`
	EndDate          string  `json:"end_Date"`
	CreateDate       string  `json:"create_Date"`
	LastUpdate       string  `json:"last_Update"`
	UpdateDate       string  `json:"update_Date"`
	UpdateUser       *string `json:"update_User"`
	Creator          string  `json:"creator"`
	Latitude         float64 `json:"latitude"`
	Longitude        float64 `json:"longitude"`
	ProductTotal     string  `json:"product_total"` // number of products that the caller may see
	OrgID            int64   `json:"org_ID"`
	AppID            int64   `json:"app_ID"`
	AppIDs           string  `json:"app_IDs"`
	CharterURI       string  `json:"charter_Uri"`
	GlideURI         string  `json:"glide_Uri"`
	SncURL           string  `json:"snc_url"`
	AreabriefURL     *string `json:"areabrief_url"`
	CommentText      string  `json:"comment_Text"`
	MasterIncidentID string  `json:"master_Incident_ID"`
	MessageID        string  `json:"message_ID"`
	InDashboard      string  `json:"in_Dashboard"`
	Roles            []any   `json:"roles"` // empty in every known sample
}

// Product is a product of a hazard (section 2.7).
type Product struct {
	ProductID           int64   `json:"product_ID"`
	UUID                string  `json:"uuid"`
	HazardID            int64   `json:"hazard_ID"`
	ParentID            int64   `json:"parent_ID"` // 0 means the root
	Title               string  `json:"title"`
	ProductType         string  `json:"product_Type"`
	Data                *string `json:"data"`
	Filename            *string `json:"filename"`
	Suffix              string  `json:"suffix"`
	ProductURL          *string `json:"product_url"`
	CommentText         string  `json:"comment_Text"`
	IsHidden            string  `json:"is_Hidden"`     // Y or N
	SecurityFlag        string  `json:"security_Flag"` // R or A
	OrgID               int64   `json:"org_ID"`
	OrgIDs              string  `json:"org_IDs"` // separated by commas; empty if everybody may see the product
	OrganizationAcronym *string `json:"organization_acronym"`
	AppIDs              *string `json:"app_IDs"`
	UserID              string  `json:"user_ID"`
	UpdateUser          string  `json:"update_User"`
	CreateDate          string  `json:"create_Date"`
	UpdateDate          string  `json:"update_Date"`
	TimelineDate        string  `json:"timeline_Date"`
	GeoLocations        string  `json:"geo_Locations"` // WKT, longitude before latitude
}

// Types returns the hazard types in the order of the base interface.
func Types() []HazardType {
	var list []HazardType
	for _, t := range hazard.Types() {
		list = append(list, HazardType{string(t.ID), t.Name, t.Icon})
	}
	return list
}

// Severities returns the severities, least severe first.
func Severities() []HazardSeverity {
	var list []HazardSeverity
	for _, s := range hazard.Severities() {
		list = append(list, HazardSeverity{s.ID, s.Name, s.Icon})
	}
	return list
}

// Categories returns the categories in the order of the base interface.
func Categories() []HazardCategory {
	var list []HazardCategory
	for _, c := range hazard.Categories() {
		list = append(list, HazardCategory{string(c.ID), c.Name})
	}
	return list
}

// ProductTypes returns the product types.
func ProductTypes() []ProductType {
	var list []ProductType
	for _, t := range hazard.ProductTypes() {
		list = append(list, ProductType{string(t.Type), t.Description})
	}
	return list
}

// FromHazard converts h to its JSON form. products is the number of its products that the caller
// may see. base is the service's public address without a trailing slash.
func FromHazard(h *hazard.Hazard, products int, base string) Hazard {
	w := Hazard{
		HazardID: h.ID, UUID: h.UUID.String(), HazardName: h.Name, Description: h.Description, TypeID: string(h.Type), SeverityID: h.Severity.String(),
		CategoryID: string(h.Category), Status: string(h.Status), AutoExpire: flag(h.AutoExpire), StartDate: h.Start.Digits(), EndDate: h.End.Digits(),
		CreateDate: h.Created.Digits(), LastUpdate: h.LastUpdate.Digits(), UpdateDate: h.Updated.Digits(), Creator: h.Creator,
		Latitude: h.Latitude, Longitude: h.Longitude, ProductTotal: strconv.Itoa(products), OrgID: h.OrgID, AppID: h.AppID,
		SncURL: h.URL, CommentText: h.Comment, Roles: []any{},
	}
	if h.UpdateUser != "" {
		w.UpdateUser = &h.UpdateUser
	}
	if w.SncURL == "" {
		w.SncURL = base + "/h/" + w.UUID
	}
	return w
}

// FromProduct converts p to its JSON form. base is the service's public address without a trailing
// slash.
func FromProduct(p *hazard.Product, base string) Product {
	w := Product{
		ProductID: p.ID, UUID: p.UUID.String(), HazardID: p.HazardID, ParentID: p.ParentID, Title: p.Title, ProductType: string(p.Type),
		CommentText: p.Comment, IsHidden: flag(p.Hidden), SecurityFlag: "A", OrgID: p.OrgID, UserID: p.UserID, UpdateUser: p.UpdateUser,
		CreateDate: p.Created.Digits(), UpdateDate: p.Updated.Digits(), TimelineDate: p.Timeline.Digits(), GeoLocations: p.Geometry,
	}
	switch p.Type {
	case hazard.FolderProduct:
		w.Suffix = "folder"
	case hazard.TextProduct, hazard.URLProduct:
		w.Data = &p.Data
	case hazard.FileProduct:
		link := base + "/products/" + strconv.FormatInt(p.ID, 10) + "/file"
		w.Filename, w.ProductURL = &p.File.Name, &link
		w.Suffix = strings.TrimPrefix(path.Ext(p.File.Name), ".")
	}
	if p.Restricted() {
		w.SecurityFlag = "R"
		ids := make([]string, len(p.OrgIDs))
		for i, id := range p.OrgIDs {
			ids[i] = strconv.FormatInt(id, 10)
		}
		w.OrgIDs = strings.Join(ids, ",")
	}
	if p.AppIDs != "" {
		w.AppIDs = &p.AppIDs
	}
	return w
}

func flag(b bool) string {
	if b {
		return "Y"
	}
	return "N"
}
