package source

import (
	"fmt"

	"github.com/hazardd/hazardd/internal/atlas/gazetteer"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// farFromNamed is how far the position of an event may lie from the place that its source names, in
// meters: a fire at a border, or a place with a coarse outline. A lost sign or a changed order of
// numbers puts it much farther away.
const farFromNamed = 50_000

// Place compares the position of a report with the place that its source names in words, such as
// "Lake County, California", in a country (ISO 3166-1, two letters). A position that is missing, is
// 0,0, or lies elsewhere is not used: the report gets the named place and a note. A place with a name
// that is not known contradicts nothing.
//
// It reports whether the report has a place.
func Place(r *hazard.Report, country, words string) bool {
	if p := r.Point; p != nil && *p == (hazard.Point{}) {
		r.Notes = append(r.Notes, "The position 0, 0 is none, and is not used.")
		r.Point = nil
	}
	named := gazetteer.Regions(country, words)
	if len(named) == 0 {
		return r.Point != nil
	}
	if p := r.Point; p != nil {
		for _, n := range named {
			if _, far := geo.NewReach(n.Shape).Distance(p.Lon, p.Lat, farFromNamed); !far {
				return true
			}
		}
		r.Notes = append(r.Notes, fmt.Sprintf("The position %.4f, %.4f is not in %s, and is not used.", p.Lat, p.Lon, words))
		r.Point = nil
	}
	if r.Country = country; len(r.Places) == 0 {
		r.Places = []string{"area:" + words}
	} else { // they name parts of the event
		r.Within = append(r.Within, "area:"+words)
	}
	return true
}
