package hazard

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// Text is what an authority says in one language: one info block of a CAP alert (CAP 1.2, section
// 3.2.2). It is never a translation by this service.
type Text struct {
	// Language is a tag of RFC 5646 in the authority's spelling ("fr-CA").
	Language string `json:"lang"`
	// Own means that the hazard's name and description come from this text.
	Own bool `json:"own,omitzero"`
	// Name is the hazard's name in this language. Lead is the first line of its description.
	Name string `json:"name"`
	Lead string `json:"lead,omitzero"`

	Event       string   `json:"event,omitzero"`
	Headline    string   `json:"headline,omitzero"`
	Description string   `json:"description,omitzero"` // without the instruction
	Instruction string   `json:"instruction,omitzero"` // instructions for the public
	Responses   []string `json:"responses,omitzero"`   // CAP's terms for them: "Shelter", "Evacuate"
	Sender      string   `json:"sender,omitzero"`      // name of the issuer
	Contact     string   `json:"contact,omitzero"`
	Web         string   `json:"web,omitzero"` // an http or https address
	Audience    string   `json:"audience,omitzero"`
	Area        string   `json:"area,omitzero"` // names of its areas
	// Severity is the level of this block alone.
	Severity Severity `json:"severity,omitzero"`
	// Until is when the text expires, if that is before the report's own end; otherwise 0.
	Until Instant `json:"until,omitzero"`
}

// The limits of one hazard's texts. Real alerts have up to six blocks and 20 kB.
const (
	MaxTexts     = 24
	MaxTextBytes = 128 << 10
)

// size returns the size of the text in bytes.
func (t *Text) size() int {
	n := len(t.Language) + len(t.Name) + len(t.Lead) + len(t.Event) + len(t.Headline) + len(t.Description) + len(t.Instruction) +
		len(t.Sender) + len(t.Contact) + len(t.Web) + len(t.Audience) + len(t.Area)
	for _, r := range t.Responses {
		n += len(r)
	}
	return n
}

// body returns the text as the description in a base record: in paragraphs, the instruction last.
func (t *Text) body() string {
	return strings.Join(slices.DeleteFunc([]string{t.Lead, t.Headline, t.Description, t.Instruction}, func(s string) bool { return s == "" }), "\n\n")
}

// SizeOfTexts returns the size of all texts in bytes.
func SizeOfTexts(texts []Text) (n int) {
	for i := range texts {
		n += texts[i].size()
	}
	return n
}

// BoundTexts removes repeated texts and those beyond MaxTexts and MaxTextBytes. It keeps the order;
// the first text of each language has priority over the others.
func BoundTexts(texts []Text) []Text {
	keep := make([]bool, len(texts))
	n, size, languages := 0, 0, map[string]bool{}
	take := func(i int) {
		if s := texts[i].size(); !keep[i] && n < MaxTexts && size+s <= MaxTextBytes {
			keep[i] = true
			n, size = n+1, size+s
		}
	}
	again := make([]bool, len(texts))
	for i := range texts {
		again[i] = slices.ContainsFunc(texts[:i], func(o Text) bool { return sameText(&o, &texts[i]) })
		if l := strings.ToLower(texts[i].Language); !again[i] && !languages[l] {
			languages[l] = true
			take(i)
		}
	}
	var kept []Text
	for i := range texts {
		if !again[i] {
			take(i)
		}
		if keep[i] {
			kept = append(kept, texts[i])
		}
	}
	return kept
}

// sameText reports whether two texts have the same content, ignoring Own.
func sameText(a, b *Text) bool {
	x, y := *a, *b
	x.Own, y.Own, x.Severity, y.Severity, x.Until, y.Until, x.Lead, y.Lead = false, false, 0, 0, 0, 0, "", ""
	x.Language, y.Language = strings.ToLower(x.Language), strings.ToLower(y.Language) // tags are case-insensitive (RFC 5646, section 2.1.1)
	return reflect.DeepEqual(x, y)
}

// addTexts adds the texts, as of now, of a part that does not name the hazard. It also returns when
// the next of them expires.
func addTexts(all, more []Text, now Instant, own bool) ([]Text, Instant) {
	next := MaxInstant
	for _, t := range more {
		if t.Until != 0 && t.Until <= now {
			continue
		}
		if t.Until != 0 {
			next = min(next, t.Until)
		}
		t.Own = t.Own && own
		all = append(all, t)
	}
	return all, next
}

// otherLanguages adds the texts in languages that all lacks.
func otherLanguages(all, more []Text) []Text {
	have := len(all)
	for _, t := range more {
		if slices.ContainsFunc(all[:have], func(o Text) bool { return strings.EqualFold(o.Language, t.Language) }) {
			continue
		}
		t.Own = false
		all = append(all[:len(all):len(all)], t)
	}
	return all
}

// OwnText returns the text from which the hazard's name and description come, or nil if unknown.
func (h *Hazard) OwnText() *Text {
	if i := slices.IndexFunc(h.Texts, func(t Text) bool { return t.Own }); i >= 0 {
		return &h.Texts[i]
	}
	return nil
}

// Spoken is the text in whose language a hazard is presented, with its stored name and description.
type Spoken struct {
	Text              *Text
	Name, Description string
}

// In returns the hazard in the language of one of its Texts. Fields set by an editor stay the same
// in every language.
func (h *Hazard) In(t *Text) *Hazard {
	state := *h.Stored()
	state.Spoken = &Spoken{t, state.Name, state.Description}
	if t.Own {
		return &state
	}
	if !h.EditedField("hazard_Name") {
		state.Name = cmp.Or(CleanLine(t.Name), state.Name)
	}
	if body := Clean(t.body()); body != "" && !h.EditedField("description") {
		state.Description = body
	}
	return &state
}

// Stored undoes In.
func (h *Hazard) Stored() *Hazard {
	if h.Spoken == nil {
		return h
	}
	stored := *h
	stored.Name, stored.Description, stored.Spoken = h.Spoken.Name, h.Spoken.Description, nil
	return &stored
}

// Says returns the text that the hazard is presented in: the one of In, otherwise OwnText; nil if
// unknown.
func (h *Hazard) Says() *Text {
	if h.Spoken != nil {
		return h.Spoken.Text
	}
	return h.OwnText()
}

// EqualTexts reports whether the texts are the same, in the same order.
func EqualTexts(a, b []Text) bool {
	return slices.EqualFunc(a, b, func(x, y Text) bool { return reflect.DeepEqual(x, y) })
}

// Languages returns the distinct languages of the hazard's texts, in their authors' spelling.
func (h *Hazard) Languages() []string {
	var all []string
	for i := range h.Texts {
		if l := h.Texts[i].Language; !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	return all
}
