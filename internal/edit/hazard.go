package edit

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// hazardDraft is a hazard that is being filled from a body.
type hazardDraft struct {
	hazard.Hazard
	before *hazard.Hazard // nil in a creation
	areas  []hazard.Area  // not stored yet; nil if not given
	now    hazard.Instant
}

// hazardFields are the members of a hazard that an editor may write. The service sets all others.
var hazardFields = []field[hazardDraft]{
	{"uuid", create, false, to(func(d *hazardDraft) *uuid.UUID { return &d.UUID }, uuidOf)},
	{"hazard_Name", create | patch, true, to(func(d *hazardDraft) *string { return &d.Name }, text(hazard.MaxName, false, hazard.CleanLine))},
	{"description", create | patch, false, to(func(d *hazardDraft) *string { return &d.Description }, text(hazard.MaxDescription, true, hazard.Clean))},
	{"instruction", create | patch, false, to(func(d *hazardDraft) *string { return &d.Instruction }, text(hazard.MaxComment, true, hazard.Clean))},
	{"type_ID", create | patch, true, to(func(d *hazardDraft) *hazard.Type { return &d.Type },
		oneOf(ids(hazard.Types(), func(t hazard.TypeInfo) hazard.Type { return t.ID })...))},
	{"severity_ID", create | patch, true, to(func(d *hazardDraft) *hazard.Severity { return &d.Severity }, severity)},
	{"category_ID", create | patch, false, to(func(d *hazardDraft) *hazard.Category { return &d.Category },
		oneOf(ids(hazard.Categories(), func(c hazard.CategoryInfo) hazard.Category { return c.ID })...))},
	{"status", patch, false, to(func(d *hazardDraft) *hazard.Status { return &d.Status }, oneOf(hazard.Active, hazard.Expired))},
	{"autoexpire", create | patch, false, to(func(d *hazardDraft) *bool { return &d.AutoExpire }, flag)},
	{"start_Date", create | patch, false, to(func(d *hazardDraft) *hazard.Instant { return &d.Start }, instant)},
	{"end_Date", create | patch, false, to(func(d *hazardDraft) *hazard.Instant { return &d.End }, instant)},
	{"latitude", create | patch, true, to(func(d *hazardDraft) *float64 { return &d.Latitude }, number(-90, 90, "degrees north"))},
	{"longitude", create | patch, true, to(func(d *hazardDraft) *float64 { return &d.Longitude }, number(-180, 180, "degrees east"))},
	{"area", create | patch, false, member[hazardDraft]{
		read: to(func(d *hazardDraft) *[]hazard.Area { return &d.areas }, area).read,
		same: func(a, b *hazardDraft) bool { return slices.Equal(a.Areas, b.Areas) }, // after they are stored
	}},
	{"org_ID", create, false, to(func(d *hazardDraft) *int64 { return &d.OrgID }, owner)},
	{"snc_url", create | patch, false, to(func(d *hazardDraft) *string { return &d.URL }, link(true))},
	{"texts", create | patch, false, to(func(d *hazardDraft) *[]hazard.Text { return &d.Texts }, texts)},
	{"pinned", patch, false, to(func(d *hazardDraft) *bool { return &d.Pinned }, flag)},
	{"comment_Text", create | patch, false, to(func(d *hazardDraft) *string { return &d.Comment }, text(hazard.MaxComment, true, hazard.Clean))},
}

// area parses and repairs a GeoJSON geometry; null means no area.
func area(c *reading, v jsontext.Value) ([]hazard.Area, error) {
	if isNull(v) {
		return []hazard.Area{}, nil
	}
	defer c.e.shape()()
	s, err := geo.ParseGeoJSON(v)
	if err != nil {
		return nil, fmt.Errorf("is not a GeoJSON geometry that can be used: %w", err)
	}
	return []hazard.Area{{Role: hazard.AlertArea, Geometry: s.GeoJSON()}}, nil
}

// shape waits for a turn to process a geometry, which takes 100 ms at most (geo), and returns the
// function that ends the turn.
func (e *Editor) shape() func() {
	e.shapes <- struct{}{}
	return func() { <-e.shapes }
}

// keepAreas stores the given areas. A given area or point is where the hazard is: no region or country
// stands in for it any more.
func (d *hazardDraft) keepAreas(tx *store.Tx) (err error) {
	if d.areas != nil {
		d.Areas, err = tx.KeepAreas(d.areas)
	}
	if d.areas != nil || d.Somewhere() && (d.Longitude != d.before.Longitude || d.Latitude != d.before.Latitude) {
		d.Displace()
	}
	return err
}

// markEdited records which fields the editor has set, so that sources no longer overwrite them. A
// value that is sent back unchanged still belongs to the source.
func (d *hazardDraft) markEdited(given members) {
	before := &hazardDraft{Hazard: *d.before}
	for _, f := range hazardFields {
		if _, ok := given[f.name]; ok && !f.same(before, d) {
			d.MarkEdited(f.name)
		}
	}
}

// check checks the members against each other.
func (d *hazardDraft) check(bad *hazard.InvalidError, given members) {
	if sound(bad, "start_Date", "end_Date") {
		d.checkLife(bad, given)
	}
	if d.before == nil {
		return
	}
	if _, ok := given["texts"]; ok && d.before.Source != "" {
		bad.Add("texts", "come from its source; an organization can only write texts of its own hazards")
	}
	if d.Status == hazard.Active && d.before.Status == hazard.Expired {
		bad.Add("status", "%q: a hazard that has ended is not begun again; undo its end (POST /hazards/%d/undo), or make a new one", "A", d.ID)
	}
	if sound(bad, "category_ID") && d.Category != d.before.Category && !(d.before.Category == hazard.Event && d.Category == hazard.Response) {
		bad.Add("category_ID", "can only change from EVENT to RESPONSE, not from %s to %s", d.before.Category, d.Category)
	}
}

func (d *hazardDraft) checkLife(bad *hazard.InvalidError, given members) {
	_, ok := given["end_Date"]
	if ok && (d.before == nil || d.End != d.before.End) {
		d.EndGiven = true
	}
	if !ok && d.before == nil {
		info, known := d.Type.Info()
		if !known { // already reported
			return
		}
		d.End = d.Start.Add(info.Life)
	}
	switch {
	case d.End < d.Start:
		bad.Add("end_Date", "%q (%s) lies before start_Date %q (%s)", d.End.Digits(), d.End, d.Start.Digits(), d.Start)
	case d.before == nil && d.AutoExpire && d.End <= d.now:
		bad.Add("end_Date", "%q (%s) is past: with autoexpire \"Y\" the hazard would be over at once", d.End.Digits(), d.End)
	}
}

// plausible rejects instants that are probably mistakes, such as seconds instead of milliseconds.
// Seconds of this century look like milliseconds in January 1970, so it rejects that month from the
// 12th on.
func plausible(i, now hazard.Instant) error {
	const (
		firstYear   = -2208988800000 // 1900
		thisCentury = 978_307_200    // 2001, in seconds
		farAhead    = 20 * 366 * 24 * time.Hour
	)
	last := now.Add(farAhead)
	switch {
	case i >= thisCentury && i <= last/1000:
		return fmt.Errorf("%q is %s: it looks like seconds; milliseconds are expected", i.Digits(), i)
	case i < firstYear, i > last:
		return fmt.Errorf("%q is %s: expected 1900 to 20 years ahead", i.Digits(), i)
	}
	return nil
}

// owner parses the organization that will own the thing: one of the author's, or any if the author
// is an admin.
func owner(c *reading, v jsontext.Value) (int64, error) {
	org, err := integer(c, v)
	switch {
	case err != nil || org == hazard.NoOrg || slices.Contains(c.who.Orgs, org):
	case c.who.Role != auth.Admin:
		err = fmt.Errorf("%d is not an organization of %s", org, c.who.Name)
	case !c.e.orgs(org):
		err = fmt.Errorf("%d is no organization", org)
	}
	return org, err
}

// severity parses a severity.
func severity(c *reading, v jsontext.Value) (hazard.Severity, error) {
	id, err := oneOf(ids(hazard.Severities(), func(s hazard.SeverityInfo) string { return s.ID })...)(c, v)
	level, _ := hazard.ParseSeverity(id)
	return level, err
}

// reasonFields are the body of a retraction and of a refusal.
var reasonFields = only("reason", text(hazard.MaxComment, false, hazard.Clean))
