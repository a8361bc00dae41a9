package app

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// fact is what is true of an event at a moment, according to the raw payloads; a zero time, an empty
// level or a point at 0, 0 is not compared.
type fact struct {
	start, end time.Time
	level      string
	point      [2]float64 // longitude, latitude
}

// snapshot is a recorded list, and when it was read.
type snapshot struct {
	file string
	at   time.Time
}

// snapshots returns the lists of a folder, of which the names are as given after the time.
func snapshots(t *testing.T, folder string, lists ...string) (all []snapshot) {
	t.Helper()
	for _, l := range lists {
		when, name, _ := strings.Cut(l, " ")
		at, err := listTime(when)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, snapshot{filepath.Join(folder, name), at})
	}
	return all
}

// series returns the lists of a folder that have their time between prefix and ".json".
func series(t *testing.T, folder, prefix string) []snapshot {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(recordings.Path(t, folder), prefix+"20*T*.json"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%s: %d files, error %v", folder, len(files), err)
	}
	var lists []string
	for _, file := range files {
		name := filepath.Base(file)
		lists = append(lists, strings.TrimSuffix(strings.TrimPrefix(name, prefix), ".json")+" "+name)
	}
	return snapshots(t, folder, lists...)
}

// truth returns what a payload says of the events that are in force, by the names that the service gives
// them. It reads the payload itself.
type truth func(t *testing.T, payload []byte, at time.Time) map[string]fact

// TestActiveIsWhatTheSourceSays replays recorded lists of sources, and compares what is active after
// each with what the lists say, which is read here without the adapters. It prints a table.
func TestActiveIsWhatTheSourceSays(t *testing.T) {
	test.Slow(t)
	t.Logf("%-8s %5s %6s %9s %9s %9s %9s %9s %9s", "source", "lists", "events", "precision", "recall", "start", "end", "level", "point")
	for _, tt := range []struct {
		source   string
		lists    []snapshot
		national bool // a title and a time of making are put into the payload
		truth    truth
	}{
		{"nhc", snapshots(t, "feeds/nhc", "20260822T1000Z CurrentStorms-20260822.json", "20260927T1600Z CurrentStorms-20260927.json"), false, stormsOfTheNHC},
		{"calfire", snapshots(t, "feeds/calfire", "20240616T2300Z map-20240616.json", "20240617T2300Z map-20240617.json",
			"20240618T1200Z map-20240618a.json", "20240618T2300Z map-20240618b.json"), false, firesOfCalifornia()},
		{"nswrfs", series(t, "feeds/nsw-rfs", "majorIncidents-"), false, firesOfNSW},
		{"nws", series(t, "feeds/nws", "active-"), true, eventsOfTheNWS},
	} {
		s := emptyStore(t)
		known := BuiltIn()
		src, err := known.Find(tt.source)
		if err != nil {
			t.Fatal(err)
		}
		replay := poll.NewReplay(s, known.Intake(s), hazard.MinInstant, slog.New(slog.DiscardHandler))
		var right, extra, missing, starts, startsRight, ends, endsRight, levels, levelsRight, points, pointsRight int
		events := map[string]time.Time{} // → its first start
		before := map[string]fact{}      // what the list before held: one list without an event does not end it
		for _, list := range tt.lists {
			at, payload := list.at, recordings.Read(t, list.file)
			if tt.national {
				payload = national(payload, at)
			}
			if _, err := replay.Take(t.Context(), &src, "", payload, nil, hazard.At(at)); err != nil {
				t.Fatal(err)
			}
			want := tt.truth(t, payload, at)
			active, err := s.Reports.ActiveEvents(t.Context(), tt.source)
			if err != nil {
				t.Fatal(err)
			}
			is := map[string]int64{}
			for _, e := range active {
				is[e.Event] = e.HazardID
			}
			for key, w := range want {
				if _, ok := events[key]; !ok {
					events[key] = w.start
				}
				id, ok := is[key]
				if !ok {
					if found, err := s.Hazards.Called(t.Context(), tt.source+":"+key); err == nil && len(found) == 1 && found[0].ActiveAt(hazard.At(at)) {
						id, ok = found[0].ID, true
					}
				}
				if !ok {
					missing++
					t.Errorf("%s, %s: %s is listed and not active", tt.source, at, key)
					continue
				}
				right++
				h, err := s.Hazards.Get(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if !events[key].IsZero() {
					starts++
					if h.Start.Time().Equal(events[key]) {
						startsRight++
					} else {
						t.Logf("%s, %s: %s starts at %v, by the lists at %s", tt.source, at, key, h.Start, events[key])
					}
				}
				if !w.end.IsZero() {
					ends++
					if h.End.Time().Equal(w.end) {
						endsRight++
					}
				}
				if w.level != "" {
					levels++
					if h.Severity.String() == w.level {
						levelsRight++
					} else {
						t.Logf("%s, %s: %s is %s, by the list %s", tt.source, at, key, h.Severity, w.level)
					}
				}
				if w.point != [2]float64{} {
					points++
					if math.Abs(h.Longitude-w.point[0]) < 0.001 && math.Abs(h.Latitude-w.point[1]) < 0.001 {
						pointsRight++
					} else {
						t.Logf("%s, %s: %s is at %v %v, by the list at %v", tt.source, at, key, h.Longitude, h.Latitude, w.point)
					}
				}
			}
			for key := range is {
				_, now := want[key]
				_, once := before[key]
				if !now && !once && !strings.HasPrefix(key, "urn:") {
					extra++
					t.Errorf("%s, %s: %s is active, and not listed twice", tt.source, at, key)
				}
			}
			before = want
		}
		part := func(n, of int) string {
			if of == 0 {
				return "-"
			}
			return fmt.Sprintf("%.4f", float64(n)/float64(of))
		}
		t.Logf("%-8s %5d %6d %9s %9s %9s %9s %9s %9s", tt.source, len(tt.lists), len(events), part(right, right+extra), part(right, right+missing),
			part(startsRight, starts), part(endsRight, ends), part(levelsRight, levels), part(pointsRight, points))
		if startsRight < starts || levelsRight < levels || pointsRight < points {
			t.Errorf("%s: a start, a level or a point is not that of the lists", tt.source)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// national returns a recorded list of the NWS as the national list that was made at a moment.
func national(list []byte, made time.Time) []byte {
	return []byte(strings.Replace(string(list), "{", fmt.Sprintf(`{"title":"Current watches, warnings, and advisories","updated":%q,`, made.Format(time.RFC3339)), 1))
}

// listTime reads the moment in the name of a recording.
func listTime(name string) (time.Time, error) { return time.Parse("20060102T1504Z", name) }

// firesOfNSW reads the list of the NSW Rural Fire Service: fires, and everything on which people must
// act. Its times are in UTC.
func firesOfNSW(t *testing.T, payload []byte, _ time.Time) map[string]fact {
	t.Helper()
	var list struct {
		Features []struct {
			Properties struct{ GUID, Category, PubDate, Description string }
		}
	}
	if err := json.Unmarshal(payload, &list); err != nil {
		t.Fatal(err)
	}
	levels := map[string]string{"Emergency Warning": "WARNING", "Watch and Act": "WATCH", "Advice": "ADVISORY", "Not Applicable": "INFORMATION"}
	field := func(text, name string) string {
		_, after, _ := strings.Cut(text, name+": ")
		value, _, _ := strings.Cut(after, " <br")
		return value
	}
	all := map[string]fact{}
	for _, f := range list.Features {
		p := f.Properties
		category := p.Category
		if category == "" {
			category = field(p.Description, "ALERT LEVEL")
		}
		kind := field(p.Description, "TYPE")
		fire := kind == "" || kind == "Bush Fire" || kind == "Grass Fire" || kind == "Scrub Fire" || kind == "Forest Fire"
		if level := levels[category]; !fire && level != "WATCH" && level != "WARNING" {
			continue
		}
		at, err := time.Parse("2/01/2006 3:04:05 PM", p.PubDate)
		if err != nil {
			t.Fatal(err)
		}
		all[p.GUID[strings.LastIndex(p.GUID, "/")+1:]] = fact{start: at, level: levels[category]}
	}
	return all
}

// stormsOfTheNHC reads the list of storms of the National Hurricane Center.
func stormsOfTheNHC(t *testing.T, payload []byte, _ time.Time) map[string]fact {
	t.Helper()
	var list struct {
		ActiveStorms []struct {
			ID, Intensity, LastUpdate         string
			LatitudeNumeric, LongitudeNumeric float64
		}
	}
	if err := json.Unmarshal(payload, &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]fact{}
	for _, s := range list.ActiveStorms {
		at, errAt := time.Parse(time.RFC3339, s.LastUpdate)
		wind, errWind := strconv.Atoi(s.Intensity) // in kt
		if errAt != nil || errWind != nil {
			t.Fatal(errAt, errWind)
		}
		level := "ADVISORY"
		switch {
		case wind >= 64: // a hurricane
			level = "WARNING"
		case wind >= 34: // a tropical storm
			level = "WATCH"
		}
		all[s.ID] = fact{start: at, level: level, point: [2]float64{s.LongitudeNumeric, s.LatitudeNumeric}}
	}
	return all
}

// firesOfCalifornia reads the lists of CAL FIRE. What is no longer listed goes on for two weeks after
// its last change. Updates are dates.
func firesOfCalifornia() truth {
	known, changed := map[string]fact{}, map[string]time.Time{}
	return func(t *testing.T, payload []byte, at time.Time) map[string]fact {
		t.Helper()
		var list []struct {
			UniqueID                         string
			Updated, Started                 string
			IsActive                         bool
			AcresBurned, Longitude, Latitude float64
		}
		if err := json.Unmarshal(payload, &list); err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			start, errStart := time.Parse(time.DateOnly, f.Started)
			updated, errUpdated := time.Parse(time.DateOnly, f.Updated)
			if errStart != nil || errUpdated != nil {
				t.Fatal(errStart, errUpdated)
			}
			level := "INFORMATION"
			if f.AcresBurned >= 10_000 {
				level = "WATCH"
			}
			delete(known, f.UniqueID)
			if f.IsActive {
				known[f.UniqueID], changed[f.UniqueID] = fact{start: start, level: level, point: [2]float64{f.Longitude, f.Latitude}}, updated
			}
		}
		maps.DeleteFunc(known, func(id string, _ fact) bool { return !changed[id].AddDate(0, 0, 14).After(at) })
		return maps.Clone(known)
	}
}

// eventsOfTheNWS reads the VTEC events that go on in a list of the NWS.
func eventsOfTheNWS(t *testing.T, payload []byte, at time.Time) map[string]fact {
	t.Helper()
	all := map[string]fact{}
	for key := range listedAreas(t, payload) {
		all[key] = fact{}
	}
	var list struct {
		Features []struct {
			Properties struct{ Parameters struct{ VTEC []string } }
		}
	}
	if err := json.Unmarshal(payload, &list); err != nil {
		t.Fatal(err)
	}
	for _, f := range list.Features { // what is announced to expire counts until then
		for _, code := range f.Properties.Parameters.VTEC {
			p := strings.Split(strings.Trim(code, "/"), ".") // O.EXP.KJKL.TO.W.0025.000000T0000Z-260815T2300Z
			if len(p) != 7 || p[0] != "O" || p[1] != "EXP" {
				continue
			}
			_, end, _ := strings.Cut(p[6], "-")
			if until, err := time.Parse("060102T1504Z", end); err == nil && until.After(at) {
				all[strings.Join(p[2:6], ".")+at.Format(".2006")] = fact{}
			}
		}
	}
	return all
}
