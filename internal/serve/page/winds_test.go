package page

import (
	"fmt"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// TestForecastWindsAtTowns checks when forecast winds reach towns: the strongest wind of each, by the
// first forecast that has it, and nothing of winds that are now or were.
func TestForecastWindsAtTowns(t *testing.T) {
	now := hazard.At(time.Date(2026, 8, 28, 0, 0, 0, 0, time.UTC))
	in := func(hours int) hazard.Instant { return now.Add(time.Duration(hours) * time.Hour) }
	box := func(west, south, east, north float64) string {
		return fmt.Sprintf(`{"type":"Polygon","coordinates":[[[%v,%v],[%v,%v],[%v,%v],[%v,%v],[%v,%v]]]}`, west, south, east, south, east, north, west, north, west, south)
	}
	wind := func(hours int, kmh float64, forecast bool, geometry string) hazard.Shape {
		return hazard.Shape{Role: hazard.WindShape, Band: &hazard.Band{Kind: hazard.Wind, Value: kmh}, From: in(hours), To: in(hours), Forecast: forecast, Geometry: geometry}
	}
	position := func(hours int, lon, lat float64) hazard.Shape {
		return hazard.Shape{Role: hazard.PositionShape, From: in(hours), To: in(hours), Forecast: hours > 0, Geometry: fmt.Sprintf(`{"type":"Point","coordinates":[%v,%v]}`, lon, lat)}
	}
	newOrleans, houston := box(-90.3, 29.8, -89.9, 30.1), box(-95.6, 29.6, -95.2, 29.9)
	shapes := []hazard.Shape{wind(0, 119, false, houston), wind(12, 63, true, newOrleans), wind(24, 119, true, newOrleans), wind(36, 119, true, newOrleans), wind(36, 63, true, newOrleans),
		wind(-12, 93, true, houston), position(0, -88, 27), position(12, -89, 28.5), position(24, -90.5, 30.5), position(36, -91, 32)}
	found := map[string]windAt{}
	for _, w := range windsAt(shapes, now, 50) {
		found[w.Town.Name] = w
	}
	if w, ok := found["New Orleans"]; !ok || w.By != in(24) || w.Band.Value != 119 {
		t.Errorf("New Orleans: %+v", w)
	}
	if w, ok := found["Houston"]; ok {
		t.Errorf("a wind of now is forecast: %+v", w)
	}
	if got := windsAt(shapes, now, 1); len(got) != 1 || got[0].Town.Name != "New Orleans" {
		t.Errorf("the largest town is %+v", got)
	}
	if by, country, ok := landfall(shapes, now); !ok || by != in(24) || country != "US" {
		t.Errorf("landfall %v in %q, %v", by, country, ok)
	}
	if got := Arrivals(shapes, now, 1); len(got) != 2 || got[0].Town.Name != "New Orleans" || got[0].By != in(24) || got[1].Town != nil || got[1].Country != "US" {
		t.Errorf("arrivals %+v", got)
	}
	if _, _, ok := landfall(shapes[:8], now); ok {
		t.Error("a storm at sea comes ashore")
	}
}
