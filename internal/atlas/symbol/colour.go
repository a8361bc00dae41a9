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
	l := luminance(linear(c))
	if (l+0.05)*(l+0.05) >= 0.05*1.05 { // (l+0.05)/0.05, against black, is at least 1.05/(l+0.05), against white
		return [3]uint8{}
	}
	return [3]uint8{255, 255, 255}
}

// Paper is the color that stands behind text in the Ink of c: c itself, or the nearest to it, on the
// way to the color opposite to the ink, on which the text has a contrast of 4.5 to 1 in each color
// deficiency too. Black on red has 5.3, but 3.3 with protanopia, which sees red darkly.
func Paper(c [3]uint8) [3]uint8 {
	ink := Ink(c)
	for {
		if Contrast(ink, c) >= 4.5 {
			return c
		}
		for i := range c {
			if ink == [3]uint8{} {
				c[i] = min(c[i], 254) + 1
			} else {
				c[i] = max(c[i], 1) - 1
			}
		}
	}
}

// deficiencies are the colors that dichromats see, in linear RGB (Machado, Oliveira and Fernandes,
// 2009, at full strength): protanopia, deuteranopia, tritanopia.
var deficiencies = [3][3][3]float64{
	{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// Contrast is WCAG's contrast ratio of two colors, 1 to 21, for whom it is least: for people who see
// all colors, or with one of the three color deficiencies.
func Contrast(a, b [3]uint8) float64 {
	x, y := linear(a), linear(b)
	least := ratio(luminance(x), luminance(y))
	for _, d := range deficiencies {
		least = min(least, ratio(luminance(seen(d, x)), luminance(seen(d, y))))
	}
	return least
}

func ratio(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }

func seen(d [3][3]float64, c [3]float64) (out [3]float64) {
	for i, row := range d {
		out[i] = min(1, max(0, row[0]*c[0]+row[1]*c[1]+row[2]*c[2]))
	}
	return out
}

// luminance is WCAG's relative luminance of a linear color, 0 to 1.
func luminance(c [3]float64) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }

func linear(c [3]uint8) (out [3]float64) {
	for i, v := range c {
		x := float64(v) / 255
		if x <= 0.04045 {
			out[i] = x / 12.92
		} else {
			out[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return out
}

// CSS is a style sheet that names the color of each severity, --level-WARNING, that of text on it,
// --ink-WARNING, and that behind such text, --paper-WARNING.
func CSS() string {
	var b strings.Builder
	b.WriteString(":root {\n")
	for _, s := range hazard.Severities() {
		fmt.Fprintf(&b, "  --level-%[1]s: %[2]s;\n  --ink-%[1]s: %[3]s;\n  --paper-%[1]s: %[4]s;\n", s.ID, Hex(s.Colour), Hex(Ink(s.Colour)), Hex(Paper(s.Colour)))
	}
	b.WriteString("}\n")
	return b.String()
}
