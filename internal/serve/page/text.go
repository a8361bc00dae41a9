package page

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// block is a paragraph, or a table that keeps its spaces.
type block struct {
	Table bool
	Runs  []run
}

// run is a piece of text. With Href it is a link. Break starts a new line before it.
type run struct {
	Text  string
	Href  string
	Break bool
}

// longLine is the length, in characters, from which a line was probably wrapped: texts of weather
// services have lines of up to 69.
const longLine = 58

// table matches lines of a table.
var table = regexp.MustCompile(`\S {3,}\S|\S\t+\S`)

// blocks reads plain text of sources and editors. Paragraphs end at an empty line. Wrapped lines
// are joined, but not lines that end early or begin with a list marker. Tables are not changed.
func blocks(text string) []block {
	var all []block
	for _, paragraph := range paragraphs(text) {
		lines := strings.Split(paragraph, "\n")
		columns := 0
		for _, l := range lines {
			if table.MatchString(l) {
				columns++
			}
		}
		if columns >= 2 {
			all = append(all, block{Table: true, Runs: links(paragraph)})
			continue
		}
		var b block
		for i, l := range lines {
			l = strings.Join(strings.Fields(l), " ")
			broken := i > 0 && (utf8.RuneCountInString(lines[i-1]) < longLine || listed(l))
			if i > 0 && !broken {
				l = " " + l
			}
			runs := links(l)
			if broken && len(runs) > 0 {
				runs[0].Break = true
			}
			b.Runs = append(b.Runs, runs...)
		}
		all = append(all, b)
	}
	return all
}

// paragraphs splits text at empty lines.
func paragraphs(text string) []string {
	var all, lines []string
	for line := range strings.SplitSeq(text+"\n\n", "\n") {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, strings.TrimRight(line, " \t\r"))
			continue
		}
		if len(lines) > 0 {
			all = append(all, strings.Join(lines, "\n"))
			lines = nil
		}
	}
	return all
}

// listed reports whether a line begins as an item of a list.
func listed(line string) bool {
	return strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "• ") || strings.HasPrefix(line, "...") || numbered.MatchString(line)
}

var numbered = regexp.MustCompile(`^\d{1,3}[.)] `)

var address = regexp.MustCompile(`https://[^\s<>"'\x60{}|\\^]+`)

// links splits text into pieces. https addresses become links to themselves.
func links(text string) []run {
	var runs []run
	for text != "" {
		at := address.FindStringIndex(text)
		if at == nil {
			return append(runs, run{Text: text})
		}
		word := text[at[0]:at[1]]
		word = strings.TrimRight(word, ".,;:!?*_~")
		if strings.HasSuffix(word, ")") && !strings.Contains(word, "(") {
			word = strings.TrimRight(word, ").,;")
		}
		if at[0] > 0 {
			runs = append(runs, run{Text: text[:at[0]]})
		}
		runs = append(runs, run{Text: word, Href: safeLink(word, "https")})
		text = text[at[0]+len(word):]
	}
	return runs
}

// safeLink returns the address if it is complete, has one of the schemes, and has no user name or
// password before its host, since those can imitate another address. Otherwise it returns the empty
// string.
func safeLink(text string, schemes ...string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return ""
	}
	for _, s := range schemes {
		if u.Scheme == s {
			return u.String()
		}
	}
	return ""
}

// forPeople returns a comment without the parts for programs only: some sources put their own
// identifier there ("nws:KSEW.FF.W.0001.2026").
func forPeople(comment string) string {
	word := strings.TrimSpace(comment)
	if len(strings.Fields(word)) == 1 && strings.ContainsAny(word, ":.") && strings.ContainsAny(word, "0123456789") && safeLink(word, "https", "http") == "" {
		return ""
	}
	return comment
}

// saysAgain reports whether another text contains every paragraph of text. It compares letters and
// digits only, because sources wrap the same words differently.
func saysAgain(text, other string) bool {
	other = letters(other)
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		if !strings.Contains(other, letters(paragraph)) {
			return false
		}
	}
	return true
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}
