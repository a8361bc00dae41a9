package query

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Phrase is words that must follow each other in one text. With Prefix the last one also
// matches words that begin with it.
type Phrase struct {
	Words  []string // as Words gives them
	Prefix bool
}

// maxWord is what is kept of a word, in bytes: what is longer is none.
const maxWord = 64

// textWords is the words of a text, in order: runs of letters and digits, without case, accents and other marks that are written on or under
// letters (Unicode: NFKD, full case folding, no Mn). Scripts that write without blanks give one word for each letter, so that
// any part of a sentence is found as a phrase.
func textWords(s string) []string {
	var words []string
	start := -1
	end := func(i int) {
		if start >= 0 {
			words = append(words, cut(s[start:i]))
			start = -1
		}
	}
	s = fold(s)
	for i, r := range s {
		switch {
		case r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9'),
			r >= utf8.RuneSelf && unicode.In(r, unicode.L, unicode.N, unicode.Mc) && !alone(r):
			if start < 0 {
				start = i
			}
		default:
			if end(i); r >= utf8.RuneSelf && alone(r) {
				words = append(words, string(r))
			}
		}
	}
	end(len(s))
	return words
}

// alone reports whether a letter is of a script that puts no blanks between words.
func alone(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) && unicode.In(r, unicode.L, unicode.Mc)
}

func cut(word string) string {
	if len(word) <= maxWord {
		return word
	}
	i := maxWord
	for !utf8.RuneStart(word[i]) {
		i--
	}
	return word[:i]
}

// plainLetters are letters that people also write without their stroke, and that Unicode does not take apart.
var plainLetters = strings.NewReplacer("ł", "l", "ø", "o", "đ", "d", "ı", "i", "ħ", "h", "ð", "d", "þ", "th", "æ", "ae", "œ", "oe")

// fold takes case and marks away. The last ToLower is for Cherokee, whose small letters fold to capitals.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Cf, r) {
					return -1
				}
				return r
			}, norm.NFKD.String(plainLetters.Replace(strings.ToLower(cases.Fold().String(norm.NFKD.String(s))))))
		}
	}
	return strings.ToLower(s)
}

// WordsOf is the words by which a hazard is found: those of its name, and those of its description and of what is said of it in other
// languages, one text after the other.
func WordsOf(h *hazard.Hazard) (name, description []string) {
	name, description = textWords(h.Name), textWords(h.Description)
	for i := range h.Texts {
		t := &h.Texts[i]
		if t.Own { // its words are in the description
			continue
		}
		for _, text := range [...]string{t.Name, t.Headline, t.Description, t.Instruction, t.Area} {
			description = append(description, textWords(text)...)
		}
	}
	return name, description
}

// TextIsWords reports whether Text asks for words alone, in any order, and for no phrase of several.
func (f *Filter) TextIsWords() bool {
	return !slices.ContainsFunc(f.Text, func(p Phrase) bool { return len(p.Words) > 1 })
}

// MatchText reports whether h says all that the filter's Text asks for.
func (f *Filter) MatchText(h *hazard.Hazard) bool {
	if len(f.Text) == 0 {
		return true
	}
	name, description := WordsOf(h)
	for _, p := range f.Text {
		if !p.in(name) && !p.in(description) {
			return false
		}
	}
	return true
}

// MayMatchText is false only if MatchText is, for the hazard whose JSON state is. It costs a hundredth.
func (f *Filter) MayMatchText(state string) bool {
	var room [4096]byte // for most states
	lower := append(room[:0], state...)
	for i, c := range lower {
		switch {
		case c >= utf8.RuneSelf || c == '\\' && i+1 < len(state) && state[i+1] == 'u':
			return true // a letter may stand there in another form
		case 'A' <= c && c <= 'Z':
			lower[i] = c + 'a' - 'A'
		}
	}
	for _, p := range f.Text {
		for _, w := range p.Words {
			if !bytes.Contains(lower, []byte(w)) {
				return false
			}
		}
	}
	return true
}

func (p Phrase) in(words []string) bool {
	last := len(p.Words) - 1
	for i := range len(words) - last {
		found := true
		for j, w := range p.Words {
			if got := words[i+j]; got != w && !(p.Prefix && j == last && strings.HasPrefix(got, w)) {
				found = false
				break
			}
		}
		if found {
			return true
		}
	}
	return false
}
