package nws

import (
	"context"
	"strings"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/source/nws/counties"
)

// Places knows the shapes of the places that alerts only name: those that were fetched, and without network the counties of
// the built-in table.
type Places struct {
	// Kept reads the GeoJSON geometry of a place that was fetched; an error if it never was.
	Kept func(ctx context.Context, code string) (string, error)
}

// Shape is the shape of the place with that code (a place of a report, or one that it lies within), and whether it is known.
func (p Places) Shape(ctx context.Context, code string) (geo.Shape, bool) {
	if same, ok := strings.CutPrefix(code, "SAME:"); ok {
		code = same
	}
	if len(code) == 6 && strings.Trim(code, "0123456789") == "" {
		return together(counties.BySAME(code))
	}
	if text, err := p.Kept(ctx, code); err == nil {
		if s, err := geo.ParseLoose([]byte(text)); err == nil {
			return s, true
		}
	}
	return together(counties.ByUGC(code))
}

// PlaceURL is the address of the shape of a place, empty for those that the built-in table holds and those that have none.
func PlaceURL(code string) string {
	if len(counties.ByUGC(code)) > 0 {
		return ""
	}
	return ZoneURL(code)
}

func together(list []counties.County) (geo.Shape, bool) {
	if len(list) == 0 {
		return geo.Shape{}, false
	}
	shapes := make([]geo.Shape, len(list))
	for i, c := range list {
		shapes[i] = c.Shape
	}
	all, err := geo.Union(shapes...)
	return all, err == nil
}
