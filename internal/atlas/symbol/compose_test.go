package symbol_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/srwiley/oksvg"
	"github.com/srwiley/rasterx"

	"github.com/hazardd/hazardd/internal/atlas/symbol"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test"
)

func TestThereIsASymbolForEachTypeCategoryAndSeverity(t *testing.T) {
	test.Seldom(t)
	all := symbol.All()
	if len(all) != 31*4*5 {
		t.Errorf("%d symbols, want 620", len(all))
	}
	drawn := map[string]symbol.Symbol{}
	for _, s := range all {
		svg := svgOf(t, s)
		if other, ok := drawn[string(svg)]; ok {
			t.Errorf("%v looks like %v", s, other)
		}
		drawn[string(svg)] = s
		for _, size := range []int{24, 64} {
			if img := pngOf(t, s, size); img.Bounds() != image.Rect(0, 0, size, size) {
				t.Errorf("%v at %d pixels: %v", s, size, img.Bounds())
			}
		}
	}
}

func TestAnSVGOfASymbolHoldsPlainShapesOnly(t *testing.T) {
	allowed := map[string]bool{"svg": true, "g": true, "path": true, "circle": true, "rect": true, "ellipse": true}
	for _, s := range symbol.All() {
		for d := xml.NewDecoder(bytes.NewReader(svgOf(t, s))); ; {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%v: %v", s, err)
			}
			if e, ok := token.(xml.StartElement); ok {
				if !allowed[e.Name.Local] {
					t.Errorf("%v: element %s", s, e.Name.Local)
				}
				for _, a := range e.Attr {
					if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" || a.Name.Local == "style" || strings.Contains(a.Value, "url(") {
						t.Errorf("%v: %s has the attribute %s", s, e.Name.Local, a.Name.Local)
					}
				}
			}
		}
	}
}

func TestTheHaloHasExactlyTheColourOfItsSeverity(t *testing.T) {
	test.Seconds(t)
	for _, s := range symbol.All() {
		found := map[hazard.Severity]int{}
		img := pngOf(t, s, 64)
		for y := range 64 {
			for x := range 64 {
				for _, info := range hazard.Severities() {
					if color.NRGBAModel.Convert(img.At(x, y)) == (color.NRGBA{info.Colour[0], info.Colour[1], info.Colour[2], 0xff}) {
						found[info.Severity]++
					}
				}
			}
		}
		// Gray edge pixels of the dark glyph on the white plate may have the gray of TERMINATION.
		if s.Severity != hazard.Termination {
			delete(found, hazard.Termination)
		}
		if found[s.Severity] < 120 || len(found) != 1 {
			t.Errorf("%v: pixels by colour of severity: %v, want 120 and more of its own and no other", s, found)
		}
		c := hazard.Severities()[s.Severity-hazard.Termination].Colour
		if want := fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]); !bytes.Contains(svgOf(t, s), []byte(want)) {
			t.Errorf("%v: its SVG has no %s", s, want)
		}
	}
}

// The background colors of a light and a dark map.
var grounds = map[string]color.Gray{"light": {0xee}, "dark": {0x26}}

// Grayscale print, and color blindness for red or green: at 24 pixels the halo has some 200 pixels.
func TestSeveritiesDifferInGreyAt24Pixels(t *testing.T) {
	test.Seconds(t)
	const least = 30 // number of pixels that must differ by a fifth of the range
	for name, ground := range grounds {
		pairs(t, "on a "+name+" map", least, func(s symbol.Symbol) *image.Gray { return grey(pngOf(t, s, 24), ground) })
	}
}

func TestSeveritiesDifferByStrokeAloneAt24Pixels(t *testing.T) {
	const least = 20
	pairs(t, "in one colour", least, func(s symbol.Symbol) *image.Gray {
		c := hazard.Severities()[s.Severity-hazard.Termination].Colour
		svg := bytes.ReplaceAll(svgOf(t, s), fmt.Appendf(nil, "#%02x%02x%02x", c[0], c[1], c[2]), []byte("#808080"))
		icon, err := oksvg.ReadIconStream(bytes.NewReader(svg), oksvg.StrictErrorMode)
		if err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		icon.SetTarget(0, 0, 24, 24)
		img := image.NewRGBA(image.Rect(0, 0, 24, 24))
		icon.Draw(rasterx.NewDasher(24, 24, rasterx.NewScannerGV(24, 24, img, img.Bounds())), 1)
		return grey(img, grounds["light"])
	})
}

// pairs compares each two severities of each type and category.
func pairs(t *testing.T, how string, least int, rendered func(symbol.Symbol) *image.Gray) {
	t.Helper()
	images := map[symbol.Symbol]*image.Gray{}
	for _, s := range symbol.All() {
		images[s] = rendered(s)
	}
	closest := 24 * 24
	for _, s := range symbol.All() {
		for other := s.Severity + 1; other <= hazard.Warning; other++ {
			o := s
			o.Severity = other
			p, q := images[s], images[o]
			differing := 0
			for i := range p.Pix {
				if d := int(p.Pix[i]) - int(q.Pix[i]); d > 51 || d < -51 {
					differing++
				}
			}
			if differing < least {
				t.Errorf("%v and %v %s: %d pixels differ, want %d", s, other, how, differing, least)
			}
			closest = min(closest, differing)
		}
	}
	t.Logf("%s the closest differ in %d pixels", how, closest)
}

func TestASymbolStandsOutFromLightAndDarkMapsAt24Pixels(t *testing.T) {
	test.Seconds(t)
	const least = 60 // number of pixels: its outline, or more
	for name, ground := range grounds {
		for _, s := range symbol.All() {
			standing := 0
			for _, v := range grey(pngOf(t, s, 24), ground).Pix {
				if d := int(v) - int(ground.Y); d > 80 || d < -80 {
					standing++
				}
			}
			if standing < least {
				t.Errorf("%v on a %s map: %d pixels stand out, want %d", s, name, standing, least)
			}
		}
	}
}

func TestCategoriesDifferByOutlineAt24Pixels(t *testing.T) {
	for _, a := range hazard.Categories() {
		for _, b := range hazard.Categories() {
			if a.ID >= b.ID {
				continue
			}
			for _, sev := range hazard.Severities() {
				p := pngOf(t, symbol.Symbol{Type: hazard.Flood, Category: a.ID, Severity: sev.Severity}, 24)
				q := pngOf(t, symbol.Symbol{Type: hazard.Flood, Category: b.ID, Severity: sev.Severity}, 24)
				differing := 0
				for y := range 24 {
					for x := range 24 {
						_, _, _, m := p.At(x, y).RGBA()
						_, _, _, n := q.At(x, y).RGBA()
						if (m > 0x8000) != (n > 0x8000) {
							differing++
						}
					}
				}
				if differing < 24 {
					t.Errorf("%s and %s, %s: the outlines differ in %d pixels", a.ID, b.ID, sev.ID, differing)
				}
			}
		}
	}
}

func TestNoSymbolIsCutByItsEdge(t *testing.T) {
	test.Seldom(t)
	for _, c := range hazard.Categories() {
		for _, sev := range hazard.Severities() {
			img := pngOf(t, symbol.Symbol{Type: hazard.CivilUnrest, Category: c.ID, Severity: sev.Severity}, symbol.MaxSize)
			for i := range symbol.MaxSize {
				for _, p := range []image.Point{{i, 0}, {i, symbol.MaxSize - 1}, {0, i}, {symbol.MaxSize - 1, i}} {
					if _, _, _, a := img.At(p.X, p.Y).RGBA(); a != 0 {
						t.Fatalf("%s %s has ink at %v", c.ID, sev.ID, p)
					}
				}
			}
		}
	}
}

// A symbol is cached forever under its version, so its appearance must not change under the same
// version.
func TestTheVersionIsOfWhatIsDrawn(t *testing.T) {
	sum := sha256.New()
	for _, s := range symbol.All() {
		sum.Write(svgOf(t, s))
	}
	if want := hex.EncodeToString(sum.Sum(nil))[:8]; symbol.Version != want {
		t.Errorf("Version is %q, but the symbols are those of %q: make it that, in docs/map.md too, and make generate", symbol.Version, want)
	}
	page, err := os.ReadFile("../../../docs/map.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(page, []byte("?v="+symbol.Version)) {
		t.Errorf("docs/map.md does not show the symbols of version %s", symbol.Version)
	}
}

func TestASymbolOfWhatIsUnknownIsNotDrawn(t *testing.T) {
	good := symbol.Symbol{Type: hazard.Flood, Category: hazard.Event, Severity: hazard.Warning}
	for name, tt := range map[string]struct {
		s    symbol.Symbol
		size int
		want error
	}{
		"type":         {symbol.Symbol{Type: "SNOW", Category: hazard.Event, Severity: hazard.Warning}, 64, symbol.ErrUnknown},
		"category":     {symbol.Symbol{Type: hazard.Flood, Category: "event", Severity: hazard.Warning}, 64, symbol.ErrUnknown},
		"no severity":  {symbol.Symbol{Type: hazard.Flood, Category: hazard.Event}, 64, symbol.ErrUnknown},
		"severity six": {symbol.Symbol{Type: hazard.Flood, Category: hazard.Event, Severity: 6}, 64, symbol.ErrUnknown},
		"too small":    {good, symbol.MinSize - 1, symbol.ErrSize},
		"too large":    {good, symbol.MaxSize + 1, symbol.ErrSize},
	} {
		t.Run(name, func(t *testing.T) {
			if data, err := tt.s.PNG(tt.size); data != nil || !errors.Is(err, tt.want) {
				t.Errorf("PNG: %d bytes, %v; want %v", len(data), err, tt.want)
			}
			if tt.want == symbol.ErrUnknown {
				if data, err := tt.s.SVG(); data != nil || !errors.Is(err, tt.want) {
					t.Errorf("SVG: %d bytes, %v; want %v", len(data), err, tt.want)
				}
			}
		})
	}
}

func BenchmarkSymbolPNG(b *testing.B) {
	s := symbol.Symbol{Type: hazard.Flood, Category: hazard.Exercise, Severity: hazard.Warning}
	for _, size := range []int{24, 64, 512} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.PNG(size); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func svgOf(t testing.TB, s symbol.Symbol) []byte {
	t.Helper()
	svg, err := s.SVG()
	if err != nil {
		t.Fatal(err)
	}
	return svg
}

func pngOf(t testing.TB, s symbol.Symbol, size int) image.Image {
	t.Helper()
	key := drawing{s, size}
	if img, ok := drawings.Load(key); ok {
		return img.(image.Image)
	}
	data, err := s.PNG(size)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	drawings.Store(key, img)
	return img
}

type drawing struct {
	symbol symbol.Symbol
	size   int
}

// drawings holds the symbols that tests have drawn, because several tests look at the same one.
var drawings sync.Map

// grey returns a symbol in grayscale on a background.
func grey(img image.Image, ground color.Gray) *image.Gray {
	out := image.NewRGBA(img.Bounds())
	draw.Draw(out, out.Rect, image.NewUniform(ground), image.Point{}, draw.Src)
	draw.Draw(out, out.Rect, img, image.Point{}, draw.Over)
	g := image.NewGray(out.Rect)
	draw.Draw(g, g.Rect, out, image.Point{}, draw.Src)
	return g
}
