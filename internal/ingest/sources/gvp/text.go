package gvp

import (
	"strings"

	"golang.org/x/net/html"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
)

// link is an address in a text.
type link struct {
	address string
	words   string // the visible words of the link
}

// maxLinks bounds the links of one text. Most have none.
const maxLinks = 20

// plainText returns the readable text of HTML, with a blank line between paragraphs, and the links
// in it.
func plainText(markup string) (string, []link) {
	var (
		b     strings.Builder
		links []link
		skip  string // the open element whose content is not readable text
		open  = -1   // index of the link to which the text belongs
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
					if at := lenient.WebAddress(a.Val); a.Key == attribute && at != "" && len(links) < maxLinks {
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

// blanks replaces line breaks in markup, which have no meaning, by blanks.
func blanks(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, s)
}
