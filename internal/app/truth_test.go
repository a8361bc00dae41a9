package app

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// fact is what is true of an event at a moment, according to the raw payloads; a zero time or an empty
// level is not compared.
type fact struct {
	start, end time.Time
	level      string
}

// truth returns what a payload says of the events that are in force, by the names that the service gives
// them. It reads the payload itself.
type truth func(t *testing.T, payload []byte, at time.Time) map[string]fact

// TestActiveIsWhatTheSourceSays replays recorded lists of sources, and compares what is active after
// each with what the lists say, which is read here without the adapters. It prints a table.
func TestActiveIsWhatTheSourceSays(t *testing.T) {
	test.Slow(t)
	t.Logf("%-8s %5s %6s %9s %9s %9s %9s %9s", "source", "lists", "events", "precision", "recall", "start", "end", "level")
	for _, tt := range []struct {
		source, files, prefix string
		national              bool // a title and a time of making are put into the payload
		truth                 truth
	}{
		{"nswrfs", "feeds/nsw-rfs/majorIncidents-*.json", "majorIncidents-", false, firesOfNSW},
		{"nws", "feeds/nws/active-20260*T*.json", "active-", true, eventsOfTheNWS},
	} {
		files, err := filepath.Glob(filepath.Join(recordings.Path(t, filepath.Dir(tt.files)), filepath.Base(tt.files)))
		if err != nil || len(files) < 10 {
			t.Fatalf("%s: %d files, error %v", tt.source, len(files), err)
		}
		s := emptyStore(t)
		known := BuiltIn()
		src, err := known.Find(tt.source)
		if err != nil {
			t.Fatal(err)
		}
		replay := poll.NewReplay(s, known.Intake(s), hazard.MinInstant, slog.New(slog.DiscardHandler))
		var right, extra, missing, starts, startsRight, ends, endsRight, levels, levelsRight int
		events := map[string]time.Time{} // → its first start
		before := map[string]fact{}      // what the list before held: one list without an event does not end it
		for _, file := range files {
			at, err := listTime(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), tt.prefix), ".json"))
			if err != nil {
				t.Fatal(err)
			}
			payload := recordings.Read(t, filepath.Join(filepath.Dir(tt.files), filepath.Base(file)))
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
		t.Logf("%-8s %5d %6d %9s %9s %9s %9s %9s", tt.source, len(files), len(events), part(right, right+extra), part(right, right+missing),
			part(startsRight, starts), part(endsRight, ends), part(levelsRight, levels))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// listTime reads the moment in the name of a recording.
// national returns a recorded list of the NWS as the national list that was made at a moment.
func national(list []byte, made time.Time) []byte {
	return []byte(strings.Replace(string(list), "{", fmt.Sprintf(`{"title":"Current watches, warnings, and advisories","updated":%q,`, made.Format(time.RFC3339)), 1))
}

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
