package cap

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
)

// maxCircle is the largest radius of a circle, in kilometers: a quarter of the Earth's
// circumference.
const maxCircle = 10_000

// vocabularies are the vocabularies of place codes, the most detailed first. If an area has codes
// of several vocabularies, the first one gives its places.
//
// A place is written as vocabulary and code ("EMMA_ID:HR004", "SAME:006109"), except for UGC
// ("AKZ185"), as in package nws. An area without codes is named by its description
// ("area:Siersburg").
var vocabularies = []struct{ name, prefix string }{
	{"emma_id", "EMMA_ID:"}, {"ugc", ""}, {"clc", "CLC:"}, {"warncellid", "WARNCELLID:"}, {"same", "SAME:"}, {"fips6", "SAME:"},
}

// wmoOID matches an identifier that a state gives its authorities: WMO-No. 1109, "Guidelines for
// the Implementation of CAP-Enabled Emergency Alerting", and the Register of Alerting Authorities.
// The number in the group is the state's, by ISO 3166-1.
var wmoOID = regexp.MustCompile(`(?:^|[^0-9.])2\.49\.0\.[0-9]\.([0-9]{1,3})(?:[^0-9]|$)`)

// country returns the country of the sending authority as its alpha-2 code, or "" if the message
// does not contain it.
func (m *Alert) country() string {
	for _, text := range []string{m.Sender, m.Identifier} {
		if oid := wmoOID.FindStringSubmatch(text); oid != nil {
			n, _ := strconv.Atoi(oid[1]) // the pattern allows only three digits
			if c, ok := region.CountryByNumber(n); ok {
				return c.Code
			}
		}
	}
	return ""
}

// areaPrefix is the beginning of the place of an area without codes.
const areaPrefix = "area:"

// maxPlace bounds a place code, in bytes.
const maxPlace = 80

// places returns the codes of an area, and codes that can replace them: of wider places (SAME) that
// contain it, and of other vocabularies whose areas are built in.
func (a *Area) places() (codes, within []string) {
	best := len(vocabularies)
	rank := func(v Value) int {
		name := strings.ToLower(v.Name[strings.LastIndexByte(v.Name, ':')+1:])
		i := slices.IndexFunc(vocabularies, func(x struct{ name, prefix string }) bool { return x.name == strings.TrimSpace(name) })
		if i < 0 {
			return len(vocabularies)
		}
		return i
	}
	for _, v := range a.Geocode {
		best = min(best, rank(v))
	}
	listed := slices.DeleteFunc(slices.Clone(a.Geocode), Value.isHole)
	for _, v := range listed {
		r := rank(v)
		// Some senders write several codes as one value, separated by blanks.
		for code := range strings.FieldsSeq(v.Value) {
			code = lenient.Cut(hazard.CleanLine(code), maxPlace)
			switch {
			case code == "":
			case r == best && best < len(vocabularies):
				codes = append(codes, vocabularies[r].prefix+code)
			case r == best:
				codes = append(codes, lenient.Cut(hazard.CleanLine(v.Name), maxPlace)+":"+code)
			case r < len(vocabularies) && vocabularies[r].prefix == "SAME:":
				within = append(within, code)
			default:
				prefix := v.Name + ":"
				if r < len(vocabularies) {
					prefix = vocabularies[r].prefix
				}
				if c := lenient.Cut(hazard.CleanLine(prefix), maxPlace) + code; region.Known(region.ParseCode(c)) {
					within = append(within, c)
				}
			}
		}
	}
	if len(codes) == 0 {
		if desc := hazard.CleanLine(a.Desc); desc != "" {
			codes = []string{areaPrefix + shortPlace(desc)}
		}
	}
	return codes, within
}

// shortPlace shortens a description to at most maxPlace bytes. Different descriptions give
// different results, even if they begin alike.
func shortPlace(desc string) string {
	if len(desc) <= maxPlace {
		return desc
	}
	sum := sha256.Sum256([]byte(desc))
	return lenient.Cut(desc, maxPlace-17) + "~" + hex.EncodeToString(sum[:8])
}

// isHole reports whether a value among an area's codes is the outline of a part without a warning
// (DWD, CAP profile 2.1).
func (v Value) isHole() bool { return strings.EqualFold(strings.TrimSpace(v.Name), "EXCLUDE_POLYGON") }

// cutHoles cuts the holes of an area out of its polygons. Each hole is cut out of the polygon that
// contains it.
func (a *Area) cutHoles(shapes []hazard.Area) (faults []string) {
	for i, v := range a.Geocode {
		if !v.isHole() {
			continue
		}
		hole, _, err := polygon(v.Value)
		if err != nil {
			faults = append(faults, fmt.Sprintf("geocode/%d: EXCLUDE_POLYGON: %v", i, err))
			continue
		}
		ring := strings.TrimSuffix(strings.TrimPrefix(hole, polygonBegin), polygonEnd)
		in := slices.IndexFunc(shapes, func(s hazard.Area) bool {
			return strings.HasPrefix(s.Geometry, polygonBegin) && holds(s.Geometry, hole)
		})
		if in < 0 {
			faults = append(faults, fmt.Sprintf("geocode/%d: EXCLUDE_POLYGON: in none of the polygons", i))
			continue
		}
		shapes[in].Geometry = strings.TrimSuffix(shapes[in].Geometry, polygonEnd) + "," + ring + polygonEnd
	}
	return faults
}

// holds reports whether the polygon outer contains the hole. It only checks one point of the hole.
func holds(outer, hole string) bool {
	o, errO := geo.ParseLoose([]byte(outer))
	h, errH := geo.ParseLoose([]byte(hole))
	if errO != nil || errH != nil {
		return false
	}
	lon, lat := h.Point()
	return geo.Intersects(o, geo.Place(lon, lat))
}

// The text around the rings of a GeoJSON polygon.
const (
	polygonBegin = `{"type":"Polygon","coordinates":[`
	polygonEnd   = "]}"
)

// Shapes returns the polygons and circles of an area as GeoJSON, and descriptions of the parts that
// were unreadable or repaired.
func (a *Area) Shapes() (shapes []hazard.Area, faults []string) {
	for i, text := range a.Polygon {
		// Israel and the NWS leave the polygon empty next to codes of places. Without other areas,
		// an empty polygon is a fault.
		if strings.TrimSpace(text) == "" && len(a.Polygon)+len(a.Circle)+len(a.Geocode) > 1 {
			continue
		}
		g, note, err := polygon(text)
		if err != nil {
			note = err.Error()
		} else {
			shapes = append(shapes, hazard.Area{Role: hazard.AlertArea, Geometry: g})
		}
		if note != "" {
			faults = append(faults, fmt.Sprintf("polygon/%d: %s", i, note))
		}
	}
	faults = append(faults, a.cutHoles(shapes)...)
	for i, text := range a.Circle {
		if strings.TrimSpace(text) == "" {
			continue
		}
		s, point, err := circle(text)
		if err != nil {
			faults = append(faults, fmt.Sprintf("circle/%d: %v", i, err))
			continue
		}
		role := hazard.AlertArea
		if point != nil {
			role = hazard.PointArea
		}
		shapes = append(shapes, hazard.Area{Role: role, Geometry: s})
	}
	return shapes, faults
}

var aroundComma = regexp.MustCompile(`\s*,\s*`)

// positions splits a list of positions "lat,lon". Blanks around commas are ignored, and a comma may
// also separate two positions.
func positions(text string) []string {
	var out []string
	for word := range strings.FieldsSeq(aroundComma.ReplaceAllString(strings.TrimSpace(text), ",")) {
		numbers := strings.Split(strings.Trim(word, ","), ",")
		if len(numbers) < 4 || len(numbers)%2 != 0 {
			out = append(out, word)
			continue
		}
		for i := 0; i < len(numbers); i += 2 { // lat,lon,lat,lon
			out = append(out, numbers[i]+","+numbers[i+1])
		}
	}
	return out
}

// polygon returns a GeoJSON polygon, with longitude first in each pair. It closes an open ring.
func polygon(text string) (geometry, note string, err error) {
	var b strings.Builder
	b.WriteString(`{"type":"Polygon","coordinates":[[`)
	var first, last hazard.Point
	n, extent := 0, false
	for _, pair := range positions(text) {
		p, err := Position(strings.TrimSuffix(pair, ","))
		if err != nil {
			return "", "", err
		}
		if n == 0 {
			first = p
		} else {
			b.WriteByte(',')
		}
		extent = extent || p != first
		n, last = n+1, p
		b.WriteString(pairOf(p))
	}
	if n > 2 && first != last {
		note = fmt.Sprintf("not closed: begins at %v,%v and ends at %v,%v, read as closed", first.Lat, first.Lon, last.Lat, last.Lon)
		n++
		b.WriteString("," + pairOf(first))
	}
	switch {
	case n == 0:
		return "", "", errors.New("empty, expected positions")
	case n < 4:
		return "", "", fmt.Errorf("%d positions, expected at least 4, the last of them the first again", n)
	case !extent:
		return "", "", fmt.Errorf("every position is %v,%v, expected an area", first.Lat, first.Lon)
	}
	b.WriteString("]]}")
	return b.String(), note, nil
}

// circle returns a circle as a GeoJSON polygon, or as a point if its radius is 0.
func circle(text string) (geometry string, point *hazard.Point, err error) {
	words := strings.Fields(aroundComma.ReplaceAllString(strings.TrimSpace(text), ","))
	if len(words) != 2 {
		return "", nil, fmt.Errorf("%.60q, expected a position and a radius", text)
	}
	p, err := Position(words[0])
	if err != nil {
		return "", nil, err
	}
	radius, err := number(words[1])
	switch {
	case err != nil || radius < 0 || radius > maxCircle:
		return "", nil, fmt.Errorf("radius %.40q, expected 0 to %d km", words[1], maxCircle)
	case p == hazard.Point{}:
		return "", nil, errors.New("0,0, expected the position of the event")
	case radius == 0:
		return `{"type":"Point","coordinates":` + pairOf(p) + "}", &p, nil
	}
	return geo.Circle(p.Lon, p.Lat, radius*1000).GeoJSON(), nil, nil
}

// Position parses "lat,lon". A third number is a height, and is ignored. A longitude beyond 180
// degrees is wrapped around.
func Position(text string) (hazard.Point, error) {
	words := strings.Split(strings.TrimSuffix(text, ","), ",")
	if len(words) < 2 || len(words) > 3 {
		return hazard.Point{}, fmt.Errorf("%.40q, expected latitude,longitude", text)
	}
	y, errY := number(strings.TrimSpace(words[0]))
	x, errX := number(strings.TrimSpace(words[1]))
	switch {
	case errY != nil || errX != nil:
		return hazard.Point{}, fmt.Errorf("%.40q, expected latitude,longitude", text)
	case y < -90 || y > 90:
		return hazard.Point{}, fmt.Errorf("latitude %v, expected -90 to 90, before the longitude", y)
	case x < -360 || x > 360:
		return hazard.Point{}, fmt.Errorf("longitude %v, expected -180 to 180", x)
	}
	return hazard.Point{Lon: geo.Wrap(x) + 0, Lat: y + 0}, nil // + 0 replaces negative zero
}

// number parses a decimal number. It rejects NaN, infinity and hexadecimal numbers.
func number(s string) (float64, error) {
	if len(s) > 40 || strings.Trim(s, "+-.0123456789eE") != "" {
		return 0, errors.New("not a number")
	}
	return strconv.ParseFloat(s, 64)
}

func pairOf(p hazard.Point) string {
	return "[" + strconv.FormatFloat(p.Lon, 'f', -1, 64) + "," + strconv.FormatFloat(p.Lat, 'f', -1, 64) + "]"
}
