package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
	"github.com/hazardd/hazardd/internal/atlas/symbol"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Map is the small map of a hazard: its areas, tracks and position on land, water and borders.
type Map struct {
	Hazard *hazard.Hazard
	Areas  []hazard.Area
	Ground *basemap.Archive // nil: only a graticule is drawn
	Dark   bool             // for dark pages
	Over   bool             // say that the hazard has ended, because the picture may be shown alone
	// Shapes are the shapes that sources give for the hazard, in the order of hazard.ShapeRoles.
	// Shapes of an earlier time have a lower From.
	Shapes []hazard.Shape
}

// The size of the map in its own units, and its scale.
const (
	mapWidth, mapHeight = 480, 300
	// minSpan is the minimum width of a map in degrees. A narrower map would not show where it is.
	minSpan = 0.2
	// pointSpan is the width of the map if only the position of the hazard is known.
	pointSpan = 12.0
	// maxMercator is the latitude beyond which all degrees have the same height, because Mercator
	// has no poles.
	maxMercator = 78.0
)

// palette is the set of colors of a map.
type palette struct{ sea, line, label, frame, casing, land, river, border string }

var (
	lightMap = palette{sea: "#dce8f1", line: "#b9cbd9", label: "#3d5163", frame: "#8fa3b3", casing: "#1b2733", land: "#f6f4ee", river: "#b3cbdc", border: "#a29a8d"}
	darkMap  = palette{sea: "#16232f", line: "#2b3d4d", label: "#b4c5d4", frame: "#4a6073", casing: "#05080b", land: "#28323c", river: "#16232f", border: "#5d6a78"}
)

// drawing is a map under construction.
type drawing struct {
	bytes.Buffer
	palette
	colour             string  // color of the severity
	width, height      float64 // in its own units
	west, north, scale float64
	project            func(lat float64) float64 // converts to degrees at the equator
	inverse            func(y float64) float64
	lon                float64 // longitude of the hazard: everything is drawn on its side of the world
}

// SVG returns the map as an image of 480 by 300 units, without scripts, styles and references. It
// leaves out geometries that cannot be read.
func (m *Map) SVG() []byte { return m.draw().Bytes() }

func (m *Map) draw() *drawing {
	h := m.Hazard
	d := &drawing{palette: lightMap, width: mapWidth, height: mapHeight, lon: h.Longitude}
	if m.Dark {
		d.palette = darkMap
	}
	d.colour = colourOfSeverity(h.Severity)
	shapes := make([]shape, len(m.Areas))
	for i, a := range m.Areas {
		if s := readShape([]byte(a.Geometry)); s.onEarth() {
			shapes[i] = s
		}
		shapes[i].role = a.Role
		shapes[i].turn(h.Longitude)
	}
	drawn := m.readDrawn()
	all := shapes
	for i := range drawn {
		all = append(all[:len(all):len(all)], drawn[i].shape)
	}
	half := m.symbolSize() / 2
	var sign patch
	var legend legend
	for i, around := range margins {
		d.look(all, h, around)
		x, y := d.xy(h.Longitude, h.Latitude)
		sign = patch{x - half, y - half, x + half, y + half}
		var covers int
		if legend, covers = d.legendOf(drawn, sign); covers == 0 || i == len(margins)-1 {
			break
		}
	}

	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="system-ui, sans-serif" font-size="14">`,
		mapWidth, mapHeight, mapWidth, mapHeight)
	fmt.Fprintf(d, `<title>%s</title>`, html.EscapeString(hazard.CleanLine(h.Name)))
	fmt.Fprintf(d, `<rect width="%d" height="%d" fill="%s"/>`, mapWidth, mapHeight, d.sea)
	towns := d.ground(m.Ground)
	d.graticule()
	for _, role := range []hazard.AreaRole{hazard.OutlineOfPlace, hazard.ImpactArea, hazard.AlertArea, hazard.TrackArea} {
		for i := range shapes {
			if shapes[i].role == role && !(role == hazard.TrackArea && tracked(drawn)) {
				d.shape(&shapes[i])
			}
		}
	}
	// Keep clear of the symbol and of the degrees.
	taken := append([]patch{sign, {0, 0, mapWidth, 26}, {0, 0, 58, mapHeight}, {mapWidth - 140, mapHeight - 44, mapWidth, mapHeight}}, d.drawn(drawn, sign, legend.patch)...)
	d.names(towns, taken, true)
	d.labels()
	if h.Category == hazard.Exercise {
		d.stamp("EXERCISE", "#8a2be2", 0)
	}
	if m.Over {
		d.stamp("ENDED", d.label, 66)
	}
	d.symbol(h, m.symbolSize())
	d.scaleBar(h.Latitude)
	d.legend(legend)
	if m.Ground != nil { // a picture shown alone needs the credit too
		fmt.Fprintf(d, `<text x="%d" y="%d" text-anchor="end" font-size="8" fill="%s" stroke="%s" stroke-width="2" paint-order="stroke">Natural Earth; GeoNames (CC BY 4.0)</text>`,
			mapWidth-6, mapHeight-5, d.label, d.sea)
	}
	fmt.Fprintf(d, `<rect x="0.5" y="0.5" width="%d" height="%d" fill="none" stroke="%s"/></svg>`, mapWidth-1, mapHeight-1, d.frame)
	return d
}

// colourOfSeverity returns the color given by the base interface, section 2.4; empty if there is
// none.
func colourOfSeverity(of hazard.Severity) string {
	for _, s := range hazard.Severities() {
		if s.Severity == of {
			return symbol.Hex(s.Colour)
		}
	}
	return ""
}

// shape is a geometry as lists of positions, longitude before latitude.
type shape struct {
	role     hazard.AreaRole
	hollow   bool // has no fill
	polygons [][][][2]float64
	lines    [][][2]float64
	points   [][2]float64
}

// readShape reads a stored GeoJSON geometry, which package geo wrote.
func readShape(text []byte) (s shape) {
	var g struct {
		Type        string
		Coordinates json.RawMessage
		Geometries  []json.RawMessage
	}
	if json.Unmarshal(text, &g) != nil {
		return s
	}
	var point [2]float64
	var line [][2]float64
	var polygon [][][2]float64
	ok := func(into any) bool { return json.Unmarshal(g.Coordinates, into) == nil }
	switch g.Type {
	case "Point":
		if ok(&point) {
			s.points = append(s.points, point)
		}
	case "MultiPoint":
		if ok(&line) {
			s.points = line
		}
	case "LineString":
		if ok(&line) {
			s.lines = append(s.lines, line)
		}
	case "MultiLineString":
		if ok(&polygon) {
			s.lines = polygon
		}
	case "Polygon":
		if ok(&polygon) {
			s.polygons = append(s.polygons, polygon)
		}
	case "MultiPolygon":
		_ = ok(&s.polygons) // the part before an error is still correct
	case "GeometryCollection":
		for _, one := range g.Geometries {
			part := readShape(one)
			s.polygons, s.lines, s.points = append(s.polygons, part.polygons...), append(s.lines, part.lines...), append(s.points, part.points...)
		}
	}
	return s
}

// onEarth reports whether every position is valid.
func (s *shape) onEarth() bool {
	ok := true
	s.each(func(lon, lat float64) { ok = ok && math.Abs(lon) <= 180 && math.Abs(lat) <= 90 })
	return ok
}

// turn moves every part, undivided, to the side of the world where lon is. A geometry across the
// antimeridian is stored in two parts.
func (s *shape) turn(lon float64) {
	move := func(list [][2]float64, by float64) {
		for i := range list {
			list[i][0] += by
		}
	}
	for _, p := range s.polygons {
		if len(p) > 0 {
			by := turnBy(p[0], lon)
			for _, ring := range p {
				move(ring, by)
			}
		}
	}
	for _, l := range s.lines {
		move(l, turnBy(l, lon))
	}
	for i := range s.points {
		move(s.points[i:i+1], turnBy(s.points[i:i+1], lon))
	}
}

func turnBy(list [][2]float64, lon float64) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range list {
		low, high = min(low, p[0]), max(high, p[0])
	}
	if by := 360 * math.Round((lon-(low+high)/2)/360); !math.IsNaN(by) && !math.IsInf(by, 0) {
		return by
	}
	return 0
}

// each calls f with every position.
func (s *shape) each(f func(lon, lat float64)) {
	for _, p := range s.polygons {
		for _, ring := range p {
			for _, at := range ring {
				f(at[0], at[1])
			}
		}
	}
	for _, l := range s.lines {
		for _, at := range l {
			f(at[0], at[1])
		}
	}
	for _, at := range s.points {
		f(at[0], at[1])
	}
}

// margin is the room around the content of a map, as a factor, and the share of it that is moved
// from top to bottom.
type margin struct{ room, below float64 }

// margins are tried in order until the legend covers nothing. If it always covers something, the
// last one is used.
var margins = []margin{{1.3, 0}, {1.45, 0}, {1.45, 0.66}, {1.6, 0.4}, {1.3, 0}}

// look chooses the part of the world that the map shows: all shapes and the position, with some
// room around.
func (d *drawing) look(shapes []shape, h *hazard.Hazard, around margin) {
	west, east, south, north := h.Longitude, h.Longitude, h.Latitude, h.Latitude
	span := pointSpan
	for i := range shapes {
		shapes[i].each(func(lon, lat float64) {
			west, east, south, north = min(west, lon), max(east, lon), min(south, lat), max(north, lat)
			span = minSpan
		})
	}
	d.project, d.inverse = mercator, unmercator
	if max(math.Abs(south), math.Abs(north)) > maxMercator {
		d.project = func(lat float64) float64 { return lat }
		d.inverse = d.project
	}
	low, high := d.project(south), d.project(north)
	width := max((east-west)*around.room, (high-low)*around.room*mapWidth/mapHeight, span)
	width = min(width, 400)
	d.scale = mapWidth / width
	d.west = (west+east)/2 - width/2
	height := width * mapHeight / mapWidth
	d.north = (low+high)/2 + height/2 - max(height-(high-low), 0)/2*around.below
}

func mercator(lat float64) float64 {
	return math.Log(math.Tan(math.Pi/4+lat*math.Pi/360)) * 180 / math.Pi
}
func unmercator(y float64) float64 {
	return math.Atan(math.Sinh(y*math.Pi/180)) * 180 / math.Pi
}

func (d *drawing) xy(lon, lat float64) (x, y float64) {
	return (lon - d.west) * d.scale, (d.north - d.project(lat)) * d.scale
}

// step returns the spacing of the graticule in degrees.
func (d *drawing) step() float64 {
	for _, s := range []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15} {
		if mapWidth/d.scale/s <= 5 {
			return s
		}
	}
	return 30
}

// meridians and parallels call f with each visible line of the graticule and its position on the
// map.
func (d *drawing) meridians(f func(lon, x float64)) {
	s := d.step()
	for i := math.Ceil(d.west / s); i*s < d.west+mapWidth/d.scale; i++ {
		x, _ := d.xy(i*s, 0)
		f(i*s, x)
	}
}

func (d *drawing) parallels(f func(lat, y float64)) {
	s := d.step()
	south, north := d.inverse(d.north-mapHeight/d.scale), d.inverse(d.north)
	for i := math.Ceil(max(south, -90) / s); i*s <= min(north, 90); i++ {
		_, y := d.xy(0, i*s)
		f(i*s, y)
	}
}

func (d *drawing) graticule() {
	fmt.Fprintf(d, `<g stroke="%s" stroke-width="1" stroke-opacity="0.6">`, d.line)
	d.meridians(func(_, x float64) { fmt.Fprintf(d, `<path d="M%.1f 0V%d"/>`, x, mapHeight) })
	d.parallels(func(_, y float64) { fmt.Fprintf(d, `<path d="M0 %.1fH%d"/>`, y, mapWidth) })
	d.WriteString(`</g>`)
}

// labels writes the degrees along the left and top edges, with a halo in the color of the sea.
func (d *drawing) labels() {
	decimals := 0
	for s := d.step(); s < 1 && decimals < 2; s *= 10 {
		decimals++
	}
	fmt.Fprintf(d, `<g fill="%s" stroke="%s" stroke-width="4" stroke-linejoin="round" paint-order="stroke">`, d.label, d.sea)
	d.meridians(func(lon, x float64) {
		if x > 64 && x < mapWidth-36 {
			fmt.Fprintf(d, `<text x="%.1f" y="20" text-anchor="middle">%s</text>`, x, degrees(math.Remainder(lon, 360), decimals, "E", "W"))
		}
	})
	d.parallels(func(lat, y float64) {
		if y > 40 && y < mapHeight-40 {
			fmt.Fprintf(d, `<text x="8" y="%.1f">%s</text>`, y+5, degrees(lat, decimals, "N", "S"))
		}
	})
	d.WriteString(`</g>`)
}

func degrees(x float64, decimals int, positive, negative string) string {
	text := strconv.FormatFloat(math.Abs(x), 'f', decimals, 64) + "°"
	switch {
	case math.Abs(x) < 1e-9 || math.Abs(x) > 180-1e-9 && positive == "E":
		return text
	case x < 0:
		return text + " " + negative
	}
	return text + " " + positive
}

// way returns the path along positions. It skips positions less than a pixel apart. Unless fill is
// set, it leaves out the cut along the antimeridian, which is not a real edge of an area.
func (d *drawing) way(list [][2]float64, fill bool) string {
	var out strings.Builder
	var lastX, lastY float64 // position of the pen in tenths of a pixel; steps are between rounded positions, so that errors do not add up
	moves := false           // the last command is a move, after which an implicit command would not be a step
	for i, at := range list {
		x, y := d.xy(at[0], max(-89.9, min(89.9, at[1])))
		if i > 0 && i < len(list)-1 && math.Hypot(x-lastX/10, y-lastY/10) < 0.7 {
			continue
		}
		// Clamp positions far outside, so that SVG readers need not handle large numbers.
		x, y = math.Round(10*max(-5*d.width, min(6*d.width, x))), math.Round(10*max(-5*d.height, min(6*d.height, y)))
		if i == 0 || !fill && cutAt(list[i-1]) && cutAt(at) {
			out.WriteString("M" + tenths(x, false) + tenths(y, true))
			moves = true
		} else {
			if moves {
				out.WriteByte('l')
			}
			out.WriteString(tenths(x-lastX, !moves) + tenths(y-lastY, true))
			moves = false
		}
		lastX, lastY = x, y
	}
	return out.String()
}

// tenths returns a number of tenths in the shortest form that SVG allows. follows says that it
// comes after another number.
func tenths(n float64, follows bool) string {
	s := strconv.FormatFloat(math.Abs(n)/10, 'f', -1, 64)
	if s != "0" {
		s = strings.TrimPrefix(s, "0")
	}
	switch {
	case n < 0:
		return "-" + s
	case follows:
		return " " + s
	}
	return s
}

// cutAt reports whether a position is on the antimeridian, on either side.
func cutAt(at [2]float64) bool { return math.Abs(math.Remainder(at[0], 360)) == 180 }

// shape draws areas in the severity's color with a dark edge, because the color may be as light as
// the sea.
func (d *drawing) shape(s *shape) {
	var areas, edges, lines strings.Builder
	for _, p := range s.polygons {
		for _, ring := range p {
			areas.WriteString(d.way(ring, true) + "Z")
			edges.WriteString(d.way(ring, false))
		}
	}
	for _, l := range s.lines {
		lines.WriteString(d.way(l, true))
	}
	dash := ""
	if s.role == hazard.OutlineOfPlace { // it is somewhere in there: no area, and never filled
		fmt.Fprintf(d, `<path d="%s" fill="none" stroke="%s" stroke-width="2" stroke-linejoin="round" stroke-dasharray="3 6"/>`, edges.String(), d.colour)
		return
	}
	if s.role == hazard.ImpactArea {
		dash = ` stroke-dasharray="9 5"`
	}
	if areas.Len() > 0 {
		if !s.hollow {
			fmt.Fprintf(d, `<path d="%s" fill="%s" fill-opacity="0.28" fill-rule="evenodd"/>`, areas.String(), d.colour)
		}
		for _, stroke := range []struct {
			colour string
			width  int
		}{{d.casing, 4}, {d.colour, 2}} {
			fmt.Fprintf(d, `<path d="%s" fill="none" stroke="%s" stroke-width="%d" stroke-linejoin="round" stroke-linecap="round"%s/>`, edges.String(), stroke.colour, stroke.width, dash)
		}
	}
	if lines.Len() > 0 {
		fmt.Fprintf(d, `<path d="%s" fill="none" stroke="%s" stroke-width="6" stroke-linejoin="round" stroke-linecap="round"/>`, lines.String(), d.casing)
		fmt.Fprintf(d, `<path d="%s" fill="none" stroke="%s" stroke-width="3" stroke-linejoin="round" stroke-linecap="round"/>`, lines.String(), d.colour)
	}
	for _, at := range s.points {
		x, y := d.xy(at[0], at[1])
		fmt.Fprintf(d, `<circle cx="%.1f" cy="%.1f" r="5" fill="%s" stroke="%s" stroke-width="1.5"/>`, x, y, d.colour, d.casing)
	}
}

// symbolSize is the size of the symbol on the map; symbolEdge is its size in its own document.
const symbolSize, symbolEdge = 56.0, 128.0

// symbolSize returns the size of the symbol on this map. It is small if it would hide shapes around
// the position.
func (m *Map) symbolSize() float64 {
	if len(m.Shapes) > 0 {
		return symbolSize / 2
	}
	return symbolSize
}

// symbol puts the hazard's symbol at its position.
func (d *drawing) symbol(h *hazard.Hazard, size float64) {
	svg, err := symbol.Symbol{Type: h.Type, Category: h.Category, Severity: h.Severity}.SVG()
	if err != nil {
		return // the type no longer exists, but the areas are still correct
	}
	x, y := d.xy(h.Longitude, h.Latitude)
	fmt.Fprintf(d, `<g transform="translate(%.1f %.1f) scale(%.4f)">%s</g>`, x-size/2, y-size/2, size/symbolEdge, svg)
}

// stamp writes a notice over the map, that many units below its center.
func (d *drawing) stamp(word, colour string, below int) {
	fmt.Fprintf(d, `<text x="%d" y="%d" text-anchor="middle" font-size="62" font-weight="800" letter-spacing="4" fill="%s" fill-opacity="0.55" transform="rotate(-24 %d %d)">%s</text>`,
		mapWidth/2, mapHeight/2+22+below, colour, mapWidth/2, mapHeight/2+below, word)
}

// scaleBar shows a round number of kilometers at that latitude.
func (d *drawing) scaleBar(lat float64) {
	perUnit := 111.195 / d.scale * math.Cos(lat*math.Pi/180) // km; on a sphere of 6371 km
	if perUnit <= 0 || math.IsNaN(perUnit) {
		return
	}
	km := math.Pow(10, math.Floor(math.Log10(perUnit*110)))
	for _, f := range []float64{5, 2} {
		if km*f/perUnit <= 110 {
			km *= f
			break
		}
	}
	length := km / perUnit
	text := number(km, 3) + " km"
	if km < 1 {
		text = number(km*1000, 0) + " m"
	}
	x, y := float64(mapWidth)-18, float64(mapHeight)-16
	fmt.Fprintf(d, `<path d="M%.1f %.1fv6h%.1fv-6" fill="none" stroke="%s" stroke-width="6" stroke-linecap="round"/>`, x-length, y-8, length, d.sea)
	fmt.Fprintf(d, `<path d="M%.1f %.1fv6h%.1fv-6" fill="none" stroke="%s" stroke-width="2"/>`, x-length, y-8, length, d.label)
	fmt.Fprintf(d, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="%s" stroke="%s" stroke-width="4" paint-order="stroke">%s</text>`, x-length/2, y-12, d.label, d.sea, text)
}
