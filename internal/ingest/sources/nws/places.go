package nws

import (
	"context"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Places finds the shapes of places in alerts that were fetched: fire weather zones, and zones that
// are newer than those of package region.
type Places struct {
	// Kept returns the GeoJSON geometry of a fetched place, or an error if it was never fetched.
	Kept source.Kept
}

// Shape returns the shape of the place with that code (a place of a report, or a wider one), and
// whether it is known. Until a fire weather zone is fetched, the zone with its code in package
// place is used: of 346 in recorded lists, 341 lie in the counties of their messages.
func (p Places) Shape(ctx context.Context, code string) (geo.Shape, bool) {
	if s, ok := p.Kept.Shape(ctx, code); ok {
		return s, true
	}
	return region.Area(region.ParseCode(strings.TrimPrefix(code, firePrefix)))
}

// PlaceURL returns the address of the shape of a place, or "" if the shape is built in or does not
// exist.
func PlaceURL(code string) string {
	if region.Known(region.ParseCode(code)) {
		return ""
	}
	return ZoneURL(code)
}
