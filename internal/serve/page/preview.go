package page

import (
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
)

// Preview is what a chat shows for a link to a hazard (Open Graph protocol, and the similar tags of
// X).
type Preview struct {
	Title, Text, URL, Picture, Alt string
	Width, Height                  int // size of the picture, in pixels
}

// pictureWidth is the width of a preview's picture in pixels, as the large services want it.
const pictureWidth = 1200

// previewText is the maximum length of the description in a preview, in letters. Services cut
// longer text.
const previewText = 200

// NewPreview returns the preview of a hazard in its state at now. url is the address of the page,
// picture that of its PNG. Chats store both for a long time, so the text says until when it is
// valid.
func NewPreview(h *hazard.Hazard, now hazard.Instant, url, picture string) *Preview {
	level := severityName(h.Severity)
	p := &Preview{Title: level + ": " + hazard.CleanLine(h.Name), URL: url, Picture: picture, Width: pictureWidth, Height: pictureWidth * mapHeight / mapWidth,
		Alt: "Map around " + dms(h.Latitude, h.Longitude)}
	if h.Somewhere() {
		p.Alt = "Place known only as " + hazard.CleanLine(h.PlaceKnownAs)
	}
	until := "Ends " + at(h.End, now).Words
	switch {
	case !h.ActiveAt(now):
		p.Title, until = "Ended: "+hazard.CleanLine(h.Name), "It has ended"
	case !h.AutoExpire:
		until = "Changed " + at(h.LastUpdate, now).Words
	}
	if h.Category == hazard.Exercise {
		p.Title = "EXERCISE: " + p.Title
	}
	p.Text = level + " · " + typeName(h.Type) + " · " + until + "."
	if h.Somewhere() {
		p.Text += " " + p.Alt + "."
	}
	if text := strings.Join(strings.Fields(h.Description), " "); text != "" {
		letters := []rune(text)
		if len(letters) > previewText {
			text = strings.TrimSpace(string(letters[:previewText])) + "…"
		}
		p.Text += " " + text
	}
	return p
}

// HTML returns the preview as elements for the head of a page.
func (p *Preview) HTML() ([]byte, error) { return execute(words.English(), "preview", p) }
