package hazard

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// Text is what an authority says in one language: one info block of a CAP alert (CAP 1.2, section 3.2.2). The texts are the
// authority's own words; nobody has translated them.
type Text struct {
	// Language is a tag of RFC 5646, as the authority writes it ("fr-CA").
	Language string `json:"lang"`
	// Own: the hazard's name and description are made of this text.
	Own bool `json:"own,omitzero"`
	// Name is the hazard's name in this language, and Lead the line with which its description begins.
	Name string `json:"name"`
	Lead string `json:"lead,omitzero"`

	Event       string   `json:"event,omitzero"`
	Headline    string   `json:"headline,omitzero"`
	Description string   `json:"description,omitzero"` // without the instruction
	Instruction string   `json:"instruction,omitzero"` // what people are told to do
	Responses   []string `json:"responses,omitzero"`   // CAP's words for that: "Shelter", "Evacuate"
	Sender      string   `json:"sender,omitzero"`      // the name of who speaks
	Contact     string   `json:"contact,omitzero"`
	Web         string   `json:"web,omitzero"` // an address of http or https
	Audience    string   `json:"audience,omitzero"`
	Area        string   `json:"area,omitzero"` // the names of its areas
	// Severity is the level of the block by itself.
	Severity Severity `json:"severity,omitzero"`
	// Until is when what the text says is over, where that is before the report's own end; 0: it is not.
	Until Instant `json:"until,omitzero"`
}

// The bounds of the texts of one hazard. Real alerts have up to six blocks and 20 kB.
const (
	MaxTexts     = 24
	MaxTextBytes = 128 << 10
)

// Size is how much the text takes, in bytes.
func (t *Text) Size() int {
	n := len(t.Language) + len(t.Name) + len(t.Lead) + len(t.Event) + len(t.Headline) + len(t.Description) + len(t.Instruction) +
		len(t.Sender) + len(t.Contact) + len(t.Web) + len(t.Audience) + len(t.Area)
	for _, r := range t.Responses {
		n += len(r)
	}
	return n
}

// Body is the text as the description of a base record has it: in paragraphs, the instruction last.
func (t *Text) Body() string {
	return strings.Join(slices.DeleteFunc([]string{t.Lead, t.Headline, t.Description, t.Instruction}, func(s string) bool { return s == "" }), "\n\n")
}

// SizeOfTexts is how much texts take together, in bytes.
func SizeOfTexts(texts []Text) (n int) {
	for i := range texts {
		n += texts[i].Size()
	}
	return n
}

// BoundTexts returns texts without those that say what one before says too, and no more than MaxTexts and MaxTextBytes of them. What
// comes first stays first; the first text of each language goes before all others that are to stay.
func BoundTexts(texts []Text) []Text {
	keep := make([]bool, len(texts))
	n, size, languages := 0, 0, map[string]bool{}
	take := func(i int) {
		if s := texts[i].Size(); !keep[i] && n < MaxTexts && size+s <= MaxTextBytes {
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

// sameText reports whether two texts say the same, whatever they are to their hazard.
func sameText(a, b *Text) bool {
	x, y := *a, *b
	x.Own, y.Own, x.Severity, y.Severity, x.Until, y.Until, x.Lead, y.Lead = false, false, 0, 0, 0, 0, "", ""
	x.Language, y.Language = strings.ToLower(x.Language), strings.ToLower(y.Language) // tags do not differ by case (RFC 5646, section 2.1.1)
	return reflect.DeepEqual(x, y)
}

// addTexts adds texts of a part that does not name the hazard, as they are at now, and returns when the next of them is over.
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

// otherLanguages adds the texts in languages that are not there.
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

// OwnText is the text that the hazard's name and description are made of; nil if it is not known.
func (h *Hazard) OwnText() *Text {
	if i := slices.IndexFunc(h.Texts, func(t Text) bool { return t.Own }); i >= 0 {
		return &h.Texts[i]
	}
	return nil
}

// Spoken is the text in which a hazard reads, and its stored name and description.
type Spoken struct {
	Text              *Text
	Name, Description string
}

// In is the hazard as it reads in the language of one of its Texts. What an editor wrote stays in every language.
func (h *Hazard) In(t *Text) *Hazard {
	said := *h.Stored()
	said.Spoken = &Spoken{t, said.Name, said.Description}
	if t.Own {
		return &said
	}
	if !h.EditedField("hazard_Name") {
		said.Name = cmp.Or(CleanLine(t.Name), said.Name)
	}
	if body := Clean(t.Body()); body != "" && !h.EditedField("description") {
		said.Description = body
	}
	return &said
}

// Stored is the hazard as it reads without In.
func (h *Hazard) Stored() *Hazard {
	if h.Spoken == nil {
		return h
	}
	stored := *h
	stored.Name, stored.Description, stored.Spoken = h.Spoken.Name, h.Spoken.Description, nil
	return &stored
}

// Says is the text that the hazard is read in: that of In, else its own; nil if none is known.
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

// Languages are those of the hazard's texts, each once, as their authors write them.
func (h *Hazard) Languages() []string {
	var all []string
	for i := range h.Texts {
		if l := h.Texts[i].Language; !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	return all
}
