// Package lang chooses in which of its languages a hazard is shown to a reader.
//
// A Wish is a list of preferred languages, best first: from the parameter lang, the header
// Accept-Language, or the server's settings. It is matched with the languages of the authorities'
// texts (hazard.Text) by golang.org/x/text/language, so "fr-CH" matches "fr" (RFC 4647 and CLDR).
// If none matches, the hazard is shown as stored. Nothing is translated.
//
// Answers depend on the texts that are chosen, not on the wish. Sets.Key is equal for all wishes
// that choose the same texts, so a cache holds no more versions than there are languages.
//
// A Wish and Sets are safe for concurrent use, a Reader is not.
package lang

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"golang.org/x/text/language"

	"github.com/hazardd/hazardd/internal/hazard"
)

// The limits of a wish: browsers send about ten languages.
const (
	maxBytes = 500
	maxTags  = 16
)

// Wish is a list of languages, in the order of a reader's preference. The zero Wish is empty.
type Wish struct{ tags []language.Tag }

// None reports whether the wish is empty.
func (w Wish) None() bool { return len(w.tags) == 0 }

// String returns the languages in the syntax of Parse.
func (w Wish) String() string {
	words := make([]string, len(w.tags))
	for i, t := range w.tags {
		words[i] = t.String()
	}
	return strings.Join(words, ",")
}

// Tags returns the languages in order. The caller must not change the slice.
func (w Wish) Tags() []language.Tag { return w.tags }

// Or returns the languages of w, followed by those of other.
func (w Wish) Or(other Wish) Wish { return Wish{slices.Concat(w.tags, other.tags)} }

// Parse parses language tags (RFC 5646), separated by commas. A valid tag of an unknown language
// matches nothing. An error names the invalid tag.
func Parse(list string) (Wish, error) {
	if len(list) > maxBytes {
		return Wish{}, fmt.Errorf("has %d bytes, at most %d are allowed", len(list), maxBytes)
	}
	var w Wish
	for word := range strings.SplitSeq(list, ",") {
		word = strings.TrimSpace(word)
		t, err := language.Parse(word)
		var unknown language.ValueError
		if err != nil && !errors.As(err, &unknown) || word == "" {
			return Wish{}, fmt.Errorf("%.40q is not a language; expected tags such as fr or pt-BR, separated by commas", word)
		}
		if err == nil && t != language.Und {
			w.tags = append(w.tags, t)
		}
	}
	if len(w.tags) > maxTags {
		return Wish{}, fmt.Errorf("has %d languages, at most %d are allowed", len(w.tags), maxTags)
	}
	return w, nil
}

// Accepted parses the header Accept-Language (RFC 9110, section 12.5.4), in the order of its
// weights. It ignores what is invalid or exceeds the limits, because browsers send the header
// unasked. A wildcard has no effect.
func Accepted(lines []string) Wish {
	if len(lines) == 0 {
		return Wish{}
	}
	field := strings.Join(lines, ",")
	if len(field) > maxBytes {
		field = field[:maxBytes]
		field = field[:max(0, strings.LastIndexByte(field, ','))]
	}
	tags, weights, err := language.ParseAcceptLanguage(field)
	if err != nil { // one bad item spoils the list for that reader
		tags, weights = nil, nil
		for item := range strings.SplitSeq(field, ",") {
			if t, q, err := language.ParseAcceptLanguage(item); err == nil {
				tags, weights = append(tags, t...), append(weights, q...)
			}
		}
		order := make([]int, len(tags))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return int(1000 * (weights[b] - weights[a])) })
		sorted := make([]language.Tag, len(tags))
		liked := make([]float32, len(tags))
		for i, j := range order {
			sorted[i], liked[i] = tags[j], weights[j]
		}
		tags, weights = sorted, liked
	}
	var w Wish
	for i, t := range tags {
		if weights[i] > 0 && !t.IsRoot() && t.String() != "mul" && len(w.tags) < maxTags {
			w.tags = append(w.tags, t)
		}
	}
	return w
}

// Miles reports whether the reader's units are those of the United States: whether the first language
// is that of a region that uses them (CLDR, measurement system US), as "en-US". The map does the same
// (web/src/units.ts).
func (w Wish) Miles() bool {
	if len(w.tags) == 0 {
		return false
	}
	_, _, region := w.tags[0].Raw()
	return region.String() == "US" || region.String() == "LR"
}

// RTL reports whether a language is written from right to left.
func RTL(tag string) bool {
	t, err := language.Parse(tag)
	if err != nil {
		return false
	}
	script, _ := t.Script()
	return slices.Contains([]string{"Arab", "Hebr", "Syrc", "Thaa", "Nkoo", "Adlm", "Rohg", "Mand", "Samr"}, script.String())
}

// set is the set of languages of a hazard.
type set struct {
	key     string
	tags    []language.Tag
	first   []int // for each tag, the number of the hazard's first text in it
	matcher language.Matcher
	written map[int]string // for each of those texts, the tag as its author wrote it
}

// keyOf returns a key for the languages of texts, in their order.
func keyOf(texts []hazard.Text) string {
	if len(texts) == 1 {
		return texts[0].Language
	}
	var b strings.Builder
	for i := range texts {
		b.WriteString(texts[i].Language)
		b.WriteByte(',')
	}
	return b.String()
}

func newSet(key string, texts []hazard.Text) *set {
	s := &set{key: key, written: map[int]string{}}
	for i := range texts {
		t, err := language.Parse(texts[i].Language)
		if err != nil || t.IsRoot() || slices.Contains(s.tags, t) {
			continue
		}
		s.tags, s.first, s.written[i] = append(s.tags, t), append(s.first, i), texts[i].Language
	}
	if len(s.tags) > 0 {
		s.matcher = language.NewMatcher(s.tags)
	}
	return s
}

// choose returns the number of the text that matches w best; -1 if none does.
func (s *set) choose(w Wish) int {
	if s.matcher == nil || len(w.tags) == 0 {
		return -1
	}
	// Each wish by itself, since the library would have an exact match for a later one go before "fr-CA" for "fr". A language that
	// most who wish another one understand, as those who wish Swahili understand English, comes last: with "sw,fr" it comes after French.
	understood := -1
	for _, t := range w.tags {
		_, i, confidence := s.matcher.Match(t)
		if confidence >= language.High && base(t) == base(s.tags[i]) {
			return s.first[i]
		}
		if confidence >= language.Low && understood < 0 {
			understood = s.first[i]
		}
	}
	return understood
}

// base returns the language of a tag without script and region; "no" and "nb" are the same.
func base(t language.Tag) language.Base {
	if canonical, err := language.All.Canonicalize(t); err == nil {
		t = canonical
	}
	b, _ := t.Base()
	return b
}

// maxChosen limits what a Reader keeps, because a stream uses one for days.
const maxChosen = 64

// Reader chooses a text for one hazard after the other, for one wish.
type Reader struct {
	wish   Wish
	chosen map[string]int
	used   []string
}

// Reader returns a Reader for w.
func (w Wish) Reader() *Reader { return &Reader{wish: w} }

// Text returns the number of the text of h that matches the wish best. It is -1 if none does, or if
// that text is the one that h has as stored.
func (r *Reader) Text(h *hazard.Hazard) int {
	if r == nil || len(r.wish.tags) == 0 || len(h.Texts) == 0 {
		return -1
	}
	key := keyOf(h.Texts)
	i, ok := r.chosen[key]
	if !ok {
		if r.chosen == nil {
			r.chosen = map[string]int{}
		}
		if len(r.chosen) >= maxChosen {
			clear(r.chosen)
		}
		i = newSet(key, h.Texts).choose(r.wish)
		r.chosen[key] = i
	}
	if i < 0 || h.Texts[i].Own {
		return -1
	}
	return i
}

// maxUsed is the maximum number of languages that an answer names.
const maxUsed = 8

// Of returns the hazard in the language for the reader.
func (r *Reader) Of(h *hazard.Hazard) *hazard.Hazard {
	if i := r.Text(h); i >= 0 {
		h = h.In(&h.Texts[i])
	}
	if t := h.Says(); r != nil && t != nil && len(r.used) < maxUsed && !slices.Contains(r.used, t.Language) {
		r.used = append(r.used, t.Language)
	}
	return h
}

// All applies Of to each hazard of list.
func (r *Reader) All(list iter.Seq2[*hazard.Hazard, int]) iter.Seq2[*hazard.Hazard, int] {
	return func(yield func(*hazard.Hazard, int) bool) {
		for h, n := range list {
			if !yield(r.Of(h), n) {
				return
			}
		}
	}
}

// Used returns the languages of the hazards that Of has returned, as far as known; at most 8.
func (r *Reader) Used() []string { return r.used }

// Sets are the sets of languages of many hazards.
type Sets struct {
	all  []*set
	owns map[string][]int // for each set, the stored texts of hazards; -1 for none
}

// SetsOf returns the sets of languages of hazards.
func SetsOf(hazards iter.Seq2[*hazard.Hazard, int]) *Sets {
	s := &Sets{owns: map[string][]int{}}
	for h := range hazards {
		if len(h.Texts) == 0 {
			continue
		}
		key := keyOf(h.Texts)
		own := slices.IndexFunc(h.Texts, func(t hazard.Text) bool { return t.Own })
		known, ok := s.owns[key]
		if !ok {
			s.all = append(s.all, newSet(key, h.Texts))
		}
		if !slices.Contains(known, own) {
			s.owns[key] = append(known, own)
		}
	}
	slices.SortFunc(s.all, func(a, b *set) int { return strings.Compare(a.key, b.key) })
	return s
}

// Met returns the languages that are chosen for w, in the authorities' spelling and the order of w;
// at most 8.
func (s *Sets) Met(w Wish) []string {
	var met []string
	for _, t := range w.tags {
		for _, set := range s.all {
			if i := set.choose(Wish{[]language.Tag{t}}); i >= 0 && set.choose(w) == i && len(met) < maxUsed {
				if tag := set.written[i]; !slices.Contains(met, tag) {
					met = append(met, tag)
				}
			}
		}
	}
	return met
}

// Key returns a key that is equal for wishes that choose the same texts. It is empty for those that
// choose only stored texts.
func (s *Sets) Key(w Wish) string {
	if w.None() {
		return ""
	}
	var b strings.Builder
	for n, set := range s.all {
		if i := set.choose(w); i >= 0 && slices.ContainsFunc(s.owns[set.key], func(own int) bool { return own != i }) {
			fmt.Fprintf(&b, "%d:%d ", n, i)
		}
	}
	return b.String()
}
