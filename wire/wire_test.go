package wire_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/wire"
)

const base = "https://hazardd.example"

func flood() hazard.Hazard {
	return hazard.Hazard{
		ID: 7, UUID: uuid.MustParse("0190a0b0-0000-7000-8000-000000000007"), Name: "Flood", Description: "line 1\nline 2", Type: hazard.Flood,
		Severity: hazard.Warning, Category: hazard.Event, Status: hazard.Active, AutoExpire: true, Start: 1594771200000, End: 1594857600000, Created: 1594771200001,
		LastUpdate: 1594771200002, Updated: 1594771200003, UpdateUser: "red", Creator: "NWS", Longitude: -122.5, Latitude: 0, OrgID: -1, AppID: 0,
		URL: "https://example.org/1", Comment: "FLOOD-1",
	}
}

func file() hazard.Product {
	return hazard.Product{
		ID: 9, UUID: uuid.MustParse("0190a0b0-0000-7000-8000-000000000009"), HazardID: 7, ParentID: 8, Title: "Map", Type: hazard.FileProduct,
		File: &hazard.File{Name: "map.tar.gz", Digest: "00", Size: 1, MediaType: "application/gzip"}, OrgID: 3, AppIDs: "1", UserID: "red", UpdateUser: "fire",
		Created: 1, Updated: 2, Timeline: -3, Geometry: "POINT (1 2)",
	}
}

// encode returns the JSON of value, with one member per line.
func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), `,"`, ",\n\"")
}

func TestHazardOnTheWire(t *testing.T) {
	const whole = `{"hazard_ID":7,
"uuid":"0190a0b0-0000-7000-8000-000000000007",
"hazard_Name":"Flood",
"description":"line 1\nline 2",
"type_ID":"FLOOD",
"severity_ID":"WARNING",
"category_ID":"EVENT",
"status":"A",
"autoexpire":"Y",
"start_Date":"1594771200000",
"end_Date":"1594857600000",
"create_Date":"1594771200001",
"last_Update":"1594771200002",
"update_Date":"1594771200003",
"update_User":"red",
"creator":"NWS",
"latitude":0,
"longitude":-122.5,
"product_total":"12",
"org_ID":-1,
"app_ID":0,
"app_IDs":"",
"charter_Uri":"",
"glide_Uri":"",
"snc_url":"https://example.org/1",
"areabrief_url":null,
"comment_Text":"FLOOD-1",
"master_Incident_ID":"",
"message_ID":"",
"in_Dashboard":"",
"roles":[]}`
	for name, tt := range map[string]struct {
		alter     func(*hazard.Hazard)
		old, want string // the members that differ from whole
	}{
		"every field has its name, its case, its place and its type": {func(*hazard.Hazard) {}, "", ""},
		"no user modified it": {func(h *hazard.Hazard) { h.UpdateUser = "" }, `"update_User":"red"`, `"update_User":null`},
		"without a page of its source it has ours": {func(h *hazard.Hazard) { h.URL = "" }, `"https://example.org/1"`,
			`"https://hazardd.example/h/0190a0b0-0000-7000-8000-000000000007"`},
		"it does not end by itself": {func(h *hazard.Hazard) { h.AutoExpire = false }, `"autoexpire":"Y"`, `"autoexpire":"N"`},
		"it is over":                {func(h *hazard.Hazard) { h.Status = hazard.Expired }, `"status":"A"`, `"status":"E"`},
		"it began before 1970":      {func(h *hazard.Hazard) { h.Start = -1 }, `"start_Date":"1594771200000"`, `"start_Date":"-1"`},
		"why it ended, and what an editor set, stay beside the base record": {func(h *hazard.Hazard) {
			h.Reason, h.Note, h.Successor, h.Source, h.Edited, h.Version = hazard.EndRetracted, "secret", uuid.Max, "nws", []string{"status"}, 5
		}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := flood()
			tt.alter(&h)
			if diff := cmp.Diff(strings.Replace(whole, tt.old, tt.want, 1), encode(t, wire.FromHazard(&h, 12, base))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProductOnTheWire(t *testing.T) {
	const whole = `{"product_ID":9,
"uuid":"0190a0b0-0000-7000-8000-000000000009",
"hazard_ID":7,
"parent_ID":8,
"title":"Map",
"product_Type":"FILE_PRODUCT",
"data":null,
"filename":"map.tar.gz",
"suffix":"gz",
"product_url":"https://hazardd.example/products/9/file",
"comment_Text":"",
"is_Hidden":"N",
"security_Flag":"A",
"org_ID":3,
"org_IDs":"",
"organization_acronym":null,
"app_IDs":"1",
"user_ID":"red",
"update_User":"fire",
"create_Date":"1",
"update_Date":"2",
"timeline_Date":"-3",
"geo_Locations":"POINT (1 2)"}`
	for name, tt := range map[string]struct {
		alter   func(*hazard.Product)
		oldNews []string // the members that differ from whole, old and new alternately
	}{
		"every field has its name, its case, its place and its type": {func(*hazard.Product) {}, nil},
		"a file without an extension":                                {func(p *hazard.Product) { p.File.Name = "README" }, []string{`map.tar.gz`, `README`, `"suffix":"gz"`, `"suffix":""`}},
		"a folder": {func(p *hazard.Product) { p.Type, p.File, p.ParentID = hazard.FolderProduct, nil, 0 }, []string{
			`"product_Type":"FILE_PRODUCT"`, `"product_Type":"FOLDER_PRODUCT"`, `"filename":"map.tar.gz"`, `"filename":null`, `"suffix":"gz"`, `"suffix":"folder"`,
			`"product_url":"https://hazardd.example/products/9/file"`, `"product_url":null`, `"parent_ID":8`, `"parent_ID":0`}},
		"a text": {func(p *hazard.Product) { p.Type, p.File, p.Data = hazard.TextProduct, nil, "a\nb" }, []string{
			`"product_Type":"FILE_PRODUCT"`, `"product_Type":"TEXT_PRODUCT"`, `"filename":"map.tar.gz"`, `"filename":null`, `"suffix":"gz"`, `"suffix":""`,
			`"product_url":"https://hazardd.example/products/9/file"`, `"product_url":null`, `"data":null`, `"data":"a\nb"`}},
		"a hyperlink": {func(p *hazard.Product) { p.Type, p.File, p.Data = hazard.URLProduct, nil, "https://a.example" }, []string{
			`"product_Type":"FILE_PRODUCT"`, `"product_Type":"URL_PRODUCT"`, `"filename":"map.tar.gz"`, `"filename":null`, `"suffix":"gz"`, `"suffix":""`,
			`"product_url":"https://hazardd.example/products/9/file"`, `"product_url":null`, `"data":null`, `"data":"https://a.example"`}},
		"restricted to two organizations": {func(p *hazard.Product) { p.OrgIDs = []int64{3, 14} }, []string{
			`"security_Flag":"A"`, `"security_Flag":"R"`, `"org_IDs":""`, `"org_IDs":"3,14"`}},
		"hidden, and of no known application": {func(p *hazard.Product) { p.Hidden, p.AppIDs = true, "" }, []string{
			`"is_Hidden":"N"`, `"is_Hidden":"Y"`, `"app_IDs":"1"`, `"app_IDs":null`}},
	} {
		t.Run(name, func(t *testing.T) {
			p := file()
			tt.alter(&p)
			if diff := cmp.Diff(strings.NewReplacer(tt.oldNews...).Replace(whole), encode(t, wire.FromProduct(&p, base))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatGoesOutComesBackTheSame(t *testing.T) {
	h, p := flood(), file()
	over := flood()
	over.UpdateUser, over.Status = "", hazard.Expired
	for name, out := range map[string]struct{ value, back any }{
		"a hazard":            {new(wire.FromHazard(&h, 3, base)), &wire.Hazard{}},
		"a hazard by no user": {new(wire.FromHazard(&over, 0, base)), &wire.Hazard{}},
		"a product":           {new(wire.FromProduct(&p, base)), &wire.Product{}},
		"tokens":              {&wire.TokenPair{AccessToken: "a", RefreshToken: "r"}, &wire.TokenPair{}},
		"credentials":         {&wire.Credential{Username: "u", Password: "p"}, &wire.Credential{}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(out.value)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, out.back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(out.value, out.back); diff != "" {
				t.Error(diff)
			}
		})
	}
}
