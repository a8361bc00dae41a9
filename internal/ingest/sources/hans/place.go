package hans

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// placePrefix is the prefix of a place's code: "gvp:311120" is the volcano with that number.
const placePrefix = "gvp:"

// PlaceURL returns the address of a place's position, or "" if the code is not that of a volcano.
func PlaceURL(code string) string {
	n, ok := strings.CutPrefix(code, placePrefix)
	if !ok || !numberForm.MatchString(n) {
		return ""
	}
	return api + "getVolcano/" + n
}

// ParsePlace parses the response of PlaceURL: the place's code, its position as a GeoJSON point,
// and the volcano's name.
func ParsePlace(payload []byte) (code string, geometryGeoJSON []byte, name string, err error) {
	if b := bytes.TrimSpace(payload); len(b) > 0 && b[0] == '{' {
		payload = bytes.Join([][]byte{[]byte("["), b, []byte("]")}, nil)
	}
	all, err := ParsePositions(payload)
	switch {
	case err != nil:
		return "", nil, "", err
	case len(all) != 1:
		return "", nil, "", source.Errorf("%d volcanoes with a position, expected one", len(all))
	}
	return all[0].Code, all[0].geometry(), all[0].Name, nil
}

// Position is the position of a volcano.
type Position struct {
	Code     string // code of the place
	Name     string
	Lon, Lat float64
}

func (p *Position) geometry() []byte {
	b := []byte(`{"type":"Point","coordinates":[`)
	b = strconv.AppendFloat(b, p.Lon, 'f', -1, 64)
	b = append(b, ',')
	b = strconv.AppendFloat(b, p.Lat, 'f', -1, 64)
	return append(b, "]}"...)
}

// ParsePositions reads the positions from a list that contains them (getUSVolcanoes,
// getCapElevated), in the list's order. It skips records without a number or a plausible position.
// The error, if any, is a *source.PayloadError; the positions before it are good.
func ParsePositions(payload []byte) ([]Position, error) {
	var all []Position
	err := lenient.List(payload, "volcanoes", func(_ func() string, raw []byte) {
		var v volcano
		if _, err := lenient.Decode(raw, &v); err != nil || v.number() == "" {
			return
		}
		if at, _ := v.point(); at != nil {
			all = append(all, Position{Code: placePrefix + v.number(), Name: v.called(), Lon: at.Lon, Lat: at.Lat})
		}
	})
	return all, err
}

// point returns the volcano's position, or why it has none.
func (v *volcano) point() (*hazard.Point, string) {
	if !v.Latitude.Known || !v.Longitude.Known {
		return nil, "latitude, longitude: missing, expected degrees"
	}
	lat, lon := v.Latitude.Value, v.Longitude.Value
	if math.Abs(lat) > 90 && math.Abs(lon) <= 90 { // latitude and longitude are swapped
		lat, lon = lon, lat
	}
	lon = geo.Wrap(lon) // the Aleutians, with a longitude from 0 to 360
	if math.Abs(lat) > 90 || math.Abs(lon) > 180 || lat == 0 && lon == 0 {
		return nil, fmt.Sprintf("latitude, longitude: %v, %v, expected the volcano's position", v.Latitude.Value, v.Longitude.Value)
	}
	return &hazard.Point{Lon: lon, Lat: lat}, ""
}

// volcanoes are the positions of the volcanoes that USGS may write about, by number: latitude, longitude and name, from the
// volcano locations of NOAA NCEI, which are those of the Smithsonian's Volcanoes of the World (doi.org/10.5479/si.GVP.VOTW5-2024.5.2).
//
//go:embed volcanoes.tsv
var volcanoes string

// builtIn returns the built-in position of a volcano.
func builtIn(code string) (geo.Shape, bool) {
	n, ok := strings.CutPrefix(code, placePrefix)
	if !ok || !numberForm.MatchString(n) {
		return geo.Shape{}, false
	}
	for line := range strings.Lines(volcanoes) {
		if !strings.HasPrefix(line, n) {
			continue
		}
		words := strings.Split(line, "\t")
		lat, errLat := strconv.ParseFloat(words[1], 64)
		lon, errLon := strconv.ParseFloat(words[2], 64)
		return geo.Place(lon, lat), errLat == nil && errLon == nil
	}
	return geo.Shape{}, false
}

// Places finds the positions of volcanoes: fetched ones first, then built-in ones.
type Places struct {
	// Kept returns the GeoJSON geometry of a fetched place, or an error if it was never fetched.
	Kept func(ctx context.Context, code string) (string, error)
}

// Shape returns the position of the volcano with that code, and whether it is known.
func (p Places) Shape(ctx context.Context, code string) (geo.Shape, bool) {
	text, err := p.Kept(ctx, code)
	if err != nil {
		return builtIn(code)
	}
	s, err := geo.ParseLoose([]byte(text))
	return s, err == nil
}
