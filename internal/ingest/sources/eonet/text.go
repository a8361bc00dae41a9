package eonet

import (
	"html"
	"regexp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
)

// tags matches HTML tags and comments, and the content of scripts and styles.
var tags = regexp.MustCompile(`(?is)<script\b.*?(?:</script[^>]*>|$)|<style\b.*?(?:</style[^>]*>|$)|<!--.*?(?:-->|$)|</?[a-z][^<>]*>`)

// plainText returns the readable text of a description, a sentence or two that may contain HTML. It
// does not support all of HTML, which is safe because the result is shown as text.
func plainText(markup string) string {
	text := tags.ReplaceAllString(lenient.Clip(markup, 4*maxWords), " ")
	return lenient.Clip(hazard.CleanLine(html.UnescapeString(text)), maxWords)
}
