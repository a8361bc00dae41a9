package page

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// drawnShape is a shape of a source, for the map.
type drawnShape struct {
	shape
	of *hazard.Shape
}

// mostDrawn limits the number of shapes on one small map. A ShakeMap has 17 contours, a storm 60
// shapes.
const mostDrawn = 400

// readDrawn reads the shapes to draw. It leaves out contours below the intensity that many people
// feel. If the current wind is known, it also leaves out all expected wind, which would cover the
// whole map.
func (m *Map) readDrawn() (all []drawnShape) {
	windNow := slices.ContainsFunc(m.Shapes, func(s hazard.Shape) bool { return s.Role == hazard.WindShape && !s.Forecast })
	contours := slices.ContainsFunc(m.Shapes, func(s hazard.Shape) bool { return s.Role == hazard.ContourShape })
	for i := range m.Shapes {
		s := &m.Shapes[i]
		switch {
		case len(all) == mostDrawn:
			return all
		case s.Role == hazard.WindShape && s.Forecast && windNow,
			s.Role == hazard.ContourShape && s.Band != nil && s.Band.Kind == hazard.Intensity && (s.Band.Value < leastContour || s.Band.Value != float64(int(s.Band.Value))),
			s.Role == hazard.AreaShape && contours:
			continue
		}
		one := readShape([]byte(s.Geometry))
		if !one.onEarth() {
			continue
		}
		one.turn(m.Hazard.Longitude)
		all = append(all, drawnShape{one, s})
	}
	return all
}

// leastContour is the lowest intensity whose contour is drawn: many people feel it.
const leastContour = 4

// tracked reports whether a source draws a track. Then the hazard's own track area is not drawn.
func tracked(all []drawnShape) bool {
	return slices.ContainsFunc(all, func(s drawnShape) bool { return s.of.Role == hazard.TrackShape })
}

// drawn draws shapes: areas translucent with an edge, forecasts dashed, lines with a dark casing,
// because a color may be as light as the ground. Older perimeters of a fire are drawn over the
// newer ones, which contain them. Times are written outside the taken patches. drawn returns the
// patches that are taken then.
func (d *drawing) drawn(all []drawnShape, taken ...patch) []patch {
	order := hazard.ShapeRoles()
	slices.SortStableFunc(all, func(a, b drawnShape) int {
		if a.of.Role == hazard.PerimeterShape && b.of.Role == a.of.Role {
			return cmp.Compare(b.of.From, a.of.From)
		}
		return cmp.Compare(slices.Index(order, a.of.Role), slices.Index(order, b.of.Role))
	})
	for i := range all {
		s := &all[i]
		color, dash := s.color(all), ""
		if s.of.Forecast {
			dash = ` stroke-dasharray="7 5"`
		}
		var areas, edges, lines strings.Builder
		for _, p := range s.polygons {
			for _, ring := range p {
				areas.WriteString(d.way(ring, true) + "Z")
				edges.WriteString(d.way(ring, false))
			}
		}
		for _, l := range s.lines {
			lines.WriteString(d.way(l, false))
		}
		if areas.Len() > 0 {
			opacity := "0.25"
			if s.of.Role == hazard.ConeShape {
				opacity = "0.12"
			}
			fmt.Fprintf(d, `<path d="%s" fill="%s" fill-opacity="%s" fill-rule="evenodd"/>`, areas.String(), color, opacity)
			fmt.Fprintf(d, `<path d="%s" fill="none" stroke="%s" stroke-width="3" stroke-linejoin="round"%s/>`, edges.String(), d.casing, dash)
			fmt.Fprintf(d, `<path d="%s" fill="none" stroke="%s" stroke-width="1.6" stroke-linejoin="round"%s/>`, edges.String(), color, dash)
		}
		if lines.Len() > 0 {
			fmt.Fprintf(d, `<path d="%s" fill="none" stroke="%s" stroke-width="4" stroke-linejoin="round"%s/>`, lines.String(), d.casing, dash)
			fmt.Fprintf(d, `<path d="%s" fill="none" stroke="%s" stroke-width="2.4" stroke-linejoin="round"%s/>`, lines.String(), color, dash)
		}
		for _, at := range s.points {
			x, y := d.xy(at[0], at[1])
			fmt.Fprintf(d, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s" stroke="%s" stroke-width="1.2"/>`, x, y, color, d.casing)
		}
	}
	return d.times(all, taken)
}

// color returns the color of a shape among all shapes. For perimeters it shows which is older.
func (s *drawnShape) color(all []drawnShape) string {
	if s.of.Role != hazard.PerimeterShape {
		return s.of.Color()
	}
	times := perimeterTimes(all)
	if len(times) < 2 {
		return s.of.Color()
	}
	return hazard.Growth[slices.Index(times, s.of.From)*(len(hazard.Growth)-1)/(len(times)-1)]
}

func perimeterTimes(all []drawnShape) (times []hazard.Instant) {
	for i := range all {
		if all[i].of.Role == hazard.PerimeterShape {
			times = append(times, all[i].of.From)
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// timeLayouts says how the time of an expected point is written, by its role: a storm is there in
// some hour, a wave arrives in some minute.
var timeLayouts = map[hazard.ShapeRole]string{hazard.PositionShape: "2 Jan 15h UTC", hazard.CoastShape: "2 Jan 15:04 UTC"}

// times labels some of the expected points with the time of the storm or the wave, on the side
// where there is room. It returns the patches that are taken then.
func (d *drawing) times(all []drawnShape, taken []patch) []patch {
	var lastX, lastY float64
	for i := range all {
		s := &all[i]
		layout, timed := timeLayouts[s.of.Role]
		if !timed || !s.of.Forecast || len(s.points) != 1 {
			continue
		}
		x, y := d.xy(s.points[0][0], s.points[0][1])
		if (x-lastX)*(x-lastX)+(y-lastY)*(y-lastY) < 44*44 || y < 30 || y > mapHeight-30 {
			continue
		}
		text := s.of.From.Time().Format(layout)
		width := 6.2 * float64(len(text))
		at := patch{x + 7, y - 8, x + 7 + width, y + 8}
		if !d.free(at, taken) {
			at.left, at.right = x-7-width, x-7
		}
		if !d.free(at, taken) {
			continue
		}
		lastX, lastY = x, y
		taken = append(taken, at)
		fmt.Fprintf(d, `<text x="%.1f" y="%.1f" font-size="11" fill="%s" stroke="%s" stroke-width="3" paint-order="stroke">%s</text>`, at.left, y+4, d.label, d.sea, text)
	}
	return taken
}

// patch is a rectangle of the map, in its units.
type patch struct{ left, top, right, bottom float64 }

func (b patch) meets(o patch) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

// free reports whether a patch is on the map and overlaps none of the others.
func (d *drawing) free(b patch, others []patch) bool {
	return b.left >= 4 && b.right <= d.width-4 && b.top >= 4 && b.bottom <= d.height-4 && !slices.ContainsFunc(others, b.meets)
}

// legend explains what is drawn: one line for each color and kind.
type legend struct {
	patch
	lines []legendLine
}

type legendLine struct {
	color, text string
	forecast    bool
	role        int
	value       float64
}

const legendRow = 15

// legendOf returns the legend of some shapes, in the corner where it covers least of them and of
// the symbol. least is how much it covers. The legend has no lines if there is nothing to explain.
func (d *drawing) legendOf(all []drawnShape, symbol patch) (l legend, least int) {
	order := hazard.ShapeRoles()
	days := map[string]int{}
	for _, at := range perimeterTimes(all) {
		days[at.Time().Format(time.DateOnly)]++
	}
	for i := range all {
		s := all[i].of
		e := legendLine{color: all[i].color(all), text: strings.ToUpper(string(s.Role[:1])) + string(s.Role[1:]), forecast: s.Forecast, role: slices.Index(order, s.Role)}
		switch {
		case s.Role == hazard.PositionShape:
			continue // it has the color of the winds
		case s.Role == hazard.CoastShape && s.Forecast:
			e.text = "Coast, a wave is expected"
		case s.Role == hazard.CoastShape:
			e.text = "Coast, a wave was measured"
		case s.Role == hazard.PerimeterShape:
			format := "Perimeter, 2 Jan 2006"
			if days[s.From.Time().Format(time.DateOnly)] > 1 {
				format = "Perimeter, 2 Jan 15:04 UTC"
			}
			e.text, e.value = s.From.Time().Format(format), -float64(s.From)
		case s.Band != nil && s.Band.Kind == hazard.Intensity:
			e.text, e.value = "Intensity "+s.Band.String(), s.Band.Value
		case s.Band != nil:
			e.text, e.value = s.Title(), s.Band.Value
			if s.Band.Kind == hazard.Wind {
				e.text = fmt.Sprintf("Wind from %.0f km/h", math.Round(s.Band.Value))
			}
		}
		if s.Forecast && s.Role != hazard.CoastShape {
			e.text += ", forecast"
		}
		if !slices.ContainsFunc(l.lines, func(o legendLine) bool { return o.text == e.text }) {
			l.lines = append(l.lines, e)
		}
	}
	if len(l.lines) == 0 {
		return l, 0
	}
	slices.SortStableFunc(l.lines, func(a, b legendLine) int { return cmp.Or(cmp.Compare(a.role, b.role), cmp.Compare(b.value, a.value)) })
	const most = 8
	l.lines = l.lines[:min(len(l.lines), most)]
	widest := 0
	for _, e := range l.lines {
		widest = max(widest, len(e.text))
	}
	height, width := float64(legendRow*len(l.lines)+8), float64(40+widest*6)
	const edge, above, below = 8, 30, 46 // keep clear of the degrees above and the scale below
	for i, at := range [][2]float64{{edge, mapHeight - height - edge}, {mapWidth - width - edge, above}, {mapWidth - width - edge, mapHeight - height - below}, {edge, above}} {
		b := patch{at[0], at[1], at[0] + width, at[1] + height}
		if covers := d.covers(b, all, symbol); i == 0 || covers < least {
			l.patch, least = b, covers
		}
	}
	return l, least
}

// covers returns how much of the drawing lies under a box. It counts the dots of lines, one every
// few units. A position and the symbol each count as many dots.
func (d *drawing) covers(b patch, all []drawnShape, symbol patch) (dots int) {
	const apart, mark = 5.0, 40
	if b.meets(symbol) {
		dots += mark
	}
	in := func(x, y float64) bool { return x > b.left && x < b.right && y > b.top && y < b.bottom }
	along := func(list [][2]float64) {
		for i := 1; i < len(list); i++ {
			x, y := d.xy(list[i-1][0], list[i-1][1])
			toX, toY := d.xy(list[i][0], list[i][1])
			steps := min(max(math.Ceil(math.Hypot(toX-x, toY-y)/apart), 1), mapWidth/apart)
			for s := 1.0; s <= steps; s++ {
				if in(x+(toX-x)*s/steps, y+(toY-y)*s/steps) {
					dots++
				}
			}
		}
	}
	for i := range all {
		for _, p := range all[i].polygons {
			for _, ring := range p {
				along(ring)
			}
		}
		for _, line := range all[i].lines {
			along(line)
		}
		for _, at := range all[i].points {
			if in(d.xy(at[0], at[1])) {
				dots += mark
			}
		}
	}
	return dots
}

// legend draws a legend. Forecasts are dashed in the legend as on the map.
func (d *drawing) legend(l legend) {
	if len(l.lines) == 0 {
		return
	}
	left, top := int(l.left), int(l.top)
	fmt.Fprintf(d, `<rect x="%d" y="%d" width="%.0f" height="%.0f" fill="%s" fill-opacity="0.9" stroke="%s"/>`, left, top, l.right-l.left, l.bottom-l.top, d.sea, d.frame)
	for i, e := range l.lines {
		y := top + 4 + legendRow*i + legendRow/2
		dash := ""
		if e.forecast {
			dash = ` stroke-dasharray="7 4"`
		}
		fmt.Fprintf(d, `<path d="M%d %dH%d" fill="none" stroke="%s" stroke-width="5"%s/>`, left+6, y, left+28, d.casing, dash)
		fmt.Fprintf(d, `<path d="M%d %dH%d" fill="none" stroke="%s" stroke-width="3"%s/>`, left+6, y, left+28, e.color, dash)
		fmt.Fprintf(d, `<text x="%d" y="%d" font-size="11" fill="%s">%s</text>`, left+34, y+4, d.label, html.EscapeString(e.text))
	}
}
