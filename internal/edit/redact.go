package edit

import (
	"context"
	"errors"
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

// Evidence holds the payloads of sources.
type Evidence interface {
	// Redact deletes the payloads of sources that hold returns true for and whose receipts are above
	// after. It returns how many, and the number of the latest receipt.
	Redact(ctx context.Context, sources []string, after int64, hold func(digest string, payload []byte) bool) (removed int, last int64, err error)
}

// errRehearsed ends the transaction that only finds what there is to redact.
var errRehearsed = errors.New("rehearsed")

// traced is what a redaction removes, and where it came from.
type traced struct {
	removed  map[string]bool
	origins  store.Origins
	digests  map[string]bool // of product files
	repeated *removal
}

// everywhere runs a redaction. f removes the texts from the log and the reports, and returns what it
// removed. The payloads that hold them go first, because nobody knows the texts once they are gone
// from the log, and again at the end, because more may have come.
func (e *Editor) everywhere(ctx context.Context, who Author, clock hazard.Clock, f func(*store.Tx) (*traced, error)) (last int64, err error) {
	var t *traced
	run := func(end error) (int64, error) {
		return e.write(ctx, who, clock, func(tx *store.Tx) error {
			if t, err = f(tx); err != nil || t == nil {
				return err
			}
			if err := tx.MarkRedaction(); err != nil {
				return err
			}
			return end
		})
	}
	if _, err := run(errRehearsed); !errors.Is(err, errRehearsed) {
		return 0, err
	}
	seen := int64(0)
	payloads := func() (err error) {
		if e.Evidence != nil && len(t.origins.Sources) > 0 && len(t.removed) > 0 {
			_, seen, err = e.Evidence.Redact(ctx, t.origins.Sources, seen, newRemoval(t.removed).payloads(t.origins).hold)
		}
		return err
	}
	if err := payloads(); err != nil {
		return 0, fmt.Errorf("nothing is redacted: cannot remove payloads of its sources: %w", err)
	}
	if last, err = run(nil); err != nil {
		return last, err
	}
	if t == nil { // somebody was faster
		return last, nil
	}
	return last, errors.Join(payloads(), e.store.Files.Purge(ctx, slices.Sorted(maps.Keys(t.digests))))
}

// beside removes texts from what belongs to a hazard besides its states and products: messages,
// drafts, the errors and held reports of its sources, and why its events belong to it.
func (t *traced) beside(tx *store.Tx, h *hazard.Hazard) (err error) {
	if t.origins, err = tx.Origins(h.ID); err != nil {
		return err
	}
	if err := tx.RedactMessages(h.ID); err != nil {
		return err
	}
	holds := func(text string) bool { return t.repeated.from(&text) }
	if err := tx.RedactDrafts(h, holds); err != nil {
		return err
	}
	if err := tx.Merges.Redact(h.ID, t.repeated.from); err != nil {
		return err
	}
	return tx.RedactErrors(t.origins.Sources, t.repeated.from)
}

// RedactHazard permanently removes texts of a hazard: from all states in the log, and from its
// sources' reports and products that repeat them. The mark says who did it, when and why. body is
// {"fields": […], "reason": …}.
func (e *Editor) RedactHazard(ctx context.Context, who Author, id Ref, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Hazard], err error) {
	r, err := redactionOf(who, slices.Sorted(maps.Keys(hazardTexts)), text)
	if err != nil {
		return done, err
	}
	done.Last, err = e.everywhere(ctx, who, clock, func(tx *store.Tx) (*traced, error) {
		stored, before, err := present(tx, who, id, match)
		if err != nil {
			return nil, err
		}
		mark := hazard.Redaction{Fields: r.fields, User: who.Name, At: tx.Now(), Reason: r.reason}
		t, any := &traced{removed: map[string]bool{}}, false
		take := func(h *hazard.Hazard) bool {
			found := redact(hazardTexts, r.fields, h, t.removed)
			if speaks(r.fields) && len(h.Texts) > 0 {
				t.spoken(h.Texts, r.fields)
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
			return nil, err
		}
		t.repeated = newRemoval(t.removed)
		if err := t.beside(tx, before); err != nil {
			return nil, err
		}
		if err := tx.Reports.Rewrite(before.ID, func(original *hazard.Report) bool {
			found := speaks(r.fields) && original.Texts != nil
			if found {
				original.Texts = nil
			}
			return t.repeated.fromReport(original) || found
		}); err != nil {
			return nil, err
		}
		if err := t.repeated.fromEvents(tx, before.ID, mark); err != nil {
			return nil, err
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
			return nil, err
		}
		h.LastUpdate, h.Updated, h.UpdateUser = tx.Now(), tx.Now(), who.Name
		done.State = h
		return t, tx.SaveHazard(h, stored)
	})
	return done, err
}

// spoken adds the texts by language that go with the name or the description.
func (t *traced) spoken(texts []hazard.Text, fields []string) {
	for i := range texts {
		x := &texts[i]
		if slices.Contains(fields, "hazard_Name") {
			t.add(x.Name)
		}
		if slices.Contains(fields, "description") {
			t.add(x.Description, x.Headline, x.Lead, x.Contact, x.Area)
		}
	}
}

func (t *traced) add(texts ...string) {
	for _, text := range texts {
		if text != "" {
			t.removed[text] = true
		}
	}
}

// RedactProduct does the same as RedactHazard for a product, deleted or not, and for its source's
// reports. The field "file" means the content and name of its file. The content is removed unless
// another product has the same.
func (e *Editor) RedactProduct(ctx context.Context, who Author, id Ref, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Product], err error) {
	r, err := redactionOf(who, append(slices.Sorted(maps.Keys(productTexts)), "file"), text)
	if err != nil {
		return done, err
	}
	done.Last, err = e.everywhere(ctx, who, clock, func(tx *store.Tx) (*traced, error) {
		before, err := id.productEver(tx, who) // deleted products can be redacted too
		if err != nil {
			return nil, err
		}
		if err := freshProduct(match, before); err != nil {
			return nil, err
		}
		mark := hazard.Redaction{Fields: r.fields, User: who.Name, At: tx.Now(), Reason: r.reason}
		t, of := &traced{removed: map[string]bool{}, digests: map[string]bool{}}, map[int64]bool{}
		take := func(p *hazard.Product) bool {
			of[p.HazardID] = true
			found := redact(productTexts, r.fields, p, t.removed)
			if slices.Contains(r.fields, "file") && p.File != nil && p.File.Digest != "" {
				t.digests[p.File.Digest] = true
				p.File, found = &hazard.File{Name: hazard.RedactedText, MediaType: "application/octet-stream"}, true
			}
			if found {
				p.Redacted = append(slices.Clone(p.Redacted), mark)
			}
			return found
		}
		done.State = new(*before)
		if err := tx.RewriteProduct(before.ID, take); err != nil || len(t.removed)+len(t.digests) == 0 {
			return nil, err
		}
		if err := t.fromSource(tx, before, of); err != nil {
			return nil, err
		}
		p := done.State
		if !take(p) {
			p.Redacted = append(slices.Clone(p.Redacted), mark)
		}
		p.Edited = p.Source != ""
		p.Updated, p.UpdateUser = tx.Now(), who.Name
		if err := tx.SaveProduct(p); err != nil {
			return nil, err
		}
		for digest := range t.digests {
			if err := tx.ReleaseFile(digest); err != nil {
				return nil, err
			}
		}
		return t, nil
	})
	return done, err
}

// fromSource removes the texts of a product from what belongs to its hazards, and, if a source gave
// it, from the products in the source's reports. There only whole texts count: other products may
// say the same.
func (t *traced) fromSource(tx *store.Tx, p *hazard.Product, of map[int64]bool) error {
	t.repeated = newRemoval(t.removed)
	whole := &removal{texts: slices.Collect(maps.Keys(t.removed)), replacer: strings.NewReplacer()}
	var origins store.Origins
	for id := range of {
		h, err := tx.Hazard(id)
		if err != nil {
			return err
		}
		if err := t.beside(tx, h); err != nil {
			return err
		}
		origins.Sources = append(origins.Sources, t.origins.Sources...)
		origins.Names = append(origins.Names, t.origins.Names...)
		origins.Payloads = append(origins.Payloads, t.origins.Payloads...)
		if p.Source == "" {
			continue
		}
		err = tx.Reports.Rewrite(id, func(original *hazard.Report) (found bool) {
			for i := range original.Products {
				p := &original.Products[i]
				for _, text := range []*string{&p.Title, &p.Data, &p.Comment} {
					found = whole.from(text) || found
				}
				found = whole.empties(&p.WKT) || found
			}
			return found
		})
		if err != nil {
			return err
		}
	}
	if t.origins = origins; p.Source == "" {
		t.origins = store.Origins{} // an editor's text came in no payload
	}
	return nil
}
