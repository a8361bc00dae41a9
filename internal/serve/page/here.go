package page

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"

	qrcode "github.com/skip2/go-qrcode"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Here is the page that answers "am I safe?" for a place: what holds there, and who watches it. It
// never says that a place is safe.
type Here struct {
	Frame
	Now    hazard.Instant
	Asked  string // as typed; empty for a position
	Place  string // empty: nobody has said where
	Fault  string // why there is no answer; empty: there is one, or nothing was asked
	Watch  string // covered, stale or unknown
	Here   []HereHazard
	Near   []HereHazard // near, or only perhaps there
	Places []HerePlace  // what else the name may mean
	Which  bool         // the name alone does not tell which place is meant: no answer
	Who    []string     // the sources that watch
	Link   string       // address of this answer, for a link and its QR code; empty: no answer
}

// HereHazard is a hazard on the page.
type HereHazard struct {
	Headline, Instruction, Until, Level, Class, Href, Away string
	Maybe                                                  bool
}

// HerePlace is a place of the same name.
type HerePlace struct {
	Name  string
	Query template.URL // the question, encoded
}

// HTML returns the page.
func (h *Here) HTML() ([]byte, error) { return execute(h.language(), "here.html", h) }

// Title is what the page says first.
func (h *Here) Title() string {
	switch {
	case h.Place == "" || h.Which:
		return h.say("hereTitle")
	case len(h.Here) > 0:
		return h.say("hereDanger", "place", h.Place)
	case len(h.Near) > 0:
		return h.say("hereAround", "place", h.Place)
	}
	return h.say("hereNothing", "place", h.Place)
}

// Class is the level of the worst hazard here, or of the worst near here, for the color of the title;
// empty without one.
func (h *Here) Class() string {
	for _, list := range [][]HereHazard{h.Here, h.Near} {
		if len(list) > 0 && !h.Which {
			return list[0].Class
		}
	}
	return ""
}

// Made is the moment of the answer.
func (h *Here) Made() string { return h.at(h.Now, h.Now).Words }

// Watched says who watches the place, and how fresh that is.
func (h *Here) Watched() string {
	switch h.Watch {
	case "covered":
		return h.say("hereCovered", "who", strings.Join(h.Who, ", "))
	case "stale":
		return h.say("hereStale", "who", strings.Join(h.Who, ", "))
	}
	return h.say("hereNobody")
}

// Ref is the path of the page in another language, without its parameter lang.
func (h *Here) Ref() string { return h.Root + "/here" }

// Query is the question as the part of an address, encoded.
func (h *Here) Query() template.URL {
	_, query, _ := strings.Cut(h.Link, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return ""
	}
	values.Del("lang")
	return template.URL(values.Encode())
}

// QR is the link as a QR code.
func (h *Here) QR() Squares { return QR(h.Link) }

// Squares is a QR code: the path of an SVG image, and its size in squares.
type Squares struct {
	Path string `json:"path"`
	Size int    `json:"size"`
}

// QR returns a text as a QR code, empty if the text is too long.
func QR(text string) (code Squares) {
	q, err := qrcode.New(text, qrcode.Medium)
	if err != nil { // too long: then the link alone is there
		return code
	}
	var b strings.Builder
	squares := q.Bitmap()
	for y, row := range squares {
		for x, dark := range row {
			if dark {
				fmt.Fprintf(&b, "M%d %dh1v1h-1z", x, y)
			}
		}
	}
	code.Path, code.Size = b.String(), len(squares)
	return code
}

// LevelOf returns the name of a level in the language of the page, and its class.
func (f *Frame) LevelOf(level string) (name, class string) {
	s, _ := hazard.ParseSeverity(level)
	return f.severity(s), severityClass(s)
}
