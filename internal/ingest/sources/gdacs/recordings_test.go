package gdacs

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

func TestEveryRecordingIsRead(t *testing.T) {
	test.NoRace(t)
	// Held and Minor count reports that are also in Reports; the levels count all reports.
	type counts struct {
		Read, Reports, Held, Minor, Green, Orange, Red, WithAreas int
		Reject, Err                                               string
	}
	const (
		noSender = "alert sender: missing, expected one, as CAP requires"
		noEvents = "type: missing, expected FeatureCollection or Feature"
		surge    = "properties/eventtype: missing in all of "
	)
	want := map[string]counts{
		"api-search-DR-202607.json": {Read: 42, Reports: 42, Green: 37, Orange: 5},
		"api-search-EQ-202607.json": {Read: 100, Reports: 100, Green: 98, Orange: 2},
		"api-search-FL-202607.json": {Read: 100, Reports: 100, Green: 100},
		"api-search-TC-202607.json": {Read: 100, Reports: 100, Green: 90, Orange: 6, Red: 4},
		"api-search-VO-202607.json": {Read: 25, Reports: 25, Green: 19, Orange: 5, Red: 1},
		"api-search-WF-202607.json": {Read: 100, Reports: 100, Green: 99, Orange: 1},
		"api-tc-list-20260819.json": {Read: 3, Reports: 3, Green: 3},
		"events-20260928.geojson":   {Read: 4, Reports: 4, Green: 2, Orange: 2},

		"api-eventdata-EQ-202607.json":  {Read: 1, Reports: 1, Orange: 1},
		"api-eventdata-TC-1001303.json": {Read: 1, Reports: 1, Green: 1},
		"api-eventdata-WF-202607.json":  {Read: 1, Reports: 1, Green: 1},

		"api-geometry-DR.json":                   {Read: 1, Reports: 1, Orange: 1, WithAreas: 1},
		"api-geometry-EQ-truncated.json":         {Read: 1, Reports: 1, Orange: 1}, // a circle, and intensity III
		"api-geometry-FL.json":                   {Read: 1, Reports: 1, Green: 1, WithAreas: 1},
		"api-geometry-TC-mislabelled-track.json": {Read: 1, Reports: 1, Green: 1, WithAreas: 1},
		"api-geometry-TC.json":                   {Read: 1, Reports: 1, Green: 1, WithAreas: 1},
		"api-geometry-VO.json":                   {Read: 1, Reports: 1, Orange: 1}, // a circle
		"api-geometry-WF.json":                   {Read: 1, Reports: 1, Green: 1, WithAreas: 1},
		"geometry01.json":                        {Read: 2, Reports: 2, Green: 2}, // the ids of centroid and circle differ
		"geometry02.json":                        {Read: 1, Reports: 1, Orange: 1, WithAreas: 1},

		"api-geometry-TC-zero-quadrant.json":      {Err: noEvents}, // changed by the recorder
		"api-getlocations-TC-hernan-1001304.json": {Err: surge},    // places of a storm surge, not events
		"api-getlocations-TC-lala-1001303.json":   {Err: surge},
		"api-getlocations-TC-saudel-1001305.json": {Err: surge},
		"episodes/tc-1001253-ep1-impact.json":     {Err: noEvents}, // model runs
		"episodes/wf-1028649-ep1-impact.json":     {Err: noEvents},

		"gdacs-20210420.geojson":       {Read: 58, Reports: 58, Orange: 43, Red: 15},
		"gdacs-20260526T0209Z.geojson": {Read: 25, Reports: 25, Green: 23, Orange: 2, WithAreas: 17},
		"gdacs-20260530T0203Z.geojson": {Read: 20, Reports: 20, Green: 18, Orange: 2, WithAreas: 18},
		"gdacs-20260530T1858Z.geojson": {Read: 20, Reports: 20, Green: 18, Orange: 2, WithAreas: 18},

		"rss-20191230.xml":     {Read: 16, Reports: 16, Green: 9, Orange: 7},
		"rss_24h-20191230.xml": {Read: 21, Reports: 21, Green: 14, Orange: 7},
		"rss_7d-20191230.xml":  {Read: 115, Reports: 115, Minor: 2, Green: 108, Orange: 7},
		"rss_7d-20221126.xml":  {Read: 315, Reports: 315, Green: 307, Orange: 7, Red: 1},

		"rss-kontur.xml":                        {Read: 64, Reports: 64, Minor: 1, Green: 64},
		"cap-index.xml":                         {Read: 3, Reports: 3, Green: 3, WithAreas: 1},
		"job-cap1.xml":                          {Read: 1, Reports: 1, Green: 1},
		"job-cap2.xml":                          {Read: 1, Reports: 1, Green: 1},
		"cap-alert01_valid.xml":                 {Read: 1, Reports: 1, Green: 1},
		"cap-alert02_valid.xml":                 {Read: 1, Reports: 1, Green: 1},
		"cap-alert02_without_parameters.xml":    {Read: 1, Reports: 1, Held: 1, Green: 1}, // without a place
		"cap-alert02_invaliddate.xml":           {Read: 1, Reports: 1, Green: 1},          // with a note: the date of its revision is invalid
		"cap-alert02_without_identifier.xml":    {Read: 1, Reject: "alert identifier: missing, expected one, as CAP requires"},
		"job-alert01.xml":                       {Read: 1, Reject: noSender},
		"job-alert02.xml":                       {Read: 1, Reject: noSender},
		"job-alert03.xml":                       {Read: 1, Reject: noSender},
		"episodes/dr-1016449-event.json":        {Read: 1, Reports: 1, Green: 1},
		"episodes/fl-1102983-ep1-event.json":    {Read: 1, Reports: 1, Orange: 1},
		"episodes/fl-1102983-ep1-geometry.json": {Read: 1, Reports: 1, Orange: 1, WithAreas: 1},
		"episodes/fl-1102983-ep2-event.json":    {Read: 1, Reports: 1, Green: 1},
		"episodes/fl-1102983-ep2-geometry.json": {Read: 1, Reports: 1, Green: 1, WithAreas: 1},
		"episodes/tc-1001253-event.json":        {Read: 1, Reports: 1, Green: 1},
		"episodes/tc-1001253-ep1-event.json":    {Read: 1, Reports: 1, Green: 1},
		"episodes/tc-1001253-ep1-geometry.json": {Read: 1, Reports: 1, Green: 1, WithAreas: 1},
		"episodes/wf-1028649-event.json":        {Read: 1, Reports: 1, Green: 1},
		"episodes/wf-1028649-ep1-event.json":    {Read: 1, Reports: 1, Green: 1},
		"episodes/wf-1028649-ep1-geometry.json": {Read: 1, Reports: 1, Green: 1, WithAreas: 1},
	}
	for n := 1; n <= 7; n++ { // each episode has its own level
		ep := "episodes/dr-1016449-ep" + string(rune('0'+n))
		c := counts{Read: 1, Reports: 1, Green: 1}
		if n >= 5 {
			c.Green, c.Orange = 0, 1
		}
		want[ep+"-event.json"] = c
		c.WithAreas = 1
		want[ep+"-geometry.json"] = c
	}
	seen := 0
	err := filepath.WalkDir(recordings.Path(t, "feeds/gdacs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		seen++
		name, _ := filepath.Rel(recordings.Path(t, "feeds/gdacs"), path)
		t.Run(name, func(t *testing.T) {
			batch, err := Parse(recordings.Read(t, "feeds/gdacs/"+name), later)
			got := counts{Read: batch.Read, Reports: len(batch.Reports)}
			if err != nil {
				got.Err = payloadError(t, err).Reason
				if strings.HasPrefix(got.Err, surge) {
					got.Err = surge
				}
			}
			for i := range batch.Reports {
				r := &batch.Reports[i]
				checkReport(t, r)
				if r.Suspect != "" {
					got.Held++
				}
				if r.Minor {
					got.Minor++
				}
				if len(r.Areas) > 0 {
					got.WithAreas++
				}
				if r.Ended != "" {
					t.Errorf("%s has ended: %s", r.Key, r.Ended)
				}
				switch r.Level {
				case "Green":
					got.Green++
				case "Orange":
					got.Orange++
				case "Red":
					got.Red++
				}
			}
			for _, r := range batch.Rejects {
				got.Reject += r.Record + " " + r.Reason
			}
			if diff := cmp.Diff(want[name], got); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			if batch.Ignored != 0 || batch.Whole {
				t.Errorf("ignored %d, whole %v", batch.Ignored, batch.Whole)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen != len(want) {
		t.Errorf("%d recordings, the table has %d", seen, len(want))
	}
}

func TestNamesAreFitToShow(t *testing.T) {
	for _, tt := range []struct{ file, key, name, called string }{
		{"api-search-EQ-202607.json", "EQ1554511", "M 5.8 Earthquake - China", ""},
		{"api-search-FL-202607.json", "FL1104053", "Flood - Bologna, Italy", ""},
		{"api-search-WF-202607.json", "WF1029861", "Wildfire - 40 km SW of Kikwit, The Democratic Republic of Congo (5763 ha)", ""},
		{"api-search-TC-202607.json", "TC1001296", "Tropical Cyclone Genevieve", "Genevieve"},
		{"api-search-VO-202607.json", "VO1000144", "Volcanic Eruption - Mayon, Philippines", "Mayon"},
		{"api-search-DR-202607.json", "DR1027450", "Drought - Ethiopia, Kenya, Somalia", ""},
		{"api-tc-list-20260819.json", "TC1001303", "Tropical Cyclone One-C - United States", "One-C"},
		{"api-eventdata-TC-1001303.json", "TC1001303", "Tropical Cyclone Lala - United States", "Lala"},
		{"api-geometry-TC-mislabelled-track.json", "TC1001307", "Tropical Cyclone Eighteen - China, Viet Nam", ""},
		{"gdacs-20210420.geojson", "VO1000020", "Volcanic Eruption - Soufriere St. Vincent, Saint Vincent and the Grenadines", "Soufriere St. Vincent"},
		{"gdacs-20210420.geojson", "TC1000772", "Tropical Cyclone Niran - New Caledonia, Australia and 2 more", "Niran"},
		{"rss_24h-20191230.xml", "EQ1200043", "M 5.3 Earthquake - 52.85 S, 11.35 E", ""},
		{"rss_24h-20191230.xml", "DR1012728", "Drought - Southern Africa", ""},
		{"rss_7d-20191230.xml", "VO284096", "Volcanic Eruption - Nishinoshima, Japan", "Nishinoshima"},
	} {
		r := find(t, parsed(t, recordings.Read(t, "feeds/gdacs/"+tt.file), later), tt.key)
		if r.Name != tt.name || r.Called != tt.called {
			t.Errorf("%s in %s: %q, called %q; want %q, called %q", tt.key, tt.file, r.Name, r.Called, tt.name, tt.called)
		}
	}
}

func TestADroughtOfManyCountriesHasAShortNameAndAllOfThemInItsDescription(t *testing.T) {
	for _, r := range parsed(t, recordings.Read(t, "feeds/gdacs/"+"api-search-DR-202607.json"), later).Reports {
		if !strings.Contains(r.Description, "Albania, Austria") {
			continue
		}
		want := "Drought - Europe\n" +
			"Medium impact for agricultural drought in 1336291 km2.\n" +
			"Countries: Albania, Austria, Bosnia and Herzegovina, Bulgaria, Belarus, Switzerland, Czech Republic, Germany, Denmark, Spain, " +
			"France, Croatia, Hungary, Italy, Liechtenstein, Monaco, Montenegro, The Republic of North Macedonia, Poland, Romania, Serbia, Russia, " +
			"Sweden, Slovakia, San Marino, Ukraine.\n" +
			"From 2025-12-11, data up to 2026-07-25 00:00 UTC.\nGDACS alert level: Orange (2026-07-27 05:50 UTC).\nData: GDO.\nGLIDE: DR-2025-000239-ALB."
		if diff := cmp.Diff(want, r.Name+"\n"+r.Description); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		return
	}
	t.Error("no drought of Albania, Austria …")
}

func TestTheEarthquakeOfUSGSIsNamedByItsData(t *testing.T) {
	r := find(t, parsed(t, recordings.Read(t, "feeds/gdacs/"+"api-eventdata-EQ-202607.json"), later), "EQ1554511")
	if !slices.Equal(r.Refs, []string{"gdacs:EQ1554511", "usgs:us6000tga9"}) {
		t.Errorf("refs %v", r.Refs)
	}
	// shakemap[].conditions has latitude and longitude swapped.
	if *r.Point != (hazard.Point{Lon: 99.5513, Lat: 35.3866}) {
		t.Errorf("at %v", *r.Point)
	}
	list := find(t, parsed(t, recordings.Read(t, "feeds/gdacs/"+"api-search-EQ-202607.json"), later), "EQ1554511")
	if !slices.Equal(list.Refs, []string{"gdacs:EQ1554511"}) || list.Start != r.Start || list.Version >= r.Version || list.Description != r.Description {
		t.Errorf("the list says %+v, the data %+v", list, r)
	}
	for file, ref := range map[string]string{"rss_7d-20191230.xml": "usgs:us70006s89", "rss_24h-20191230.xml": "usgs:us70006s89"} {
		if r := find(t, parsed(t, recordings.Read(t, "feeds/gdacs/"+file), later), "EQ1200043"); !slices.Contains(r.Refs, ref) {
			t.Errorf("%s: refs %v, want %s", file, r.Refs, ref)
		}
	}
	if r := find(t, parsed(t, recordings.Read(t, "feeds/gdacs/"+"rss_7d-20191230.xml"), later), "VO284096"); !slices.Contains(r.Refs, "gvp:284096") {
		t.Errorf("refs of Nishinoshima %v", r.Refs)
	}
}

func TestEarthquakesHaveTheSecondOfTheirTimeInEveryForm(t *testing.T) {
	for file, want := range map[string]string{
		"cap-alert01_valid.xml":              "EQ1279931 2021-08-03T07:28:23.000Z",
		"cap-alert02_without_parameters.xml": "EQ1278636 2021-07-26T01:05:15.000Z",
		"job-cap2.xml":                       "EQ1279052 2021-07-29T06:57:01.000Z", // sent two hours earlier
		"job-cap1.xml":                       "EQ1243255 2020-11-10T04:41:51.000Z", // sent one hour earlier
		"rss_24h-20191230.xml":               "EQ1200043 2019-12-29T18:24:41.000Z",
		"gdacs-20210420.geojson":             "EQ1265240 2021-04-18T06:41:50.000Z",
		"gdacs-20260526T0209Z.geojson":       "EQ1541847 2026-05-22T01:05:08.000Z",
	} {
		key, at, _ := strings.Cut(want, " ")
		if r := find(t, parsed(t, recordings.Read(t, "feeds/gdacs/"+file), later), key); r.Start.String() != at {
			t.Errorf("%s: %v, want %s", file, r.Start, at)
		}
	}
}

func TestTheStormHasOneKeyUnderItsTwoNames(t *testing.T) {
	before := find(t, parsed(t, recordings.Read(t, "feeds/gdacs/"+"api-tc-list-20260819.json"), later), "TC1001303")
	after := only(t, recordings.Read(t, "feeds/gdacs/"+"api-eventdata-TC-1001303.json"))
	if before.Version >= after.Version || before.Called != "One-C" || after.Called != "Lala" {
		t.Errorf("%q of version %d, then %q of version %d", before.Called, before.Version, after.Called, after.Version)
	}
}

func TestTheTextOfAStormTellsItsPresentAndTheValueItsMaximum(t *testing.T) {
	r := find(t, parsed(t, recordings.Read(t, "feeds/gdacs/"+"rss_24h-20191230.xml"), later), "TC1000642") // 129.6 km/h at its strongest
	if !strings.HasPrefix(r.Description, "Tropical Storm (maximum wind speed of 111 km/h).\n") {
		t.Errorf("description %q", r.Description)
	}
}

func TestGeometryOfAStorm(t *testing.T) {
	roles := func(file string) (roles []string) {
		for _, r := range parsed(t, recordings.Read(t, "feeds/gdacs/"+file), later).Reports {
			for _, a := range r.Areas {
				kind, _ := geometryParts([]byte(a.Geometry))
				roles = append(roles, string(a.Role)+" "+kind)
			}
		}
		return roles
	}
	// The swaths of wind above 60, 90 and 120 km/h; the cone; the track, whose segments are
	// numbered and labeled in no particular order.
	want := []string{"alert Polygon", "impact Polygon", "impact Polygon", "track MultiLineString", "track Polygon"}
	if got := roles("api-geometry-TC.json"); !slices.Equal(got, want) {
		t.Errorf("areas %v, want %v", got, want)
	}
	// This storm has no wind above 90 km/h: all its polygons for that wind are a single point.
	want = []string{"alert Polygon", "track MultiLineString", "track Polygon"}
	if got := roles("api-geometry-TC-mislabelled-track.json"); !slices.Equal(got, want) {
		t.Errorf("areas %v, want %v", got, want)
	}
}

func TestAWindPolygonWithAQuadrantWithoutExtentIsUsed(t *testing.T) {
	var doc struct {
		Bands []struct {
			Class    string
			Geometry json.RawMessage
		}
	}
	if err := json.Unmarshal(recordings.Read(t, "feeds/gdacs/"+"api-geometry-TC-zero-quadrant.json"), &doc); err != nil || len(doc.Bands) != 4 {
		t.Fatalf("%d bands, %v", len(doc.Bands), err)
	}
	features := []string{storm()}
	for _, b := range doc.Bands {
		features = append(features, polygon(b.Class, string(b.Geometry), `"featuretype":"WindRadii"`))
	}
	r := only(t, collection(features...))
	if len(r.Areas) != 4 {
		t.Errorf("%d areas, want the 4 bands, as there is no swath", len(r.Areas))
	}
	// If there is a swath of all times, the polygons of single times are not used.
	r = only(t, collection(append(features, polygon("Poly_Green", `{"type":"Polygon","coordinates":[[[1,2],[3,2],[3,4],[1,2]]]}`, `"featuretype":null`))...))
	if len(r.Areas) != 1 || r.Areas[0].Role != hazard.AlertArea {
		t.Errorf("areas %v, want the swath", r.Areas)
	}
}

// polygon returns a feature of the storm's geometry.
func polygon(class, geometry, more string) string {
	return storm(`{"type":"Point","coordinates":[11.3426,44.4938]}`, geometry, `"Class":"Point_Centroid"`, `"Class":"`+class+`",`+more)
}

func TestPolygonsOfTheFileFindTheirEventByTheirLink(t *testing.T) {
	batch := parsed(t, recordings.Read(t, "feeds/gdacs/"+"gdacs-20260530T1858Z.geojson"), later)
	for key, want := range map[string]int{"DR1018431": 1, "FL1103881": 1, "WF1028737": 1, "TC1001272": 5, "EQ1542825": 0} {
		if r := find(t, batch, key); len(r.Areas) != want || r.Version%10 != int64(fileForm) {
			t.Errorf("%s: %d areas, version %d; want %d areas", key, len(r.Areas), r.Version, want)
		}
	}
}

func TestProductsOfEventData(t *testing.T) {
	titles := func(r hazard.Report) (lines []string) {
		for _, p := range r.Products {
			lines = append(lines, strings.Join([]string{p.Parent, p.Key, p.Title}, "|"))
		}
		return lines
	}
	drought := only(t, recordings.Read(t, "feeds/gdacs/"+"episodes/dr-1016449-event.json"))
	want := []string{"|gdacs|GDACS", "gdacs|event|Event page", "gdacs|thumbnailmap|Map",
		"gdacs|document/GDODroughtNews202311_Amazon.pdf|GDODroughtNews202311_Amazon.pdf", "gdacs|document/JRC136439_01.pdf|JRC136439_01.pdf",
		"gdacs|document/JRC139423_01.pdf|JRC139423_01.pdf", "gdacs|document/JRC140741_01.pdf|JRC140741_01.pdf"}
	if diff := cmp.Diff(want, titles(drought)); diff != "" {
		t.Errorf("drought (-want +got):\n%s", diff)
	}
	spain := only(t, recordings.Read(t, "feeds/gdacs/"+"episodes/fl-1102983-ep2-event.json"))
	want = []string{"|gdacs|GDACS", "gdacs|event|Event page", "gdacs|impact|Reported impact", "gdacs|overviewmap|Overview map",
		"gdacs|populationmap|Population map", "gdacs|floodmap_cached|Flood map", "gdacs|rainmap_cached|Rain map", "gdacs|thumbnailmap|Map"}
	if diff := cmp.Diff(want, titles(spain)); diff != "" {
		t.Errorf("flood (-want +got):\n%s", diff)
	}
	if text := spain.Products[2].Data; !strings.Contains(text, "62 [people] Fatalities in Valencia region, Spain (2024-11-21)") {
		t.Errorf("impact %q", text)
	}
	for _, file := range []string{"api-search-TC-202607.json", "api-geometry-TC.json", "rss_7d-20221126.xml"} {
		for _, r := range parsed(t, recordings.Read(t, "feeds/gdacs/"+file), later).Reports {
			if r.Products != nil { // otherwise it would remove the products of the event data
				t.Errorf("%s, %s: products %v", file, r.Key, titles(r))
			}
		}
	}
}

func TestReportsOfOneVersionSayTheSame(t *testing.T) {
	first := map[string]hazard.Report{}
	where := map[string]string{}
	same := 0
	err := filepath.WalkDir(recordings.Path(t, "feeds/gdacs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(recordings.Path(t, "feeds/gdacs"), path)
		batch, _ := Parse(recordings.Read(t, "feeds/gdacs/"+name), later)
		for _, r := range batch.Reports {
			id := fmt.Sprint(r.Key, " ", r.Version)
			before, again := first[id]
			if !again {
				first[id], where[id] = r, name
				continue
			}
			same++
			if diff := cmp.Diff(before, r); diff != "" {
				t.Errorf("%s in %s and %s:\n%s", id, where[id], name, diff)
			}
		}
		return nil
	})
	if err != nil || same < 10 {
		t.Errorf("%d events are twice of one version, want some; %v", same, err)
	}
}
