package symbol_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/atlas/symbol"
	"github.com/hazardd/hazardd/internal/test"
)

// typeIcons are the values of type_icon in the base interface, without the file extension.
var typeIcons = []string{
	"accident", "active_shooter", "avalanche", "bio_medical", "civil_unrest", "combat", "conflict", "cyber", "cyclone",
	"drought", "earthquake", "equipment", "extreme_temperature", "flood", "high_surf", "high_wind", "incident",
	"landslide", "man_made", "marine", "occurrence", "political_conflict", "storm", "terrorism", "tornado", "tsunami",
	"unit", "volcano", "weapons", "wildfire", "winter_storm",
}

func TestEachTypeIconHasAnIconAndNoOtherNameHas(t *testing.T) {
	if got := symbol.Names(); !slices.Equal(got, typeIcons) {
		t.Errorf("Names() = %q, want %q", got, typeIcons)
	}
	for _, name := range typeIcons {
		if svg, ok := symbol.Icon(name); !ok || len(svg) == 0 {
			t.Errorf("Icon(%q) = %d bytes, %v", name, len(svg), ok)
		}
	}
	for _, name := range []string{"", "Flood", "flood.png", "flood.svg", "../icons/flood", "*"} {
		if _, ok := symbol.Icon(name); ok {
			t.Errorf("Icon(%q) exists", name)
		}
	}
}

// The specification's folder is not part of the repository. HAZARDD_SHARED names it if it exists.
func TestEachTypeIconOfTheSpecificationHasAnIcon(t *testing.T) {
	shared := os.Getenv("HAZARDD_SHARED")
	if shared == "" {
		t.Skip("HAZARDD_SHARED is not set")
	}
	spec, err := os.ReadFile(filepath.Join(shared, "spec", "base-interface.md"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(spec)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		name, isIcon := strings.CutSuffix(strings.TrimSpace(cells[len(cells)-1]), ".png")
		if len(cells) != 3 || !isIcon { // not a row with type_id, type_name and type_icon
			continue
		}
		found = append(found, name)
		if _, ok := symbol.Icon(name); !ok {
			t.Errorf("no icon for type_icon %s.png", name)
		}
	}
	if len(found) != len(typeIcons) {
		t.Errorf("read %d values of type_icon, want %d: %q", len(found), len(typeIcons), found)
	}
}

func TestPNGIsASquareOfTheSizeNeitherEmptyNorFull(t *testing.T) {
	test.Seldom(t)
	const least, most = 0.08, 0.75 // share of the square that is drawn
	for _, name := range symbol.Names() {
		for _, size := range []int{symbol.MinSize, 24, 64, symbol.MaxSize} {
			t.Run(fmt.Sprint(name, " ", size), func(t *testing.T) {
				a := alpha(t, name, size)
				if want := image.Rect(0, 0, size, size); a.Rect != want {
					t.Fatalf("bounds %v, want %v", a.Rect, want)
				}
				var ink float64
				for _, v := range a.Pix {
					ink += float64(v) / 255
				}
				if share := ink / float64(len(a.Pix)); share < least || share > most {
					t.Errorf("ink covers %.3f of the square, want %v to %v", share, least, most)
				}
			})
		}
	}
}

func TestInkFillsTheSquareUpToItsMargin(t *testing.T) {
	test.Seldom(t)
	const (
		size   = symbol.MaxSize
		margin = size * 4 / 64
		blur   = 2 // number of pixels by which an exact slanting edge may exceed the margin
	)
	want := image.Rect(0, 0, size, size).Inset(margin - blur)
	for _, name := range symbol.Names() {
		box := inkBox(alpha(t, name, size))
		if !box.In(want) {
			t.Errorf("%s: ink in %v, want it within %v", name, box, want)
		}
		if box.Dx() < size*45/64 || box.Dy() < size*42/64 {
			t.Errorf("%s: ink of %v does not fill the square", name, box.Size())
		}
		if c := box.Min.Add(box.Max).Div(2); max(c.X, c.Y) > size*35/64 || min(c.X, c.Y) < size*29/64 {
			t.Errorf("%s: middle of the ink is %v, which is lopsided in a square of %d", name, c, size)
		}
	}
}

// A fifth of the square is about half of the drawn area of a typical icon. Two icons with the same
// main figure differ by less.
func TestEachPairOfIconsDiffersAt24Pixels(t *testing.T) {
	const size, least = 24, 0.2
	closest, pair := 1.0, ""
	for i, a := range typeIcons {
		for _, b := range typeIcons[i+1:] {
			p, q := alpha(t, a, size), alpha(t, b, size)
			var differing float64
			for k := range p.Pix {
				if d := int(p.Pix[k]) - int(q.Pix[k]); d > 96 || d < -96 {
					differing++
				}
			}
			share := differing / (size * size)
			if share < least {
				t.Errorf("%s and %s differ in %.3f of their pixels, want at least %v", a, b, share, least)
			}
			if share < closest {
				closest, pair = share, a+" and "+b
			}
		}
	}
	t.Logf("closest are %s: %.3f", pair, closest)
}

func TestPNGIsTheSameEachTime(t *testing.T) {
	for _, name := range symbol.Names() {
		first, err := symbol.PNG(name, 48)
		if err != nil {
			t.Fatal(err)
		}
		second, err := symbol.PNG(name, 48)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Errorf("two renderings of %s differ", name)
		}
	}
}

func TestPNGRefusesWhatItCannotDraw(t *testing.T) {
	for name, tt := range map[string]struct {
		icon string
		size int
		want error
		says []string // values and allowed values
	}{
		"name that no icon has":   {"snow", 64, symbol.ErrUnknown, []string{`"snow"`, "winter_storm"}},
		"file name for a name":    {"flood.png", 64, symbol.ErrUnknown, []string{`"flood.png"`}},
		"path out of the folder":  {"../icons/flood", 64, symbol.ErrUnknown, []string{`"../icons/flood"`}},
		"one pixel too small":     {"flood", symbol.MinSize - 1, symbol.ErrSize, []string{"15", "16", "512"}},
		"one pixel too large":     {"flood", symbol.MaxSize + 1, symbol.ErrSize, []string{"513", "16", "512"}},
		"no pixels":               {"flood", 0, symbol.ErrSize, []string{"0"}},
		"less than no pixels":     {"flood", -64, symbol.ErrSize, []string{"-64"}},
		"more than memory allows": {"flood", 1 << 30, symbol.ErrSize, []string{"1073741824"}},
	} {
		t.Run(name, func(t *testing.T) {
			img, err := symbol.PNG(tt.icon, tt.size)
			if img != nil || !errors.Is(err, tt.want) {
				t.Fatalf("PNG(%q, %d) = %d bytes, %v; want %v", tt.icon, tt.size, len(img), err, tt.want)
			}
			for _, s := range tt.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("error %q does not mention %s", err, s)
				}
			}
		})
	}
}

// This is an allowlist. Anything else would be a script, a reference, a text, an id, or something
// that the renderer does not support (fill-rule, style sheets) or draws wrongly (strokes of a
// scaled group keep their width).
func TestSVGIsOneGroupOfPlainShapes(t *testing.T) {
	attributes := map[string][]string{
		"svg":     {"xmlns", "viewBox"},
		"g":       {"transform", "fill", "stroke", "stroke-width", "stroke-linecap", "stroke-linejoin"},
		"path":    {"d", "fill", "stroke", "stroke-width"},
		"circle":  {"cx", "cy", "r", "fill", "stroke", "stroke-width"},
		"rect":    {"x", "y", "width", "height", "rx", "ry", "fill", "stroke", "stroke-width"},
		"ellipse": {"cx", "cy", "rx", "ry", "fill", "stroke", "stroke-width"},
	}
	for _, name := range symbol.Names() {
		t.Run(name, func(t *testing.T) {
			svg, _ := symbol.Icon(name)
			d := xml.NewDecoder(bytes.NewReader(svg))
			var path []string
			var groups int // directly within svg
			for {
				token, err := d.Token()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				switch e := token.(type) {
				case xml.StartElement:
					path = append(path, e.Name.Local)
					if len(path) == 2 {
						groups++
						if e.Name.Local != "g" {
							t.Errorf("%s directly within svg, want one g", e.Name.Local)
						}
					}
					for _, a := range e.Attr {
						if !slices.Contains(attributes[e.Name.Local], a.Name.Local) || a.Name.Space != "" {
							t.Errorf("%s has attribute %s, which is not allowed", e.Name.Local, a.Name.Local)
						}
						switch {
						case a.Name.Local == "viewBox" && a.Value != "0 0 64 64",
							a.Name.Local == "fill" && a.Value != "none" && a.Value != ink,
							a.Name.Local == "stroke" && a.Value != "none" && a.Value != ink,
							a.Name.Local == "transform" && strings.ContainsAny(a.Value, "cmk"): // scale, matrix, skew
							t.Errorf("%s has %s %q, which is not of the style", e.Name.Local, a.Name.Local, a.Value)
						}
					}
					if attributes[e.Name.Local] == nil {
						t.Errorf("element %s is not allowed", e.Name.Local)
					}
				case xml.EndElement:
					path = path[:len(path)-1]
				case xml.CharData:
					if s := strings.TrimSpace(string(e)); s != "" {
						t.Errorf("text %q", s)
					}
				default:
					t.Errorf("%T is not allowed", e)
				}
			}
			if groups != 1 {
				t.Errorf("%d groups directly within svg, want 1", groups)
			}
		})
	}
}

// ink is the only color of all icons.
const ink = "#1a1a1a"

// alpha renders an icon and returns the opacity of each pixel.
func alpha(t *testing.T, name string, size int) *image.Alpha {
	t.Helper()
	data, err := symbol.PNG(name, size)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	a := image.NewAlpha(img.Bounds())
	for y := range a.Rect.Dy() {
		for x := range a.Rect.Dx() {
			a.Set(x, y, img.At(x, y))
		}
	}
	return a
}

// inkBox returns the smallest rectangle around the drawn pixels.
func inkBox(a *image.Alpha) image.Rectangle {
	var box image.Rectangle
	for y := range a.Rect.Dy() {
		for x := range a.Rect.Dx() {
			if a.AlphaAt(x, y).A > 0 {
				box = box.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return box
}
