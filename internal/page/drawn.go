package page

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
)

// drawnShape is a shape of a source on the map.
type drawnShape struct {
	shape
	of *hazard.Shape
}

// mostDrawn bounds what is drawn on one small map: a ShakeMap has 17 contours, a storm 60 shapes.
const mostDrawn = 400

// readDrawn reads the shapes that are drawn. Contours below the intensity that most people feel are left out, and so is all that is expected
// of the wind where it is known for now: what covers the map says nothing.
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

// leastContour is the least intensity of which the contour is drawn: many feel it.
const leastContour = 4

// tracked reports whether a source draws a track: then the area of that role is not drawn as well.
func tracked(all []drawnShape) bool {
	return slices.ContainsFunc(all, func(s drawnShape) bool { return s.of.Role == hazard.TrackShape })
}

// drawn draws shapes: areas see-through with an edge, what is expected dashed, lines with a dark casing, since a color may be as light as the ground. Older
// perimeters of a fire lie over the newer ones, which they are part of.
func (d *drawing) drawn(all []drawnShape) {
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
	d.times(all)
}

// growth are the colors of the perimeters of a fire, the oldest first: each lighter than the one before.
var growth = []string{"#67001f", "#b2182b", "#d6604d", "#f4a582", "#fddbc7"}

// color is the color of a shape among all: of perimeters it tells which is older.
func (s *drawnShape) color(all []drawnShape) string {
	if s.of.Role != hazard.PerimeterShape {
		return s.of.Color()
	}
	times := perimeterTimes(all)
	if len(times) < 2 {
		return s.of.Color()
	}
	return growth[slices.Index(times, s.of.From)*(len(growth)-1)/(len(times)-1)]
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

// times writes beside some of the expected positions when the storm is there, where there is room.
func (d *drawing) times(all []drawnShape) {
	var lastX, lastY float64
	for i := range all {
		s := &all[i]
		if s.of.Role != hazard.PositionShape || !s.of.Forecast || len(s.points) != 1 {
			continue
		}
		x, y := d.xy(s.points[0][0], s.points[0][1])
		if (x-lastX)*(x-lastX)+(y-lastY)*(y-lastY) < 44*44 || x < 8 || x > mapWidth-70 || y < 30 || y > mapHeight-30 {
			continue
		}
		lastX, lastY = x, y
		fmt.Fprintf(d, `<text x="%.1f" y="%.1f" font-size="11" fill="%s" stroke="%s" stroke-width="3" paint-order="stroke">%s</text>`, x+7, y+4, d.label, d.sea,
			s.of.From.Time().Format("2 Jan 15h"))
	}
}

// legend names what is drawn, a line for each color and kind, in the lower left corner, or in the upper right one. Forecasts are dashed, there and on the map.
func (d *drawing) legend(all []drawnShape, right bool) {
	type entry struct {
		color, text string
		forecast    bool
		role        int
		value       float64
	}
	var list []entry
	order := hazard.ShapeRoles()
	for i := range all {
		s := all[i].of
		e := entry{color: all[i].color(all), text: strings.ToUpper(string(s.Role[:1])) + string(s.Role[1:]), forecast: s.Forecast, role: slices.Index(order, s.Role)}
		switch {
		case s.Role == hazard.PositionShape:
			continue // its color is that of the winds
		case s.Role == hazard.PerimeterShape:
			e.text, e.value = s.From.Time().Format("Perimeter, 2 Jan 2006"), -float64(s.From)
		case s.Band != nil && s.Band.Kind == hazard.Intensity:
			e.text, e.value = "Intensity "+s.Band.String(), s.Band.Value
		case s.Band != nil:
			e.text, e.value = s.Title(), s.Band.Value
			if s.Band.Kind == hazard.Wind {
				e.text = fmt.Sprintf("Wind from %.0f km/h", s.Band.Value)
			}
		}
		if s.Forecast {
			e.text += ", forecast"
		}
		if !slices.ContainsFunc(list, func(o entry) bool { return o.text == e.text }) {
			list = append(list, e)
		}
	}
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b entry) int { return cmp.Or(cmp.Compare(a.role, b.role), cmp.Compare(b.value, a.value)) })
	const most, row = 8, 15
	more := len(list) - most
	if more > 0 {
		list = list[:most]
	}
	widest := 0
	for _, e := range list {
		widest = max(widest, len(e.text))
	}
	height := row*len(list) + 8
	width := 40 + widest*6
	left, top := 8, mapHeight-height-8
	if right {
		left, top = mapWidth-width-8, 30
	}
	fmt.Fprintf(d, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s" fill-opacity="0.9" stroke="%s"/>`, left, top, width, height, d.sea, d.frame)
	for i, e := range list {
		y := top + 4 + row*i + row/2
		dash := ""
		if e.forecast {
			dash = ` stroke-dasharray="7 4"`
		}
		fmt.Fprintf(d, `<path d="M%d %dH%d" fill="none" stroke="%s" stroke-width="5"%s/>`, left+6, y, left+28, d.casing, dash)
		fmt.Fprintf(d, `<path d="M%d %dH%d" fill="none" stroke="%s" stroke-width="3"%s/>`, left+6, y, left+28, e.color, dash)
		fmt.Fprintf(d, `<text x="%d" y="%d" font-size="11" fill="%s">%s</text>`, left+34, y+4, d.label, html.EscapeString(e.text))
	}
}
