package poll

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/nws"
	"github.com/hazardd/hazardd/internal/ingest/sources/usgs"
	"github.com/hazardd/hazardd/internal/test"
)

// recorded reads a recording of a source.
func recorded(t *testing.T, name string) []byte {
	t.Helper()
	dir := os.Getenv("HAZARDD_SHARED")
	if dir == "" {
		t.Skip("HAZARDD_SHARED is not set: no recordings")
	}
	b, err := os.ReadFile(filepath.Join(dir, "feeds", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// without returns a list of alerts without the alerts of one kind.
func without(t *testing.T, payload []byte, kind string) []byte {
	t.Helper()
	var doc map[string]json.RawMessage
	var features []struct {
		Properties struct {
			Event string `json:"event"`
		} `json:"properties"`
	}
	var raw, kept []json.RawMessage
	for _, err := range []error{json.Unmarshal(payload, &doc), json.Unmarshal(doc["features"], &features), json.Unmarshal(doc["features"], &raw)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range features {
		if features[i].Properties.Event != kind {
			kept = append(kept, raw[i])
		}
	}
	var err error
	if doc["features"], err = json.Marshal(kept); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTheWeatherServicesListIsPlacedAndEndsWhatItLists reads a recorded national list with the
// zones in it, then the same list without the alerts of one kind.
func TestTheWeatherServicesListIsPlacedAndEndsWhatItLists(t *testing.T) {
	test.NoRace(t)
	test.Slow(t)
	full := recorded(t, "nws/full-20260715T2000Z.json")
	const kind = "Air Quality Alert"
	fewer := without(t, full, kind)
	bubble(t, func(t *testing.T, b *bed) {
		time.Sleep(time.Until(time.Date(2026, 7, 15, 20, 0, 0, 0, time.UTC)))
		zone := regexp.MustCompile(`^/zones/(county|forecast|fire)/(\w+)$`)
		serve := func(payload []byte, etag string) {
			b.net.serve("api.weather.gov", func(w http.ResponseWriter, r *http.Request) {
				if m := zone.FindStringSubmatch(r.URL.Path); m != nil {
					_, _ = fmt.Fprintf(w, `{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[-100,40],[-99,40],[-99,41],[-100,40]]]},`+
						`"properties":{"id":%q,"type":%q,"name":"a zone"}}`, m[2], strings.ReplaceAll(m[1], "forecast", "public"))
					return
				}
				w.Header().Set("ETag", etag)
				if r.Header.Get("If-None-Match") == etag {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				_, _ = w.Write(payload)
			})
		}
		serve(full, `"full"`)
		src := Source{Source: nws.Source()}
		src.PlaceURL = nws.ZoneURL // also for counties, whose shapes are built in
		b.intake = fuse.New(b.store, fuse.Known{Places: map[string]source.Places{nws.Name: nws.Places{Kept: func(ctx context.Context, code string) (string, error) {
			return b.store.Sources.Place(ctx, nws.Name, code)
		}}}})
		stop := b.start(b.poller(src))
		time.Sleep(5 * time.Second)
		first := len(b.active(nws.Name)) // placed by polygons and counties
		time.Sleep(2 * time.Minute)
		soon := len(b.active(nws.Name)) // also those at sea, outside all counties
		time.Sleep(20 * time.Minute)
		then := len(b.active(nws.Name))
		if first < then*3/4 || soon < then {
			t.Errorf("%d active after the first read, %d after two minutes, %d when all zones were known", first, soon, then)
		}
		asked := map[string]int{}
		for _, a := range b.net.asks("/zones/") {
			asked[a.url]++
			if asked[a.url] > 1 {
				t.Errorf("%s was asked for %d times", a.url, asked[a.url])
			}
		}
		before := b.status(src)[0]
		if before.State != OK || before.Pending != 0 || before.Total.Ended != 0 {
			t.Errorf("status %+v", before)
		}
		serve(fewer, `"fewer"`)
		time.Sleep(3 * time.Minute)
		stop()
		after := b.status(src)[0]
		if gone := then - len(b.active(nws.Name)); int64(gone) != after.Total.Ended || gone < 3 {
			t.Errorf("%d are gone, %d were ended", gone, after.Total.Ended)
		}
		t.Logf("%d zones, %d active at first, %d with zones, %d ended; counts %+v", len(asked), first, then, after.Total.Ended, after.Total)
		if b.net.most["api.weather.gov"] != 1 {
			t.Error("more than one request in flight")
		}
	})
}

// TestARejectedAlertKeepsOnlyItsOwnEvent reads a recorded national list, then the same list with
// one unreadable alert and without another alert.
func TestARejectedAlertKeepsOnlyItsOwnEvent(t *testing.T) {
	var doc map[string]any
	if err := json.Unmarshal(recorded(t, "nws/full-20260715T2000Z.json"), &doc); err != nil {
		t.Fatal(err)
	}
	vtec := regexp.MustCompile(`^/O\.\w{3}\.(\w{4}\.\w\w\.[WY]\.\d{4})\.\d{6}T\d{4}Z-\d{6}T\d{4}Z/$`)
	bySegment := map[string][]map[string]any{} // event → its alerts
	for _, f := range doc["features"].([]any) {
		p := f.(map[string]any)["properties"].(map[string]any)
		codes, _ := p["parameters"].(map[string]any)["VTEC"].([]any)
		if len(codes) != 1 || f.(map[string]any)["geometry"] == nil {
			continue
		}
		if m := vtec.FindStringSubmatch(codes[0].(string)); m != nil {
			bySegment[m[1]+".2026"] = append(bySegment[m[1]+".2026"], p)
		}
	}
	full, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(bySegment))
	if len(names) < 3 {
		t.Fatalf("%d events", len(names))
	}
	bad, gone, stays := names[0], names[1], names[2]
	for _, p := range bySegment[bad] {
		p["status"] = "?"
	}
	for _, p := range bySegment[gone] {
		p["status"] = "Test" // a test alert is ignored, as if it were missing
	}
	changed, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	bubble(t, func(t *testing.T, b *bed) {
		time.Sleep(time.Until(time.Date(2026, 7, 15, 20, 0, 0, 0, time.UTC)))
		b.net.text("api.weather.gov", string(full))
		src := Source{Source: nws.Source()}
		src.PlaceURL, src.ParsePlace = nil, nil
		stop := b.start(b.poller(src))
		time.Sleep(5 * time.Second)
		before := b.active(nws.Name)
		b.net.text("api.weather.gov", string(changed))
		time.Sleep(2 * time.Minute)
		stop()
		after := b.active(nws.Name)
		if !before[bad] || !before[gone] || !before[stays] || !after[bad] || after[gone] || !after[stays] {
			t.Errorf("%s rejected: %v, %s gone: %v, %s listed: %v", bad, after[bad], gone, after[gone], stays, after[stays])
		}
		if s := b.status(src)[0]; s.State != OK || s.Total.Ended != 1 || s.Last.Rejected == 0 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestAnEarthquakeGetsItsDetailAndGoesWhenItIsDeleted(t *testing.T) {
	feed, detail := recorded(t, "usgs/2.5_day-20260727.json"), recorded(t, "usgs/detail-20260727.json")
	bubble(t, func(t *testing.T, b *bed) {
		time.Sleep(time.Until(time.UnixMilli(1785214354000)))
		serve := func(feed string) {
			b.net.serve("earthquake.usgs.gov", func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, "all_day.geojson"):
					_, _ = io.WriteString(w, feed)
				case strings.HasSuffix(r.URL.Path, "detail/us6000tga9.geojson"):
					_, _ = w.Write(detail)
				case strings.HasSuffix(r.URL.Path, "detail/us6000tga6.geojson"):
					w.WriteHeader(http.StatusConflict)
				default:
					http.NotFound(w, r)
				}
			})
		}
		serve(string(feed))
		src := Source{Source: usgs.Source()}
		src.Feeds = src.Feeds[:1]
		stop := b.start(b.poller(src))
		time.Sleep(5 * time.Minute)
		before := b.active(usgs.Name)
		var id int64
		events, err := b.store.Reports.ActiveEvents(t.Context(), usgs.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Event == "us6000tga9" {
				id = e.HazardID
			}
		}
		products, err := b.store.Hazards.AllProducts(t.Context(), id)
		if err != nil || len(products) == 0 {
			t.Errorf("%d products of us6000tga9, %v", len(products), err)
		}
		// Two earthquakes leave the list. The detail of one still exists; the other was deleted.
		lost := strings.NewReplacer("us6000tga9", "usx1", "us6000tga6", "usx2", "6000tga9", "x1", "6000tga6", "x2").Replace(string(feed))
		serve(lost)
		time.Sleep(5 * time.Minute)
		stop()
		after := b.active(usgs.Name)
		if !before["us6000tga9"] || !before["us6000tga6"] || !after["us6000tga9"] || after["us6000tga6"] {
			t.Errorf("before %v, after %v", before, after)
		}
		s := b.status(src)[0]
		t.Logf("%d products; counts %+v", len(products), s.Total)
		if s.Total.Ended != 1 || s.State != OK {
			t.Errorf("status %+v", s)
		}
	})
}
