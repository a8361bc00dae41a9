package edit

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"hazardd/internal/auth"
	"hazardd/internal/geo"
	"hazardd/internal/hazard"
)

// hazardDraft is a hazard while a body is read into it.
type hazardDraft struct {
	hazard.Hazard
	before *hazard.Hazard // nil in a creation
	areas  []hazard.Area  // not yet kept; nil: not given
	e      *Editor
	who    Author
	now    hazard.Instant
}

// hazardFields are the members of a hazard that an editor may write. What is not here is the service's own.
var hazardFields = []field[hazardDraft]{
	{"uuid", create, false, func(d *hazardDraft, v jsontext.Value) (err error) { d.UUID, err = uuidOf(v); return }},
	{"hazard_Name", create | patch, true, func(d *hazardDraft, v jsontext.Value) (err error) {
		d.Name, err = text(v, hazard.MaxName, false, hazard.CleanLine)
		return
	}},
	{"description", create | patch, false, func(d *hazardDraft, v jsontext.Value) (err error) {
		d.Description, err = text(v, hazard.MaxDescription, true, hazard.Clean)
		return
	}},
	{"type_ID", create | patch, true, func(d *hazardDraft, v jsontext.Value) (err error) {
		d.Type, err = oneOf(v, typeIDs(), func(s string) (hazard.Type, bool) { _, ok := hazard.Type(s).Info(); return hazard.Type(s), ok })
		return
	}},
	{"severity_ID", create | patch, true, func(d *hazardDraft, v jsontext.Value) (err error) {
		d.Severity, err = oneOf(v, severityIDs(), hazard.ParseSeverity)
		return
	}},
	{"category_ID", create | patch, false, func(d *hazardDraft, v jsontext.Value) (err error) {
		d.Category, err = oneOf(v, categoryIDs(), func(s string) (hazard.Category, bool) {
			_, ok := hazard.Category(s).Info()
			return hazard.Category(s), ok
		})
		return
	}},
	{"status", patch, false, func(d *hazardDraft, v jsontext.Value) (err error) {
		d.Status, err = oneOf(v, []string{"A", "E"}, func(s string) (hazard.Status, bool) { return hazard.Status(s), s == "A" || s == "E" })
		return
	}},
	{"autoexpire", create | patch, false, func(d *hazardDraft, v jsontext.Value) (err error) {
		d.AutoExpire, err = flag(v)
		return
	}},
	{"start_Date", create | patch, false, func(d *hazardDraft, v jsontext.Value) (err error) {
		if d.Start, err = instant(v); err == nil {
			err = plausible(d.Start, d.now)
		}
		return
	}},
	{"end_Date", create | patch, false, func(d *hazardDraft, v jsontext.Value) (err error) {
		if d.End, err = instant(v); err == nil {
			err = plausible(d.End, d.now)
		}
		return
	}},
	{"latitude", create | patch, true, func(d *hazardDraft, v jsontext.Value) (err error) {
		d.Latitude, err = number(v, -90, 90, "degrees north")
		return
	}},
	{"longitude", create | patch, true, func(d *hazardDraft, v jsontext.Value) (err error) {
		d.Longitude, err = number(v, -180, 180, "degrees east")
		return
	}},
	{"area", create | patch, false, func(d *hazardDraft, v jsontext.Value) error {
		if d.areas = []hazard.Area{}; isNull(v) {
			return nil
		}
		s, err := geo.ParseGeoJSON(v)
		if err != nil {
			return fmt.Errorf("is not a GeoJSON geometry that can be used: %w", err)
		}
		d.areas = []hazard.Area{{Role: hazard.AlertArea, Geometry: s.GeoJSON()}}
		return nil
	}},
	{"org_ID", create, false, func(d *hazardDraft, v jsontext.Value) (err error) { d.OrgID, err = d.e.ownedBy(v, d.who); return }},
	{"snc_url", create | patch, false, func(d *hazardDraft, v jsontext.Value) (err error) { d.URL, err = link(v, true); return }},
	{"comment_Text", create | patch, false, func(d *hazardDraft, v jsontext.Value) (err error) {
		d.Comment, err = text(v, hazard.MaxComment, true, hazard.Clean)
		return
	}},
}

// check looks at what members mean together.
func (d *hazardDraft) check(bad *hazard.InvalidError, given members) {
	if sound(bad, "start_Date", "end_Date") {
		d.checkLife(bad, given)
	}
	if d.before == nil {
		return
	}
	if d.Status == hazard.Active && d.before.Status == hazard.Expired {
		bad.Add("status", "%q: a hazard that has ended is not begun again; make a new one", "A")
	}
	if sound(bad, "category_ID") && d.Category != d.before.Category && !(d.before.Category == hazard.Event && d.Category == hazard.Response) {
		bad.Add("category_ID", "can only change from EVENT to RESPONSE, not from %s to %s", d.before.Category, d.Category)
	}
}

func (d *hazardDraft) checkLife(bad *hazard.InvalidError, given members) {
	if _, ok := given["end_Date"]; !ok && d.before == nil {
		info, known := d.Type.Info()
		if !known { // told already
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

// plausible refuses instants that are a slip: seconds where milliseconds belong, a wrapped year.
func plausible(i, now hazard.Instant) error {
	const (
		firstYear = -2208988800000  // 1900
		seconds   = 100_000_000_000 // in milliseconds: early 1973; in seconds: beyond the year 5000
		farAhead  = 20 * 366 * 24 * time.Hour
	)
	switch {
	case i > 0 && i < seconds:
		return fmt.Errorf("%q is %s: it looks like seconds; milliseconds are expected", i.Digits(), i)
	case i < firstYear, i > now.Add(farAhead):
		return fmt.Errorf("%q is %s: expected 1900 to 20 years ahead", i.Digits(), i)
	}
	return nil
}

// ownedBy reads the organization that shall own what is written: one of the author's, or any if the author is an admin.
func (e *Editor) ownedBy(v jsontext.Value, who Author) (int64, error) {
	org, err := integer(v)
	switch {
	case err != nil || org == noOrg || slices.Contains(who.Orgs, org):
	case who.Role != auth.Admin:
		err = fmt.Errorf("%d is no organization of %s", org, who.Name)
	case !e.orgs(org):
		err = fmt.Errorf("%d is no organization", org)
	}
	return org, err
}

func typeIDs() (ids []string) {
	for _, t := range hazard.Types() {
		ids = append(ids, string(t.ID))
	}
	return ids
}

func severityIDs() (ids []string) {
	for _, s := range hazard.Severities() {
		ids = append(ids, s.ID)
	}
	return ids
}

func categoryIDs() (ids []string) {
	for _, c := range hazard.Categories() {
		ids = append(ids, string(c.ID))
	}
	return ids
}

// retraction is the body of a retraction.
type retraction struct{ reason string }

var retractionFields = []field[retraction]{
	{"reason", create, true, func(r *retraction, v jsontext.Value) (err error) {
		r.reason, err = text(v, hazard.MaxComment, false, hazard.Clean)
		return
	}},
}

func (*retraction) check(*hazard.InvalidError, members) {}
