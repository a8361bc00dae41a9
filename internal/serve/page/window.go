package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
	"github.com/hazardd/hazardd/internal/atlas/symbol"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// These are the limits of a Window. At the lowest zoom the world is wider than the largest window,
// so that every place appears at most once. At the highest zoom the ground still has detail.
const (
	MinWindow, MaxWindow         = 240, 1200 // pixels
	MinWindowZoom, MaxWindowZoom = 3, 10
)

// Window is a still picture of the map of all hazards. It is shown in place of the map until a
// visitor wants the map. It has no words, so that readers of any language can use it, except for
// names of towns.
type Window struct {
	Longitude, Latitude float64 // of its center
	Zoom                float64 // as MapLibre counts: at 0 the world is 512 pixels wide
	Width, Height       int     // in pixels of a screen of usual density
	Dark                bool
	Nowhere             bool // no place was chosen, and there is nothing to show: the picture gives no position
	Ground              *basemap.Archive
	Hazards             []Placed
	Gaps                []geo.Shape // places for which no official warnings are polled
}

// Placed is a hazard with its areas, in the order of Hazard.Areas.
type Placed struct {
	Hazard *hazard.Hazard
	Shapes []geo.Shape
}

// These are sizes of hazards in the picture, in pixels.
const (
	windowSymbol = 36.0
	dotRadius    = 4.5
	// near is the distance from a symbol's center within which another hazard is counted instead of
	// drawn.
	near = 26.0
	// maxSymbols is how many hazards of a window are drawn as symbols. The others, the least
	// severe, are dots.
	maxSymbols = 150
)

// SVG returns the window as an image without scripts, styles and external references. Every hazard
// in it is drawn: with its symbol, as a dot, or counted at the symbol of one that is at least as
// severe.
func (w *Window) SVG() []byte {
	d := &drawing{palette: lightMap, lon: w.Longitude, width: float64(w.Width), height: float64(w.Height), project: mercator, inverse: unmercator}
	if w.Dark {
		d.palette = darkMap
	}
	d.scale = 512 * math.Exp2(w.Zoom) / 360
	d.west = w.Longitude - d.width/2/d.scale
	d.north = mercator(w.Latitude) + d.height/2/d.scale
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" font-family="system-ui, sans-serif" font-size="12">`, w.Width, w.Height)
	fmt.Fprintf(d, `<rect width="%d" height="%d" fill="%s"/>`, w.Width, w.Height, d.sea)
	towns := d.ground(w.Ground)
	d.gaps(w.Gaps)
	// Draw the most severe last, and never a drill over a real hazard.
	list := slices.Clone(w.Hazards)
	slices.SortStableFunc(list, func(a, b Placed) int {
		switch {
		case a.Hazard.Drill() && !b.Hazard.Drill():
			return -1
		case b.Hazard.Drill() && !a.Hazard.Drill():
			return 1
		}
		return cmp.Or(cmp.Compare(a.Hazard.Severity, b.Hazard.Severity), cmp.Compare(b.Hazard.ID, a.Hazard.ID))
	})
	real := slices.IndexFunc(list, func(p Placed) bool { return !p.Hazard.Drill() })
	if real < 0 {
		real = len(list)
	}
	for _, p := range list[:real] {
		d.drill(p)
	}
	d.surface(list[real:], w)
	d.crowd(list, towns)
	d.tell(towns, w)
	d.WriteString(`</svg>`)
	return d.Bytes()
}

// Sees reports whether a part of one of the shapes may be in the window.
func (w *Window) Sees(shapes []geo.Shape) bool {
	if len(shapes) == 0 {
		return false
	}
	half := 180 * float64(w.Width) / (512 * math.Exp2(w.Zoom)) // degrees of longitude from the center to the edge
	high := 180 * float64(w.Height) / (512 * math.Exp2(w.Zoom))
	middle := mercator(w.Latitude)
	box := geo.Box{West: math.Remainder(w.Longitude-half, 360), East: math.Remainder(w.Longitude+half, 360), South: unmercator(middle - high), North: unmercator(middle + high)}
	return box.BothSides().Overlaps(geo.BoundsOf(shapes...)) || box.Overlaps(geo.BoundsOf(shapes...).BothSides())
}

// gaps hatches the places for which no official warnings are polled.
func (d *drawing) gaps(gaps []geo.Shape) {
	var areas strings.Builder
	for _, g := range gaps {
		s := d.read(g)
		for _, p := range s.polygons {
			for _, ring := range p {
				if d.sees(ring) {
					areas.WriteString(d.way(ring, true) + "Z")
				}
			}
		}
	}
	if areas.Len() > 0 {
		fmt.Fprintf(d, `<defs><pattern id="gap" width="9" height="9" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V9" stroke="%s" stroke-width="2.4"/></pattern></defs>`, d.frame)
		fmt.Fprintf(d, `<path d="%s" fill="url(#gap)" fill-opacity="0.8" fill-rule="evenodd"/>`, areas.String())
	}
}

// read returns a geometry, moved to the side of the world that is drawn.
func (d *drawing) read(g geo.Shape) shape {
	s := readShape([]byte(g.GeoJSON()))
	s.turn(d.lon)
	return s
}

// levelLook is how the surface of danger shows a level: the same as on the moving map
// (web/src/map/surface.ts).
type levelLook struct {
	fill                            string
	opacity                         float64
	marks                           string // color of its stripes or dots; empty: none
	strength                        float64
	line, halo                      string
	lineOpacity, width, haloOutside float64 // in pixels
	from                            float64 // zoom from which it has a line
}

func lookOf(s hazard.Severity, dark bool) levelLook {
	type both struct{ light, dark levelLook }
	l := map[hazard.Severity]both{
		hazard.Warning: {
			levelLook{fill: "#ff0000", opacity: 0.72, line: "#8f0000", lineOpacity: 1, width: 1.8, halo: "#ffffff", haloOutside: 1},
			levelLook{fill: "#ff4848", opacity: 0.92, line: "#ffd9d9", lineOpacity: 1, width: 1.6, halo: "#000000", haloOutside: 1.1},
		},
		hazard.Watch: {
			levelLook{fill: "#ffff00", opacity: 0.36, marks: "#6b5c00", strength: 0.45, line: "#5f5200", lineOpacity: 1, width: 1.6},
			levelLook{fill: "#ffff00", opacity: 0.08, marks: "#ffff00", strength: 0.3, line: "#ffff00", lineOpacity: 0.75, width: 1.3},
		},
		hazard.Advisory: {
			levelLook{fill: "#00ff00", opacity: 0.13, marks: "#00731a", strength: 0.42, line: "#00731a", lineOpacity: 0.75, width: 1, from: 5},
			levelLook{fill: "#00ff00", opacity: 0.07, marks: "#00ff00", strength: 0.3, line: "#00ff00", lineOpacity: 0.5, width: 1, from: 5},
		},
		hazard.Information: {
			levelLook{line: "#1c78c4", lineOpacity: 0.9, width: 1, from: 5},
			levelLook{line: "#3199f0", lineOpacity: 0.8, width: 1, from: 5},
		},
	}[s]
	if l.light.line == "" {
		return levelLook{line: "#666666", lineOpacity: 1, width: 1.6}
	}
	if dark {
		return l.dark
	}
	return l.light
}

// surface draws the areas of real hazards, in the order of their levels, the mildest first. Per
// place only the worst level is filled, and equal levels are one area: each level is masked by the
// worse ones, and its line by itself, so that only the outer half of the line is seen.
func (d *drawing) surface(list []Placed, w *Window) {
	var levels []hazard.Severity
	var others strings.Builder // lines, points, and outlines of places that the hazard is somewhere in
	d.WriteString(`<defs>`)
	for len(list) > 0 {
		s := list[0].Hazard.Severity
		n := 1
		for n < len(list) && list[n].Hazard.Severity == s {
			n++
		}
		before := d.Len()
		fmt.Fprintf(d, `<g id="a%d" fill-rule="evenodd">`, s)
		start := d.Len()
		for _, p := range list[:n] {
			d.areasOf(p, lookOf(s, w.Dark).line, &others)
		}
		if d.Len() > start {
			levels = append(levels, s)
			d.WriteString(`</g>`)
		} else {
			d.Truncate(before)
		}
		list = list[n:]
	}
	d.marks(w.Dark)
	for i := range levels {
		if i+1 < len(levels) {
			d.mask("m", levels[i], levels[i+1:])
		}
		d.mask("o", levels[i], levels[i:])
	}
	d.WriteString(`</defs>`)
	for i, s := range levels {
		d.level(s, lookOf(s, w.Dark), w.Zoom, i == len(levels)-1)
	}
	d.WriteString(others.String())
}

// areasOf draws the areas of a hazard that are in the window, without colors; the rest goes to
// others.
func (d *drawing) areasOf(p Placed, line string, others *strings.Builder) {
	for i, g := range p.Shapes {
		s := d.read(g)
		if i < len(p.Hazard.Areas) {
			s.role = p.Hazard.Areas[i].Role
		}
		if !d.seesAny(&s) {
			continue
		}
		if s.role != hazard.OutlineOfPlace {
			for _, rings := range s.polygons {
				var area strings.Builder
				for _, ring := range rings {
					area.WriteString(d.way(ring, true) + "Z")
				}
				fmt.Fprintf(d, `<path d="%s"/>`, area.String())
			}
			s.polygons = nil
		}
		before := d.Len()
		d.colour = line
		d.shape(&s)
		others.Write(d.Bytes()[before:])
		d.Truncate(before)
	}
}

// mask writes the mask of a level, with that letter before its number, which leaves out the areas
// of those levels.
func (d *drawing) mask(letter string, of hazard.Severity, without []hazard.Severity) {
	fmt.Fprintf(d, `<mask id="%s%d" maskUnits="userSpaceOnUse" x="0" y="0" width="%.0f" height="%.0f"><rect width="%.0[3]f" height="%.0[4]f" fill="#fff"/>`, letter, of, d.width, d.height)
	for _, s := range without {
		fmt.Fprintf(d, `<use href="#a%d"/>`, s)
	}
	d.WriteString(`</mask>`)
}

// marks defines the stripes of a watch and the dots of an advisory, of the sizes of the moving map.
func (d *drawing) marks(dark bool) {
	watch, advisory := lookOf(hazard.Watch, dark), lookOf(hazard.Advisory, dark)
	fmt.Fprintf(d, `<pattern id="p%d" width="7.8" height="7.8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V7.8" stroke="%s" stroke-width="2.1"/></pattern>`, hazard.Watch, watch.marks)
	fmt.Fprintf(d, `<pattern id="p%d" width="8" height="8" patternUnits="userSpaceOnUse"><circle cx="2" cy="2" r="1" fill="%s"/><circle cx="6" cy="6" r="1" fill="%[2]s"/></pattern>`, hazard.Advisory, advisory.marks)
}

// level draws the surface of a level; the worst one has no mask.
func (d *drawing) level(s hazard.Severity, l levelLook, zoom float64, worst bool) {
	if l.opacity > 0 {
		mask := ""
		if !worst {
			mask = fmt.Sprintf(` mask="url(#m%d)"`, s)
		}
		fmt.Fprintf(d, `<g%s><use href="#a%d" fill="%s" opacity="%.2g"/>`, mask, s, l.fill, l.opacity)
		if l.marks != "" {
			fmt.Fprintf(d, `<use href="#a%d" fill="url(#p%[1]d)" opacity="%.2g"/>`, s, l.strength)
		}
		d.WriteString(`</g>`)
	}
	if zoom < l.from {
		return
	}
	fmt.Fprintf(d, `<g mask="url(#o%d)" fill="none" stroke-linejoin="round">`, s)
	if l.halo != "" {
		fmt.Fprintf(d, `<use href="#a%d" stroke="%s" stroke-width="%.1f"/>`, s, l.halo, 2*(l.width+l.haloOutside))
	}
	fmt.Fprintf(d, `<use href="#a%d" stroke="%s" stroke-width="%.1f" opacity="%.2g"/></g>`, s, l.line, 2*l.width, l.lineOpacity)
}

// drill draws the areas of a drill: no real area has a black and white line.
func (d *drawing) drill(p Placed) {
	casing := d.casing
	d.colour, d.casing = "#000000", "#ffffff"
	for _, g := range p.Shapes {
		s := d.read(g)
		s.role, s.hollow = hazard.ImpactArea, true // which is dashed
		if d.seesAny(&s) {
			d.shape(&s)
		}
	}
	d.casing = casing
}

func (d *drawing) seesAny(s *shape) bool {
	for _, p := range s.polygons {
		if slices.ContainsFunc(p, d.sees) {
			return true
		}
	}
	return slices.ContainsFunc(s.lines, d.sees) || len(s.points) > 0 && d.sees(s.points)
}

// tell writes the position of the window and its towns as data. The list uses it to say where a
// hazard is.
func (d *drawing) tell(towns []basemap.Feature, w *Window) {
	type town struct {
		Name      string  `json:"name"`
		Longitude float64 `json:"longitude"`
		Latitude  float64 `json:"latitude"`
	}
	list := []town{}
	for _, f := range towns {
		if len(f.Parts) == 0 || len(f.Parts[0]) == 0 || f.Name == "" || f.Is["from"] > w.Zoom {
			continue
		}
		if at := f.Parts[0][0]; d.sees([][2]float64{at}) {
			list = append(list, town{f.Name, math.Round(math.Remainder(at[0], 360)*1e4) / 1e4, math.Round(at[1]*1e4) / 1e4})
		}
	}
	data := map[string]any{"towns": list}
	if !w.Nowhere {
		data["middle"] = [3]float64{w.Longitude, w.Latitude, w.Zoom}
	}
	if text, err := json.Marshal(data); err == nil { // json.Marshal escapes the special characters of XML
		fmt.Fprintf(d, `<metadata>%s</metadata>`, text)
	}
}

// standing is a hazard that is drawn with its symbol.
type standing struct {
	x, y   float64
	h      *hazard.Hazard
	others int // hazards counted at it
}

// crowd draws the hazards at their positions, the most severe last, and the names of towns where
// there is room.
func (d *drawing) crowd(list []Placed, towns []basemap.Feature) {
	var symbols []standing
	dots := map[[3]int]bool{} // many hazards at one place make one dot
	var below strings.Builder
	for _, p := range slices.Backward(list) {
		h := p.Hazard
		x, y := d.xy(h.Longitude+360*math.Round((d.lon-h.Longitude)/360), max(-89.9, min(89.9, h.Latitude)))
		if x < -windowSymbol/2 || y < -windowSymbol/2 || x > d.width+windowSymbol/2 || y > d.height+windowSymbol/2 {
			continue
		}
		// A drill is never counted together with real hazards.
		at := slices.IndexFunc(symbols, func(s standing) bool { return math.Hypot(s.x-x, s.y-y) < near && s.h.Drill() == h.Drill() })
		switch {
		case at >= 0:
			symbols[at].others++
		case len(symbols) < maxSymbols:
			symbols = append(symbols, standing{x: x, y: y, h: h})
		case !dots[[3]int{int(x / 4), int(y / 4), int(h.Severity)}]:
			dots[[3]int{int(x / 4), int(y / 4), int(h.Severity)}] = true
			fmt.Fprintf(&below, `<circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s" stroke="%s" stroke-width="1.2"/>`, x, y, dotRadius, colourOfSeverity(h.Severity), d.casing)
		}
	}
	taken := []patch{{}}
	for _, s := range symbols {
		taken = append(taken, patch{s.x - windowSymbol/2, s.y - windowSymbol/2, s.x + windowSymbol/2, s.y + windowSymbol/2})
	}
	d.names(towns, taken, false)
	d.WriteString(below.String())
	known := map[symbol.Symbol]string{}
	for _, s := range slices.Backward(symbols) {
		what := symbol.Symbol{Type: s.h.Type, Category: s.h.Category, Severity: s.h.Severity}
		id, ok := known[what]
		if !ok {
			if svg, err := what.SVG(); err == nil {
				id = fmt.Sprintf("s%d", len(known))
				fmt.Fprintf(d, `<defs><g id="%s">%s</g></defs>`, id, svg)
			}
			known[what] = id
		}
		if s.h.Drill() { // a ring of black and white
			fmt.Fprintf(d, `<circle cx="%.1f" cy="%.1f" r="21" fill="#ffffff" stroke="#ffffff" stroke-width="7"/><circle cx="%[1]f" cy="%[2]f" r="21" fill="none" stroke="#000000" stroke-width="5" stroke-dasharray="6 5"/>`, s.x, s.y)
		}
		if id == "" { // the type no longer exists
			fmt.Fprintf(d, `<circle cx="%.1f" cy="%.1f" r="12" fill="%s" stroke="%s" stroke-width="2"/>`, s.x, s.y, colourOfSeverity(s.h.Severity), d.casing)
		} else {
			fmt.Fprintf(d, `<use href="#%s" transform="translate(%.1f %.1f) scale(%.4f)"/>`, id, s.x-windowSymbol/2, s.y-windowSymbol/2, windowSymbol/symbolEdge)
		}
		if s.others > 0 {
			fmt.Fprintf(d, `<text x="%.1f" y="%.1f" font-weight="800" fill="%s" stroke="%s" stroke-width="4" stroke-linejoin="round" paint-order="stroke">+%d</text>`,
				s.x+windowSymbol/2-6, s.y+windowSymbol/2+2, d.label, d.land, s.others)
		}
	}
}
