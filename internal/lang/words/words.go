// Package words holds the words of pages, messages and the map, one file for each language;
// docs/map.md says how to add one.
//
// The words are ICU messages. Pages use arguments, {name}, and plurals, {n, plural, one {# day}
// other {# days}}. All messages are parsed when the program starts; a test makes sure that none
// fails. The map's build compiles the same files. A Language is immutable and safe for concurrent
// use.
package words

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

//go:embed *.json
var files embed.FS

// Language is the words in one language.
type Language struct {
	ID      string // BCP 47
	Name    string // in the language itself
	Dir     string // "ltr" or "rtl"
	Checked bool   // a speaker of the language has checked the translation
	tag     language.Tag
	say     map[string]message
}

// read reads every language, English first, then by tag, when one is first asked for: most commands
// need none.
var read = sync.OnceValues(func() ([]*Language, language.Matcher) {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // a part of the program
	}
	var list []*Language
	for _, e := range entries {
		l, err := load(e.Name())
		if err != nil {
			panic(fmt.Sprintf("words %s: %v", e.Name(), err)) // a part of the program
		}
		list = append(list, l)
	}
	slices.SortStableFunc(list, func(a, b *Language) int {
		if a.ID == "en" {
			return -1
		}
		if b.ID == "en" {
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	tags := make([]language.Tag, len(list))
	for i, l := range list {
		tags[i] = l.tag
	}
	return list, language.NewMatcher(tags)
})

func load(name string) (*Language, error) {
	text, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var file struct {
		Language struct {
			ID, Name, Dir string
			Checked       bool
		}
		Names    map[string]map[string]string
		Page     map[string]string
		Notice   map[string]string
		Headline map[string]string
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	l := &Language{ID: file.Language.ID, Name: file.Language.Name, Dir: file.Language.Dir, Checked: file.Language.Checked, say: map[string]message{}}
	if l.tag, err = language.Parse(l.ID); err != nil {
		return nil, err
	}
	for key, text := range file.Page {
		if l.say[key], err = parse(text); err != nil {
			return nil, fmt.Errorf("page.%s: %w", key, err)
		}
	}
	for key, text := range file.Notice {
		if l.say["notice."+key], err = parse(text); err != nil {
			return nil, fmt.Errorf("notice.%s: %w", key, err)
		}
	}
	for key, text := range file.Headline {
		if l.say["headline."+key], err = parse(text); err != nil {
			return nil, fmt.Errorf("headline.%s: %w", key, err)
		}
	}
	for kind, table := range file.Names {
		for id, text := range table {
			l.say[kind+"."+id] = message{{text: text}}
		}
	}
	return l, nil
}

// All lists the languages, English first. The caller must not change the slice.
func All() []*Language {
	all, _ := read()
	return all
}

// English returns the default language, for readers whose languages are not available.
func English() *Language { return All()[0] }

// Best returns the language that fits tags best, most preferred first, by
// golang.org/x/text/language. It is English if none fits.
func Best(tags ...language.Tag) *Language {
	if len(tags) == 0 {
		return English()
	}
	all, matcher := read()
	_, i, confidence := matcher.Match(tags...)
	if confidence == language.No {
		return English()
	}
	return all[i]
}

// Knows reports whether there are words for the key, such as "facts" of the file's part page,
// "notice.late" of its part notice, or "type.FLOOD" of its names.
func (l *Language) Knows(key string) bool { _, ok := l.say[key]; return ok }

// Keys returns the keys of all words, in no particular order.
func (l *Language) Keys() []string {
	keys := make([]string, 0, len(l.say))
	for k := range l.say {
		keys = append(keys, k)
	}
	return keys
}

// Say returns the words for the key with arguments filled in. Arguments are names and values in
// turn; numbers are int or int64. An unknown key is returned unchanged.
func (l *Language) Say(key string, arguments ...any) string {
	m, ok := l.say[key]
	if !ok {
		return key
	}
	if len(m) == 1 && m[0].argument == "" && m[0].cases == nil {
		return m[0].text
	}
	var b strings.Builder
	m.write(&b, l, arguments, "")
	return b.String()
}

// NameOf returns the name of a term, such as "type" and "FLOOD", or the identifier if it has none.
func (l *Language) NameOf(kind, id string) string {
	if m, ok := l.say[kind+"."+id]; ok {
		return m[0].text
	}
	return id
}

// message is a sequence of pieces.
type message []piece

// piece is text, the value of an argument, the case that fits a number, or, within a case, that
// number.
type piece struct {
	text     string
	argument string
	cases    map[string]message
	hash     bool
}

func (m message) write(b *strings.Builder, l *Language, arguments []any, number string) {
	for _, p := range m {
		switch {
		case p.hash:
			b.WriteString(number)
		case p.cases != nil:
			n, _ := strconv.Atoi(value(arguments, p.argument))
			c, ok := p.cases["="+strconv.Itoa(n)]
			if !ok {
				c, ok = p.cases[form(l.tag, n)]
			}
			if !ok {
				c = p.cases["other"]
			}
			c.write(b, l, arguments, strconv.Itoa(n))
		case p.argument != "":
			b.WriteString(value(arguments, p.argument))
		default:
			b.WriteString(p.text)
		}
	}
}

func value(arguments []any, name string) string {
	for i := 0; i+1 < len(arguments); i += 2 {
		if arguments[i] == name {
			return fmt.Sprint(arguments[i+1])
		}
	}
	return "{" + name + "}"
}

// form returns the plural category of a whole number in CLDR.
func form(tag language.Tag, n int) string {
	switch plural.Cardinal.MatchPlural(tag, max(n, -n), 0, 0, 0, 0) {
	case plural.Zero:
		return "zero"
	case plural.One:
		return "one"
	case plural.Two:
		return "two"
	case plural.Few:
		return "few"
	case plural.Many:
		return "many"
	}
	return "other"
}

func parse(text string) (message, error) {
	m, rest, err := pieces(text, false)
	if err == nil && rest != "" {
		err = fmt.Errorf("a brace is closed that is not open: %q", text)
	}
	return m, err
}

// pieces parses up to the end of text, or up to a closing brace that the caller has opened.
func pieces(text string, inCase bool) (m message, rest string, err error) {
	for text != "" && text[0] != '}' {
		switch {
		case text[0] == '{':
			var p piece
			if p, text, err = argument(text[1:]); err != nil {
				return nil, "", err
			}
			m = append(m, p)
		case text[0] == '#' && inCase:
			m, text = append(m, piece{hash: true}), text[1:]
		default:
			stop := "{}"
			if inCase {
				stop = "{}#"
			}
			n := strings.IndexAny(text, stop)
			if n < 0 {
				n = len(text)
			}
			m, text = append(m, piece{text: text[:n]}), text[n:]
		}
	}
	return m, text, nil
}

// argument parses what follows an opening brace, including its closing brace.
func argument(text string) (p piece, rest string, err error) {
	n := strings.IndexAny(text, ",}")
	if n <= 0 {
		return p, "", fmt.Errorf("an argument has no name, or does not end: %q", text)
	}
	p.argument = strings.TrimSpace(text[:n])
	if text[n] == '}' {
		return p, text[n+1:], nil
	}
	kind, text, ok := strings.Cut(text[n+1:], ",")
	if !ok || strings.TrimSpace(kind) != "plural" {
		return p, "", fmt.Errorf("{%s, %s}: pages know plurals alone", p.argument, kind)
	}
	p.cases = map[string]message{}
	for {
		text = strings.TrimLeft(text, " ")
		if strings.HasPrefix(text, "}") {
			break
		}
		name, after, ok := strings.Cut(text, "{")
		if !ok {
			return p, "", fmt.Errorf("{%s, plural} does not end", p.argument)
		}
		var c message
		if c, text, err = pieces(after, true); err != nil {
			return p, "", err
		}
		if !strings.HasPrefix(text, "}") {
			return p, "", fmt.Errorf("{%s, plural, %s does not end", p.argument, name)
		}
		p.cases[strings.TrimSpace(name)], text = c, text[1:]
	}
	if p.cases["other"] == nil {
		return p, "", fmt.Errorf("{%s, plural} has no other", p.argument)
	}
	return p, text[1:], nil
}
