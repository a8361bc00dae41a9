package model_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/model"
)

// Areas consist of places. A place is a square of one degree, in a row of such squares, named by
// the number of its western side.

// strip returns the geometry of n places starting at from, with all corners of the places, as a
// union of places has them.
func strip(from, n int) string {
	var there, back []string
	for i := from; i <= from+n; i++ {
		there, back = append(there, fmt.Sprintf("[%d,10]", i)), append([]string{fmt.Sprintf("[%d,11]", i)}, back...)
	}
	return fmt.Sprintf(`{"type":"Polygon","coordinates":[[%s,%s,%s]]}`, strings.Join(there, ","), strings.Join(back, ","), there[0])
}

// places lists the places that a geometry covers: those whose middle and corners (moved slightly
// inwards) are all inside.
func places(geometry string) (list []string) {
	s, err := geo.ParseLoose([]byte(geometry))
	if err != nil {
		panic(err)
	}
	for i := range 10 {
		in := 0
		for _, p := range [][2]float64{{.5, .5}, {.01, .01}, {.99, .99}, {.01, .99}, {.99, .01}} {
			if geo.Intersects(s, geo.Place(float64(i)+p[0], 10+p[1])) {
				in++
			}
		}
		switch in {
		case 5:
			list = append(list, fmt.Sprint(i))
		case 0:
		default:
			panic(fmt.Sprintf("%s covers a part of place %d", geometry, i))
		}
	}
	return list
}

// pointOf returns the point of an area's shape.
func pointOf(a model.Area) hazard.Point {
	lon, lat := shapeOf(a).Point()
	return hazard.Point{Lon: lon, Lat: lat}
}

// near reports whether a point lies within 5 km of an area's shape.
func near(p hazard.Point, a model.Area) bool {
	return geo.Intersects(geo.Circle(p.Lon, p.Lat, 5000), shapeOf(a))
}

// shapeOf returns the shape of an area: that of the alert area, if there is one.
func shapeOf(a model.Area) geo.Shape {
	shapes := map[string][]geo.Shape{}
	for _, place := range a {
		role, name, _ := strings.Cut(place, " ")
		var i int
		if _, err := fmt.Sscan(name, &i); err != nil {
			panic(err)
		}
		s, err := geo.ParseLoose([]byte(strip(i, 1)))
		if err != nil {
			panic(err)
		}
		shapes[role] = append(shapes[role], s)
	}
	best := shapes[string(hazard.AlertArea)]
	if best == nil {
		best = shapes[string(hazard.ImpactArea)]
	}
	all, err := geo.Union(best...)
	if err != nil {
		panic(err)
	}
	return all
}

// area lists the places of a hazard in the service.
func (sv *service) area(h *hazard.Hazard) (all model.Area, err error) {
	key := fmt.Sprint(h.Areas)
	if known, ok := sv.areas[key]; ok {
		return known, nil
	}
	list, err := sv.store.Log.Areas(context.Background(), h.Areas)
	for _, a := range list {
		for _, place := range places(a.Geometry) {
			all = append(all, string(a.Role)+" "+place)
		}
	}
	slices.Sort(all)
	sv.areas[key] = all
	return all, err
}
