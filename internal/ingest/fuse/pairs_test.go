package fuse_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

// parse parses a payload of a source.
func parse(t testing.TB, src string, payload []byte, now hazard.Instant) source.Batch {
	t.Helper()
	s, err := builtIn.Find(src)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := s.Parse(payload, now)
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

const late hazard.Instant = 1_790_640_000_000 // 2026-09-29, after all recordings

// More pairs of recordings about the same event, each in both orders.
func TestRecordedPairsAreOneHazardEach(t *testing.T) {
	test.NoRace(t)
	test.Slow(t)
	for name, tt := range map[string]struct {
		a, b recording
		want map[string]string // an event → all events of its hazard
	}{
		"activations name the storms of GDACS": {
			recording{"copernicus", "copernicus-ems/activations-202609-excerpt.json"}, recording{"gdacs", "gdacs/api-search-TC-202607.json"},
			map[string]string{"copernicus:EMSR872": "copernicus:EMSR872 gdacs:TC1001270", "copernicus:EMSR930": "copernicus:EMSR930"}},
		"the detail of an activation does": {
			recording{"copernicus", "copernicus-ems/EMSR847-storm-detail.json"}, recording{"gdacs", "gdacs/api-search-TC-202607.json"},
			map[string]string{"copernicus:EMSR847": "copernicus:EMSR847 gdacs:TC1001230"}},
		"storms of EONET and GDACS, of whom neither names the other": {
			recording{"eonet", "eonet/events-2025.json"}, recording{"gdacs", "gdacs/api-search-TC-202607.json"},
			map[string]string{
				"eonet:EONET_15545": "eonet:EONET_15545 gdacs:TC1001211", // Ragasa
				"eonet:EONET_15546": "eonet:EONET_15546 gdacs:TC1001212", // Neoguri
				"eonet:EONET_15547": "eonet:EONET_15547 gdacs:TC1001213", // Narda
			}},
		"a storm of an advisory and GDACS": {
			recording{"nhc", "nhc/bertha-al022026/fstadv-010.txt"}, recording{"gdacs", "gdacs/api-search-TC-202607.json"},
			map[string]string{"nhc:al022026": "gdacs:TC1001290 nhc:al022026"}},
		"a volcano of EONET and GDACS by its place": {
			recording{"eonet", "eonet/events-20210419.geojson"}, recording{"gdacs", "gdacs/gdacs-20210420.geojson"},
			map[string]string{"eonet:EONET_5290": "eonet:EONET_5290 gdacs:VO1000020"}},
		"an eruption is not that of five years ago, of the same volcano": {
			recording{"eonet", "eonet/events-20210419.geojson"}, recording{"gvp", "gvp/WeeklyVolcanoRSS-20260917-excerpt.xml"},
			map[string]string{"eonet:EONET_5190": "eonet:EONET_5190", "gvp:332010": "gvp:332010"}},
		"a volcano of two institutes by its number": {
			recording{"hans", "hans/getElevatedVolcanoes-20260727.json"}, recording{"gvp", "gvp/WeeklyVolcanoRSS-20260917-excerpt.xml"},
			map[string]string{"hans:332010": "gvp:332010 hans:332010"}},
		"earthquakes of a day, of which GDACS names none": {
			recording{"usgs", "usgs/2.5_day-20260727.json"}, recording{"gdacs", "gdacs/api-search-EQ-202607.json"},
			map[string]string{
				"usgs:us6000tga9": "gdacs:EQ1554511 usgs:us6000tga9",
				"usgs:us6000tga6": "gdacs:EQ1554510 usgs:us6000tga6", // 18 minutes earlier, 2 km away
				"usgs:us7000t3m5": "gdacs:EQ1554340 usgs:us7000t3m5", // three of one evening, south of Tonga
				"usgs:us7000t3m6": "gdacs:EQ1554343 usgs:us7000t3m6",
				"usgs:us7000t3ll": "gdacs:EQ1554321 usgs:us7000t3ll",
			}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, order := range [][]recording{{tt.a, tt.b}, {tt.b, tt.a}} {
				d := newDesk(t)
				for _, code := range []string{"284141", "311120", "311360", "312060"} { // volcanoes that would be requested from HANS
					d.savePlace("hans", "gvp:"+code, -155.287, 19.421+float64(code[2]-'0'))
				}
				d.savePlace("hans", "gvp:332010", -155.287, 19.421)
				d.takeRecordings(late, order...)
				for event, want := range tt.want {
					if got := d.withEvent(event); got != want {
						t.Errorf("%s first: %s is part of %q, want %q", order[0].source, event, got, want)
					}
				}
				before := d.last()
				if d.takeRecordings(late, order...); d.last() != before {
					t.Errorf("%s first: importing the same again made %d changes", order[0].source, d.last()-before)
				}
			}
		})
	}
}

func (d *desk) savePlace(src, code string, lon, lat float64) {
	d.t.Helper()
	point, err := json.Marshal(map[string]any{"type": "Point", "coordinates": []float64{lon, lat}})
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.store.Sources.SavePlace(d.t.Context(), src, code, code, string(point), late); err != nil {
		d.t.Fatal(err)
	}
}

// EONET names a fire by its year, unit and number, like the agencies, and NIFC publishes it with
// its id.
func TestAFireOfEONETIsThatOfNIFC(t *testing.T) {
	eonet := parse(t, "eonet", server.ReadShared(t, "feeds/eonet/events-20260928-excerpt.json"), late)
	nifc := parse(t, "nifc", []byte(`{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point","coordinates":[-107.9,45.2]},"properties":{`+
		`"IrwinID":"{BA2C4EC7-36BF-4B79-B6D1-8706200326BF}","UniqueFireIdentifier":"2026-MTCRA-261393","IncidentTypeCategory":"WF","IncidentTypeKind":"FI",`+
		`"IncidentName":"Another name","IncidentSize":5000,"FireDiscoveryDateTime":1789300000000,"ModifiedOnDateTime_dt":1789900000000,"POOState":"US-MT"}}]}`), late)
	const want = "eonet:EONET_24487 nifc:BA2C4EC7-36BF-4B79-B6D1-8706200326BF"
	for _, order := range [][]source.Batch{{eonet, nifc}, {nifc, eonet}} {
		d := newDesk(t)
		for _, batch := range order {
			d.apply(batch.Reports[0].Source, late, fuse.Options{History: true}, batch.Reports...)
		}
		if got := d.withEvent("eonet:EONET_24487"); got != want {
			t.Errorf("got %q, want %q; all: %q", got, want, d.together())
		}
	}
}

// All 17 earthquakes of USGS in Turkey have their partner, if those that both consider too slight
// count as hazards. No aftershock is lost: each of the 430 earthquakes of EMSC is in a separate
// hazard.
func TestEachOfTheEarthquakesInTurkeyHasItsPartner(t *testing.T) {
	all := func(src, file string) []hazard.Report {
		reports := parse(t, src, server.ReadShared(t, "feeds/"+file), late).Reports
		for i := range reports {
			reports[i].Minor = false
		}
		return reports
	}
	usgs, emsc := all("usgs", "usgs/fdsn-turkey-202504.json"), all("emsc", "emsc/fdsn-turkey-202504.json")
	if len(usgs) != 17 || len(emsc) != 430 {
		t.Fatalf("%d and %d earthquakes, want 17 and 430", len(usgs), len(emsc))
	}
	for _, order := range [][][]hazard.Report{{usgs, emsc}, {emsc, usgs}} {
		d := newDesk(t)
		for _, reports := range order {
			d.apply(reports[0].Source, late, fuse.Options{History: true}, reports...)
		}
		together := d.together()
		if len(together) != 430 {
			t.Errorf("%s first: %d hazards, want 430", order[0][0].Source, len(together))
		}
		for _, h := range together {
			if n := strings.Count(h, "emsc:"); n != 1 || strings.Count(h, "usgs:") > 1 {
				t.Errorf("%s first: one hazard of %q", order[0][0].Source, h)
			}
		}
	}
}

// Events that are no hazards according to their own source make none: blasts and ice quakes,
// icebergs, prescribed fires.
func TestRecordedBlastsIcebergsAndPrescribedFiresAreNone(t *testing.T) {
	test.NoRace(t)
	test.Slow(t)
	type record struct {
		ID         any
		Title      string
		Properties struct {
			ID, Title, Type string
			Category        string `json:"attr_IncidentTypeCategory"`
			IRWIN           string `json:"attr_IrwinID"`
		}
	}
	blast := func(r record) string {
		if kind := strings.ToLower(r.Properties.Type); kind != "" && kind != "earthquake" {
			return fmt.Sprint(r.ID)
		}
		return ""
	}
	notNatural := func(r record) string {
		if title := cmp.Or(r.Title, r.Properties.Title); strings.HasPrefix(title, "Iceberg") || strings.HasPrefix(title, "Prescribed") {
			return cmp.Or(r.Properties.ID, fmt.Sprint(r.ID))
		}
		return ""
	}
	prescribed := func(r record) string {
		if r.Properties.Category == "RX" {
			return strings.Trim(r.Properties.IRWIN, "{}")
		}
		return ""
	}
	for _, tt := range []struct {
		recording
		none func(record) string // the key of an event that is no hazard; empty for others
		want int
	}{
		{recording{"usgs", "usgs/all_week-1.geojson"}, blast, 53},
		{recording{"usgs", "usgs/1.0_week-2022.geojson"}, blast, 36},
		{recording{"usgs", "usgs/1.0_week-2019.json"}, blast, 27},
		{recording{"usgs", "usgs/all_day-2014.geojson"}, blast, 4},
		{recording{"eonet", "eonet/events-20210419.geojson"}, notNatural, 395},
		{recording{"eonet", "eonet/events-20260928-excerpt.json"}, notNatural, 2},
		{recording{"nifc", "nifc/derived-wfigs-perimeters-20260513.geojson"}, prescribed, 16},
	} {
		t.Run(tt.file, func(t *testing.T) {
			var doc struct{ Features, Events []record }
			if err := json.Unmarshal(server.ReadShared(t, "feeds/"+tt.file), &doc); err != nil {
				t.Fatal(err)
			}
			d := newDesk(t)
			d.takeRecordings(late, tt.recording)
			made := d.together()
			if len(made) == 0 {
				t.Fatal("no hazards at all")
			}
			none := 0
			for _, r := range append(doc.Features, doc.Events...) {
				key := tt.none(r)
				if key == "" {
					continue
				}
				none++
				if slices.Contains(made, tt.source+":"+key) {
					t.Errorf("%s is a hazard", key)
				}
			}
			if none != tt.want {
				t.Errorf("%d records are no hazards, want %d", none, tt.want)
			}
		})
	}
}
