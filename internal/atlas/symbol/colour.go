package symbol

import (
	"fmt"
	"math"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Hex is a color as CSS writes it: "#ff0000".
func Hex(c [3]uint8) string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// Ink is the color of text on a color: black or white, whichever has the greater contrast (WCAG 2.2, "contrast ratio").
func Ink(c [3]uint8) [3]uint8 {
	l := luminance(c)
	if (l+0.05)*(l+0.05) >= 0.05*1.05 { // (l+0.05)/0.05, against black, is at least 1.05/(l+0.05), against white
		return [3]uint8{}
	}
	return [3]uint8{255, 255, 255}
}

// luminance is WCAG's relative luminance, 0 to 1.
func luminance(c [3]uint8) float64 {
	linear := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}

// CSS is a style sheet that names the color of each severity, --level-WARNING, and that of text on it, --ink-WARNING.
func CSS() string {
	var b strings.Builder
	b.WriteString(":root {\n")
	for _, s := range hazard.Severities() {
		fmt.Fprintf(&b, "  --level-%s: %s;\n  --ink-%s: %s;\n", s.ID, Hex(s.Colour), s.ID, Hex(Ink(s.Colour)))
	}
	b.WriteString("}\n")
	return b.String()
}
