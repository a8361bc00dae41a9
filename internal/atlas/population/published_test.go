package population

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// published is a published number of people in an area.
type published struct {
	what   string
	people float64
	areas  []geo.Shape // each area after the first is added if it lies outside the first, and subtracted if it lies inside
}

// Figures that PAGER and GDACS published for areas in the recordings, against our own count.
// -v prints each figure. They use other data (LandScan, GHS-POP and
// others, in cells of 1 km and less, of other years), so the test fails only if sums are clearly
// wrong.
func TestOurPeopleAgainstPublishedFigures(t *testing.T) {
	g := grid(t)
	quakes := within(t, "gdacs/rss_7d-20191230.xml", "within 100km", 100)
	sized := func(least, most float64) []published {
		return slices.DeleteFunc(slices.Clone(quakes), func(p published) bool { return p.people < least || p.people >= most })
	}
	for _, group := range []struct {
		name        string
		figures     []published
		least, most float64 // limits of the median factor
	}{
		{"PAGER, M 7.8 off Sumatra (2016)", pagerFigures(t), 0.9, 1.2},
		{"GDACS, earthquakes (2019), from 1 million", sized(1e6, math.Inf(1)), 0.9, 1.2},
		{"GDACS, earthquakes (2019), from 100,000", sized(1e5, 1e6), 0.8, 1.6},
		{"GDACS, earthquakes (2019), fewer", sized(0, 1e5), 0.7, 1.6},
		{"GDACS, a volcano (2022)", within(t, "gdacs/rss_7d-20221126.xml", "within 30km", 30), 0.8, 1.2},
		{"GDACS, around towns in Heilongjiang (2026)", townFigures(t), 0.9, 1.1},
		{"GDACS, burnt area in Heilongjiang (2026)", fireFigures(t), 0.4, 2.5},
	} {
		if len(group.figures) == 0 {
			t.Errorf("%s: nothing published", group.name)
			continue
		}
		var factors []float64
		for _, p := range group.figures {
			got := sum(t, g, p.areas[0])
			for _, a := range p.areas[1:] {
				if geo.Intersects(p.areas[0], a) {
					got -= sum(t, g, a)
				} else {
					got += sum(t, g, a)
				}
			}
			factors = append(factors, got/p.people)
			t.Logf("%-44s %-32s theirs %10.0f, ours %10.0f, factor %.2f", group.name, p.what, p.people, got, got/p.people)
		}
		slices.Sort(factors)
		n, median := len(factors), factors[len(factors)/2]
		t.Logf("%s: %d figures, median %.2f, half of them from %.2f to %.2f, all from %.2f to %.2f", group.name, n, median, factors[n/4], factors[n-1-n/4], factors[0], factors[n-1])
		if median < group.least || median > group.most {
			t.Errorf("%s: the median is %.2f times theirs, want %v to %v", group.name, median, group.least, group.most)
		}
	}
}

// pagerFigures returns PAGER's people by intensity, summed from the strongest down, in the area
// between the contour of the ShakeMap and the edge of its map.
func pagerFigures(t *testing.T) (figures []published) {
	t.Helper()
	var pager struct {
		Exposure []struct {
			Min    float64 `xml:"dmin,attr"`
			People float64 `xml:"exposure,attr"`
		} `xml:"exposure"`
	}
	if err := xml.Unmarshal([]byte(strings.Replace(string(recordings.Read(t, "feeds/usgs/product-us10004u1y-losspager-pager.xml")), "US-ASCII", "UTF-8", 1)), &pager); err != nil {
		t.Fatal(err)
	}
	var contours struct {
		BBox     [4]float64 `json:"bbox"`
		Metadata struct {
			Latitude, Longitude float64
		} `json:"metadata"`
		Features []struct {
			Properties struct{ Value float64 } `json:"properties"`
			Geometry   struct{ Coordinates [][][2]float64 }
		} `json:"features"`
	}
	if err := json.Unmarshal(recordings.Read(t, "feeds/usgs/product-us10004u1y-shakemap-cont_mi.json"), &contours); err != nil {
		t.Fatal(err)
	}
	b := contours.BBox
	from := func(least float64) (people float64) {
		for _, e := range pager.Exposure {
			if e.Min >= least {
				people += e.People
			}
		}
		return people
	}
	figures = append(figures, published{"in all of the map", from(0), []geo.Shape{box(b[0], b[1], b[2], b[3])}})
	epicenter := geo.Place(contours.Metadata.Longitude, contours.Metadata.Latitude)
	for _, f := range contours.Features {
		people := from(f.Properties.Value)
		if people == 0 || math.Mod(f.Properties.Value, 1) != 0.5 { // PAGER's classes lie between these values
			continue
		}
		p := published{what: fmt.Sprintf("at intensity %g and more", f.Properties.Value), people: people}
		for _, line := range f.Geometry.Coordinates {
			if line[0] == line[len(line)-1] {
				p.areas = append(p.areas, ring(t, line))
				continue
			}
			for _, turn := range []float64{1, -1} {
				if s := ring(t, alongTheEdge(line, b, turn)); geo.Intersects(s, epicenter) {
					p.areas = append([]geo.Shape{s}, p.areas...)
				}
			}
		}
		figures = append(figures, p)
	}
	return figures
}

// alongTheEdge closes a line that begins and ends at the edge of a map. It follows the edge in one
// direction: 1 counterclockwise, -1 clockwise.
func alongTheEdge(line [][2]float64, b [4]float64, turn float64) [][2]float64 {
	corners := [][2]float64{{b[0], b[1]}, {b[2], b[1]}, {b[2], b[3]}, {b[0], b[3]}}
	angle := func(p [2]float64) float64 {
		a := math.Atan2(p[1]-(b[1]+b[3])/2, p[0]-(b[0]+b[2])/2)
		return math.Mod(a*turn+4*math.Pi, 2*math.Pi)
	}
	begin := angle(line[len(line)-1])
	past := func(p [2]float64) float64 { return math.Mod(angle(p)-begin+2*math.Pi, 2*math.Pi) }
	slices.SortFunc(corners, func(p, q [2]float64) int { return cmp.Compare(past(p), past(q)) })
	closed := slices.Clone(line)
	for _, c := range corners {
		if past(c) < past(line[0]) {
			closed = append(closed, c)
		}
	}
	return append(closed, line[0])
}

func ring(t *testing.T, line [][2]float64) geo.Shape {
	t.Helper()
	text, err := json.Marshal(map[string]any{"type": "Polygon", "coordinates": [][][2]float64{line}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := geo.ParseLoose(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// within returns the events of a GDACS feed with a number of people within some kilometers above
// zero. Of several events close to each other it returns one.
func within(t *testing.T, file, words string, km float64) (figures []published) {
	t.Helper()
	var rss struct {
		Items []struct {
			ID         string  `xml:"eventid"`
			Lat        float64 `xml:"Point>lat"`
			Lon        float64 `xml:"Point>long"`
			Population struct {
				Value float64 `xml:"value,attr"`
				Text  string  `xml:",chardata"`
			} `xml:"population"`
		} `xml:"channel>item"`
	}
	if err := xml.Unmarshal([]byte(strings.TrimPrefix(string(recordings.Read(t, "feeds/"+file)), "\ufeff")), &rss); err != nil {
		t.Fatal(err)
	}
	near := func(p published, lon, lat float64) bool { return geo.Intersects(p.areas[0], geo.Place(lon, lat)) }
	for _, i := range rss.Items {
		if slices.ContainsFunc(figures, func(p published) bool { return near(p, i.Lon, i.Lat) }) {
			continue // an aftershock
		}
		if strings.Contains(i.Population.Text, words) && i.Population.Value > 0 {
			figures = append(figures, published{fmt.Sprintf("%s at %.1f, %.1f", i.ID, i.Lat, i.Lon), i.Population.Value, []geo.Shape{geo.Circle(i.Lon, i.Lat, km*1000)}})
		}
	}
	return figures
}

// impact returns the tables of GDACS for a fire, as names and values.
func impact(t *testing.T) (tables []map[string]string) {
	t.Helper()
	var doc any
	if err := json.Unmarshal(recordings.Read(t, "feeds/gdacs/episodes/wf-1028649-ep1-impact.json"), &doc); err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if list, ok := v["scalar"].([]any); ok {
				table := map[string]string{}
				for _, s := range list {
					if s, ok := s.(map[string]any); ok {
						table[fmt.Sprint(s["name"])] = fmt.Sprint(s["value"])
					}
				}
				tables = append(tables, table)
			}
			for _, value := range v {
				walk(value)
			}
		case []any:
			for _, value := range v {
				walk(value)
			}
		}
	}
	walk(doc)
	return tables
}

func decimal(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// townFigures returns the people that GDACS counts within 10 to 150 km of towns.
func townFigures(t *testing.T) (figures []published) {
	t.Helper()
	for _, table := range impact(t) {
		for _, km := range []float64{10, 25, 50, 75, 100, 125, 150} {
			if people := table[fmt.Sprintf("JRC_POP_%g", km)]; people != "" {
				s := geo.Circle(decimal(t, table["LONGITUDE"]), decimal(t, table["LATITUDE"]), km*1000)
				figures = append(figures, published{fmt.Sprintf("%g km of %s", km, table["NAME"]), decimal(t, people), []geo.Shape{s}})
			}
		}
	}
	slices.SortFunc(figures, func(a, b published) int { return strings.Compare(a.what, b.what) })
	return figures
}

// fireFigures returns the people that GDACS counts in a burnt area.
func fireFigures(t *testing.T) (figures []published) {
	t.Helper()
	tables := impact(t)
	of := func(name string) string {
		for _, table := range tables {
			if table[name] != "" {
				return table[name]
			}
		}
		t.Fatalf("no table has %s", name)
		return ""
	}
	s, err := geo.ParseWKT(of("Shape"))
	if err != nil {
		t.Fatal(err)
	}
	return []published{{"in the area", decimal(t, of("POPAFFECTED")), []geo.Shape{s}}}
}
