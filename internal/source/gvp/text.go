package gvp

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/hazardd/hazardd/internal/hazard"
)

// link is an address that a text refers to.
type link struct {
	address string
	words   string // what a reader sees of it
}

// maxLinks bounds the links of one text. Most have none.
const maxLinks = 20

// plainText is what a person reads in a piece of HTML, a blank line between paragraphs, and the links in it.
func plainText(markup string) (string, []link) {
	var (
		b     strings.Builder
		links []link
		skip  string // the element that is not for reading
		open  = -1   // the link that text belongs to
	)
	z := html.NewTokenizer(strings.NewReader(markup))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		token := z.Token()
		switch kind {
		case html.TextToken:
			if skip != "" {
				continue
			}
			words := blanks(token.Data)
			b.WriteString(words)
			if open >= 0 {
				links[open].words += words
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			switch token.Data {
			case "script", "style":
				if kind == html.StartTagToken {
					skip = token.Data
				}
			case "br", "li", "tr":
				b.WriteByte('\n')
			case "a", "img":
				attribute := map[string]string{"a": "href", "img": "src"}[token.Data]
				for _, a := range token.Attr {
					if at := webAddress(a.Val); a.Key == attribute && at != "" && len(links) < maxLinks {
						links = append(links, link{address: at})
						if token.Data == "a" {
							open = len(links) - 1
						}
					}
				}
			default:
				if paragraphs[token.Data] {
					b.WriteString("\n\n")
				}
			}
		case html.EndTagToken:
			switch {
			case token.Data == skip:
				skip = ""
			case token.Data == "a":
				open = -1
			case paragraphs[token.Data]:
				b.WriteString("\n\n")
			}
		}
	}
	var lines []string
	for line := range strings.SplitSeq(hazard.Clean(b.String()), "\n") {
		line = strings.Join(strings.Fields(line), " ")
		if line != "" || len(lines) > 0 && lines[len(lines)-1] != "" {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n")), links
}

var paragraphs = map[string]bool{
	"p": true, "div": true, "h1": true, "h2": true, "h3": true, "h4": true, "ul": true, "ol": true, "table": true,
	"blockquote": true, "hr": true, "dl": true,
}

// blanks makes the line breaks of markup, which mean nothing, blanks.
func blanks(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, s)
}

// maxAddress bounds a web address, in bytes, as browsers do.
const maxAddress = 2000

// webAddress is s if it is an absolute address of http or https, else empty. Blanks, control characters and letters beyond
// ASCII, which can make an address look like another, are in none.
func webAddress(s string) string {
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

// maxExcerpt bounds what a reason quotes of a payload, in bytes.
const maxExcerpt = 80

// excerpt is the beginning of s, fit to show on one line.
func excerpt(s string) string {
	s = hazard.CleanLine(clip(s, 4*maxExcerpt))
	if len(s) <= maxExcerpt {
		return s
	}
	return clip(s, maxExcerpt) + "…"
}

// clip cuts s to at most n bytes, between characters, and lets go of the rest.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(strings.TrimSpace(s[:n]))
}

// joined joins the words that are not empty.
func joined(sep string, words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), sep)
}
