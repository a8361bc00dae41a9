package nga

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/geo"
)

// positionForm matches a position: degrees, minutes with decimals or minutes and seconds, and a
// hemisphere, for latitude and longitude: "28-38.47N 080-37.31W", "22-07-05N 091-23-50W".
var positionForm = regexp.MustCompile(`\b(\d{1,2})-(\d{1,2}(?:\.\d+)?)(?:-(\d{1,2}(?:\.\d+)?))?\s?([NS])[\s,]{1,3}(\d{1,3})-(\d{1,2}(?:\.\d+)?)(?:-(\d{1,2}(?:\.\d+)?))?\s?([EW])\b`)

var (
	bound  = regexp.MustCompile(`\bAREAS? BOUND(?:ED)? BY\b`)
	within = regexp.MustCompile(`\bWITHIN (?:A )?([A-Z]+|\d+(?:\.\d+)?)[ -](?:NAUTICAL )?MILES? (?:RADIUS )?OF:?\s*(?:A\.\s*)?$`)
	again  = regexp.MustCompile(`^[\s,.;:]*(?:AND )?[A-Z]\.\s*$`) // the letter of the next ring
	joined = regexp.MustCompile(`^[\s,]*(?:AND\s*)?$`)            // between positions of one ring
)

// miles are numbers in words.
var miles = map[string]float64{"ONE": 1, "TWO": 2, "THREE": 3, "FOUR": 4, "FIVE": 5, "SIX": 6, "SEVEN": 7, "EIGHT": 8, "NINE": 9, "TEN": 10, "TWELVE": 12, "FIFTEEN": 15, "TWENTY": 20, "THIRTY": 30}

// nautical is a nautical mile in meters.
const nautical = 1852

// maxMiles bounds the radius of a circle, and maxPositions the positions of one message.
const (
	maxMiles     = 500
	maxPositions = 500
)

// degrees returns an angle of degrees, minutes and seconds; ok is false if it is none.
func degrees(d, m, s, hemisphere string, limit float64) (v float64, ok bool) {
	whole, _ := strconv.ParseFloat(d, 64)
	minutes, _ := strconv.ParseFloat(m, 64)
	seconds, _ := strconv.ParseFloat("0"+s, 64)
	v = whole + minutes/60 + seconds/3600
	if ok = minutes < 60 && seconds < 60 && v <= limit; hemisphere == "S" || hemisphere == "W" {
		v = -v
	}
	return v, ok
}

// places returns the first position of a text, and its areas: rings of positions after "area bound
// by", and circles. The text is on one line, in capitals.
func places(text string) (first *geo.Position, areas []geo.Shape) {
	type found struct {
		at         geo.Position
		start, end int
	}
	var all []found
	for _, m := range positionForm.FindAllStringSubmatchIndex(text, maxPositions) {
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[m[2*i]:m[2*i+1]]
		}
		lat, okLat := degrees(part(1), part(2), part(3), part(4), 90)
		lon, okLon := degrees(part(5), part(6), part(7), part(8), 180)
		if okLat && okLon {
			all = append(all, found{geo.Position{lon, lat}, m[0], m[1]})
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	for _, b := range bound.FindAllStringIndex(text, 20) {
		var ring []geo.Position
		end := b[1]
		for _, p := range all {
			between := ""
			if p.start >= end {
				between = text[end:p.start]
			}
			switch {
			case p.start < b[1]:
				continue
			case len(ring) > 0 && joined.MatchString(between), len(ring) == 0 && len(between) < 40:
			case again.MatchString(between):
				areas = append(areas, polygon(ring)...)
				ring = nil
			default:
				areas = append(areas, polygon(ring)...)
				ring, end = nil, len(text)
			}
			if end == len(text) {
				break
			}
			ring, end = append(ring, p.at), p.end
		}
		areas = append(areas, polygon(ring)...)
	}
	radius, end := 0.0, 0
	for _, p := range all {
		m := within.FindStringSubmatch(text[max(0, p.start-60):p.start])
		switch listed := radius > 0 && again.MatchString(text[end:p.start]); {
		case m != nil:
			if radius = miles[m[1]]; radius == 0 {
				radius, _ = strconv.ParseFloat(m[1], 64)
			}
		case !listed: // "B." and so on have the same radius
			radius = 0
		}
		if end = p.end; radius > 0 && radius <= maxMiles {
			areas = append(areas, geo.Circle(p.at[0], p.at[1], radius*nautical))
		}
	}
	return &all[0].at, areas
}

// polygon returns the area of a ring, or none if it has fewer than three positions. A side is the
// shorter way around the earth.
func polygon(ring []geo.Position) []geo.Shape {
	if len(ring) < 3 {
		return nil
	}
	ring = append([]geo.Position{}, ring...)
	for i := 1; i < len(ring); i++ {
		for ring[i][0]-ring[i-1][0] > 180 {
			ring[i][0] -= 360
		}
		for ring[i][0]-ring[i-1][0] < -180 {
			ring[i][0] += 360
		}
	}
	text, err := json.Marshal([][]geo.Position{append(ring, ring[0])})
	if err != nil {
		return nil
	}
	s, err := geo.ParseLoose([]byte(`{"type":"Polygon","coordinates":` + string(text) + `}`))
	if err != nil {
		return nil
	}
	return []geo.Shape{s}
}

// oneLine returns text on one line, in capitals.
func oneLine(text string) string { return strings.ToUpper(strings.Join(strings.Fields(text), " ")) }
