package eonet

import (
	"html"
	"regexp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// tags are the tags and comments of HTML, with what is inside a script or a style.
var tags = regexp.MustCompile(`(?is)<script\b.*?(?:</script[^>]*>|$)|<style\b.*?(?:</style[^>]*>|$)|<!--.*?(?:-->|$)|</?[a-z][^<>]*>`)

// plainText is what a person reads in a description, which is a sentence or two and may hold some HTML. It need not understand all of
// HTML, since its result is shown as text.
func plainText(markup string) string {
	text := tags.ReplaceAllString(frame.Clip(markup, 4*maxWords), " ")
	return frame.Clip(hazard.CleanLine(html.UnescapeString(text)), maxWords)
}
