package arcgis

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/geo"
)

// radius is the radius of Web Mercator's sphere, in meters. edge is the latitude where its square
// world ends.
const (
	radius = 6_378_137
	edge   = 85.05112877980659
)

// toMercator projects a position. A position beyond the projection is moved to its edge.
func toMercator(lon, lat float64) (x, y float64) {
	lat = min(max(lat, -edge), edge)
	return radius * lon * math.Pi / 180, radius * math.Log(math.Tan(math.Pi/4+lat*math.Pi/360))
}

func fromMercator(x, y float64) (lon, lat float64) {
	return x / radius * 180 / math.Pi, (2*math.Atan(math.Exp(y/radius)) - math.Pi/2) * 180 / math.Pi
}

// readReference reads the number of a spatial reference, alone or as JSON. All codes of Web
// Mercator become mercator. If text is empty, it returns missing.
func readReference(text string, missing int) (int, error) {
	if text = strings.TrimSpace(text); text == "" {
		return missing, nil
	}
	var r struct {
		WKID   int `json:"wkid"`
		Latest int `json:"latestWkid"`
	}
	if strings.HasPrefix(text, "{") {
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return 0, fmt.Errorf("%.60q is not a spatial reference: expected a number, or {\"wkid\": number}", text)
		}
	} else {
		r.WKID, _ = strconv.Atoi(text)
	}
	switch wkid := max(r.WKID, r.Latest); wkid {
	case wgs84:
		return wgs84, nil
	case mercator, 102100, 102113, 900913:
		return mercator, nil
	}
	return 0, fmt.Errorf("%.60q is not known here; expected one of 4326 (WGS 84), 3857 (Web Mercator)", text)
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
	Reference *struct {
		WKID   int `json:"wkid"`
		Latest int `json:"latestWkid"`
	} `json:"spatialReference"`
}

// readPlace reads the geometry of a query: Esri's JSON, or just the numbers for envelopes and
// points. kind is its type; empty means an envelope. wkid is the parameter inSR; a reference in the
// geometry takes precedence. The error is a *geo.CostError if the geometry needs too much work.
func readPlace(text, kind string, wkid int) (*place, error) {
	g, err := readEsri(text, kind)
	if err != nil {
		return nil, err
	}
	if g.Reference != nil && g.Reference.WKID != 0 {
		if wkid, err = readReference(strconv.Itoa(max(g.Reference.WKID, g.Reference.Latest)), wkid); err != nil {
			return nil, err
		}
	}
	switch {
	case g.XMin != nil && g.YMin != nil && g.XMax != nil && g.YMax != nil:
		return readBox(*g.XMin, *g.YMin, *g.XMax, *g.YMax, wkid)
	case g.X != nil && g.Y != nil:
		return shapeOf("Point", [][]float64{{*g.X, *g.Y}}, wkid, func(ps [][]float64) any { return ps[0] })
	case g.Points != nil:
		return shapeOf("MultiPoint", g.Points, wkid, func(ps [][]float64) any { return ps })
	case g.Paths != nil:
		return shapeOf("MultiLineString", g.Paths, wkid, func(ls [][][]float64) any { return ls })
	case g.Rings != nil:
		return shapeOf("MultiPolygon", g.Rings, wkid, func(rings [][][]float64) any { return polygons(rings) })
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
func readBox(west, south, east, north float64, wkid int) (*place, error) {
	if wkid == mercator {
		west, south = fromMercator(west, south)
		east, north = fromMercator(east, north)
		for _, v := range []*float64{&west, &south, &east, &north} { // round, as stored positions are
			*v = math.Round(*v*1e6) / 1e6
		}
		if south <= -edge+1e-6 { // where the projection ends, extend the box to the pole
			south = -90
		}
		if north >= edge-1e-6 {
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
func shapeOf[T []float64 | [][]float64](kind string, parts []T, wkid int, coordinates func([]T) any) (*place, error) {
	placed := make([]T, len(parts))
	for i, part := range parts {
		switch p := any(part).(type) {
		case []float64:
			placed[i] = any(inDegrees([][]float64{p}, wkid)[0]).(T)
		case [][]float64:
			placed[i] = any(inDegrees(p, wkid)).(T)
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
func inDegrees(line [][]float64, wkid int) (all [][]float64) {
	var last []float64
	for _, at := range line {
		if len(at) < 2 {
			return line
		}
		lon, lat := at[0], at[1]
		if wkid == mercator {
			lon, lat = fromMercator(lon, lat)
		}
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
func appendGeometry(b []byte, kind Kind, s geo.Shape, lon, lat float64, wkid int) []byte {
	position := func(b []byte, lon, lat float64) []byte {
		if wkid == mercator {
			x, y := toMercator(lon, lat)
			b = strconv.AppendFloat(b, x, 'f', 3, 64)
			return strconv.AppendFloat(append(b, ','), y, 'f', 3, 64)
		}
		return geo.AppendDegrees(append(geo.AppendDegrees(b, lon), ','), lat)
	}
	lines := func(b []byte, name string, all [][]geo.Position, reverse bool) []byte {
		if len(all) == 0 {
			return append(b, "null"...)
		}
		b = append(append(append(b, `{"`...), name...), `":[`...)
		for i, line := range all {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, '[')
			for j := range line {
				if j > 0 {
					b = append(b, ',')
				}
				at := line[j]
				if reverse {
					at = line[len(line)-1-j]
				}
				b = append(position(append(b, '['), at[0], at[1]), ']')
			}
			b = append(b, ']')
		}
		return append(b, "]}"...)
	}
	all, backward := parts(kind, s)
	switch kind {
	case Areas:
		return lines(b, "rings", all, backward)
	case Tracks:
		return lines(b, "paths", all, backward)
	}
	b = append(b, `{"x":`...)
	at := position(nil, lon, lat)
	x, y, _ := strings.Cut(string(at), ",")
	return append(append(append(append(b, x...), `,"y":`...), y...), '}')
}

// parts returns the rings or paths of s for a layer's kind of geometry. backward means that each
// must be read from its end.
func parts(kind Kind, s geo.Shape) (all [][]geo.Position, backward bool) {
	switch kind {
	case Areas:
		for _, p := range s.Polygons() {
			all = append(all, p...)
		}
		return all, true // outer rings clockwise, holes counterclockwise: the reverse of GeoJSON
	case Tracks:
		return s.Lines(), false
	}
	return nil, false
}
