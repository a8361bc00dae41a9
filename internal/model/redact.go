package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Redact is that an admin removes texts of a hazard for good: from every state that it has had, and where its sources' reports repeat them.
// No source brings them back.
func (w *World) Redact(h *Hazard, fields []string, reason string, at instant) {
	w.Pass(at)
	mark := hazard.Redaction{Fields: fields, User: w.By.Name, At: at, Reason: reason}
	var removed []string
	found := false
	for i := range h.Past {
		texts, any := h.Past[i].redact(mark)
		removed, found = append(removed, texts...), found || any
	}
	if !found {
		return
	}
	for _, end := range h.Ends { // what it goes on with when an end is taken back
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
	rewrite := func(r hazard.Report) *hazard.Report { return withoutTexts(r, removed, speaks(fields)) }
	for _, e := range w.partOf(h) {
		for i, t := range e.told {
			if t.report != nil {
				e.told[i].report = rewrite(*t.report)
			}
		}
		for _, held := range w.Held {
			if w.event(Name{held.Report.Source, held.Report.Key}) == e {
				held.Report = *rewrite(held.Report)
			}
		}
	}
	w.settle(at)
	h.touch(at)
	h.Now().Redacted = h.redacted
}

// speaks reports whether one of fields is what the texts by language say too.
func speaks(fields []string) bool {
	return slices.Contains(fields, "hazard_Name") || slices.Contains(fields, "description")
}

// redact takes texts out of a state, and marks it. It returns them, and whether there was anything to take.
func (s *State) redact(mark hazard.Redaction) (removed []string, found bool) {
	for _, field := range mark.Fields {
		by := ""
		if field == "hazard_Name" { // which is never empty
			by = hazard.RedactedText
		}
		if text := s.get(field).(string); text != by {
			removed = append(removed, text)
			s.set(field, by)
		}
	}
	found = len(removed) > 0
	if speaks(mark.Fields) && len(s.Texts) > 0 {
		s.Texts, found = nil, true
	}
	if found {
		s.Redacted = append(slices.Clone(s.Redacted), mark)
	}
	return removed, found
}

// withoutTexts is a report that says nothing of removed, and, if languages is set, nothing by language. Shorter texts are parts of other words.
func withoutTexts(r hazard.Report, removed []string, languages bool) *hazard.Report {
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
	removed = slices.Clone(removed)
	for _, text := range removed {
		before, _, _ := strings.Cut(text, "\n\nNote: ")
		removed = append(removed, before)
	}
	slices.SortFunc(removed, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	for _, text := range removed {
		if len(text) < 4 {
			continue
		}
		for _, s := range said {
			*s = strings.ReplaceAll(*s, text, hazard.RedactedText)
		}
		if strings.Contains(r.URL, text) {
			r.URL = ""
		}
		if strings.Contains(r.Called, text) {
			r.Called = ""
		}
	}
	return &r
}
