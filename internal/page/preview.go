package page

import (
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/words"
)

// Preview is what a chat shows of a link to a hazard (Open Graph protocol, and what X reads instead).
type Preview struct {
	Title, Text, URL, Picture, Alt string
	Width, Height                  int // of the picture, in pixels
}

// pictureWidth is how wide the picture of a preview is, in pixels: what the large services ask for.
const pictureWidth = 1200

// previewText is how many letters of a hazard's description a preview has: more is cut by the services.
const previewText = 200

// NewPreview makes the preview of a hazard, as it reads at now. url is what the link leads to, picture the address of its PNG. A chat keeps both for
// long: the text says when they end to be true.
func NewPreview(h *hazard.Hazard, now hazard.Instant, url, picture string) *Preview {
	level := severityName(h.Severity)
	p := &Preview{Title: level + ": " + hazard.CleanLine(h.Name), URL: url, Picture: picture, Width: pictureWidth, Height: pictureWidth * mapHeight / mapWidth,
		Alt: "Map around " + dms(h.Latitude, h.Longitude)}
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
	if text := strings.Join(strings.Fields(h.Description), " "); text != "" {
		letters := []rune(text)
		if len(letters) > previewText {
			text = strings.TrimSpace(string(letters[:previewText])) + "…"
		}
		p.Text += " " + text
	}
	return p
}

// HTML is the preview as elements of a head.
func (p *Preview) HTML() ([]byte, error) { return execute(words.English(), "preview", p) }
