package page

import (
	"bytes"
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
	all := slices.Clone(w.Hazards)
	list := all
	slices.SortStableFunc(list, func(a, b Placed) int {
		switch {
		case a.Hazard.Drill() && !b.Hazard.Drill():
			return -1
		case b.Hazard.Drill() && !a.Hazard.Drill():
			return 1
		}
		return cmp.Or(cmp.Compare(a.Hazard.Severity, b.Hazard.Severity), cmp.Compare(b.Hazard.ID, a.Hazard.ID))
	})
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Hazard.Severity == list[0].Hazard.Severity && list[n].Hazard.Drill() == list[0].Hazard.Drill() {
			n++
		}
		d.level(list[:n], w.Dark)
		list = list[n:]
	}
	d.crowd(all, towns)
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

// level draws the areas of hazards of one level: where they overlap, the fill is that of one. A
// more severe level covers most of a milder one, as on the moving map; drills have no fill.
func (d *drawing) level(list []Placed, dark bool) {
	before := d.Len()
	d.fills = &strings.Builder{}
	for _, p := range list {
		d.areasOf(p)
	}
	fills := d.fills.String()
	d.fills = nil
	if opacity := opacityOf(list[0].Hazard.Severity, dark); fills != "" && opacity > 0 && !list[0].Hazard.Drill() {
		edges := bytes.Clone(d.Bytes()[before:])
		d.Truncate(before)
		fmt.Fprintf(d, `<g opacity="%.2g">%s</g>`, opacity, fills)
		d.Write(edges)
	}
}

// opacityOf returns the opacity of the fill of a level. In the dark yellow and green are far
// lighter than land, and red is not.
func opacityOf(s hazard.Severity, dark bool) float64 {
	light, night := 0.0, 0.0
	switch s {
	case hazard.Warning:
		light, night = 0.72, 0.85
	case hazard.Watch:
		light, night = 0.4, 0.2
	case hazard.Advisory:
		light, night = 0.2, 0.15
	}
	if dark {
		return night
	}
	return light
}

// areasOf draws the areas of a hazard that are in the window.
func (d *drawing) areasOf(p Placed) {
	d.colour = colourOfSeverity(p.Hazard.Severity)
	casing := d.casing
	if p.Hazard.Drill() { // no real area has a black and white line
		d.colour, d.casing = "#000000", "#ffffff"
	}
	for i, g := range p.Shapes {
		s := d.read(g)
		if i < len(p.Hazard.Areas) {
			s.role = p.Hazard.Areas[i].Role
		}
		if p.Hazard.Drill() {
			s.role = hazard.ImpactArea // which is dashed
		}
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
