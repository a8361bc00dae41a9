package symbol

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Symbol is what stands for a hazard on a map (base interface, section 1.5): the icon of its type at the centre, on a white
// plate in the geometry of its category, within a halo in the colour of its severity.
//
// The severity is told without its colour too, by the stroke of the halo: TERMINATION is broken into dashes, INFORMATION a thin line,
// ADVISORY a band, WATCH a band parted lengthwise, WARNING a band that is barred as a barricade is.
type Symbol struct {
	Type     hazard.Type
	Category hazard.Category
	Severity hazard.Severity
}

// Version names the look of all symbols, and is another when any of them is drawn otherwise: it is the beginning of the SHA-256 of all their SVGs.
// It is part of the addresses under which symbols are kept for ever.
const Version = "ec0481f4"

// All lists every symbol, in the order of the base interface's tables: types, categories, severities.
func All() []Symbol {
	var all []Symbol
	for _, t := range hazard.Types() {
		for _, c := range hazard.Categories() {
			for _, s := range hazard.Severities() {
				all = append(all, Symbol{t.ID, c.ID, s.Severity})
			}
		}
	}
	return all
}

// edge is the edge of the view box of a symbol.
const edge = 128

// The colours besides those of the severities.
const (
	dark  = "#1a1a1a"
	white = "#ffffff"
)

// SVG draws the symbol as an SVG document without scripts, references and text. The same symbol gives the same bytes each time. The only
// error is ErrUnknown.
func (s Symbol) SVG() ([]byte, error) {
	p, err := s.parts()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">`, edge, edge)
	out.Write(p.ground)
	scale := p.glyph.edge / unitsPerEdge
	fmt.Fprintf(&out, `<g transform="translate(%s %s) scale(%s)">`, num(p.glyph.x), num(p.glyph.y), num(scale))
	out.Write(inner(p.casing))
	out.Write(inner(p.icon))
	out.WriteString("</g></svg>\n")
	return out.Bytes(), nil
}

// PNG renders the symbol as a square PNG of size pixels (MinSize to MaxSize) with transparent background. Output is deterministic. Errors
// are ErrUnknown and ErrSize.
func (s Symbol) PNG(size int) ([]byte, error) {
	if err := checkSize(size); err != nil {
		return nil, err
	}
	p, err := s.parts()
	if err != nil {
		return nil, err
	}
	img := image.NewRGBA(image.Rect(0, 0, size, size))
	ground := fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %[1]d">%s</svg>`, edge, p.ground)
	unit := float64(size) / edge
	if err := draw(img, ground, 0, 0, float64(size)); err != nil {
		return nil, fmt.Errorf("render symbol %v: %w", s, err)
	}
	for _, svg := range [][]byte{p.casing, p.icon} {
		if err := draw(img, svg, p.glyph.x*unit, p.glyph.y*unit, p.glyph.edge*unit); err != nil {
			return nil, fmt.Errorf("render symbol %v: %w", s, err)
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, img); err != nil {
		return nil, fmt.Errorf("encode symbol %v: %w", s, err)
	}
	return out.Bytes(), nil
}

// parts is what a symbol is drawn of. The renderer does not scale strokes within a picture, so that the icon, which has some, is a picture of
// its own that is put on the ground, which has none.
type parts struct {
	ground       []byte // elements in the view box of a symbol
	icon, casing []byte // SVG documents in the view box of an icon
	glyph        square // where they are put
}

type square struct{ x, y, edge float64 }

func (s Symbol) parts() (*parts, error) {
	info, ok := s.Type.Info()
	if !ok {
		return nil, fmt.Errorf("%w: %q is not a type_id", ErrUnknown, s.Type)
	}
	g, ok := geometries[s.Category]
	if !ok {
		return nil, fmt.Errorf("%w: %q is not a category_id", ErrUnknown, s.Category)
	}
	halo, ok := halos[s.Severity]
	if !ok {
		return nil, fmt.Errorf("%w: %v is not a severity_id", ErrUnknown, s.Severity)
	}
	icon, ok := Icon(strings.TrimSuffix(info.Icon, ".png"))
	if !ok {
		return nil, fmt.Errorf("%w: type %s has no icon", ErrUnknown, s.Type)
	}
	casing, err := cased(icon)
	if err != nil {
		return nil, fmt.Errorf("icon of %s: %w", s.Type, err)
	}
	rgb := hazard.Severities()[s.Severity-hazard.Termination].Colour
	colour := Hex(rgb)
	var ground bytes.Buffer
	halo(&ground, g, colour)
	return &parts{ground.Bytes(), icon, casing, square{g.x - g.glyph/2, g.glyphY - g.glyph/2, g.glyph}}, nil
}

// geometry is the shape of a category: a polygon around a centre, all of whose edges are equally far from it, so that its copies in other
// sizes are parallel to it.
type geometry struct {
	x, y    float64
	apothem float64   // distance of the outermost edges from the centre
	corners []polar   // for the apothem 1, clockwise
	round   []float64 // share of the shorter edge at which each corner's curve begins; the corners take turns
	bars    int       // of the barred halo
	glyph   float64   // edge of the icon's square
	glyphY  float64   // its centre; x is the geometry's
}

// polar is a point: the angle clockwise from the top, in turns.
type polar struct{ r, turn float64 }

func regular(n int, turn float64) []polar {
	corners := make([]polar, n)
	for i := range corners {
		corners[i] = polar{1 / math.Cos(math.Pi/float64(n)), turn + float64(i)/float64(n)}
	}
	return corners
}

// starOf has n points; ratio is the radius of its inner corners in that of its points.
func starOf(n int, ratio float64) []polar {
	half := math.Pi / float64(n)
	apothem := ratio * math.Sin(half) / math.Sqrt(1+ratio*ratio-2*ratio*math.Cos(half))
	var corners []polar
	for i := range n {
		corners = append(corners, polar{1 / apothem, float64(i) / float64(n)}, polar{ratio / apothem, (float64(i) + 0.5) / float64(n)})
	}
	return corners
}

// A circle is a polygon of so many corners, rounded until they meet, that nobody can tell.
var geometries = map[hazard.Category]*geometry{
	hazard.Event:    {x: 64, y: 64, apothem: 62, corners: regular(16, 0), round: []float64{0.5}, bars: 12, glyph: 74, glyphY: 64},
	hazard.Exercise: {x: 64, y: 82.5, apothem: 43.7, corners: regular(3, 0), round: []float64{0.25}, bars: 9, glyph: 62, glyphY: 82},
	hazard.Other:    {x: 64, y: 64, apothem: 56, corners: regular(6, 0), round: []float64{0.12}, bars: 12, glyph: 68, glyphY: 64},
	hazard.Response: {x: 64, y: 68, apothem: 45, corners: starOf(5, 0.7), round: []float64{0.15, 0.15}, bars: 10, glyph: 62, glyphY: 68},
}

// Widths of the halo's lines in units.
const (
	hairline = 3.5 // the dark line around the whole, so that it stands out from a light map
	band     = 11
)

// halos draws ground and halo of each severity.
var halos = map[hazard.Severity]func(*bytes.Buffer, *geometry, string){
	hazard.Termination: func(out *bytes.Buffer, g *geometry, colour string) {
		g.fill(out, dark, 0)
		g.fill(out, white, hairline)
		g.dashes(out, colour, hairline, hairline+band-2, 0.55)
		g.fill(out, white, hairline+band-2)
	},
	hazard.Information: func(out *bytes.Buffer, g *geometry, colour string) {
		g.fill(out, dark, 0)
		g.fill(out, colour, hairline)
		g.fill(out, white, hairline+band*0.55)
	},
	hazard.Advisory: func(out *bytes.Buffer, g *geometry, colour string) {
		g.fill(out, dark, 0)
		g.fill(out, colour, hairline)
		g.fill(out, white, hairline+band+1)
	},
	hazard.Watch: func(out *bytes.Buffer, g *geometry, colour string) {
		g.fill(out, dark, 0)
		g.fill(out, colour, hairline)
		g.fill(out, dark, hairline+6)
		g.fill(out, colour, hairline+10.5)
		g.fill(out, white, hairline+15)
	},
	hazard.Warning: func(out *bytes.Buffer, g *geometry, colour string) {
		const rim = 2.5
		g.fill(out, white, 0) // red is dark: on a dark map that is printed grey the white rim is what is seen
		g.fill(out, dark, rim)
		g.fill(out, colour, rim+2.5)
		g.dashes(out, dark, rim+5, rim+hairline+band, 0.3)
		g.fill(out, white, rim+hairline+band)
	},
}

// fill draws the geometry, inset by so many units.
func (g *geometry) fill(out *bytes.Buffer, colour string, inset float64) {
	fmt.Fprintf(out, `<path fill="%s" d="%s"/>`, colour, g.path(g.apothem-inset))
}

// path is the outline with its edges at the distance apothem.
func (g *geometry) path(apothem float64) string {
	n := len(g.corners)
	var d strings.Builder
	for i := range n {
		a, b, c := g.at(g.corners[(i+n-1)%n], apothem), g.at(g.corners[i], apothem), g.at(g.corners[(i+1)%n], apothem)
		t := g.round[i%len(g.round)]
		from, to := b.towards(a, t), b.towards(c, t)
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&d, "%s%s %sQ%s %s %s %s", command, num(from.x), num(from.y), num(b.x), num(b.y), num(to.x), num(to.y))
	}
	return d.String() + "Z"
}

type point struct{ x, y float64 }

func (p point) towards(q point, share float64) point {
	return point{p.x + (q.x-p.x)*share, p.y + (q.y-p.y)*share}
}

func (g *geometry) at(p polar, apothem float64) point {
	sin, cos := math.Sincos(2 * math.Pi * p.turn)
	return point{g.x + p.r*apothem*sin, g.y - p.r*apothem*cos}
}

// dashes fills share of the band between two insets, in bars of equal length along the outline.
func (g *geometry) dashes(out *bytes.Buffer, colour string, from, to, share float64) {
	outline, length := g.outline()
	step := length / float64(g.bars)
	fmt.Fprintf(out, `<path fill="%s" d="`, colour)
	for i := range g.bars {
		start := (float64(i) + 0.5 - share/2) * step // none at the tips, which show what shape it is
		bar := cut(outline, length, start, start+share*step)
		for k, p := range bar {
			command := "L"
			if k == 0 {
				command = "M"
			}
			q := point{g.x + p.x*(g.apothem-from), g.y + p.y*(g.apothem-from)}
			fmt.Fprintf(out, "%s%s %s", command, num(q.x), num(q.y))
		}
		for k := len(bar) - 1; k >= 0; k-- {
			q := point{g.x + bar[k].x*(g.apothem-to), g.y + bar[k].y*(g.apothem-to)}
			fmt.Fprintf(out, "L%s %s", num(q.x), num(q.y))
		}
		out.WriteByte('Z')
	}
	out.WriteString(`"/>`)
}

// outline is the rounded outline around the origin with the apothem 1, as points from the middle of the first corner on, and its length.
func (g *geometry) outline() ([]point, float64) {
	const steps = 6 // per half of a corner's curve
	origin := &geometry{corners: g.corners}
	n := len(g.corners)
	var points []point
	curve := func(i int, from, to float64) {
		a, b, c := origin.at(g.corners[(i+n-1)%n], 1), origin.at(g.corners[i], 1), origin.at(g.corners[(i+1)%n], 1)
		t := g.round[i%len(g.round)]
		p, q := b.towards(a, t), b.towards(c, t)
		for k := range steps + 1 {
			u := from + (to-from)*float64(k)/steps
			points = append(points, p.towards(b, u).towards(b.towards(q, u), u))
		}
	}
	curve(0, 0.5, 1)
	for i := 1; i < n; i++ {
		curve(i, 0, 0.5)
		curve(i, 0.5, 1)
	}
	curve(0, 0, 0.5)
	var length float64
	for i := 1; i < len(points); i++ {
		length += distance(points[i-1], points[i])
	}
	return points, length
}

func distance(p, q point) float64 { return math.Hypot(p.x-q.x, p.y-q.y) }

// cut is the part of a closed line between two distances from its start, of which the first may be negative.
func cut(line []point, length, from, to float64) []point {
	if from < 0 {
		return append(cut(line, length, from+length, length), cut(line, length, 0, to)...)
	}
	var part []point
	var done float64
	for i := 1; i < len(line); i++ {
		d := distance(line[i-1], line[i])
		if d == 0 {
			continue
		}
		if done <= from && from < done+d {
			part = append(part, line[i-1].towards(line[i], (from-done)/d))
		}
		if from < done+d && done+d < to {
			part = append(part, line[i])
		}
		if done < to && to <= done+d {
			part = append(part, line[i-1].towards(line[i], (to-done)/d))
		}
		done += d
	}
	return part
}

// num writes a coordinate; a hundredth of a unit is less than a tenth of a pixel at the largest size.
func num(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}

// inner is the group that an icon consists of.
func inner(svg []byte) []byte {
	from, to := bytes.Index(svg, []byte("<g")), bytes.LastIndex(svg, []byte("</svg>"))
	return bytes.TrimSpace(svg[from:to])
}

// casingWidth is how far the white edge reaches around the ink of an icon, in the icon's units: it keeps ink and halo apart where they meet.
const casingWidth = 3

// cased draws an icon in white, wider by casingWidth on all sides.
func cased(icon []byte) ([]byte, error) {
	type style struct {
		stroke bool
		width  float64
	}
	levels := []style{{}}
	var out bytes.Buffer
	for d := xml.NewDecoder(bytes.NewReader(icon)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return out.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		switch e := token.(type) {
		case xml.StartElement:
			now := levels[len(levels)-1]
			fmt.Fprintf(&out, "<%s", e.Name.Local)
			for _, a := range e.Attr {
				switch a.Name.Local {
				case "stroke":
					now.stroke = a.Value != "none"
					continue
				case "stroke-width":
					if now.width, err = strconv.ParseFloat(a.Value, 64); err != nil {
						return nil, err
					}
					continue
				case "fill":
					if a.Value != "none" {
						a.Value = white
					}
				}
				fmt.Fprintf(&out, ` %s="%s"`, a.Name.Local, a.Value)
			}
			if e.Name.Local != "svg" {
				width := 2.0 * casingWidth
				if now.stroke {
					width += now.width
				}
				fmt.Fprintf(&out, ` stroke="%s" stroke-width="%s"`, white, num(width))
			}
			out.WriteByte('>')
			levels = append(levels, now)
		case xml.EndElement:
			fmt.Fprintf(&out, "</%s>", e.Name.Local)
			levels = levels[:len(levels)-1]
		}
	}
}
