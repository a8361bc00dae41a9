package cyclone

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Fix is the position of a storm at one time: past, present or forecast.
type Fix struct {
	At       hazard.Instant
	Point    hazard.Point
	Forecast bool
	Wind     float64 // kt over one minute; 0 if not stated
	Radii    []Radii
}

// Radii are how far a wind reaches from the center in the quadrants NE, SE, SW and NW, in nautical
// miles; 0 means that there is no such wind.
type Radii struct {
	Wind      float64 // kt: 34, 50 or 64
	Quadrants [4]float64
}

// Band returns a wind in kt as the band of a shape, in km/h with one decimal.
func Band(kt float64) *hazard.Band {
	return &hazard.Band{Kind: hazard.Wind, Value: math.Round(kt*source.KmhPerKnot*10) / 10}
}

// maxRadius is the largest plausible radius, in nautical miles. The largest known storm had 34 kt
// up to 600 (Tip, 1979).
const maxRadius = 1000

// Shapes returns the track, the positions and the wind radii of a storm, from fixes in order of
// time.
func Shapes(fixes []Fix) (all []hazard.Shape) {
	fixes = slices.DeleteFunc(slices.Clone(fixes), func(f Fix) bool { return f.At == 0 })
	add := func(forecast bool, list []Fix) {
		var line []string
		for _, f := range list {
			at := coordinates(f.Point)
			if len(line) == 0 || line[len(line)-1] != at {
				line = append(line, at)
			}
		}
		if len(line) > 1 {
			label := "Track so far"
			if forecast {
				label = "Forecast track"
			}
			all = append(all, hazard.Shape{Role: hazard.TrackShape, From: list[0].At, To: list[len(list)-1].At, Forecast: forecast, Label: label,
				Geometry: `{"type":"LineString","coordinates":[` + strings.Join(line, ",") + `]}`})
		}
	}
	ahead := slices.IndexFunc(fixes, func(f Fix) bool { return f.Forecast })
	if ahead < 0 {
		ahead = len(fixes)
	}
	add(false, fixes[:ahead])
	add(true, fixes[max(0, ahead-1):])
	for _, f := range fixes {
		s := hazard.Shape{Role: hazard.PositionShape, From: f.At, To: f.At, Forecast: f.Forecast, Geometry: `{"type":"Point","coordinates":` + coordinates(f.Point) + `}`, Label: "Position"}
		if f.Forecast {
			s.Label = "Forecast position"
		}
		if f.Wind > 0 {
			s.Band = Band(f.Wind)
		}
		all = append(all, s)
		for _, r := range f.Radii {
			if ring := sectors(f.Point, r.Quadrants); ring != "" {
				all = append(all, hazard.Shape{Role: hazard.WindShape, Band: Band(r.Wind), From: f.At, To: f.At, Forecast: f.Forecast, Geometry: ring,
					Label: fmt.Sprintf("Wind of %s kt and more", strconv.FormatFloat(r.Wind, 'f', -1, 64))})
			}
		}
	}
	return all
}

// coordinates returns a position as GeoJSON.
func coordinates(p hazard.Point) string {
	lon := p.Lon
	return "[" + strconv.FormatFloat(math.Round(lon*1e5)/1e5, 'f', -1, 64) + "," + strconv.FormatFloat(math.Round(p.Lat*1e5)/1e5, 'f', -1, 64) + "]"
}

// sectors returns a ring around a center. In each quadrant, its distance from the center is the
// radius, in nautical miles. The result is empty if no radius is positive, or if one is
// implausible. Distances follow great circles on a sphere with 60 nautical miles to the degree.
func sectors(c hazard.Point, radii [4]float64) string {
	widest := 0.0
	for _, r := range radii {
		if !(r >= 0 && r <= maxRadius) {
			return ""
		}
		widest = max(widest, r)
	}
	if widest == 0 || math.Abs(c.Lat) > 85 {
		return ""
	}
	var ring []string
	const step = 6 // degrees
	rad := math.Pi / 180
	for q, r := range radii {
		if r == 0 {
			if at := coordinates(c); len(ring) == 0 || ring[len(ring)-1] != at {
				ring = append(ring, at)
			}
			continue
		}
		for a := 0; a <= 90; a += step {
			bearing, d := float64(q*90+a)*rad, r/60*rad
			lat := math.Asin(math.Sin(c.Lat*rad)*math.Cos(d) + math.Cos(c.Lat*rad)*math.Sin(d)*math.Cos(bearing))
			lon := c.Lon*rad + math.Atan2(math.Sin(bearing)*math.Sin(d)*math.Cos(c.Lat*rad), math.Cos(d)-math.Sin(c.Lat*rad)*math.Sin(lat))
			x := lon / rad
			switch {
			case x > 180:
				x -= 360
			case x < -180:
				x += 360
			}
			ring = append(ring, coordinates(hazard.Point{Lon: x, Lat: lat / rad}))
		}
	}
	if ring[0] != ring[len(ring)-1] {
		ring = append(ring, ring[0])
	}
	return `{"type":"Polygon","coordinates":[[` + strings.Join(ring, ",") + `]]}`
}
