package symbol_test

import (
	"testing"

	"github.com/hazardd/hazardd/internal/atlas/symbol"
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
