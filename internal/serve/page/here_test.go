package page

import (
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
)

func hereOf(t *testing.T, h Here) string {
	t.Helper()
	h.Root, h.Now, h.Place, h.Link = "", hazard.Instant(1784142000000), "Hamburg, Germany", "https://hazards.example.org/here?lang=en&lat=53.551&lon=9.993"
	html, err := h.HTML()
	if err != nil {
		t.Fatal(err)
	}
	return string(html)
}

// inOrder fails unless the words stand on the page, each after the one before.
func inOrder(t *testing.T, html string, words ...string) {
	t.Helper()
	at := 0
	for _, w := range words {
		i := strings.Index(html[at:], w)
		if i < 0 {
			t.Fatalf("%q does not stand there, or not after the words before it, of %q", w, words)
		}
		at += i + len(w)
	}
}

// The danger comes before what is to know of the answer, also one that is near; without one, who watches comes first. No title denies
// what may be there.
func TestHereBeginsWithTheDanger(t *testing.T) {
	danger := HereHazard{Headline: "Flood at the quay", Level: "Watch", Instruction: "Go upstairs."}
	other := HerePlace{Name: "Hamburg, New York", Query: "lang=en&lat=42.7&lon=-78.8"}
	html := hereOf(t, Here{Here: []HereHazard{danger}, Near: []HereHazard{{Headline: "Fire on the heath"}}, Places: []HerePlace{other}})
	inOrder(t, html, "<h1", "Flood at the quay", "Go upstairs.", "Nobody that we know of watches", "As of", "Fire on the heath", "Hamburg, New York", "Link to this answer")
	html = hereOf(t, Here{Near: []HereHazard{{Headline: "Fire on the heath"}}})
	inOrder(t, html, "<h1", "Danger near Hamburg, Germany, or perhaps there", "Fire on the heath", "Nobody that we know of watches", "As of")
	html = hereOf(t, Here{})
	inOrder(t, html, "<h1", "No hazard is known in Hamburg, Germany", "Nobody that we know of watches", "As of")
	html = hereOf(t, Here{Which: true, Places: []HerePlace{other}})
	inOrder(t, html, "<h1", "Hamburg, New York")
}

// Links to other places and in other languages ask what they say.
func TestLinksOfHereAreNotEncodedTwice(t *testing.T) {
	html := hereOf(t, Here{Places: []HerePlace{{Name: "Hamburg, New York", Query: "lang=en&lat=42.7&lon=-78.8"}}})
	for _, link := range []string{`"/here?lang=en&amp;lat=42.7&amp;lon=-78.8"`, `"/here?lat=53.551&amp;lon=9.993&amp;lang=ar"`} {
		if !strings.Contains(html, link) {
			t.Errorf("no link to %s", link)
		}
	}
}

// What a screen reader reads first is the danger, what to do and the text; the facts and the history come after.
func TestThePageOfAHazardBeginsWithTheDanger(t *testing.T) {
	html := pageOf(t, func(c *Hazard) {
		c.Headline, c.Hazard.Description = "Flood at the quay, until noon.", "The water stands at the door."
		c.Hazard.Instruction = "Go upstairs."
	})
	inOrder(t, html, "<h1", "Flood at the quay, until noon.", `aria-label="Kind"`, "Go upstairs.", "The water stands at the door.", `class="map"`, `id="facts"`, `id="history"`, "JSON")
}
