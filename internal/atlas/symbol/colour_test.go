package symbol_test

import (
	"testing"

	"github.com/hazardd/hazardd/internal/atlas/symbol"
	"github.com/hazardd/hazardd/internal/hazard"
)

func TestInkIsTheMoreReadableOfBlackAndWhite(t *testing.T) {
	for colour, want := range map[[3]uint8]string{
		{255, 0, 0}: "#000000", {102, 102, 102}: "#ffffff", {255, 255, 0}: "#000000", {49, 153, 240}: "#000000", {0, 0, 0}: "#ffffff", {255, 255, 255}: "#000000",
		{117, 117, 117}: "#ffffff", {119, 119, 119}: "#000000", // 4.6 : 1 against white; 4.7 : 1 against black
	} {
		if got := symbol.Hex(symbol.Ink(colour)); got != want {
			t.Errorf("Ink(%v) = %s, want %s", colour, got, want)
		}
	}
}

// Words on a severity's color are readable with each color deficiency, and the color stays what it is
// where it can.
func TestWordsOnALevelAreReadable(t *testing.T) {
	if c := symbol.Contrast([3]uint8{255, 0, 0}, [3]uint8{}); c < 3.25 || c > 3.35 {
		t.Errorf("black on red has a contrast of %.2f with protanopia, want 3.3", c)
	}
	for _, s := range hazard.Severities() {
		paper := symbol.Paper(s.Colour)
		if c := symbol.Contrast(symbol.Ink(s.Colour), paper); c < 4.5 {
			t.Errorf("%s: words on %s have a contrast of %.2f, want 4.5", s.ID, symbol.Hex(paper), c)
		}
		if paper != s.Colour && s.ID != "WARNING" {
			t.Errorf("%s: words stand on %s, want its own color %s", s.ID, symbol.Hex(paper), symbol.Hex(s.Colour))
		}
		if symbol.Ink(paper) != symbol.Ink(s.Colour) {
			t.Errorf("%s: the paper %s has another ink than %s", s.ID, symbol.Hex(paper), symbol.Hex(s.Colour))
		}
	}
}
