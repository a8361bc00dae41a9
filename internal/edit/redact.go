package edit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// redaction is the body of a redaction.
type redaction struct {
	fields []string
	reason string
}

func redactionFields(known []string) []field[redaction] {
	return []field[redaction]{
		{"fields", create, true, to(func(r *redaction) *[]string { return &r.fields }, func(_ *reading, v jsontext.Value) (list []string, err error) {
			if err := json.Unmarshal(v, &list); err != nil || len(list) == 0 {
				return nil, fmt.Errorf("%s is not a list of fields; these are: %s", brief(v), strings.Join(known, ", "))
			}
			for _, name := range list {
				if !slices.Contains(known, name) {
					return nil, fmt.Errorf("%.40q cannot be redacted; these can: %s", name, strings.Join(known, ", "))
				}
			}
			slices.Sort(list)
			return slices.Compact(list), nil
		})},
		{"reason", create, true, to(func(r *redaction) *string { return &r.reason }, text(hazard.MaxComment, false, hazard.Clean))},
	}
}

// redactable is a text that can be redacted, and what takes its place.
type redactable[T any] struct {
	text func(*T) *string
	by   string
}

var hazardTexts = map[string]redactable[hazard.Hazard]{
	"hazard_Name":  {func(h *hazard.Hazard) *string { return &h.Name }, hazard.RedactedText},
	"description":  {func(h *hazard.Hazard) *string { return &h.Description }, ""},
	"comment_Text": {func(h *hazard.Hazard) *string { return &h.Comment }, ""},
	"snc_url":      {func(h *hazard.Hazard) *string { return &h.URL }, ""},
	"note":         {func(h *hazard.Hazard) *string { return &h.Note }, ""},
}

var productTexts = map[string]redactable[hazard.Product]{
	"title":         {func(p *hazard.Product) *string { return &p.Title }, hazard.RedactedText},
	"data":          {func(p *hazard.Product) *string { return &p.Data }, hazard.RedactedText},
	"comment_Text":  {func(p *hazard.Product) *string { return &p.Comment }, ""},
	"geo_Locations": {func(p *hazard.Product) *string { return &p.Geometry }, ""},
}

// redact replaces the texts of state, and adds them to removed; it reports whether there was one.
func redact[T any](texts map[string]redactable[T], fields []string, state *T, removed map[string]bool) bool {
	found := false
	for _, name := range fields {
		r, ok := texts[name]
		if !ok {
			continue
		}
		if t := r.text(state); *t != "" && *t != r.by {
			removed[*t] = true
			*t, found = r.by, true
		}
	}
	return found
}

// speaks reports whether one of the fields is what the authorities of a hazard say in each of their languages too: its name or its description.
func speaks(fields []string) bool {
	return slices.Contains(fields, "hazard_Name") || slices.Contains(fields, "description")
}

// shortestRepeated is the length, in bytes, from which a redacted text is also looked for inside the texts of sources' reports: shorter
// ones are parts of other words.
const shortestRepeated = 4

// RedactHazard removes texts of a hazard for good: from all states in the log, and where its sources' reports repeat them. The mark says
// who did it, when and why. body is {"fields": […], "reason": …}.
func (e *Editor) RedactHazard(ctx context.Context, who Author, id Ref, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Hazard], err error) {
	if err := who.mayRedact(); err != nil {
		return done, err
	}
	var r redaction
	if err := read(redactionFields(slices.Sorted(maps.Keys(hazardTexts))), text, &r); err != nil {
		return done, err
	}
	done.Last, err = e.write(ctx, who, clock, func(tx *store.Tx) error {
		stored, before, err := present(tx, who, id, match)
		if err != nil {
			return err
		}
		mark := hazard.Redaction{Fields: r.fields, User: who.Name, At: tx.Now(), Reason: r.reason}
		removed, any := map[string]bool{}, false
		take := func(h *hazard.Hazard) bool {
			found := redact(hazardTexts, r.fields, h, removed)
			if speaks(r.fields) && len(h.Texts) > 0 {
				h.Texts, found = nil, true
			}
			return found
		}
		done.State = new(*before)
		err = tx.RewriteHazard(before.ID, func(h *hazard.Hazard) bool {
			found := take(h)
			if found {
				h.Redacted, any = append(h.Redacted, mark), true
			}
			return found
		})
		if err != nil || !any {
			return err
		}
		var repeated []string
		for t := range removed {
			said, _, _ := strings.Cut(t, hazard.NoteBegins) // its report has the notes apart
			for _, text := range []string{t, said} {
				if len(text) >= shortestRepeated {
					repeated = append(repeated, text)
				}
			}
		}
		if err := tx.ForgetDraftsOf(before.UUID); err != nil {
			return err
		}
		if err := tx.RewriteReports(before.ID, repeated, hazard.RedactedText, speaks(r.fields)); err != nil {
			return err
		}
		h := done.State
		take(h)
		h.Redacted = append(slices.Clone(h.Redacted), mark)
		for _, name := range r.fields {
			if h.Source != "" && name != "note" {
				h.MarkEdited(name) // its source does not bring it back
			}
		}
		if h, err = e.intake.Agree(ctx, tx, h); err != nil { // in other fields too its sources repeat it no longer
			return err
		}
		h.LastUpdate, h.Updated, h.UpdateUser = tx.Now(), tx.Now(), who.Name
		done.State = h
		return tx.SaveHazard(h, stored)
	})
	if err == nil {
		err = e.store.Purge(ctx, nil)
	}
	return done, err
}

// RedactProduct is RedactHazard for a product, deleted or not; the field "file" is the content and the name of its file. The content goes
// unless another product has the same.
func (e *Editor) RedactProduct(ctx context.Context, who Author, id Ref, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Product], err error) {
	if err := who.mayRedact(); err != nil {
		return done, err
	}
	var r redaction
	if err := read(redactionFields(append(slices.Sorted(maps.Keys(productTexts)), "file")), text, &r); err != nil {
		return done, err
	}
	digests := map[string]bool{}
	done.Last, err = e.write(ctx, who, clock, func(tx *store.Tx) error {
		before, err := id.productEver(tx, who) // redactions reach what was deleted too
		if err != nil {
			return err
		}
		if err := freshProduct(match, before); err != nil {
			return err
		}
		mark := hazard.Redaction{Fields: r.fields, User: who.Name, At: tx.Now(), Reason: r.reason}
		removed := map[string]bool{}
		take := func(p *hazard.Product) bool {
			found := redact(productTexts, r.fields, p, removed)
			if slices.Contains(r.fields, "file") && p.File != nil && p.File.Digest != "" {
				digests[p.File.Digest] = true
				p.File, found = &hazard.File{Name: hazard.RedactedText, MediaType: "application/octet-stream"}, true
			}
			if found {
				p.Redacted = append(slices.Clone(p.Redacted), mark)
			}
			return found
		}
		done.State = new(*before)
		if err := tx.RewriteProduct(before.ID, take); err != nil || len(removed)+len(digests) == 0 {
			return err
		}
		p := done.State
		if !take(p) {
			p.Redacted = append(slices.Clone(p.Redacted), mark)
		}
		p.Edited = p.Source != ""
		p.Updated, p.UpdateUser = tx.Now(), who.Name
		if err := tx.SaveProduct(p); err != nil {
			return err
		}
		for digest := range digests {
			if err := tx.ReleaseFile(digest); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = e.store.Purge(ctx, slices.Sorted(maps.Keys(digests)))
	}
	return done, err
}
