package page

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/hazardd/hazardd/internal/atlas/town"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/enrich/exposure"
)

// Shaken is a town that an earthquake has shaken.
type Shaken struct {
	Town town.Town
	// Intensity is by Modified Mercalli: from the contours that a source drew, at least this; else
	// estimated from the magnitude, the depth and the distance.
	Intensity float64
	Estimated bool
}

// The limits of the shaking that is told by town.
const (
	leastShaking = 3.5 // the least intensity: light shaking, half rounded up
	shakenOf     = 4   // towns of each whole intensity
)

// Shaking returns at most so many towns that an earthquake shook: of each intensity the largest, the
// worst first. It is empty if no source drew contours, and nothing can be estimated.
func Shaking(h *hazard.Hazard, shapes []hazard.Shape, most int) (list []Shaken) {
	if h.Type != hazard.Earthquake || h.Somewhere() {
		return nil
	}
	all := withinContours(shapes)
	if len(all) == 0 {
		all = estimated(h)
	}
	level := func(s Shaken) int { return int(math.Floor(s.Intensity + 0.5)) }
	slices.SortFunc(all, func(a, b Shaken) int {
		return cmp.Or(cmp.Compare(level(b), level(a)), cmp.Compare(b.Town.People, a.Town.People), cmp.Compare(a.Town.Name, b.Town.Name))
	})
	count := map[int]int{}
	for _, s := range all {
		if count[level(s)]++; count[level(s)] <= shakenOf && len(list) < most {
			list = append(list, s)
		}
	}
	return list
}

// withinContours returns the towns within closed contours of intensity, each by the worst of these.
func withinContours(shapes []hazard.Shape) []Shaken {
	var contours []*hazard.Shape
	for i := range shapes {
		if s := &shapes[i]; s.Role == hazard.ContourShape && s.Band != nil && s.Band.Kind == hazard.Intensity && s.Band.Value >= leastShaking {
			contours = append(contours, s)
		}
	}
	slices.SortStableFunc(contours, func(a, b *hazard.Shape) int { return cmp.Compare(b.Band.Value, a.Band.Value) })
	type place struct{ lon, lat float64 }
	found := map[place]Shaken{}
	for _, c := range contours {
		line, err := geo.ParseLoose([]byte(c.Geometry))
		if err != nil {
			continue // drawn nowhere either
		}
		rings, _ := exposure.Enclosed(line)
		for _, ring := range rings {
			box := geo.BoundsOf(ring)
			for t := range town.Between(box.South, box.North) {
				k := place{t.Lon, t.Lat}
				if _, ok := found[k]; !ok && box.Contains(t.Lon, t.Lat) && geo.Intersects(geo.Place(t.Lon, t.Lat), ring) {
					found[k] = Shaken{Town: t, Intensity: c.Band.Value}
				}
			}
		}
	}
	return slices.Collect(maps.Values(found))
}

// What intensities are estimated of: crustal earthquakes of the sizes that the equation was made of,
// and some smaller ones.
const (
	leastEstimated = 4.5
	mostEstimated  = 8
	deepestKm      = 50
	farthestKm     = 500
)

// estimated returns the towns around an earthquake by the rule of intensityAt. None shook more than the
// most that the source says of any place.
func estimated(h *hazard.Hazard) (all []Shaken) {
	m, ok := hazard.Measured(h.Measurements, hazard.Magnitude)
	d, deep := hazard.Measured(h.Measurements, hazard.Depth)
	if !ok || !deep || m.Value < leastEstimated || m.Value > mostEstimated || d.Value > deepestKm {
		return nil
	}
	worst := math.Inf(1)
	if i, ok := hazard.Measured(h.Measurements, hazard.Intensity); ok {
		worst = i.Value
	}
	const kmPerDegree = 111
	reach := farthestKm / float64(kmPerDegree)
	for t := range town.Between(h.Latitude-reach, h.Latitude+reach) {
		km := geo.Distance(h.Longitude, h.Latitude, t.Lon, t.Lat) / 1000
		if km > farthestKm {
			continue
		}
		if v := min(intensityAt(m.Value, math.Hypot(km, max(d.Value, 0))), worst); v >= leastShaking {
			all = append(all, Shaken{Town: t, Intensity: math.Round(v*10) / 10, Estimated: true})
		}
	}
	return all
}

// intensityAt estimates the Modified Mercalli intensity of a crustal earthquake at a hypocentral
// distance in kilometers, on average ground (Allen, Wald and Worden 2012, "Intensity attenuation for
// active crustal regions", Journal of Seismology 16, equation for hypocentral distance). Its standard
// deviation is 0.82 far away to 1.19 near by; along a long rupture the shaking reaches farther.
func intensityAt(magnitude, km float64) float64 {
	near := -0.209 + 2.042*math.Exp(magnitude-5)
	v := 2.085 + 1.428*magnitude - 1.402*math.Log(math.Hypot(km, near))
	if km > 50 {
		v += 0.078 * math.Log(km/50)
	}
	return v
}
