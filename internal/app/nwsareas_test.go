package app

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// The area of each event of the NWS is that of the messages that the list holds for it, and its
// point lies in it, at each of 15 recorded lists. What a list holds is read here without the
// adapter.
func TestAreasOfTheNWSFollowItsList(t *testing.T) {
	test.Slow(t)
	files, err := filepath.Glob(recordings.Path(t, "feeds/nws") + "/active-20260*T*.json")
	if err != nil || len(files) != 15 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	s := emptyStore(t)
	known := BuiltIn()
	src, err := known.Find("nws")
	if err != nil {
		t.Fatal(err)
	}
	replay := poll.NewReplay(s, known.Intake(s), hazard.MinInstant, slog.New(slog.DiscardHandler))
	compared, worst, inactive := 0, 0.0, 0
	for _, file := range files {
		at, err := listTime(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "active-"), ".json"))
		if err != nil {
			t.Fatal(err)
		}
		body := recordings.Read(t, "feeds/nws/"+filepath.Base(file))
		if _, err := replay.Take(t.Context(), &src, "", national(body, at), nil, hazard.At(at)); err != nil {
			t.Fatal(err)
		}
		for key, want := range listedAreas(t, body) {
			if want.IsZero() {
				continue
			}
			found, err := s.Hazards.Called(t.Context(), "nws:"+key)
			if err != nil || len(found) != 1 || !found[0].ActiveAt(hazard.At(at)) {
				inactive++
				t.Errorf("%s, %s: listed, and %d hazards, error %v", at, key, len(found), err)
				continue
			}
			h := found[0]
			if events, _, err := s.Reports.EventsOf(t.Context(), h.ID); err != nil || len(events) != 1 {
				continue
			}
			shapes, err := s.Hazards.Shapes(t.Context(), h.Areas)
			if err != nil {
				t.Fatal(err)
			}
			is, err := geo.Union(shapes...)
			if err != nil {
				t.Fatal(err)
			}
			compared++
			ratio := is.AreaKm2() / want.AreaKm2()
			worst = max(worst, ratio)
			if ratio > 1.05 || ratio < 0.95 || !geo.Intersects(geo.Circle(h.Longitude, h.Latitude, 100), want) {
				t.Errorf("%s, %s (%s): area %.3f times what is listed, point %v %v", at.Format(time.RFC3339), key, h.Name, ratio, h.Longitude, h.Latitude)
			}
		}
	}
	t.Logf("%d areas compared, the largest is %.3f times what is listed, %d listed events are not active", compared, worst, inactive)
	if compared < 500 {
		t.Errorf("only %d areas were compared", compared)
	}
}

// listedAreas returns the union of what a list holds for each VTEC event that goes on: the zero
// Shape if a zone is not known.
func listedAreas(t *testing.T, body []byte) map[string]geo.Shape {
	t.Helper()
	var list struct {
		Features []struct {
			Geometry   jsontext.Value `json:"geometry"`
			Properties struct {
				Sent    time.Time `json:"sent"`
				Status  string    `json:"status"`
				Geocode struct {
					UGC []string `json:"UGC"`
				} `json:"geocode"`
				Parameters struct {
					VTEC []string `json:"VTEC"`
				} `json:"parameters"`
			} `json:"properties"`
		} `json:"features"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatal(err)
	}
	areas, unknown := map[string][]geo.Shape{}, map[string]bool{}
	for _, f := range list.Features {
		for _, code := range f.Properties.Parameters.VTEC {
			p := strings.Split(strings.Trim(code, "/"), ".") // O.NEW.KDMX.TO.W.0001.260815T1200Z-…
			if len(p) != 7 || p[0] != "O" || p[1] == "CAN" || p[1] == "EXP" || p[1] == "UPG" || p[1] == "ROU" {
				continue
			}
			office := p[2]
			if p[4] == "A" && (p[3] == "TO" || p[3] == "SV") && office[0] == 'K' {
				office = "SPC"
			}
			key := fmt.Sprintf("%s.%s.%s.%s.2026", office, p[3], p[4], p[5])
			if len(f.Geometry) > 0 && f.Geometry.Kind() == '{' {
				shape, err := geo.ParseLoose(f.Geometry)
				if err != nil {
					t.Fatal(err)
				}
				areas[key] = append(areas[key], shape)
				continue
			}
			for _, zone := range f.Properties.Geocode.UGC {
				if p[3] == "FW" {
					zone = "fire/" + zone
				}
				shape, ok := region.Finder{}.Shape(t.Context(), zone)
				areas[key], unknown[key] = append(areas[key], shape), unknown[key] || !ok
			}
		}
	}
	all := map[string]geo.Shape{}
	for key, shapes := range areas {
		if unknown[key] {
			all[key] = geo.Shape{}
			continue
		}
		union, err := geo.Union(shapes...)
		if err != nil {
			t.Fatal(err)
		}
		all[key] = union
	}
	return all
}
