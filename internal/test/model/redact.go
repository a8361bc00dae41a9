package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Redact removes texts of a hazard for good, for an admin: from all its past states, and from
// reports of its sources that repeat them. No source brings them back. The function that Redact
// returns does the same to the products known before.
func (w *World) Redact(h *Hazard, fields []string, reason string, at instant) (forget func([]Product)) {
	w.Pass(at)
	mark := hazard.Redaction{Fields: fields, User: w.By.Name, At: at, Reason: reason}
	var removed []string
	found := false
	for i := range h.Past {
		texts, any := h.Past[i].redact(mark)
		removed, found = append(removed, texts...), found || any
	}
	if !found {
		return func([]Product) {}
	}
	for _, end := range h.Ends { // the state that applies if an end is undone
		end.before.redact(mark)
		if end.kept != nil {
			end.kept.redact(mark)
		}
	}
	for _, d := range h.decided {
		if slices.Contains(fields, "note") {
			d.note = ""
		}
	}
	if h.kept != nil {
		h.kept.redact(mark)
	}
	h.redacted = append(slices.Clone(h.redacted), mark)
	d := &decision{fields: map[string]any{}, marks: slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return f == "note" })}
	for _, field := range d.marks {
		d.fields[field] = h.Now().get(field)
	}
	h.decided = append(h.decided, d)
	without := withoutAny(removed)
	rewrite := func(r hazard.Report) *hazard.Report { return withoutTexts(r, without, speaks(fields)) }
	given := map[uuid.UUID]bool{}
	for id, of := range w.gave {
		given[id] = of == h
	}
	said := func(list []*Product) []*Product {
		list = slices.Clone(list)
		for i, p := range list {
			if given[p.UUID] {
				other := *p
				other.Title, _ = without(p.Title)
				list[i] = &other
			}
		}
		return list
	}
	w.products = said(w.products)
	for _, e := range w.partOf(h) {
		w.changed[e], w.folders[e] = said(w.changed[e]), said(w.folders[e])
		for i, t := range e.told {
			if t.report != nil {
				e.told[i].report = rewrite(*t.report)
			}
		}
		for _, held := range w.Held {
			for n, o := 0, e; o != nil; n++ { // the name may have been reused since
				if o = w.event(Name{held.Report.Source, epoch(held.Report.Key, n)}); o == e {
					held.Report = *rewrite(held.Report)
				}
			}
		}
	}
	w.settle(at)
	h.touch(at)
	h.Now().Redacted = h.redacted
	return func(then []Product) {
		for i := range then {
			if p := &then[i]; given[p.UUID] {
				p.Title, _ = without(p.Title)
			}
		}
	}
}

// speaks reports whether the texts by language also contain one of the fields.
func speaks(fields []string) bool {
	return slices.Contains(fields, "hazard_Name") || slices.Contains(fields, "description")
}

// redact removes texts from a state and marks it. It returns the texts, and whether there was
// anything to remove.
func (s *State) redact(mark hazard.Redaction) (removed []string, found bool) {
	for _, field := range mark.Fields {
		by := ""
		if field == "hazard_Name" { // this field is never empty
			by = hazard.RedactedText
		}
		if text := s.get(field).(string); text != by {
			removed = append(removed, text)
			s.set(field, by)
		}
	}
	found = len(removed) > 0
	if speaks(mark.Fields) && len(s.Texts) > 0 {
		for _, t := range s.Texts { // they say the same in other languages
			if slices.Contains(mark.Fields, "hazard_Name") {
				removed = append(removed, t.Name)
			}
			if slices.Contains(mark.Fields, "description") {
				removed = append(removed, t.Description, t.Headline, t.Lead, t.Contact, t.Area)
			}
		}
		s.Texts, found = nil, true
	}
	if found {
		s.Redacted = append(slices.Clone(s.Redacted), mark)
	}
	return removed, found
}

// withoutAny removes texts from others that repeat them, and reports whether it did. Short texts
// can be parts of other words, so they are removed only if they are the whole text.
func withoutAny(removed []string) func(string) (string, bool) {
	removed = slices.Clone(removed)
	for _, text := range removed {
		before, _, _ := strings.Cut(text, "\n\nNote: ")
		removed = append(removed, before)
	}
	slices.SortFunc(removed, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return func(said string) (string, bool) {
		left := said
		for _, text := range removed {
			switch {
			case text != "" && said == text:
				left = hazard.RedactedText
			case len(text) >= 4:
				left = strings.ReplaceAll(left, text, hazard.RedactedText)
			}
		}
		return left, left != said
	}
}

// withoutTexts returns a report with parts of its texts removed. If languages is set, it also
// removes all texts by language.
func withoutTexts(r hazard.Report, without func(string) (string, bool), languages bool) *hazard.Report {
	r.Texts, r.Products = slices.Clone(r.Texts), slices.Clone(r.Products)
	if languages {
		r.Texts = nil
	}
	said := []*string{&r.Name, &r.Description, &r.Comment}
	for i := range r.Texts {
		said = append(said, &r.Texts[i].Name, &r.Texts[i].Description)
	}
	for i := range r.Products {
		said = append(said, &r.Products[i].Title, &r.Products[i].Data)
	}
	for _, s := range said {
		*s, _ = without(*s)
	}
	for _, s := range []*string{&r.URL, &r.Called} {
		if _, found := without(*s); found {
			*s = ""
		}
	}
	return &r
}
