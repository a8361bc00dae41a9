package hazard_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Each rule of Lawful, with what it allows and what it refuses.
func TestLawful(t *testing.T) {
	const now, end = hazard.Instant(1_000_000), hazard.Instant(2_000_000)
	of := func(alter ...func(*hazard.Hazard)) *hazard.Hazard {
		h := &hazard.Hazard{ID: 1, Category: hazard.Event, Status: hazard.Active, AutoExpire: true, Start: 500_000, End: end, OrgID: 7}
		for _, f := range alter {
			f(h)
		}
		return h
	}
	sources := func(h *hazard.Hazard) { h.Source, h.OrgID = "usgs", hazard.NoOrg }
	drill := func(h *hazard.Hazard) { h.Category = hazard.Exercise }
	response := func(h *hazard.Hazard) { h.Category = hazard.Response }
	over := func(h *hazard.Hazard) { h.Status = hazard.Expired }
	edited := func(h *hazard.Hazard) { h.MarkEdited("category_ID") }
	second := func(h *hazard.Hazard) { h.ID, h.UUID = 2, uuid.Max }
	merged := func(h *hazard.Hazard) { h.Status, h.Reason, h.Successor = hazard.Expired, hazard.EndMerged, uuid.Max }
	succeeded := func(h *hazard.Hazard) {
		h.Status, h.Reason, h.Successor = hazard.Expired, hazard.EndSuperseded, uuid.Max
	}
	backwards := func(h *hazard.Hazard) { h.End = h.Start - 1 }
	owner, stranger := hazard.Actor{User: "red", Orgs: []int64{7}}, hazard.Actor{User: "fire", Orgs: []int64{8}}
	admin, console := hazard.Actor{User: "root", Admin: true}, hazard.Actor{Admin: true}
	usgs, service := hazard.Actor{Source: "usgs"}, hazard.Actor{}

	for name, tt := range map[string]struct {
		before, after, successor *hazard.Hazard
		by                       hazard.Actor
		at                       hazard.Instant // 0: now
		want                     error
	}{
		"a new one":                         {nil, of(), nil, owner, 0, nil},
		"a new one that ends before":        {nil, of(backwards), nil, owner, 0, hazard.ErrConflict},
		"an end moved before the start":     {of(), of(backwards), nil, owner, 0, hazard.ErrConflict},
		"one that always ended before":      {of(backwards), of(backwards, over), nil, owner, 0, nil},
		"a change by the owner":             {of(), of(), nil, owner, 0, nil},
		"a change by another":               {of(), of(), nil, stranger, 0, hazard.ErrForbidden},
		"a change by an admin":              {of(), of(), nil, admin, 0, nil},
		"a change on the console":           {of(), of(), nil, console, 0, nil},
		"a source's by any editor":          {of(sources), of(sources), nil, stranger, 0, nil},
		"real to drill":                     {of(), of(drill), nil, owner, 0, hazard.ErrConflict},
		"drill to real":                     {of(drill), of(), nil, admin, 0, hazard.ErrConflict},
		"a source's to a drill":             {of(sources), of(sources, drill), nil, usgs, 0, hazard.ErrConflict},
		"EVENT to RESPONSE":                 {of(), of(response), nil, owner, 0, nil},
		"RESPONSE to EVENT":                 {of(response), of(), nil, owner, 0, hazard.ErrConflict},
		"RESPONSE to EVENT by its source":   {of(sources, response), of(sources), nil, usgs, 0, nil},
		"RESPONSE to EVENT after an edit":   {of(sources, response, edited), of(sources, edited), nil, usgs, 0, hazard.ErrConflict},
		"RESPONSE to EVENT by an edit":      {of(sources, response), of(sources, edited), nil, owner, 0, hazard.ErrConflict},
		"an editor's ended by its owner":    {of(), of(over), nil, owner, 0, nil},
		"an editor's ended by an admin":     {of(), of(over), nil, admin, 0, nil},
		"an editor's ended by another":      {of(), of(over), nil, stranger, 0, hazard.ErrForbidden},
		"an editor's ended by a source":     {of(), of(over), nil, usgs, 0, hazard.ErrConflict},
		"an editor's ended by the service":  {of(), of(over), nil, service, 0, hazard.ErrConflict},
		"an editor's expired":               {of(), of(over), nil, service, end, nil},
		"an editor's reopened by its owner": {of(over), of(), nil, owner, 0, nil},
		"an editor's reopened by a source":  {of(over), of(), nil, usgs, 0, hazard.ErrConflict},
		"a source's ended by it":            {of(sources), of(sources, over), nil, usgs, 0, nil},
		"a source's reopened by it":         {of(sources, over), of(sources), nil, usgs, 0, nil},
		"merged into an active one":         {of(), of(merged), of(second), owner, 0, nil},
		"merged into a drill":               {of(), of(merged), of(second, drill), owner, 0, hazard.ErrConflict},
		"a drill merged into a drill":       {of(drill), of(drill, merged), of(second, drill), owner, 0, nil},
		"merged into one that is over":      {of(), of(merged), of(second, over), owner, 0, hazard.ErrConflict},
		"merged into one past its end":      {of(), of(merged), of(second), owner, end, hazard.ErrConflict},
		"merged into itself":                {of(), of(merged), of(), owner, 0, hazard.ErrConflict},
		"merged into nothing":               {of(), of(merged, func(h *hazard.Hazard) { h.Successor = uuid.Nil }), nil, owner, 0, hazard.ErrConflict},
		"merged before, the other over now": {of(merged), of(merged), of(second, over), owner, 0, nil},
		"succeeded by one that is over":     {of(sources), of(sources, succeeded), of(second, over), usgs, 0, nil},
		"succeeded by a drill":              {of(sources), of(sources, succeeded), of(second, drill), usgs, 0, hazard.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			at := now
			if tt.at != 0 {
				at = tt.at
			}
			err := hazard.Lawful(tt.before, tt.after, tt.successor, tt.by, at)
			if (err == nil) != (tt.want == nil) || !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if law, ok := errors.AsType[*hazard.LawError](err); err != nil && (!ok || law.Detail == "") {
				t.Errorf("%v does not name the violated rule", err)
			}
		})
	}
}
