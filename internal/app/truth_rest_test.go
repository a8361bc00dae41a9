package app

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// What is true of sources with one recorded list or few.

// place is a point, and polygons, from any GeoJSON geometry.
type place struct {
	point [2]float64
	area  geo.Shape
}

func (p *place) UnmarshalJSON(text []byte) error {
	var polygons []json.RawMessage
	var walk func(text []byte) error
	walk = func(text []byte) error {
		var g struct {
			Type        string
			Coordinates json.RawMessage
			Geometries  []json.RawMessage
		}
		if err := json.Unmarshal(text, &g); err != nil {
			return err
		}
		switch g.Type {
		case "Point":
			var at []number
			err := json.Unmarshal(g.Coordinates, &at)
			if len(at) > 1 {
				p.point = [2]float64{at[0].v, at[1].v}
			}
			return err
		case "Polygon", "MultiPolygon":
			polygons = append(polygons, text)
		}
		for _, part := range g.Geometries {
			if err := walk(part); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(text); err != nil {
		return err
	}
	var shapes []geo.Shape
	for _, polygon := range polygons {
		shape, err := geo.ParseLoose(polygon)
		if err != nil {
			return err
		}
		shapes = append(shapes, shape)
	}
	if len(shapes) == 0 {
		return nil
	}
	var err error
	p.area, err = geo.Union(shapes...)
	return err
}

// believed leaves out the point of a fire that lies more than 5 km off its perimeter, which was drawn from
// the air.
func believed(f fact) fact {
	if !f.area.IsZero() && f.point != [2]float64{} && !geo.Intersects(geo.Circle(f.point[0], f.point[1], 5000), f.area) {
		f.point = [2]float64{}
	}
	return f
}

// growing cuts a recorded list of features into the lists that it would have been: one after each of its
// last features, by a time in it.
func growing(t *testing.T, file, member string, last int) (all []snapshot) {
	t.Helper()
	var list struct {
		Type     string            `json:"type"`
		Features []json.RawMessage `json:"features"`
	}
	if err := json.Unmarshal(recordings.Read(t, file), &list); err != nil {
		t.Fatal(err)
	}
	moment := map[string]time.Time{}
	for _, raw := range list.Features {
		var f struct{ Properties map[string]any }
		if err := json.Unmarshal(raw, &f); err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, fmt.Sprint(f.Properties[member]))
		if err != nil {
			t.Fatal(err)
		}
		moment[string(raw)] = at
	}
	features := slices.SortedFunc(slices.Values(list.Features), func(a, b json.RawMessage) int { return moment[string(a)].Compare(moment[string(b)]) })
	for i, raw := range features {
		if i < len(features)-last {
			continue
		}
		list.Features = features[:i+1]
		cut, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, snapshot{cut, moment[string(raw)].Add(10 * time.Minute)})
	}
	return passing(all, 6*time.Hour, 4*day)
}

// quakes reads lists of earthquakes with these members: the id, the magnitude, the intensity and the
// depth.
func quakes(id, magnitude, intensity, depth string) truth {
	type lists struct {
		Features []struct {
			Properties map[string]json.RawMessage
			Geometry   place
		}
	}
	return lasts(func(t *testing.T, known *lasting, list lists, _ time.Time) {
		t.Helper()
		for _, f := range list.Features {
			var key string
			var start time.Time
			var m, mmi, km number
			errK, errS := json.Unmarshal(f.Properties[id], &key), json.Unmarshal(f.Properties["time"], &start)
			errM, errD := json.Unmarshal(f.Properties[magnitude], &m), json.Unmarshal(f.Properties[depth], &km)
			if errK != nil || errS != nil || errM != nil || errD != nil {
				t.Fatal(errK, errS, errM, errD)
			}
			if intensity != "" {
				if err := json.Unmarshal(f.Properties[intensity], &mmi); err != nil {
					t.Fatal(err)
				}
			}
			level, life := quakeLevel(m, mmi, km.v >= 100, ""), day
			if level == "WARNING" {
				life = 3 * day
			}
			if level != "" && string(f.Properties["quality"]) != `"deleted"` {
				known.set(key, fact{start: start, level: level, point: f.Geometry.point}, start.Add(life))
			}
		}
	})
}

// quakesOfIGN reads the list of earthquakes of the Instituto Geográfico Nacional.
func quakesOfIGN(t *testing.T, payload []byte, at time.Time) map[string]fact {
	t.Helper()
	all := map[string]fact{}
	items := regexp.MustCompile(`(?s)magnitud (\S+) en .*?la fecha (\S+ \S+) en.*?: (\S+),(\S+)</description>\s*<guid>[^<]*evid=(\w+)<`).FindAllSubmatch(payload, -1)
	if len(items) == 0 {
		t.Fatal("no items")
	}
	for _, item := range items {
		m, errM := strconv.ParseFloat(string(item[1]), 64)
		start, errS := time.Parse("02/01/2006 15:04:05", string(item[2]))
		lat, errLat := strconv.ParseFloat(string(item[3]), 64)
		lon, errLon := strconv.ParseFloat(string(item[4]), 64)
		if errM != nil || errS != nil || errLat != nil || errLon != nil {
			t.Fatal(errM, errS, errLat, errLon)
		}
		if level := quakeLevel(number{m, true}, number{}, false, ""); level != "" && start.AddDate(0, 0, 1).After(at) {
			all[string(item[5])] = fact{start: start, level: level, point: [2]float64{lon, lat}}
		}
	}
	return all
}

// floodsOfEngland reads the list of the Environment Agency. Its times are local.
func floodsOfEngland(t *testing.T, payload []byte, _ time.Time) map[string]fact {
	t.Helper()
	var list struct {
		Items []struct {
			FloodAreaID                                         string
			SeverityLevel                                       int
			TimeRaised, TimeSeverityChanged, TimeMessageChanged string
		}
	}
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(payload, &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]fact{}
	for _, f := range list.Items {
		level := map[int]string{1: "WARNING", 2: "WATCH", 3: "ADVISORY"}[f.SeverityLevel]
		if level == "" {
			continue
		}
		var start time.Time
		for _, text := range []string{f.TimeRaised, f.TimeSeverityChanged, f.TimeMessageChanged} {
			at, err := time.ParseInLocation("2006-01-02T15:04:05", text, london)
			if err != nil {
				t.Fatal(err)
			}
			if start.IsZero() || at.Before(start) {
				start = at
			}
		}
		all[f.FloodAreaID] = fact{typ: "FLOOD", start: start, level: level}
	}
	return all
}

// avalanchesOfTheUS reads the map layer of avalanche.org: zones of level 3 and more, until their forecast
// expires. Its times are in UTC.
func avalanchesOfTheUS() truth {
	type lists struct {
		Features []struct {
			ID         int
			Properties struct {
				Level int    `json:"danger_level"`
				Start string `json:"start_date"`
				End   string `json:"end_date"`
			}
			Geometry place
		}
	}
	return lasts(func(t *testing.T, known *lasting, list lists, _ time.Time) {
		t.Helper()
		for _, f := range list.Features {
			level := map[int]string{3: "ADVISORY", 4: "WATCH", 5: "WARNING"}[f.Properties.Level]
			if level == "" {
				continue
			}
			start, errS := time.Parse("2006-01-02T15:04:05", f.Properties.Start)
			end, errE := time.Parse("2006-01-02T15:04:05", f.Properties.End)
			if errS != nil || errE != nil {
				t.Fatal(errS, errE)
			}
			known.set(strconv.Itoa(f.ID), fact{typ: "AVALANCHE", start: start, level: level, area: f.Geometry.area}, end)
		}
	})
}

// volcanoesOfTheUS reads the list of elevated volcanoes of HANS.
func volcanoesOfTheUS(t *testing.T, payload []byte, _ time.Time) map[string]fact {
	t.Helper()
	var list []struct {
		Number string `json:"vnum"`
		Level  string `json:"alert_level"`
		Sent   number `json:"sent_unixtime"`
	}
	if err := json.Unmarshal(payload, &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]fact{}
	for _, v := range list {
		all[v.Number] = fact{start: time.Unix(int64(v.Sent.v), 0), level: v.Level}
	}
	return all
}

// activationsOfCopernicus reads a list of activations. An open one lasts for two weeks after its last
// update.
func activationsOfCopernicus() truth {
	type lists struct {
		Results []struct {
			Code, EventTime, LastUpdate, Centroid string
			Closed                                bool
		}
	}
	return lasts(func(t *testing.T, known *lasting, list lists, _ time.Time) {
		t.Helper()
		for _, a := range list.Results {
			if a.Closed {
				continue
			}
			start, errS := time.Parse("2006-01-02T15:04:05", a.EventTime)
			updated, errU := time.Parse("2006-01-02T15:04:05.999999", a.LastUpdate)
			var point [2]float64
			_, errP := fmt.Sscanf(a.Centroid, "POINT (%g %g)", &point[0], &point[1])
			if errS != nil || errU != nil || errP != nil {
				t.Fatal(errS, errU, errP)
			}
			known.set(a.Code, fact{start: start, level: "ADVISORY", point: point}, updated.Truncate(time.Millisecond).AddDate(0, 0, 14))
		}
	})
}

// startsOfTheNWS are the earliest starts of the VTEC events that lists of the NWS have named: the one in
// the code, or else when the message says that it begins.
func startsOfTheNWS(of truth) truth {
	first := map[string]time.Time{}
	return func(t *testing.T, payload []byte, at time.Time) map[string]fact {
		t.Helper()
		var list struct {
			Features []struct {
				Properties struct {
					Onset, Effective, Sent string
					Parameters             struct{ VTEC []string }
				}
			}
		}
		if err := json.Unmarshal(payload, &list); err != nil {
			t.Fatal(err)
		}
		for _, f := range list.Features {
			for _, code := range f.Properties.Parameters.VTEC {
				p := strings.Split(strings.Trim(code, "/"), ".")
				if len(p) != 7 || p[1] == "CAN" || p[1] == "EXP" || p[1] == "UPG" || p[1] == "ROU" {
					continue
				}
				text, _, _ := strings.Cut(p[6], "-")
				start, err := time.Parse("060102T1504Z", text)
				for _, text := range []string{f.Properties.Onset, f.Properties.Effective, f.Properties.Sent} {
					if err != nil {
						start, err = time.Parse(time.RFC3339, text)
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				key := eventOfVTEC(p, at)
				if was, ok := first[key]; !ok || start.Before(was) {
					first[key] = start
				}
			}
		}
		all := of(t, payload, at)
		for key, f := range all {
			f.start = first[key]
			all[key] = f
		}
		return all
	}
}

// eventOfVTEC is the name of an event by the parts of its code: office, phenomenon, significance, number
// and year. A convective watch is one for all offices.
func eventOfVTEC(p []string, at time.Time) string {
	office := p[2]
	if p[4] == "A" && (p[3] == "TO" || p[3] == "SV") && office[0] == 'K' {
		office = "SPC"
	}
	return strings.Join([]string{office, p[3], p[4], p[5], at.Format("2006")}, ".")
}
