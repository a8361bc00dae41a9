package usgs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// recordedAt returns when a payload was made: the time in it, or else the last update of its event.
func recordedAt(t testing.TB, payload []byte) hazard.Instant {
	t.Helper()
	var doc struct {
		Metadata   struct{ Generated hazard.Instant }
		Properties struct{ Updated hazard.Instant }
	}
	if err := json.Unmarshal(payload, &doc); err != nil {
		t.Fatal(err)
	}
	return max(doc.Metadata.Generated, doc.Properties.Updated)
}

// parseRecording reads a recording as of the time it was made. It must be free of errors.
func parseRecording(t testing.TB, name string) source.Batch {
	t.Helper()
	payload := recordings.Read(t, "feeds/usgs/"+name)
	batch, err := Parse(payload, recordedAt(t, payload))
	if err != nil {
		t.Fatalf("Parse(%s): %v", name, err)
	}
	for _, r := range batch.Rejects {
		t.Errorf("%s: rejected %s: %s", name, r.Record, r.Reason)
	}
	return batch
}

func TestEveryRecordedFeedIsReadWithoutRejects(t *testing.T) {
	test.NoRace(t)
	type counts struct {
		Read, Ignored, Minor, Information, Advisory, Watch, Warning, WithDetail int
	}
	want := map[string]counts{
		"all_week-1.geojson":                 {Read: 2124, Ignored: 53, Minor: 1988, Information: 70, Advisory: 13, WithDetail: 28},
		"1.0_week-2022.geojson":              {Read: 1405, Ignored: 36, Minor: 1249, Information: 88, Advisory: 31, Watch: 1, WithDetail: 42},
		"1.0_day-2022.geojson":               {Read: 160, Minor: 140, Information: 16, Advisory: 4, WithDetail: 6},
		"1.0_week-2019.json":                 {Read: 1304, Ignored: 27, Minor: 1177, Information: 72, Advisory: 28, WithDetail: 38},
		"1.0_day-2019.json":                  {Read: 158, Minor: 145, Information: 10, Advisory: 3, WithDetail: 5},
		"2.5_day-20260727.json":              {Read: 58, Minor: 38, Information: 10, Advisory: 10, WithDetail: 7},
		"fdsn-turkey-202504.json":            {Read: 17, Minor: 10, Information: 4, Advisory: 2, Watch: 1, WithDetail: 5},
		"4.5_month-2014.geojson":             {Read: 314, Information: 240, Advisory: 72, Watch: 2}, // its addresses are http
		"all_day-2014.geojson":               {Read: 159, Ignored: 4, Minor: 147, Information: 6, Advisory: 2},
		"all_hour-2014.geojson":              {Read: 1, Minor: 1},
		"detail-20260727.json":               {Read: 1, Advisory: 1},
		"detail-us1000chhc.geojson":          {Read: 1, Advisory: 1},
		"detail-us10004u1y.json":             {Read: 1, Watch: 1},
		"detail-us6000pi9w.geojson":          {Read: 1, Warning: 1},
		"detail-usp000hvnu.json":             {Read: 1, Warning: 1},
		"detail-nn00536452.json":             {Read: 1, Minor: 1},
		"detail-sample.json":                 {Read: 1, Watch: 1},
		"detail-sample-nan.json":             {Read: 1, Watch: 1},
		"detail-ci37528064-edited-urls.json": {Read: 1, Information: 1},
	}
	files, err := filepath.Glob(filepath.Join(recordings.Path(t, "feeds/usgs"), "*"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "product-") {
			continue // parts of an event, tested below
		}
		seen++
		t.Run(name, func(t *testing.T) {
			batch := parseRecording(t, name)
			got := counts{Read: batch.Read, Ignored: batch.Ignored}
			for _, r := range batch.Reports {
				if r.Suspect != "" {
					t.Errorf("%s is held: %s", r.Key, r.Suspect)
				}
				if r.Detail != "" {
					got.WithDetail++
				}
				switch {
				case r.Ended != "": // not an earthquake
					got.Ignored++
					continue
				case r.Minor && r.Severity != hazard.Information:
					t.Errorf("%s is minor, and %v", r.Key, r.Severity)
				case r.Minor:
					got.Minor++
				case r.Severity == hazard.Information:
					got.Information++
				case r.Severity == hazard.Advisory:
					got.Advisory++
				case r.Severity == hazard.Watch:
					got.Watch++
				case r.Severity == hazard.Warning:
					got.Warning++
				}
				checkReport(t, &r)
			}
			if diff := cmp.Diff(want[name], got); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
	if seen != len(want) {
		t.Errorf("%d recordings, the table has %d", seen, len(want))
	}
}

func TestDocumentsOfProductsMakeNoReports(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(recordings.Path(t, "feeds/usgs"), "product-*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings of products: %v", err)
	}
	for _, file := range files {
		batch, err := Parse(recordings.Read(t, "feeds/usgs/"+filepath.Base(file)), hazard.At(time.Now()))
		if len(batch.Reports) != 0 {
			t.Errorf("%s: %d reports", file, len(batch.Reports))
		}
		if strings.HasSuffix(file, "cont_mi.json") {
			if len(batch.Drawings) != 1 || batch.Drawings[0].Key != "us10004u1y" || len(batch.Drawings[0].Shapes) != 17 || batch.Drawings[0].Shapes[16].Band.Value != 9.5 || err != nil || len(batch.Rejects) > 0 {
				t.Errorf("%s: %d drawings, %v, %v; want the 17 contours of us10004u1y", file, len(batch.Drawings), err, batch.Rejects)
			}
			continue
		}
		if err == nil && len(batch.Rejects) == 0 {
			t.Errorf("%s: neither an error nor a reject", file)
		}
	}
}

func TestADetailMakesTheProductTree(t *testing.T) {
	for name, want := range map[string]struct {
		name    string
		url     string
		aliases []string
		renewed hazard.Instant
		tree    []string
	}{
		"detail-us6000pi9w.geojson": {
			name:    "M 7.1 - 2025 Southern Tibetan Plateau Earthquake",
			url:     "https://earthquake.usgs.gov/earthquakes/eventpage/us6000pi9w",
			renewed: 1736298524449,
			tree: []string{
				"USGS",
				"  Event page → https://earthquake.usgs.gov/earthquakes/eventpage/us6000pi9w",
				"  PAGER (Alert level: red) → https://earthquake.usgs.gov/earthquakes/eventpage/us6000pi9w/pager",
				"  PAGER summary (PDF) → https://earthquake.usgs.gov/realtime/product/losspager/us6000pi9w/us/1736298524449/onepager.pdf",
				"  PAGER: people by intensity → https://earthquake.usgs.gov/realtime/product/losspager/us6000pi9w/us/1736298524449/exposure.png",
				"  ShakeMap (Maximum intensity: 9.2) → https://earthquake.usgs.gov/earthquakes/eventpage/us6000pi9w/shakemap/intensity",
				"  ShakeMap intensity map → https://earthquake.usgs.gov/realtime/product/shakemap/us6000pi9w/us/1736298441909/download/intensity.jpg",
				"  Did You Feel It? (Maximum reported intensity: 9.1) → https://earthquake.usgs.gov/earthquakes/eventpage/us6000pi9w/dyfi/intensity",
				"  Ground failure (Landslides: orange, liquefaction: yellow) → https://earthquake.usgs.gov/earthquakes/eventpage/us6000pi9w/ground-failure/summary",
				"  Moment tensor (Mww 7.1) → https://earthquake.usgs.gov/earthquakes/eventpage/us6000pi9w/moment-tensor",
				"  Finite fault → https://earthquake.usgs.gov/earthquakes/eventpage/us6000pi9w/finite-fault",
				"  Summary: Tectonic Summary",
			},
		},
		"detail-20260727.json": {
			name:    "M 5.8 Earthquake - 191 km NW of Oula Xiuma, China",
			url:     "https://earthquake.usgs.gov/earthquakes/eventpage/us6000tga9",
			renewed: 1785211006298,
			tree: []string{
				"USGS",
				"  Event page → https://earthquake.usgs.gov/earthquakes/eventpage/us6000tga9",
				"  PAGER (Alert level: yellow) → https://earthquake.usgs.gov/earthquakes/eventpage/us6000tga9/pager",
				"  PAGER summary (PDF) → https://earthquake.usgs.gov/pdl/products/urn:usgs-product:us:losspager:us6000tga9:1785211006298/contents/onepager.pdf",
				"  PAGER: people by intensity → https://earthquake.usgs.gov/pdl/products/urn:usgs-product:us:losspager:us6000tga9:1785211006298/contents/exposure.png",
				"  ShakeMap (Maximum intensity: 7.3) → https://earthquake.usgs.gov/earthquakes/eventpage/us6000tga9/shakemap/intensity",
				"  ShakeMap intensity map → https://earthquake.usgs.gov/pdl/products/urn:usgs-product:us:shakemap:us6000tga9:1785210904532/contents/download/intensity.jpg",
				"  Ground failure (Landslides: green, liquefaction: green) → https://earthquake.usgs.gov/earthquakes/eventpage/us6000tga9/ground-failure/summary",
			},
		},
		"detail-us1000chhc.geojson": {
			name:    "M 6.4 Earthquake - 18km NNE of Hualian, Taiwan",
			url:     "https://earthquake.usgs.gov/earthquakes/eventpage/us1000chhc",
			renewed: 1518531544176,
			tree: []string{
				"USGS",
				"  Event page → https://earthquake.usgs.gov/earthquakes/eventpage/us1000chhc",
				"  PAGER (Alert level: yellow) → https://earthquake.usgs.gov/earthquakes/eventpage/us1000chhc/pager",
				"  PAGER summary (PDF) → https://earthquake.usgs.gov/realtime/product/losspager/us1000chhc/us/1518531544176/onepager.pdf",
				"  PAGER: people by intensity → https://earthquake.usgs.gov/realtime/product/losspager/us1000chhc/us/1518531544176/exposure.png",
				"  ShakeMap (Maximum intensity: 7.6) → https://earthquake.usgs.gov/earthquakes/eventpage/us1000chhc/shakemap/intensity",
				"  ShakeMap intensity map → https://earthquake.usgs.gov/realtime/product/shakemap/us1000chhc/us/1518531492473/download/intensity.jpg",
				"  Did You Feel It? (Maximum reported intensity: 7.5) → https://earthquake.usgs.gov/earthquakes/eventpage/us1000chhc/dyfi/intensity",
				"  Moment tensor (Mww 6.4) → https://earthquake.usgs.gov/earthquakes/eventpage/us1000chhc/moment-tensor",
				"  Summary: Tectonic Summary",
				"  Impact: Seventeen people killed, 285 injured, 67 missing and many buildings collapsed at Hualien City.",
			},
		},
		"detail-us10004u1y.json": { // its files have http addresses
			name:    "M 7.8 Earthquake - Southwest of Sumatra, Indonesia",
			url:     "http://earthquake.usgs.gov/earthquakes/eventpage/us10004u1y",
			aliases: []string{"gcmt20160302124948"},
			renewed: 1456938181480,
			tree: []string{
				"USGS",
				"  Event page → http://earthquake.usgs.gov/earthquakes/eventpage/us10004u1y",
				"  PAGER (Alert level: green) → https://earthquake.usgs.gov/earthquakes/eventpage/us10004u1y/pager",
				"  ShakeMap (Maximum intensity: 3.1) → https://earthquake.usgs.gov/earthquakes/eventpage/us10004u1y/shakemap/intensity",
				"  Did You Feel It? (Maximum reported intensity: 3.1) → https://earthquake.usgs.gov/earthquakes/eventpage/us10004u1y/dyfi/intensity",
				"  Moment tensor (Mwc 7.8) → https://earthquake.usgs.gov/earthquakes/eventpage/us10004u1y/moment-tensor",
				"  Finite fault → https://earthquake.usgs.gov/earthquakes/eventpage/us10004u1y/finite-fault",
				"  Summary: Tectonic Summary",
			},
		},
		"detail-usp000hvnu.json": {
			name:    "M 9.0 Earthquake - near the east coast of Honshu, Japan",
			url:     "http://earthquake.usgs.gov/earthquakes/eventpage/usp000hvnu",
			aliases: []string{"usc0001xgp", "choy20110311054623", "duputel201103110546a", "atlas20110311054624", "iscgem16461282"},
			renewed: 0, // its products were last updated in 2015, long after the event
			tree: []string{
				"USGS",
				"  Event page → http://earthquake.usgs.gov/earthquakes/eventpage/usp000hvnu",
				"  ShakeMap (Maximum intensity: 8.0) → https://earthquake.usgs.gov/earthquakes/eventpage/usp000hvnu/shakemap/intensity",
				"  Did You Feel It? (Maximum reported intensity: 9.1) → https://earthquake.usgs.gov/earthquakes/eventpage/usp000hvnu/dyfi/intensity",
				"  Moment tensor (Mww 9.1) → https://earthquake.usgs.gov/earthquakes/eventpage/usp000hvnu/moment-tensor",
				"  Finite fault → https://earthquake.usgs.gov/earthquakes/eventpage/usp000hvnu/finite-fault",
				"  Impact: At least 15,703 people killed, 4,647 missing, 5,314 injured, 130,927 displaced and at least 332,395 buildings, 2,126 roa",
			},
		},
		"detail-nn00536452.json": {
			name:    "M 3.3 Earthquake - 23km ESE of Hawthorne, Nevada",
			url:     "http://earthquake.usgs.gov/earthquakes/eventpage/nn00536452",
			aliases: []string{"nc72610245", "us20005bfl"},
			renewed: 1458578086584,
			tree: []string{
				"USGS",
				"  Event page → http://earthquake.usgs.gov/earthquakes/eventpage/nn00536452",
				"  ShakeMap (Maximum intensity: 2.9) → https://earthquake.usgs.gov/earthquakes/eventpage/nn00536452/shakemap/intensity",
				"  Did You Feel It? (Maximum reported intensity: 2.2) → https://earthquake.usgs.gov/earthquakes/eventpage/nn00536452/dyfi/intensity",
			},
		},
		"detail-ci37528064-edited-urls.json": { // its addresses lack a host
			name:    "M 4.9 Earthquake - 6km SSW of Wasco, California",
			url:     "https://earthquake.usgs.gov/earthquakes/eventpage/ci37528064",
			aliases: []string{"at00o30yrz", "nc72596550", "us10004s7r"},
			renewed: 1456358987528,
			tree: []string{
				"USGS",
				"  Event page → https://earthquake.usgs.gov/earthquakes/eventpage/ci37528064",
				"  PAGER (Alert level: green) → https://earthquake.usgs.gov/earthquakes/eventpage/ci37528064/pager",
				"  PAGER summary (PDF) → https://earthquake.usgs.gov/products/losspager/ci37528064/us/1456358987528/onepager.pdf",
				"  PAGER: people by intensity → https://earthquake.usgs.gov/products/losspager/ci37528064/us/1456358987528/exposure.png",
				"  ShakeMap (Maximum intensity: 6.6) → https://earthquake.usgs.gov/earthquakes/eventpage/ci37528064/shakemap/intensity",
				"  ShakeMap intensity map → https://earthquake.usgs.gov/products/shakemap/ci37528064/ci/1456358665798/download/intensity.jpg",
				"  Did You Feel It? (Maximum reported intensity: 5.8) → https://earthquake.usgs.gov/earthquakes/eventpage/ci37528064/dyfi/intensity",
				"  Moment tensor → https://earthquake.usgs.gov/earthquakes/eventpage/ci37528064/moment-tensor",
				"  Impact: Felt (V) at Wasco and (IV) at Bakersfield, Delano, Porterville, Shafter and Strathmore. Felt from Sacramento to Escondid",
			},
		},
		"detail-sample-nan.json": {
			name: "M 7.6 Earthquake - 2 km E of Aromas, CA",
			url:  "https://earthquake.usgs.gov/earthquakes/eventpage/nc75206757",
			tree: []string{
				"USGS",
				"  Event page → https://earthquake.usgs.gov/earthquakes/eventpage/nc75206757",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := parseRecording(t, name).Reports[0]
			if r.Name != want.name || r.URL != want.url {
				t.Errorf("%q at %s, want %q at %s", r.Name, r.URL, want.name, want.url)
			}
			if !slices.Equal(r.Aliases, want.aliases) {
				t.Errorf("aliases %v, want %v", r.Aliases, want.aliases)
			}
			if diff := cmp.Diff(want.tree, outline(r.Products)); diff != "" {
				t.Errorf("products (-want +got):\n%s", diff)
			}
			switch {
			case r.Renewed == nil && want.renewed != 0, r.Renewed != nil && *r.Renewed != want.renewed:
				t.Errorf("renewed %v, want %v", r.Renewed, want.renewed)
			}
		})
	}
}

// outline returns a product tree as people see it.
func outline(products []hazard.ReportProduct) []string {
	var lines []string
	for _, p := range products {
		line := p.Title
		if p.Parent != "" {
			line = "  " + line
		}
		if p.Comment != "" {
			line += " (" + p.Comment + ")"
		}
		switch p.Type {
		case hazard.URLProduct:
			line += " → " + p.Data
		case hazard.TextProduct:
			first, _, _ := strings.Cut(p.Data, "\n")
			line += ": " + first[:min(len(first), 120)]
		}
		lines = append(lines, line)
	}
	return lines
}

func TestADescriptionTellsPeopleWhatIsKnown(t *testing.T) {
	want := `Magnitude 4.9 (mw), 6km SSW of Wasco, California.
Depth: 22.1 km.
Time: 2016-02-24 00:02:23 UTC.
Status: reviewed by a seismologist.
PAGER alert level: green (no deaths and losses below 1 million US dollars are most likely).
Estimated shaking: intensity up to 6.6 (MMI).
Felt reports: 2775, intensity up to 5.8.
Tsunami: USGS refers to tsunami.gov, which alone says whether there is a threat.
Ids of the networks: ci37528064, at00o30yrz, nc72596550, us10004s7r.`
	r := parseRecording(t, "detail-ci37528064-edited-urls.json").Reports[0]
	if diff := cmp.Diff(want, r.Description); diff != "" {
		t.Errorf("description (-want +got):\n%s", diff)
	}
}

func TestTextProductsArePlainText(t *testing.T) {
	r := parseRecording(t, "detail-us10004u1y.json").Reports[0]
	i := slices.IndexFunc(r.Products, func(p hazard.ReportProduct) bool { return p.Key == "general-text" })
	if i < 0 {
		t.Fatal("no general-text")
	}
	paragraphs := strings.Split(r.Products[i].Data, "\n\n")
	if len(paragraphs) != 4 || paragraphs[0] != "Tectonic Summary" || strings.ContainsAny(r.Products[i].Data, "<>&") ||
		!strings.Contains(paragraphs[3], `are called "conjugate faults".`) {
		t.Errorf("got %d paragraphs: %q", len(paragraphs), paragraphs)
	}
}

func TestASummaryAndADetailSayTheSame(t *testing.T) {
	detail := parseRecording(t, "detail-20260727.json").Reports[0]
	for _, summary := range parseRecording(t, "2.5_day-20260727.json").Reports {
		if summary.Key != detail.Key {
			continue
		}
		if summary.Detail != "https://earthquake.usgs.gov/earthquakes/feed/v1.0/detail/us6000tga9.geojson" {
			t.Errorf("detail %q", summary.Detail)
		}
		summary.Detail, summary.Renewed, summary.Products = detail.Detail, detail.Renewed, detail.Products
		if diff := cmp.Diff(summary, detail); diff != "" {
			t.Errorf("summary and detail (-summary +detail):\n%s", diff)
		}
		return
	}
	t.Error("the event is not in the summary")
}

func TestADetailCutOffSaysNothing(t *testing.T) {
	payload := recordings.Read(t, "feeds/usgs/detail-us6000pi9w.geojson")
	for n := 1; n < len(bytes.TrimSpace(payload)); n += 997 {
		batch, err := Parse(payload[:n], recordedAt(t, payload))
		if bad, ok := errors.AsType[*source.PayloadError](err); !ok || !bad.Cut || batch.Read != 0 {
			t.Fatalf("cut at %d: error %v, read %d", n, err, batch.Read)
		}
	}
}

func BenchmarkWeek(b *testing.B) {
	payload := recordings.Read(b, "feeds/usgs/all_week-1.geojson")
	now := recordedAt(b, payload)
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(payload, now); err != nil {
			b.Fatal(err)
		}
	}
}

// checkReport checks conditions that hold for every report.
func checkReport(t testing.TB, r *hazard.Report) {
	t.Helper()
	var wrong []string
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	check(r.Source == Name && r.Part == "" && r.Type == hazard.Earthquake && r.Category == hazard.Event && r.End == nil,
		"source, part, type, category or end")
	check(eventID(r.Key) == r.Key, "key %q", r.Key)
	check(!slices.Contains(r.Aliases, r.Key), "the key is an alias")
	check(r.Severity >= hazard.Information && r.Severity <= hazard.Warning, "severity %v", r.Severity)
	check(r.LifeMS == 24*3600*1000 || r.LifeMS == 72*3600*1000 && r.Severity == hazard.Warning, "life %d", r.LifeMS)
	check(r.Start >= hazard.MinInstant && r.Start <= hazard.MaxInstant, "start %d", r.Start)
	check(r.Point != nil || r.Ended != "", "no point")
	check(r.Name != "" && r.Name == hazard.CleanLine(r.Name), "name %q", r.Name)
	check(r.Description == hazard.Clean(r.Description), "description %q", r.Description)
	check(r.Comment == "usgs:"+r.Key && r.Creator == "USGS", "comment %q, creator %q", r.Comment, r.Creator)
	check(r.URL == "" || webAddress(r.URL) == r.URL, "url %q", r.URL)
	check(r.Detail == "" || strings.HasPrefix(r.Detail, "https://earthquake.usgs.gov/"), "detail %q", r.Detail)
	check(r.Detail == "" || r.Products == nil && !r.Minor && r.Ended == "", "a detail %q for nothing", r.Detail)
	folders := map[string]bool{"": true}
	keys := map[string]bool{}
	for _, p := range r.Products {
		check(folders[p.Parent], "product %s before its folder %q", p.Key, p.Parent)
		check(!keys[p.Key], "product %s twice", p.Key)
		check(p.Title != "" && p.Comment == hazard.CleanLine(p.Comment), "product %s: title %q, comment %q", p.Key, p.Title, p.Comment)
		keys[p.Key] = true
		switch p.Type {
		case hazard.FolderProduct:
			folders[p.Key] = true
		case hazard.URLProduct:
			check(webAddress(p.Data) == p.Data && p.Data != "", "product %s: address %q", p.Key, p.Data)
		case hazard.TextProduct:
			check(p.Data == hazard.Clean(p.Data) && p.Data != "", "product %s: text %q", p.Key, p.Data)
		default:
			check(false, "product %s: type %s", p.Key, p.Type)
		}
	}
	for _, w := range wrong {
		t.Errorf("%s: %s", r.Key, w)
	}
}
