package edit

import (
	"archive/zip"
	"bytes"
	"cmp"
	"html"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// The sizes of redacted texts.
const (
	// shortestRepeated is the minimum length, in bytes, of a redacted text that is also removed from
	// inside other texts. Shorter ones are often parts of other words; they are removed only where
	// they are the whole text.
	shortestRepeated = 4
	// shortestPiece is the minimum of letters of a redacted text, or of a sentence of it, that is
	// removed however its letters are spaced and punctuated.
	shortestPiece = 20
	// distinctive is the number of letters from which on a text is hardly the text of another event.
	distinctive = 40
)

// removal removes redacted texts from other texts that contain them.
type removal struct {
	texts    []string // longest first, because one may be part of another
	replacer *strings.Replacer
	pieces   [][]byte // the letters of the texts and of their sentences, longest first
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
		for _, piece := range append(sentences(t), t) {
			if l := lettersOf(piece); utf8.RuneCount(l.text) >= shortestPiece {
				r.pieces = append(r.pieces, l.text)
			}
		}
	}
	slices.SortFunc(r.pieces, func(a, b []byte) int { return cmp.Or(cmp.Compare(len(b), len(a)), bytes.Compare(a, b)) })
	r.pieces = slices.CompactFunc(r.pieces, bytes.Equal)
	r.replacer = strings.NewReplacer(pairs...)
	return &r
}

// sentences splits a text where its authors may have put it together: at the ends of lines and
// sentences.
func sentences(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\n.!?。！？", r) })
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
			r.spaced(text)
			return true
		}
	}
	return r.spaced(text)
}

// spaced removes the pieces, however they are spaced, punctuated and capitalized.
func (r *removal) spaced(text *string) (found bool) {
	if len(r.pieces) == 0 || len(*text) < shortestPiece {
		return false
	}
	in := lettersOf(*text)
	for _, piece := range r.pieces {
		for {
			begin, end, ok := in.find(*text, piece)
			if !ok {
				break
			}
			*text, found = (*text)[:begin]+hazard.RedactedText+(*text)[end:], true
			in = lettersOf(*text)
		}
	}
	return found
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

// letters are the letters and digits of a text in lower case, and where each byte of them comes
// from.
type letters struct {
	text []byte
	at   []int32
}

func lettersOf(text string) letters {
	l := letters{make([]byte, 0, len(text)), make([]int32, 0, len(text))}
	for i, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			continue
		}
		before := len(l.text)
		l.text = utf8.AppendRune(l.text, unicode.ToLower(r))
		for range len(l.text) - before {
			l.at = append(l.at, int32(i))
		}
	}
	return l
}

// find finds a piece in the text that the letters are of, as whole words where words are spaced.
func (l letters) find(text string, piece []byte) (begin, end int, ok bool) {
	for from := 0; ; {
		i := bytes.Index(l.text[from:], piece)
		if i < 0 {
			return 0, 0, false
		}
		i += from
		from = i + 1
		begin = int(l.at[i])
		last := int(l.at[i+len(piece)-1])
		first, _ := utf8.DecodeRuneInString(text[begin:])
		final, size := utf8.DecodeRuneInString(text[last:])
		end = last + size
		before, _ := utf8.DecodeLastRuneInString(text[:begin])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !(spacedLetter(before) && spacedLetter(first)) && !(spacedLetter(after) && spacedLetter(final)) {
			return begin, end, true
		}
	}
}

// spacedLetter reports whether r is a letter or a digit of a script that puts spaces between words.
func spacedLetter(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// payloads finds the payloads of sources that hold redacted texts.
type payloads struct {
	*removal
	long  [][]byte // letters of the texts that are distinctive
	short [][]byte // of the others
	words [][]byte // one word of each text: a payload without any of them holds none; nil: not known
	about [][]byte // names of the events
	named []string // digests of payloads that are about the hazard
}

// payloads returns a search for payloads of these origins that hold the texts.
func (r *removal) payloads(of store.Origins) *payloads {
	p := &payloads{removal: r, named: of.Payloads}
	for _, name := range of.Names {
		if len(name) > shortestRepeated {
			p.about = append(p.about, []byte(name))
		}
	}
	all := true
	for _, t := range r.texts {
		l := lettersOf(t)
		if utf8.RuneCount(l.text) < shortestRepeated {
			continue
		}
		if utf8.RuneCount(l.text) >= distinctive {
			p.long = append(p.long, l.text)
		} else {
			p.short = append(p.short, l.text)
		}
		word := longestWord(t)
		all = all && word != ""
		p.words = append(p.words, []byte(word), []byte(strings.ToUpper(word)), []byte(strings.ToLower(word)))
	}
	if !all {
		p.words = nil
	}
	return p
}

// longestWord returns the longest word of ASCII letters, which every encoding of text leaves as it
// is; empty if there is none of some length.
func longestWord(text string) (longest string) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) }) {
		if len(word) > len(longest) {
			longest = word
		}
	}
	if len(longest) < shortestRepeated {
		return ""
	}
	return longest
}

// hold reports whether a payload holds a text: a distinctive one, or any if the payload is about the
// hazard.
func (p *payloads) hold(digest string, payload []byte) bool {
	if packed, err := zip.NewReader(bytes.NewReader(payload), int64(len(payload))); err == nil {
		return slices.ContainsFunc(packed.File, func(f *zip.File) bool {
			content, err := f.Open()
			if err != nil {
				return false
			}
			defer content.Close()
			const most = 64 << 20
			inside, _ := io.ReadAll(io.LimitReader(content, most)) // as far as it can be read
			return p.hold(digest, inside)
		})
	}
	if p.words != nil && !slices.ContainsFunc(p.words, func(w []byte) bool { return bytes.Contains(payload, w) }) {
		return false
	}
	about := slices.Contains(p.named, digest) || slices.ContainsFunc(p.about, func(name []byte) bool { return bytes.Contains(payload, name) })
	for begin := 0; ; begin += window - overlap {
		end := min(begin+window, len(payload))
		if p.in(string(payload[begin:end]), about) {
			return true
		}
		if end == len(payload) {
			return false
		}
	}
}

// What is looked through at once, in bytes, because it is unpacked in memory; and what two steps
// share, because a text may lie across their border.
const (
	window  = 4 << 20
	overlap = 512 << 10
)

// in reports whether a part of a payload holds a text.
func (p *payloads) in(part string, about bool) bool {
	text := unescape(part)
	for _, text := range []string{text, markup.ReplaceAllString(text, " ")} {
		l := lettersOf(text)
		in := func(piece []byte) bool {
			_, _, found := l.find(text, piece)
			return found
		}
		if slices.ContainsFunc(p.long, in) || about && (slices.ContainsFunc(p.short, in) || slices.ContainsFunc(p.pieces, in)) {
			return true
		}
	}
	return false
}

var (
	markup  = regexp.MustCompile(`<[^<>]*>`)
	escaped = regexp.MustCompile(`(?:\\u[0-9A-Fa-f]{4})+|\\.`)
)

// unescape undoes what JSON and XML do to text.
func unescape(text string) string {
	if strings.Contains(text, `\`) {
		text = escaped.ReplaceAllStringFunc(text, func(e string) string {
			if e[1] != 'u' || len(e) < 6 {
				return " "
			}
			var units []uint16
			for ; len(e) >= 6; e = e[6:] {
				n, _ := strconv.ParseUint(e[2:6], 16, 16) // four hexadecimal digits
				units = append(units, uint16(n))
			}
			return string(utf16.Decode(units))
		})
	}
	if strings.Contains(text, "&") {
		text = html.UnescapeString(text)
	}
	return text
}
