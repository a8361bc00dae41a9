package arcgis

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/crs"
)

// inDegreesOfWGS84 is the reference of queries that name none.
var inDegreesOfWGS84, _ = crs.Named(crs.WGS84)

// readReference reads the number of a spatial reference, alone or as JSON. If text is empty, it
// returns missing.
func readReference(text string, missing crs.System) (crs.System, error) {
	if text = strings.TrimSpace(text); text == "" {
		return missing, nil
	}
	var r wellKnown
	if strings.HasPrefix(text, "{") {
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return missing, fmt.Errorf("%.60q is not a spatial reference: expected a number, or {\"wkid\": number}", text)
		}
	} else {
		r.WKID, _ = strconv.Atoi(text)
	}
	if s, ok := crs.Named(r.code()); ok {
		return s, nil
	}
	return missing, fmt.Errorf("%.60q is not known here; expected one of the EPSG codes 4326 (WGS 84), 3857 (Web Mercator), 326nn and 327nn (UTM), %s", text, grids())
}

// grids lists the codes of national grids.
func grids() string {
	var all []string
	for _, code := range crs.Codes() {
		if code != crs.WGS84 && code != crs.Mercator && code/100 != 326 && code/100 != 327 {
			all = append(all, strconv.Itoa(code))
		}
	}
	return strings.Join(all, ", ")
}

// place is the area of a query: a box or a shape.
type place struct {
	Box   *geo.Box
	Shape geo.Shape
}

// esri is a geometry in Esri's JSON.
type esri struct {
	X         *float64      `json:"x"`
	Y         *float64      `json:"y"`
	XMin      *float64      `json:"xmin"`
	YMin      *float64      `json:"ymin"`
	XMax      *float64      `json:"xmax"`
	YMax      *float64      `json:"ymax"`
	Points    [][]float64   `json:"points"`
	Paths     [][][]float64 `json:"paths"`
	Rings     [][][]float64 `json:"rings"`
	Reference *wellKnown    `json:"spatialReference"`
}

// readPlace reads the geometry of a query: Esri's JSON, or just the numbers for envelopes and
// points. kind is its type; empty means an envelope. in is the parameter inSR; a reference in the
// geometry takes precedence. The error is a *geo.CostError if the geometry needs too much work.
func readPlace(text, kind string, in crs.System) (*place, error) {
	g, err := readEsri(text, kind)
	if err != nil {
		return nil, err
	}
	if g.Reference != nil && g.Reference.WKID != 0 {
		if in, err = readReference(strconv.Itoa(g.Reference.code()), in); err != nil {
			return nil, err
		}
	}
	switch {
	case g.XMin != nil && g.YMin != nil && g.XMax != nil && g.YMax != nil:
		return readBox(*g.XMin, *g.YMin, *g.XMax, *g.YMax, in)
	case g.X != nil && g.Y != nil:
		return shapeOf("Point", [][]float64{{*g.X, *g.Y}}, in, func(ps [][]float64) any { return ps[0] })
	case g.Points != nil:
		return shapeOf("MultiPoint", g.Points, in, func(ps [][]float64) any { return ps })
	case g.Paths != nil:
		return shapeOf("MultiLineString", g.Paths, in, func(ls [][][]float64) any { return ls })
	case g.Rings != nil:
		return shapeOf("MultiPolygon", g.Rings, in, func(rings [][][]float64) any { return polygons(rings) })
	}
	return nil, errors.New("expected an envelope (xmin, ymin, xmax, ymax), x and y, points, paths or rings")
}

func readEsri(text, kind string) (g esri, err error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if err := json.Unmarshal([]byte(text), &g); err != nil {
			return g, fmt.Errorf("%.60q is not a geometry in Esri's JSON", text)
		}
		return g, nil
	}
	var n []*float64
	for part := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return g, fmt.Errorf("%.60q is neither Esri's JSON nor numbers separated by commas", text)
		}
		n = append(n, &v)
	}
	switch {
	case len(n) == 4 && (kind == "" || kind == "esriGeometryEnvelope"):
		g.XMin, g.YMin, g.XMax, g.YMax = n[0], n[1], n[2], n[3]
	case len(n) == 2 && kind == string(Points):
		g.X, g.Y = n[0], n[1]
	default:
		return g, fmt.Errorf("%.60q has %d numbers: expected xmin,ymin,xmax,ymax of an envelope, or x,y of a point", text, len(n))
	}
	return g, nil
}

// readBox turns an envelope into a box. Maps that show the world more than once request more than
// the whole world.
func readBox(west, south, east, north float64, in crs.System) (*place, error) {
	switch {
	case in.Code == crs.WGS84:
	case in.Code != crs.Mercator: // the sides of a box on another grid are no meridians
		return shapeOf("Polygon", [][][]float64{{{west, south}, {east, south}, {east, north}, {west, north}, {west, south}}}, in, func(rings [][][]float64) any { return rings })
	default:
		west, south = in.Unproject(west, south)
		east, north = in.Unproject(east, north)
		for _, v := range []*float64{&west, &south, &east, &north} { // round, as stored positions are
			*v = math.Round(*v*1e6) / 1e6
		}
		if south <= -crs.Edge+1e-6 { // where the projection ends, extend the box to the pole
			south = -90
		}
		if north >= crs.Edge-1e-6 {
			north = 90
		}
	}
	if !(west <= east && south <= north) || math.IsInf(east-west, 0) { // also rejects NaN
		return nil, errors.New("expected an envelope with xmin below xmax and ymin below ymax")
	}
	b := geo.Box{West: -180, South: max(south, -90), East: 180, North: min(north, 90)}
	if b.South > 90 || b.North < -90 {
		return nil, errors.New("expected an envelope between the poles")
	}
	if east-west < 360 {
		if b.West, b.East = west, east; west < -180 || east > 180 {
			b.West, b.East = wrap(west), wrap(east)
		}
	}
	b = b.BothSides()
	return &place{Box: &b}, nil
}

// shapeOf makes a shape of GeoJSON whose positions are in the spatial reference.
func shapeOf[T []float64 | [][]float64](kind string, parts []T, in crs.System, coordinates func([]T) any) (*place, error) {
	placed := make([]T, len(parts))
	for i, part := range parts {
		switch p := any(part).(type) {
		case []float64:
			placed[i] = any(inDegrees([][]float64{p}, in)[0]).(T)
		case [][]float64:
			placed[i] = any(inDegrees(p, in)).(T)
		}
	}
	text, err := json.Marshal(map[string]any{"type": kind, "coordinates": coordinates(placed)})
	if err != nil {
		return nil, errors.New("expected numbers")
	}
	shape, err := geo.ParseGeoJSON(text)
	if err != nil {
		return nil, err
	}
	return &place{Shape: shape}, nil
}

// maxStep is the longest step between two positions of a line, in degrees of longitude. For longer
// steps, package geo would take the shorter way round the world, but ArcGIS means the way on its
// map.
const maxStep = 90

// inDegrees returns the positions of a line as latitudes and as longitudes from -180 to 180. A
// position with fewer than two numbers is not changed, and rejected later.
func inDegrees(line [][]float64, in crs.System) (all [][]float64) {
	var last []float64
	for _, at := range line {
		if len(at) < 2 {
			return line
		}
		lon, lat := in.Unproject(at[0], at[1])
		if last != nil {
			for n, i := math.Ceil(math.Abs(lon-last[0])/maxStep), 1.0; i < n && n < 100; i++ {
				all = append(all, []float64{wrap(last[0] + (lon-last[0])*i/n), last[1] + (lat-last[1])*i/n})
			}
		}
		last = []float64{lon, lat}
		all = append(all, []float64{wrap(lon), lat})
	}
	return all
}

// wrap returns a longitude from -180 to 180.
func wrap(lon float64) float64 { return geo.Wrap(math.Mod(lon, 360)) }

// polygons groups rings. A clockwise ring is the outer ring of a polygon; the others are holes of
// the one before.
func polygons(rings [][][]float64) (all [][][][]float64) {
	for _, r := range rings {
		if all == nil || area(r) <= 0 {
			all = append(all, [][][]float64{r})
		} else {
			all[len(all)-1] = append(all[len(all)-1], r)
		}
	}
	return all
}

// area returns twice the area of a ring, negative if it runs clockwise.
func area(r [][]float64) (sum float64) {
	for i := 1; i < len(r); i++ {
		if len(r[i-1]) >= 2 && len(r[i]) >= 2 {
			sum += r[i-1][0]*r[i][1] - r[i][0]*r[i-1][1]
		}
	}
	return sum
}

// appendGeometry writes the part of s that has the layer's kind of geometry, in Esri's JSON. For a
// layer of points it writes the point. It writes null if there is no such part.
func appendGeometry(b []byte, kind Kind, s geo.Shape, lon, lat float64, q *Query) []byte {
	if kind == Points {
		if q.Grid != nil {
			x, y := q.Grid.on(q.OutSR.Project(lon, lat))
			return fmt.Appendf(b, `{"x":%d,"y":%d}`, x, y)
		}
		x, y, _ := strings.Cut(string(appendPosition(nil, lon, lat, q.OutSR)), ",")
		return append(append(append(append(append(b, `{"x":`...), x...), `,"y":`...), y...), '}')
	}
	all := parts(kind, s)
	if len(all) == 0 {
		return append(b, "null"...)
	}
	if b = append(b, `{"rings":[`...); kind == Tracks {
		b = append(b[:len(b)-len(`{"rings":[`)], `{"paths":[`...)
	}
	first := true
	for _, p := range all {
		var cells []cell
		if q.Grid != nil {
			if cells = q.Grid.cells(p, q.OutSR); cells == nil {
				continue
			}
		}
		if !first {
			b = append(b, ',')
		}
		if first = false; q.Grid != nil {
			b = appendCells(b, cells)
			continue
		}
		b = append(b, '[')
		for i := range p.line {
			if i > 0 {
				b = append(b, ',')
			}
			at := p.line[i]
			if p.backward {
				at = p.line[len(p.line)-1-i]
			}
			b = append(appendPosition(append(b, '['), at[0], at[1], q.OutSR), ']')
		}
		b = append(b, ']')
	}
	return append(b, "]}"...)
}

// appendPosition writes x and y in a reference, to a millimeter or a ten-millionth of a degree.
func appendPosition(b []byte, lon, lat float64, out crs.System) []byte {
	if out.Code == crs.WGS84 {
		return geo.AppendDegrees(append(geo.AppendDegrees(b, lon), ','), lat)
	}
	digits := 3
	if out.Geographic() {
		digits = 7
	}
	x, y := out.Project(lon, lat)
	return strconv.AppendFloat(append(strconv.AppendFloat(b, x, 'f', digits, 64), ','), y, 'f', digits, 64)
}
