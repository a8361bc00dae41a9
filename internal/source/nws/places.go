package nws

import (
	"context"
	"strings"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/place"
)

// Places knows the shapes of the places that alerts only name and that were fetched: fire weather zones, and zones that are newer than
// those of package place.
type Places struct {
	// Kept reads the GeoJSON geometry of a place that was fetched; an error if it never was.
	Kept func(ctx context.Context, code string) (string, error)
}

// Shape is the shape of the place with that code (a place of a report, or one that it lies within), and whether it is known. Until a fire
// weather zone was fetched, the zone of its code in package place stands in for it: of 346 in recorded lists 341 lie in the counties that
// their messages name.
func (p Places) Shape(ctx context.Context, code string) (geo.Shape, bool) {
	if text, err := p.Kept(ctx, code); err == nil {
		if s, err := geo.ParseLoose([]byte(text)); err == nil {
			return s, true
		}
	}
	return place.Area(place.ParseCode(strings.TrimPrefix(code, firePrefix)))
}

// PlaceURL is the address of the shape of a place, empty for those that are built in and those that have none.
func PlaceURL(code string) string {
	if place.Known(place.ParseCode(code)) {
		return ""
	}
	return ZoneURL(code)
}
