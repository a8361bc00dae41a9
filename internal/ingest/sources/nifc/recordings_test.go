package nifc

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

type counts struct {
	Read, Information, Watch, Ended, Held int
	Ignored, Rejects                      map[string]int // by reason; the reasons of rejects without the value that was found
	Whole                                 bool
}

func count(t testing.TB, p *parser) counts {
	t.Helper()
	b := p.Done()
	got := counts{Read: b.Read, Whole: b.Whole, Ignored: map[string]int{}, Rejects: map[string]int{}}
	for _, i := range b.Ignores {
		got.Ignored[i.Rule]++
	}
	for _, r := range b.Rejects {
		field, expected, _ := strings.Cut(r.Reason, ", expected ")
		field, _, _ = strings.Cut(field, ":")
		got.Rejects[field+": expected "+expected]++
	}
	for _, r := range b.Reports {
		switch {
		case r.Ended != "":
			got.Ended++
		case r.Suspect != "":
			got.Held++
		case r.Severity == hazard.Watch:
			got.Watch++
		default:
			got.Information++
		}
	}
	return got
}

func TestEveryRecordingIsRead(t *testing.T) {
	test.NoRace(t)
	if os.Getenv("HAZARDD_SHARED") == "" {
		t.Skip("HAZARDD_SHARED is not set: no recordings to read")
	}
	files, _ := filepath.Glob(filepath.Join(os.Getenv("HAZARDD_SHARED"), "feeds/nifc/*"))
	if len(files) != 5 {
		t.Errorf("%d recordings, the table has 5", len(files))
	}
	for name, tt := range map[string]struct {
		at   hazard.Instant
		want counts
	}{
		"derived-wfigs-perimeters-20260513.geojson": {now, counts{
			// Held is incident 700074: a wildfire in IRWIN, but a prescribed fire according to the
			// author of the polygon.
			Read: 114, Information: 83, Watch: 2, Ended: 12, Held: 1, Whole: true,
			Ignored: map[string]int{"a prescribed fire, lit on purpose": 16},
		}},
		// Responses to queries for seven and three members. Without a type it is unknown whether a
		// fire was set on purpose, and without an id which fire it is.
		"incidents-20260727.geojson": {sourcetest.At("2026-07-27T20:00:00Z"), counts{Read: 25, Ended: 11, Held: 14}},
		"perimeters-20260727.geojson": {sourcetest.At("2026-07-27T20:00:00Z"), counts{
			Read: 10, Rejects: map[string]int{"attr_IrwinID: expected an id such as {BA2C4EC7-36BF-4B79-B6D1-8706200326BF}": 10},
		}},
		"locations.json": {sourcetest.At("2021-11-10T22:10:00Z"), counts{
			Read: 1, Ended: 1, Whole: true, // the complex is contained
		}},
		"perimeters.json": {sourcetest.At("2021-11-22T00:00:00Z"), counts{Read: 1, Watch: 1, Whole: true}},
	} {
		t.Run(name, func(t *testing.T) {
			payload := recordings.Read(t, "feeds/nifc/"+name)
			batch, err := Parse(payload, tt.at)
			if err != nil {
				t.Fatal(err)
			}
			checkBatch(t, &batch)
			p := newParser(tt.at)
			_, _ = list.Read(payload, p.record)
			p.conclude()
			p.Whole = batch.Whole
			got := count(t, &p)
			for _, m := range []*map[string]int{&tt.want.Ignored, &tt.want.Rejects} {
				if *m == nil {
					*m = map[string]int{}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestARecordedPerimeterIsReportedInFull(t *testing.T) {
	test.NoRace(t)
	payload := recordings.Read(t, "feeds/nifc/perimeters.json")
	batch, err := Parse(payload, sourcetest.At("2021-11-22T00:00:00Z"))
	if err != nil || len(batch.Reports) != 1 {
		t.Fatalf("error %v, %d reports", err, len(batch.Reports))
	}
	start, modified, drawn := sourcetest.At("2021-09-10T14:20:00Z"), sourcetest.At("2021-11-21T23:50:12Z"), sourcetest.At("2021-09-17T16:36:28Z")
	const key = "BA2C4EC7-36BF-4B79-B6D1-8706200326BF"
	want := hazard.Report{
		Source: "nifc", Key: key, Part: "perimeter", Places: []string{"perimeter"}, Version: int64(modified),
		Name: "Wildfire - Colony, California",
		Description: "Wildfire Colony in Tulare County, California, KNP.\nSize: 80,103 acres (324 km²).\nContained: 75 %.\nBehaviour: active, uphill runs.\n" +
			"Cause: natural.\nDiscovered: 10 September 2021 14:20 UTC.\nSource: National Interagency Fire Center, incident data of 21 November 2021 23:50 UTC, " +
			"complexity: Type 2 Incident.",
		Type: hazard.Wildfire, Severity: hazard.Watch, Category: hazard.Event, Start: start, Renewed: &modified, LifeMS: 7 * 24 * 3600 * 1000,
		Point: &hazard.Point{Lon: -118.8115, Lat: 36.56688},
		Areas: []hazard.Area{{Role: hazard.ImpactArea, Geometry: `{"type":"Polygon","coordinates":[[[-118.833190229241,36.5666217489034],` +
			`[-118.825737734141,36.5848995880037],[-118.825673520281,36.5849320144191],[-118.825804797663,36.5848042363482],[-118.833190229241,36.5666217489034]]]}`}},
		Refs: []string{"irwin:" + key, "nifc:2021-CAKNP-000116"}, Called: "Colony", Level: "Type 2 Incident",
		Measurements: []hazard.Measurement{{Name: hazard.BurntArea, Value: 32416.433}, {Name: hazard.Containment, Value: 75}},
		URL:          "https://irwin.doi.gov/observer/incidents/2021-CAKNP-000116", Comment: "nifc:" + key, Creator: "NIFC",
		Products: []hazard.ReportProduct{
			{Key: "nifc", Title: "NIFC", Type: hazard.FolderProduct, Time: start},
			{Key: "perimeter", Parent: "nifc", Title: "Perimeter of 2021-09-17", Type: hazard.TextProduct, Time: drawn,
				Data: "Fire perimeter as mapped, which may be older or newer than the incident data.\nEdited: 17 September 2021 16:36 UTC.\n" +
					"Observed: 17 September 2021 00:08 UTC.\nArea: 3,162 acres (12.8 km²).\nMethod: Mixed Methods."},
		},
	}
	if diff := cmp.Diff(want, batch.Reports[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRecordedNamesAreReadable(t *testing.T) {
	test.NoRace(t)
	batch, err := Parse(recordings.Read(t, "feeds/nifc/derived-wfigs-perimeters-20260513.geojson"), now)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, r := range batch.Reports {
		names[r.Name] = true
	}
	for _, want := range []string{
		"Wildfire - Pineland Road, Georgia", "Wildfire - Pine Mountain, Oregon", "Wildfire - Westport Scrap, Massachusetts",
		"Wildfire - Hwy 41, Florida", "Wildfire - AFM - Hazen, Arizona", "Wildfire - 15th, Wisconsin", "Wildfire - Six Mile, New Mexico",
	} {
		if !names[want] {
			t.Errorf("%q is not among the names", want)
		}
	}
}

func TestTruncatedAnywhereNothingBeforeIsLost(t *testing.T) {
	test.SeldomButRaced(t)
	const name = "derived-wfigs-perimeters-20260513.geojson"
	payload := recordings.Read(t, "feeds/nifc/"+name)
	whole, err := Parse(payload, now)
	if err != nil {
		t.Fatal(err)
	}
	var ends []int // ends of the features, found by another JSON parser
	dec := json.NewDecoder(strings.NewReader(string(payload)))
	for token, err := dec.Token(); token != "features"; token, err = dec.Token() {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, err = dec.Token(); err == nil && dec.More(); {
		var skip json.RawMessage
		if err = dec.Decode(&skip); err == nil {
			ends = append(ends, int(dec.InputOffset()))
		}
	}
	step := test.Rounds(64<<10, 256<<10)
	var cuts []int
	for n := step; n < len(payload); n += step {
		cuts = append(cuts, n)
	}
	for n := 1 << 10; n < 64<<10; n += 1 << 10 {
		cuts = append(cuts, n)
	}
	for _, n := range append(cuts, ends...) {
		batch, err := Parse(payload[:n], now)
		if bad, ok := errors.AsType[*source.PayloadError](err); !ok || !bad.Cut || batch.Whole || len(batch.Rejects) != 0 {
			t.Fatalf("cut at %d: error %v, %d rejects, whole %v", n, err, len(batch.Rejects), batch.Whole)
		}
		want := 0
		for _, end := range ends {
			if end <= n {
				want++
			}
		}
		if batch.Read != want {
			t.Fatalf("cut at %d: read %d, want %d", n, batch.Read, want)
		}
		if last := len(batch.Reports) - 1; last >= 0 && cmp.Diff(whole.Reports[last], batch.Reports[last]) != "" {
			t.Fatalf("cut at %d: the last report is another", n)
		}
		if testing.Short() && n > 1<<20 {
			break
		}
	}
}

func BenchmarkPerimeters(b *testing.B) {
	payload := recordings.Read(b, "feeds/nifc/derived-wfigs-perimeters-20260513.geojson")
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(payload, now); err != nil {
			b.Fatal(err)
		}
	}
}
