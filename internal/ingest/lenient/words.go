package lenient

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Joined joins the words, without empty or blank ones.
func Joined(sep string, words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return strings.TrimSpace(w) == "" }), sep)
}

// Readable changes capitals to normal case, with a capital at the beginning of each word:
// "Typhoon", "Chan-hom". Words are separated by blanks.
func Readable(s string) string {
	words := strings.Fields(strings.ToLower(hazard.CleanLine(s)))
	for i, w := range words {
		first, n := utf8.DecodeRuneInString(w)
		words[i] = string(unicode.ToUpper(first)) + w[n:]
	}
	return strings.Join(words, " ")
}

// Cut returns the beginning of s: at most n bytes, and only whole characters. It shares the memory
// of s.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Clip does the same as Cut, removes blanks around the result, and copies it, so that the rest of s
// can be freed.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.Clone(strings.TrimSpace(Cut(s, n)))
}

// maxAddress bounds a web address, in bytes, like browsers do.
const maxAddress = 2000

// WebAddress returns s if it is an absolute http or https address, otherwise "". It rejects blanks
// and control characters, passwords, and non-ASCII letters, which can make an address look like a
// different one.
func WebAddress(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxAddress || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Opaque != "" {
		return ""
	}
	return u.String()
}

// HasWord reports whether text contains the whole word. It does not count the word after "NOT A",
// or before a word of but: one of the next three words. All arguments are in capitals.
func HasWord(text, word string, but []string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		before, after := text[:from+i], text[from+i+len(word):]
		from += i + len(word)
		last, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(after)
		if isWordRune(last) || isWordRune(next) || strings.HasSuffix(strings.TrimRight(before, " \n"), "NOT A") {
			continue
		}
		following := strings.FieldsFunc(Cut(after, 60), func(r rune) bool { return !isWordRune(r) })
		if !slices.ContainsFunc(following[:min(len(following), 3)], func(w string) bool { return slices.Contains(but, w) }) {
			return true
		}
	}
}

func isWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// Names lists as many names as fit in width characters, and says how many more there are.
func Names(names []string, width int) string {
	if len(names) == 0 {
		return ""
	}
	out := names[0]
	if utf8.RuneCountInString(out) > width {
		out = strings.TrimSpace(string([]rune(out)[:width-1])) + "…"
	}
	for i, name := range names[1:] {
		more := fmt.Sprintf(" and %d more", len(names)-1-i)
		room := width - utf8.RuneCountInString(out) - len("; ") - utf8.RuneCountInString(name)
		if room < 0 || i+2 < len(names) && room < len(more) {
			return out + more
		}
		out += "; " + name
	}
	return out
}
