package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"

	"github.com/hazardd/hazardd/internal/atlas/symbol"
)

// The width of a picture of a map, in pixels. Its height is five eighths of the width. The largest
// needs 8 MB while it is drawn.
const (
	MinPicture, MaxPicture = 240, 1440
)

// PNG returns the map as a picture of that width in pixels, from MinPicture to MaxPicture, for
// programs that cannot show SVG, such as link previews in chats. The same arguments give the same
// bytes.
func (m *Map) PNG(width int) ([]byte, error) {
	if width < MinPicture || width > MaxPicture {
		return nil, fmt.Errorf("a picture of %d pixels: expected %d to %d", width, MinPicture, MaxPicture)
	}
	scale := float64(width) / mapWidth
	p := &picture{RGBA: image.NewRGBA(image.Rect(0, 0, width, int(math.Round(mapHeight*scale)))), scale: scale}
	h, d := m.Hazard, m.draw()
	if err := p.draw(d.Bytes()); err != nil {
		return nil, fmt.Errorf("draw the map of %s: %w", h.UUID, err)
	}
	size := int(math.Round(m.symbolSize() * scale))
	// A removed hazard type has no symbol, but its areas are still drawn.
	if text, err := (symbol.Symbol{Type: h.Type, Category: h.Category, Severity: h.Severity}).PNG(size); err == nil {
		img, err := png.Decode(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		x, y := d.xy(h.Longitude, h.Latitude)
		at := image.Pt(int(x*scale)-size/2, int(y*scale)-size/2)
		draw.Draw(p, image.Rectangle{Min: at, Max: at.Add(image.Pt(size, size))}, img, image.Point{}, draw.Over)
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&out, p); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// picture draws only the SVG that this package writes: rect, circle, text, and paths of straight
// lines, in one scale. The symbol is drawn by its own package.
type picture struct {
	*image.RGBA
	scale  float64
	raster vector.Rasterizer
}

// look holds the attributes of an element that its children inherit.
type look struct {
	fill, stroke               string
	fillOpacity, strokeOpacity float64
	width, size                float64
	anchor                     string
	dash                       []float64
	turn                       [3]float64 // rotation: degrees, around x and y
}

func (p *picture) draw(svg []byte) error {
	dec := xml.NewDecoder(bytes.NewReader(svg))
	looks := []look{{fill: "#000000", stroke: "none", fillOpacity: 1, strokeOpacity: 1, width: 1, size: 14}}
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if t.Name.Local == "title" || t.Name.Local == "svg" && len(looks) > 1 { // title and nested svg belong to the symbol
				if err := dec.Skip(); err != nil {
					return err
				}
				continue
			}
			attr := map[string]string{}
			for _, a := range t.Attr {
				attr[a.Name.Local] = a.Value
			}
			l := looks[len(looks)-1].with(attr)
			looks = append(looks, l)
			switch t.Name.Local {
			case "rect":
				p.paint(box(number64(attr["x"]), number64(attr["y"]), number64(attr["width"]), number64(attr["height"])), &l)
			case "circle":
				p.paint([]way{circle(number64(attr["cx"]), number64(attr["cy"]), number64(attr["r"]))}, &l)
			case "path":
				p.paint(readPath(attr["d"]), &l)
			case "text":
				var text string
				if err := dec.DecodeElement(&text, &t); err != nil {
					return err
				}
				looks = looks[:len(looks)-1] // the element has ended
				p.text(text, number64(attr["x"]), number64(attr["y"]), &l)
			}
		case xml.EndElement:
			looks = looks[:len(looks)-1]
		}
	}
}

func number64(s string) float64 {
	n, _ := strconv.ParseFloat(s, 64) // a missing attribute is 0
	return n
}

func (l look) with(attr map[string]string) look {
	for name, value := range attr {
		switch name {
		case "fill":
			l.fill = value
		case "stroke":
			l.stroke = value
		case "fill-opacity":
			l.fillOpacity = number64(value)
		case "stroke-opacity":
			l.strokeOpacity = number64(value)
		case "stroke-width":
			l.width = number64(value)
		case "font-size":
			l.size = number64(value)
		case "text-anchor":
			l.anchor = value
		case "stroke-dasharray":
			l.dash = nil
			for n := range strings.FieldsSeq(value) {
				l.dash = append(l.dash, number64(n))
			}
		case "transform":
			if inner, ok := strings.CutPrefix(value, "rotate("); ok {
				for i, n := range strings.Fields(strings.TrimSuffix(inner, ")")) {
					if i < len(l.turn) {
						l.turn[i] = number64(n)
					}
				}
			}
		}
	}
	return l
}

// way is a part of a path, in units of the map.
type way struct {
	points [][2]float64
	closed bool
}

func box(x, y, width, height float64) []way {
	return []way{{[][2]float64{{x, y}, {x + width, y}, {x + width, y + height}, {x, y + height}}, true}}
}

// corners is the number of sides with which a circle is drawn.
const corners = 24

func circle(x, y, r float64) way {
	w := way{closed: true}
	for i := range corners {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		w.points = append(w.points, [2]float64{x + r*cos, y + r*sin})
	}
	return w
}

// readPath reads the commands that drawing writes: M, L, H, V, h, v, Z, and l with any number of steps.
func readPath(d string) (ways []way) {
	var x, y float64
	to := func() {
		if len(ways) > 0 {
			last := &ways[len(ways)-1]
			last.points = append(last.points, [2]float64{x, y})
		}
	}
	for d != "" {
		command := d[0]
		d = d[1:]
		end := strings.IndexAny(d, "MLHVlhvZ")
		if end < 0 {
			end = len(d)
		}
		numbers := strings.Fields(strings.ReplaceAll(d[:end], "-", " -")) // negative numbers need no space before them
		d = d[end:]
		n := [2]float64{}
		for i := range min(len(numbers), len(n)) {
			n[i] = number64(numbers[i])
		}
		switch command {
		case 'M':
			x, y = n[0], n[1]
			ways = append(ways, way{points: [][2]float64{{x, y}}})
		case 'Z':
			if len(ways) > 0 {
				ways[len(ways)-1].closed = true
			}
		case 'l':
			for step := range slices.Chunk(numbers, 2) {
				x, y = x+number64(step[0]), y+number64(step[len(step)-1])
				to()
			}
		case 'L':
			x, y = n[0], n[1]
			to()
		case 'H':
			x = n[0]
			to()
		case 'V':
			y = n[0]
			to()
		case 'h':
			x += n[0]
			to()
		case 'v':
			y += n[0]
			to()
		}
	}
	return ways
}

// paint fills and strokes a path.
func (p *picture) paint(ways []way, l *look) {
	if c, ok := colourOf(l.fill, l.fillOpacity); ok {
		p.fill(ways, c)
	}
	if c, ok := colourOf(l.stroke, l.strokeOpacity); ok && l.width > 0 {
		p.fill(outline(ways, l.width, l.dash), c)
	}
}

func colourOf(text string, opacity float64) (color.Color, bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 16, 32)
	if err != nil || len(text) != 7 {
		return nil, false
	}
	return color.NRGBA{uint8(n >> 16), uint8(n >> 8), uint8(n), uint8(math.Round(255 * max(0, min(1, opacity))))}, true
}

// fill fills a path with the nonzero rule: holes run against the ring around them (RFC 7946,
// section 3.1.6).
func (p *picture) fill(ways []way, c color.Color) {
	left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, w := range ways {
		for _, at := range w.points {
			left, top, right, bottom = min(left, at[0]), min(top, at[1]), max(right, at[0]), max(bottom, at[1])
		}
	}
	if !(left <= right && top <= bottom) {
		return
	}
	low := func(x float64, most int) int { return int(max(0, min(float64(most), math.Floor(x*p.scale)))) }
	size := p.Rect.Max
	at := image.Rect(low(left, size.X), low(top, size.Y), low(right+1, size.X)+1, low(bottom+1, size.Y)+1).Intersect(p.Rect)
	if at.Empty() {
		return
	}
	p.raster.Reset(at.Dx(), at.Dy())
	to := func(q [2]float64) (x, y float32) {
		return float32(q[0]*p.scale - float64(at.Min.X)), float32(q[1]*p.scale - float64(at.Min.Y))
	}
	for _, w := range ways {
		if len(w.points) < 3 {
			continue
		}
		p.raster.MoveTo(to(w.points[0]))
		for _, q := range w.points[1:] {
			p.raster.LineTo(to(q))
		}
		p.raster.ClosePath()
	}
	p.raster.Draw(p.RGBA, at, image.NewUniform(c), image.Point{})
}

// outline returns the area that a pen of that width covers along a path: a rectangle per segment
// and a circle at each corner, all with the same orientation.
func outline(ways []way, width float64, dash []float64) (out []way) {
	r := width / 2
	for _, w := range ways {
		points := w.points
		if w.closed && len(points) > 1 {
			points = append(points[:len(points):len(points)], points[0])
		}
		for _, part := range dashes(points, dash) {
			for i, b := range part {
				if width > 1 && len(dash) == 0 {
					out = append(out, circle(b[0], b[1], r))
				}
				if i == 0 {
					continue
				}
				a := part[i-1]
				length := math.Hypot(b[0]-a[0], b[1]-a[1])
				if length == 0 {
					continue
				}
				x, y := r*(b[1]-a[1])/length, -r*(b[0]-a[0])/length
				out = append(out, way{[][2]float64{{a[0] + x, a[1] + y}, {b[0] + x, b[1] + y}, {b[0] - x, b[1] - y}, {a[0] - x, a[1] - y}}, true})
			}
		}
	}
	return out
}

// maxDashes limits the number of dashes of one line.
const maxDashes = 4000

// dashes cuts a line into its dashes.
func dashes(points [][2]float64, dash []float64) [][][2]float64 {
	if len(dash) < 2 || len(points) == 0 {
		return [][][2]float64{points}
	}
	var parts [][][2]float64
	on, left := 0, dash[0]
	part := [][2]float64{points[0]}
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		for length := math.Hypot(b[0]-a[0], b[1]-a[1]); length > 0; {
			step := min(left, length)
			a = [2]float64{a[0] + (b[0]-a[0])*step/length, a[1] + (b[1]-a[1])*step/length}
			length -= step
			if on%2 == 0 {
				part = append(part, a)
			}
			if left -= step; left > 0 {
				continue
			}
			if on%2 == 0 {
				parts = append(parts, part)
			}
			if len(parts) > maxDashes {
				return parts
			}
			on++
			left, part = max(0.5, dash[on%2]), [][2]float64{a}
		}
	}
	if on%2 == 0 {
		parts = append(parts, part)
	}
	return parts
}

var typeface = sync.OnceValue(func() *sfnt.Font {
	f, err := sfnt.Parse(gomedium.TTF)
	if err != nil {
		panic(err) // the font is embedded in the program
	}
	return f
})

// text writes a line of text, its halo first. Letters missing in the font are left out.
func (p *picture) text(text string, x, y float64, l *look) {
	const fine = 16 // glyphs are read larger than they are drawn, because their corners are whole 64ths
	var buffer sfnt.Buffer
	ppem := fixed.Int26_6(l.size * fine * 64)
	var ways []way
	at := 0.0
	for _, r := range text {
		glyph, err := typeface().GlyphIndex(&buffer, r)
		if err != nil || glyph == 0 && r != ' ' {
			continue
		}
		if segments, err := typeface().LoadGlyph(&buffer, glyph, ppem, nil); err == nil {
			ways = append(ways, glyphWays(segments, x+at, y, fine*64)...)
		}
		if advance, err := typeface().GlyphAdvance(&buffer, glyph, ppem, font.HintingNone); err == nil {
			at += float64(advance) / (fine * 64)
		}
	}
	shift := 0.0
	switch l.anchor {
	case "middle":
		shift = -at / 2
	case "end":
		shift = -at
	}
	sin, cos := math.Sincos(l.turn[0] * math.Pi / 180)
	for _, w := range ways {
		for i, q := range w.points {
			dx, dy := q[0]+shift-l.turn[1], q[1]-l.turn[2]
			w.points[i] = [2]float64{l.turn[1] + dx*cos - dy*sin, l.turn[2] + dx*sin + dy*cos}
		}
	}
	if c, ok := colourOf(l.stroke, l.strokeOpacity); ok {
		p.fill(outline(ways, l.width, nil), c)
	}
	if c, ok := colourOf(l.fill, l.fillOpacity); ok {
		p.fill(ways, c)
	}
}

// glyphWays returns the outlines of a glyph at x, y, with its curves as straight pieces.
func glyphWays(segments sfnt.Segments, x, y, units float64) (ways []way) {
	point := func(q fixed.Point26_6) [2]float64 {
		return [2]float64{x + float64(q.X)/units, y + float64(q.Y)/units}
	}
	for _, s := range segments {
		if s.Op == sfnt.SegmentOpMoveTo {
			ways = append(ways, way{[][2]float64{point(s.Args[0])}, true})
			continue
		}
		w := &ways[len(ways)-1]
		from := w.points[len(w.points)-1]
		switch s.Op {
		case sfnt.SegmentOpLineTo:
			w.points = append(w.points, point(s.Args[0]))
		case sfnt.SegmentOpQuadTo, sfnt.SegmentOpCubeTo:
			b, c := point(s.Args[0]), point(s.Args[1])
			d := c
			if s.Op == sfnt.SegmentOpCubeTo {
				d = point(s.Args[2])
			} else { // the same curve with two control points
				b, c = [2]float64{(from[0] + 2*b[0]) / 3, (from[1] + 2*b[1]) / 3}, [2]float64{(d[0] + 2*b[0]) / 3, (d[1] + 2*b[1]) / 3}
			}
			const pieces = 4
			for i := 1; i <= pieces; i++ {
				t := float64(i) / pieces
				u := 1 - t
				at := func(k int) float64 {
					return u*u*u*from[k] + 3*u*u*t*b[k] + 3*u*t*t*c[k] + t*t*t*d[k]
				}
				w.points = append(w.points, [2]float64{at(0), at(1)})
			}
		}
	}
	return ways
}
