package edit

import (
	"cmp"
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

// redactionOf parses a redaction of known fields, by an author who must have the right to redact.
func redactionOf(who Author, known []string, body []byte) (r redaction, err error) {
	if err := who.mayRedact(); err != nil {
		return r, err
	}
	fields := func(_ *reading, v jsontext.Value) (list []string, err error) {
		if err := json.Unmarshal(v, &list); err != nil || len(list) == 0 {
			return nil, fmt.Errorf("%s is not a list of fields; expected one of %s", brief(v), strings.Join(known, ", "))
		}
		for _, name := range list {
			if !slices.Contains(known, name) {
				return nil, fmt.Errorf("%.40q cannot be redacted; these can: %s", name, strings.Join(known, ", "))
			}
		}
		slices.Sort(list)
		return slices.Compact(list), nil
	}
	err = read([]field[redaction]{
		{"fields", create, true, to(func(r *redaction) *[]string { return &r.fields }, fields)},
		{"reason", create, true, to(func(r *redaction) *string { return &r.reason }, text(hazard.MaxComment, false, hazard.Clean))},
	}, body, &r)
	return r, err
}

// redactable is a text that can be redacted, and its replacement.
type redactable[T any] struct {
	text func(*T) *string
	by   string
}

var hazardTexts = map[string]redactable[hazard.Hazard]{
	"hazard_Name":  {func(h *hazard.Hazard) *string { return &h.Name }, hazard.RedactedText},
	"description":  {func(h *hazard.Hazard) *string { return &h.Description }, ""},
	"comment_Text": {func(h *hazard.Hazard) *string { return &h.Comment }, ""},
	"instruction":  {func(h *hazard.Hazard) *string { return &h.Instruction }, ""},
	"snc_url":      {func(h *hazard.Hazard) *string { return &h.URL }, ""},
	"note":         {func(h *hazard.Hazard) *string { return &h.Note }, ""},
}

var productTexts = map[string]redactable[hazard.Product]{
	"title":         {func(p *hazard.Product) *string { return &p.Title }, hazard.RedactedText},
	"data":          {func(p *hazard.Product) *string { return &p.Data }, hazard.RedactedText},
	"comment_Text":  {func(p *hazard.Product) *string { return &p.Comment }, ""},
	"geo_Locations": {func(p *hazard.Product) *string { return &p.Geometry }, ""},
}

// redact replaces texts of state and adds the originals to removed. It reports whether there were
// any.
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

// speaks reports whether a field is also part of the authorities' texts in each language: the name
// or the description.
func speaks(fields []string) bool {
	return slices.Contains(fields, "hazard_Name") || slices.Contains(fields, "description")
}

// shortestRepeated is the minimum length, in bytes, of a redacted text that is also removed from
// inside other texts. Shorter ones are often parts of other words; they are removed only where they
// are the whole text.
const shortestRepeated = 4

// removal removes redacted texts from other texts that contain them.
type removal struct {
	texts    []string // longest first, because one may be part of another
	replacer *strings.Replacer
}

func newRemoval(texts map[string]bool) *removal {
	var r removal
	for t := range texts {
		r.texts = append(r.texts, t)
		if original, notes, _ := strings.Cut(t, hazard.NoteBegins); notes != "" && original != "" { // reports store the notes separately
			r.texts = append(r.texts, original)
		}
	}
	slices.SortFunc(r.texts, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, t := range r.texts {
		if len(t) >= shortestRepeated {
			pairs = append(pairs, t, hazard.RedactedText)
		}
	}
	r.replacer = strings.NewReplacer(pairs...)
	return &r
}

// from removes the redacted texts from text, and reports whether it contained any.
func (r *removal) from(text *string) bool {
	for _, original := range []string{*text, hazard.Clean(*text), hazard.CleanLine(*text)} { // as received, and as a hazard shows it
		left := r.replacer.Replace(original)
		if slices.Contains(r.texts, original) {
			left = hazard.RedactedText
		}
		if left != original {
			*text = left
			return true
		}
	}
	return false
}

// empties does the same as from, for a text that may become empty.
func (r *removal) empties(text *string) bool {
	left := *text
	if !r.from(&left) {
		return false
	}
	*text = ""
	return true
}

// fromReport removes them from a report's texts for people. What is used to find, compare and
// decide stays.
func (r *removal) fromReport(report *hazard.Report) bool {
	found := r.empties(&report.URL)
	found = r.empties(&report.Called) || found
	for _, text := range report.Prose() {
		found = r.from(text) || found
	}
	return found
}

// fromProduct removes them from a product, and lists the changed fields.
func (r *removal) fromProduct(p *hazard.Product) (fields []string) {
	for _, name := range []string{"comment_Text", "data", "title"} {
		if r.from(productTexts[name].text(p)) {
			fields = append(fields, name)
		}
	}
	return fields
}

// fromEvents removes them from the stored events of a hazard and from the products of these events.
func (r *removal) fromEvents(tx *store.Tx, hazardID int64, mark hazard.Redaction) error {
	events, err := tx.Events.Of(hazardID)
	if err != nil {
		return err
	}
	for _, e := range events {
		if r.empties(&e.Called) {
			if err := tx.Events.Save(&e); err != nil {
				return err
			}
		}
	}
	products, err := tx.ProductsEver(hazardID)
	if err != nil {
		return err
	}
	for _, p := range products {
		if p.Source == "" {
			continue
		}
		found := map[string]bool{}
		take := func(p *hazard.Product) bool {
			fields := r.fromProduct(p)
			if len(fields) == 0 {
				return false
			}
			for _, name := range fields {
				found[name] = true
			}
			mark.Fields = fields
			p.Redacted = append(slices.Clone(p.Redacted), mark)
			return true
		}
		if err := tx.RewriteProduct(p.ID, take); err != nil {
			return err
		}
		if len(found) == 0 {
			continue
		}
		if !take(p) { // only an earlier state contained it
			mark.Fields = slices.Sorted(maps.Keys(found))
			p.Redacted = append(slices.Clone(p.Redacted), mark)
		}
		p.Updated, p.UpdateUser = tx.Now(), mark.User
		if err := tx.SaveProduct(p); err != nil {
			return err
		}
	}
	return nil
}

// RedactHazard permanently removes texts of a hazard: from all states in the log, and from its
// sources' reports and products that repeat them. The mark says who did it, when and why. body is
// {"fields": […], "reason": …}.
func (e *Editor) RedactHazard(ctx context.Context, who Author, id Ref, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Hazard], err error) {
	r, err := redactionOf(who, slices.Sorted(maps.Keys(hazardTexts)), text)
	if err != nil {
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
		if err := tx.ForgetDraftsOf(before.UUID); err != nil {
			return err
		}
		repeated := newRemoval(removed)
		if err := tx.Reports.Rewrite(before.ID, func(original *hazard.Report) bool {
			found := speaks(r.fields) && original.Texts != nil
			if found {
				original.Texts = nil
			}
			return repeated.fromReport(original) || found
		}); err != nil {
			return err
		}
		if err := repeated.fromEvents(tx, before.ID, mark); err != nil {
			return err
		}
		h := done.State
		take(h)
		h.Redacted = append(slices.Clone(h.Redacted), mark)
		for _, name := range r.fields {
			if h.Source != "" && name != "note" {
				h.MarkEdited(name) // so that its source does not restore it
			}
		}
		if h, err = e.intake.Agree(ctx, tx, h); err != nil { // its sources no longer repeat the texts in other fields either
			return err
		}
		h.LastUpdate, h.Updated, h.UpdateUser = tx.Now(), tx.Now(), who.Name
		done.State = h
		return tx.SaveHazard(h, stored)
	})
	if err == nil {
		err = e.store.Files.Purge(ctx, nil)
	}
	return done, err
}

// RedactProduct does the same as RedactHazard for a product, deleted or not, and for its source's
// reports. The field "file" means the content and name of its file. The content is removed unless
// another product has the same.
func (e *Editor) RedactProduct(ctx context.Context, who Author, id Ref, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Product], err error) {
	r, err := redactionOf(who, append(slices.Sorted(maps.Keys(productTexts)), "file"), text)
	if err != nil {
		return done, err
	}
	digests, of := map[string]bool{}, map[int64]bool{}
	done.Last, err = e.write(ctx, who, clock, func(tx *store.Tx) error {
		before, err := id.productEver(tx, who) // deleted products can be redacted too
		if err != nil {
			return err
		}
		if err := freshProduct(match, before); err != nil {
			return err
		}
		mark := hazard.Redaction{Fields: r.fields, User: who.Name, At: tx.Now(), Reason: r.reason}
		removed := map[string]bool{}
		take := func(p *hazard.Product) bool {
			of[p.HazardID] = true
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
		if before.Source != "" {
			whole := &removal{texts: slices.Collect(maps.Keys(removed)), replacer: strings.NewReplacer()}
			for id := range of {
				if err := tx.Reports.Rewrite(id, func(original *hazard.Report) (found bool) {
					for i := range original.Products {
						p := &original.Products[i]
						for _, text := range []*string{&p.Title, &p.Data, &p.Comment} {
							found = whole.from(text) || found
						}
						found = whole.empties(&p.WKT) || found
					}
					return found
				}); err != nil {
					return err
				}
			}
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
		err = e.store.Files.Purge(ctx, slices.Sorted(maps.Keys(digests)))
	}
	return done, err
}
