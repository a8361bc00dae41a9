package copernicus

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

// recordings returns the folder of the source's recordings. HAZARDD_SHARED is the folder with those
// of all sources.
func recordings(t testing.TB) string {
	t.Helper()
	shared := os.Getenv("HAZARDD_SHARED")
	if shared == "" {
		t.Skip("HAZARDD_SHARED is not set: no recordings to read")
	}
	return filepath.Join(shared, "feeds", "copernicus-ems")
}

func recording(t testing.TB, name string) []byte {
	t.Helper()
	payload, err := os.ReadFile(filepath.Join(recordings(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// later is a time after all recordings, now the time in tests with their own documents.
var (
	later = hazard.At(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC))
	now   = hazard.At(time.Date(2026, 7, 7, 0, 0, 0, 0, time.UTC))
)

func parsed(t testing.TB, payload []byte, now hazard.Instant) source.Batch {
	t.Helper()
	batch, err := Parse(payload, now)
	if err != nil {
		t.Fatal(err)
	}
	for i := range batch.Reports {
		checkReport(t, &batch.Reports[i])
	}
	return batch
}

func only(t testing.TB, payload []byte) hazard.Report {
	t.Helper()
	batch := parsed(t, payload, now)
	if len(batch.Reports) != 1 || len(batch.Rejects) != 0 || batch.Ignored != 0 || batch.Read != 1 {
		t.Fatalf("read %d, ignored %d, reports %v, rejects %v, want one report", batch.Read, batch.Ignored, batch.Reports, batch.Rejects)
	}
	return batch.Reports[0]
}

func find(t testing.TB, batch source.Batch, key string) hazard.Report {
	t.Helper()
	i := slices.IndexFunc(batch.Reports, func(r hazard.Report) bool { return r.Key == key })
	if i < 0 {
		t.Fatalf("no report of %s", key)
	}
	return batch.Reports[i]
}

// checkReport checks conditions that hold for every report.
func checkReport(t testing.TB, r *hazard.Report) {
	t.Helper()
	bad := func(format string, args ...any) { t.Errorf("%s: "+format, append([]any{r.Key}, args...)...) }
	if r.Source != Name || r.Creator != "Copernicus EMS" || r.Comment != "copernicus:"+r.Key || !slices.Contains(r.Refs, "cems:"+r.Key) {
		bad("source %q, creator %q, comment %q, refs %v", r.Source, r.Creator, r.Comment, r.Refs)
	}
	if _, ok := r.Type.Info(); !ok || r.Severity != hazard.Advisory || r.LifeMS <= 0 || r.Renewed == nil {
		bad("type %q, severity %v, life %d, renewed %v", r.Type, r.Severity, r.LifeMS, r.Renewed)
	}
	if r.Name == "" || r.Name != hazard.CleanLine(r.Name) || len(r.Name) > maxName || r.Description != hazard.Clean(r.Description) {
		bad("name %q, description %q", r.Name, r.Description)
	}
	for _, a := range []string{r.URL, r.Detail} {
		if u, err := url.Parse(a); err != nil || a != "" && (u.Scheme != "https" || u.Host != "rapidmapping.emergency.copernicus.eu") {
			bad("address %q", a)
		}
	}
	if r.Point == nil && len(r.Areas)+len(r.Places) == 0 && r.Suspect == "" {
		bad("no place, and not held")
	}
	keys := map[string]bool{"": true}
	for _, p := range r.Products {
		if keys[p.Key] && p.Key != "" || !keys[p.Parent] || p.Title == "" || p.Title != hazard.CleanLine(p.Title) {
			bad("product %+v", p)
		}
		keys[p.Key] = true
	}
}

func TestEveryRecordingIsRead(t *testing.T) {
	test.NoRace(t)
	type counts struct{ Read, Reports, Ignored, Ended, Held, Areas, Products int }
	want := map[string]counts{
		"activations-202609-excerpt.json":    {Read: 9, Reports: 8, Ignored: 1, Ended: 7}, // EMSR877 is a public event
		"rapidmapping-activations-list.json": {Read: 3, Reports: 3, Ended: 1},
		"unified-activations-list.json":      {Read: 2, Reports: 2},
		"EMSR842-wildfire-detail.json":       {Read: 1, Reports: 1, Ended: 1, Areas: 2, Products: 6},
		"EMSR847-storm-detail.json":          {Read: 1, Reports: 1, Ended: 1, Areas: 39, Products: 54},
		"EMSR871-flood-detail.json":          {Read: 1, Reports: 1, Ended: 1, Areas: 6, Products: 15},
	}
	files, err := filepath.Glob(filepath.Join(recordings(t), "*"))
	if err != nil || len(files) != len(want) {
		t.Errorf("%d recordings, the table has %d; %v", len(files), len(want), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		batch := parsed(t, recording(t, name), later)
		got := counts{Read: batch.Read, Reports: len(batch.Reports), Ignored: batch.Ignored}
		for _, r := range batch.Reports {
			if r.Ended != "" {
				got.Ended++
			}
			if r.Suspect != "" {
				got.Held++
			}
			got.Areas += len(r.Areas)
			got.Products += len(r.Products)
		}
		if diff := cmp.Diff(want[name], got); diff != "" || len(batch.Rejects) != 0 || batch.Whole {
			t.Errorf("%s: whole %v, rejects %v, counts (-want +got):\n%s", name, batch.Whole, batch.Rejects, diff)
		}
	}
}

func TestNamesTypesAndWhatOthersCallIt(t *testing.T) {
	for _, tt := range []struct {
		file, key, name, called string
		typ                     hazard.Type
		refs                    string
	}{
		{"activations-202609-excerpt.json", "EMSR932", "Wildfire - Huelva Province, Spain", "", hazard.Wildfire, "cems:EMSR932"},
		{"activations-202609-excerpt.json", "EMSR927", "Flood - Nepal", "", hazard.Flood, "cems:EMSR927 gdacs:FL1104124"},
		{"activations-202609-excerpt.json", "EMSR916", "Earthquake - Colombia", "", hazard.Earthquake, "cems:EMSR916 gdacs:EQ1557236"},
		{"activations-202609-excerpt.json", "EMSR912", "Volcanic Eruption - Guatemala", "", hazard.Volcano, "cems:EMSR912 gdacs:VO1000145"},
		{"activations-202609-excerpt.json", "EMSR872", "Tropical Cyclone Sinlaku - Micronesia", "Sinlaku", hazard.Cyclone, "cems:EMSR872 gdacs:TC1001270"},
		{"activations-202609-excerpt.json", "EMSR930", "Storm - Basilicata, Italy", "", hazard.Storm, "cems:EMSR930"},
		{"activations-202609-excerpt.json", "EMSR751", "Landslide - Campania Region, Italy", "", hazard.Landslide, "cems:EMSR751"},
		{"unified-activations-list.json", "EMSR888", "Wildfire - Les Gavarres, Spain", "", hazard.Wildfire, "cems:EMSR888"},
		{"EMSR847-storm-detail.json", "EMSR847", "Tropical Cyclone Melissa - the Caribbean", "Melissa", hazard.Cyclone, "cems:EMSR847 gdacs:TC1001230 charter:996"},
		{"EMSR871-flood-detail.json", "EMSR871", "Flood - Abruzzo, Molise and Basilicata regions, Italy", "", hazard.Flood, "cems:EMSR871"},
	} {
		r := find(t, parsed(t, recording(t, tt.file), later), tt.key)
		if r.Name != tt.name || r.Called != tt.called || r.Type != tt.typ || strings.Join(r.Refs, " ") != tt.refs {
			t.Errorf("%s: %q, %q, %s, %v", tt.key, r.Name, r.Called, r.Type, r.Refs)
		}
	}
}

func TestADetailTellsPeopleWhatIsKnown(t *testing.T) {
	r := find(t, parsed(t, recording(t, "EMSR847-storm-detail.json"), later), "EMSR847")
	_, facts, _ := strings.Cut(r.Description, "\n\n")
	want := "Countries: Haiti, Cuba, Jamaica.\n" +
		"Copernicus EMS Rapid Mapping activation EMSR847 of 2025-10-26 02:43 UTC, requested by DG ECHO.\n" +
		"Kind: Tropical cyclone, hurricane, typhoon.\nBuilt-up [No.]: 48253.\nBuilt-up [ha]: 19.5.\nPopulation [No.]: 13030.\nRoads [km]: 206.4.\n" +
		"Areas of interest: 39.\nState: closed."
	if diff := cmp.Diff(want, facts); diff != "" || !strings.HasPrefix(r.Description, "On 25 October 2025 at 20:00, Tropical Storm Melissa") {
		t.Errorf("%.40q, then (-want +got):\n%s", r.Description, diff)
	}
	// The event was forecast, so it is later than the activation.
	if r.Start.String() != "2025-10-26T12:00:00.000Z" || r.Point.Lat != 17.981505 || r.Areas[0].Role != hazard.ImpactArea {
		t.Errorf("start %v at %v", r.Start, r.Point)
	}
	var titles []string
	for _, p := range r.Products[:8] {
		titles = append(titles, p.Title)
	}
	if diff := cmp.Diff([]string{"Copernicus EMS", "Activation EMSR847", "Report", "International Charter activation 996", "All maps and data (ZIP)",
		"Kingston: Damage grading", "Kingston: Reference", "Portmore: Reference"}, titles); diff != "" {
		t.Errorf("products (-want +got):\n%s", diff)
	}
}

// listed returns an activation of the rapid mapping list, with some of its text replaced.
func listed(replace ...string) string {
	return sourcetest.Changed(`{"code":"EMSR888","countries":["Spain"],"eventTime":"2026-07-03T07:16:00","name":"Wildfires in Les Gavarres, Spain",`+
		`"centroid":"POINT (3.0268 41.8500)","activationTime":"2026-07-03T16:38:00","category":"Wildfire","lastUpdate":"2026-07-06T11:41:14.133381",`+
		`"closed":false,"gdacsId":null,"n_aois":1,"n_products":3}`, replace...)
}

// unified does the same for the unified list, and detail for the detail.
func unified(replace ...string) string {
	return sourcetest.Changed(`{"code":"EMSR888","countries":[{"short_name":"Spain"}],"category":{"slug":"fire","name":"Wildfire"},"name":"Wildfires in Les Gavarres, Spain",`+
		`"centroid":"POINT (3.0268 41.8500)","activationTime":"2026-07-03T16:38:00","lastUpdate":"2026-07-06T11:41:14.133381","drmPhase":"response","closed":false,`+
		`"search_snippet":"A wildfire that broke out ..."}`, replace...)
}

func detail(replace ...string) string {
	return sourcetest.Changed(`{"code":"EMSR888","name":"Wildfires in Les Gavarres, Spain","reason":"A wildfire that broke out.","category":"Wildfire","subCategory":"Forest fire","sensitive":false,`+
		`"reportLink":"https://storymaps.arcgis.com/stories/1","activator":"Spain|CENEM","eventTime":"2026-07-03T07:16:00","activationTime":"2026-07-03T16:38:00","closed":false,`+
		`"gdacsId":null,"countries":[{"name":"Spain"}],"charterNumber":null,"charterUrl":null,"centroid":"POINT (3.0268 41.8500)",`+
		`"extent":"POLYGON ((3 41, 3 42, 4 42, 4 41, 3 41))","productsPath":"https://rapidmapping.emergency.copernicus.eu/backend/EMSR888/EMSR888_products.zip",`+
		`"stats":{"Event Extent [ha]":657.8,"Population [No.]":"-"},"aois":[{"name":"Gavarres","number":1,"extent":"POLYGON ((3.1 41.1, 3.1 41.2, 3.2 41.2, 3.1 41.1))",`+
		`"products":[{"type":"DEL","monitoringNumber":1,"downloadPath":"https://rapidmapping.emergency.copernicus.eu/backend/x.zip",`+
		`"version":{"statusCode":"F","deliveryTime":"2026-07-04T19:09:30.905111"}}]}]}`, replace...)
}

func page(activations ...string) []byte {
	return []byte(`{"count":224,"next":"https://rapidmapping.emergency.copernicus.eu/backend/dashboard-api/public-activations-info/?limit=3&offset=3","previous":null,"results":[` +
		strings.Join(activations, ",") + `]}`)
}

func TestFeedsArePolledAsTheEtiquetteAllows(t *testing.T) {
	for _, f := range Source().Feeds {
		if !strings.HasPrefix(f.URL, "https://rapidmapping.emergency.copernicus.eu/") || f.Every != 30*time.Minute || f.MaxBytes <= 0 {
			t.Errorf("%+v", f)
		}
	}
}

func TestAnActivationMakesARespondedEventUnlessSetOtherwise(t *testing.T) {
	if r := only(t, page(listed())); r.Category != hazard.Response {
		t.Errorf("category %s by default, want RESPONSE", r.Category)
	}
	for respond, want := range map[bool]hazard.Category{true: hazard.Response, false: hazard.Event} {
		batch, err := config{RespondOnActivation: respond}.Parse(page(listed()), now)
		if err != nil || batch.Reports[0].Category != want {
			t.Errorf("RespondOnActivation %v: %v, %v", respond, batch.Reports, err)
		}
	}
}

func TestAClosedActivationIsOverAndAnOpenOneLasts(t *testing.T) {
	r := only(t, page(listed()))
	if state := hazard.Derive([]hazard.Report{r}, now); r.Ended != "" || state.End.String() != "2026-07-20T11:41:14.133Z" {
		t.Errorf("open: %q, to %v", r.Ended, state.End)
	}
	r = only(t, page(listed(`"closed":false`, `"closed":true`)))
	if state := hazard.Derive([]hazard.Report{r}, now); r.Ended != hazard.EndAllClear || state.EndedAt.String() != "2026-07-06T11:41:14.133Z" || r.Detail != "" {
		t.Errorf("closed: %q, at %v, detail %q", r.Ended, state.EndedAt, r.Detail)
	}
	// A detail contains no time of its creation, so a closed one ends with its last product.
	r = only(t, page(detail(`"closed":false`, `"closed":true`)))
	if state := hazard.Derive([]hazard.Report{r}, now); state.EndedAt.String() != "2026-07-04T19:09:30.905Z" {
		t.Errorf("closed detail: at %v", state.EndedAt)
	}
}

func TestTheFormsOfOneActivationHaveAnOrder(t *testing.T) {
	less, more, full := only(t, page(unified())), only(t, page(listed())), only(t, page(detail()))
	if less.Version >= more.Version || more.Version >= full.Version {
		t.Errorf("versions %d, %d, %d", less.Version, more.Version, full.Version)
	}
	if less.Name != more.Name || more.Name != full.Name || less.Start.String() != "2026-07-03T16:38:00.000Z" || more.Start != full.Start {
		t.Errorf("%q %v, %q %v, %q %v", less.Name, less.Start, more.Name, more.Start, full.Name, full.Start)
	}
	want := "https://rapidmapping.emergency.copernicus.eu/backend/dashboard-api/public-activations/?code=EMSR888"
	if less.Detail != want || more.Detail != want || full.Detail != "" || less.Products != nil || len(full.Products) != 5 {
		t.Errorf("details %q, %q, %q; products %v", less.Detail, more.Detail, full.Detail, full.Products)
	}
	if alone := only(t, []byte(detail())); !cmp.Equal(alone, full) {
		t.Errorf("alone: %+v", alone)
	}
}

func TestWhatIsNoHazardIsIgnored(t *testing.T) {
	for name, a := range map[string]string{
		"a public event":     listed(`"Wildfire"`, `"Other"`),
		"a need":             listed(`"Wildfire"`, `"Humanitarian"`),
		"recovery mapping":   unified("EMSR888", "EMSN123"),
		"another phase":      unified(`"response"`, `"preparedness"`),
		"not for the public": detail(`"sensitive":false`, `"sensitive":true`),
		"and as a string":    detail(`"sensitive":false`, `"sensitive":"True"`),
	} {
		if batch := parsed(t, page(a), now); batch.Read != 1 || batch.Ignored != 1 || len(batch.Reports)+len(batch.Rejects) != 0 {
			t.Errorf("%s: %+v", name, batch)
		}
	}
}

func TestABadRecordIsOneRejectAndItsNeighboursStay(t *testing.T) {
	for name, tt := range map[string]struct{ bad, record, reason string }{
		"a number":            {"7", "results/1", "7, expected an object"},
		"nothing in it":       {"{}", "results/1", "code: missing, expected EMSR and a number"},
		"another code":        {listed("EMSR888", "EMSX1"), "EMSX1", `code: "EMSX1", expected EMSR and a number`},
		"neither time":        {listed(`"2026-07-03T16:38:00"`, "null", "2026-07-03T07:16:00", "3/7/2026"), "EMSR888", `activationTime: missing, expected a time such as 2026-07-03T16:38:00`},
		"perhaps not for all": {detail(`"sensitive":false`, `"sensitive":["no"]`), "EMSR888", `sensitive: ["no"], expected true or false`},
	} {
		t.Run(name, func(t *testing.T) {
			batch := parsed(t, page(listed(), tt.bad, listed("EMSR888", "EMSR889")), now)
			if len(batch.Reports) != 2 || batch.Read != 3 || len(batch.Rejects) != 1 {
				t.Fatalf("%+v", batch)
			}
			if r := batch.Rejects[0]; r.Record != tt.record || r.Reason != tt.reason || len(r.Raw) == 0 {
				t.Errorf("%s: %s; want %s: %s", r.Record, r.Reason, tt.record, tt.reason)
			}
		})
	}
}

// An activation is shown even if other members are unreadable.
func TestADoubtfulFieldIsANote(t *testing.T) {
	for name, tt := range map[string]struct {
		bad, note string
		typ       hazard.Type
	}{
		"an unknown category": {listed(`"Wildfire"`, `"Meteorite"`), `category: "Meteorite", expected a category`, hazard.Occurrence},
		"no category":         {listed(`"Wildfire"`, `null`), `category: missing, expected a category`, hazard.Occurrence},
		"a wrong event time":  {listed("2026-07-03T07:16:00", "3/7/2026"), `eventTime: "3/7/2026", expected a time`, hazard.Wildfire},
		"no activation time":  {listed(`"2026-07-03T16:38:00"`, "null"), `activationTime: missing, expected a time`, hazard.Wildfire},
		"no update":           {listed(`"2026-07-06T11:41:14.133381"`, "null"), `lastUpdate: missing, expected a time`, hazard.Wildfire},
		"a wrong state":       {listed(`"closed":false`, `"closed":"perhaps"`), `closed: "perhaps", expected true or false`, hazard.Wildfire},
	} {
		r := only(t, page(tt.bad))
		if r.Suspect != "" || r.Ended != "" || r.Type != tt.typ || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], tt.note) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestWhatIsNotToBeBelievedIsHeld(t *testing.T) {
	for name, tt := range map[string]struct{ activation, want string }{
		"no place":                 {listed(`"POINT (3.0268 41.8500)"`, "null"), "centroid: missing, expected a place such as POINT (3.03 41.85)"},
		"latitude first":           {listed("POINT (3.0268 41.8500)", "POINT (41.85 103.0268)"), `centroid: "POINT (41.85 103.0268)", expected a place such as POINT (3.03 41.85)`},
		"nowhere":                  {listed("POINT (3.0268 41.8500)", "POINT (0 0)"), ""},
		"no name":                  {listed("Wildfires in Les Gavarres, Spain", ""), "name: missing, expected what has happened where"},
		"an exercise":              {listed("Wildfires in", "Exercise: wildfire in"), `name: "Exercise: wildfire in Les Gavarres, Spain" says EXERCISE`},
		"an event far ahead":       {listed("2026-07-03T07:16:00", "2026-09-03T07:16:00"), "eventTime: 2026-09-03T07:16:00.000Z is more than 30 days ahead"},
		"an event of long ago":     {listed("2026-07-03T07:16:00", "2006-07-03T07:16:00"), "eventTime: 2006-07-03T07:16:00.000Z is more than 366 days before the activation"},
		"an update in the future":  {listed("2026-07-06T11:41:14", "2027-07-06T11:41:14"), "lastUpdate: 2027-07-06T11:41:14.133Z is in the future"},
		"an activation to come":    {listed("2026-07-03T16:38:00", "2026-07-08T16:38:00"), "activationTime: 2026-07-08T16:38:00.000Z is in the future"},
		"a forecast event is none": {listed("2026-07-03T07:16:00", "2026-07-08T07:16:00"), ""},
		"a detail has its areas":   {detail(`"POINT (3.0268 41.8500)"`, "null"), ""},
	} {
		if r := only(t, page(tt.activation)); r.Suspect != tt.want {
			t.Errorf("%s: held %q, want %q", name, r.Suspect, tt.want)
		}
	}
}

func TestTimesAreUTC(t *testing.T) {
	for text, want := range map[string]string{
		"2026-07-03T16:38:00": "2026-07-03T16:38:00.000Z", "2026-07-06T11:41:14.133381": "2026-07-06T11:41:14.133Z", "2026-07-03T16:38": "2026-07-03T16:38:00.000Z",
		"2026-07-03T16:38:00Z": "2026-07-03T16:38:00.000Z", "2026-07-03T18:38:00+02:00": "2026-07-03T16:38:00.000Z", " 2026-07-03T16:38:00 ": "2026-07-03T16:38:00.000Z",
		"": "", "2026-13-03T16:38:00": "", "3/7/2026": "", "0000-07-03T16:38:00": "",
	} {
		if at, ok := date(text); ok && at.String() != want || ok != (want != "") {
			t.Errorf("date(%q) = %v, %v, want %s", text, at, ok, want)
		}
	}
}

func TestStorms(t *testing.T) {
	storm := func(name, gdacs, sub string) string {
		return detail(`"Wildfire"`, `"Storm"`, "Wildfires in Les Gavarres, Spain", name, `"gdacsId":null`, `"gdacsId":"`+gdacs+`"`, "Forest fire", sub)
	}
	for _, tt := range []struct {
		activation, name, called string
		typ                      hazard.Type
	}{
		{storm("Storm Boris in Austria", "", "Extra-tropical storm"), "Storm Boris - Austria", "Boris", hazard.Storm},
		{storm("Storm Boris in Austria", "", "Wind storm"), "Storm Boris - Austria", "Boris", hazard.Storm},
		{storm("Storm surge in Austria", "", ""), "Storm - Austria", "", hazard.Storm},
		{storm("Storm in Austria", "", ""), "Storm - Austria", "", hazard.Storm},
		{storm("Storm in Austria", "TC1001230", ""), "Tropical Cyclone - Austria", "", hazard.Cyclone},
		{storm("Hurricane Beryl in Grenada", "", ""), "Tropical Cyclone Beryl - Grenada", "Beryl", hazard.Cyclone},
		{storm("Super Typhoon Yagi in Viet Nam", "", ""), "Tropical Cyclone Yagi - Viet Nam", "Yagi", hazard.Cyclone},
		{storm("Wind gusts", "", ""), "Storm - Spain", "", hazard.Storm},
	} {
		if r := only(t, page(tt.activation)); r.Name != tt.name || r.Called != tt.called || r.Type != tt.typ {
			t.Errorf("%q, called %q, %s; want %q, called %q, %s", r.Name, r.Called, r.Type, tt.name, tt.called, tt.typ)
		}
	}
}

func TestNamesOfOthersAreCheckedAndAddressesToo(t *testing.T) {
	r := only(t, page(detail(`"gdacsId":null`, `"gdacsId":"fl1104124"`, `"charterNumber":null,"charterUrl":null`, `"charterNumber":996,"charterUrl":"javascript:alert(1)"`)))
	if want := []string{"cems:EMSR888", "gdacs:FL1104124", "charter:996"}; !slices.Equal(r.Refs, want) {
		t.Errorf("refs %v, want %v", r.Refs, want)
	}
	r = only(t, page(detail(`"gdacsId":null`, `"gdacsId":"unknown"`, `"charterNumber":null`, `"charterNumber":"none"`, "https://storymaps", "ftp://storymaps")))
	if want := []string{"cems:EMSR888"}; !slices.Equal(r.Refs, want) {
		t.Errorf("refs %v, want %v", r.Refs, want)
	}
	for _, p := range r.Products {
		if p.Key == "report" || p.Key == "charter" || p.Type == hazard.URLProduct && !strings.HasPrefix(p.Data, "https://") {
			t.Errorf("product %+v", p)
		}
	}
}

func TestAreasOfInterestAreTheAreaAndTheirBoxOnlyWithoutThem(t *testing.T) {
	const aoi = "POLYGON ((3.1 41.1, 3.1 41.2, 3.2 41.2, 3.1 41.1))"
	for name, tt := range map[string]struct {
		extent string
		want   hazard.AreaRole
	}{
		"as said":        {aoi, hazard.ImpactArea},
		"cannot be read": {"POLYGON ((3.1 41.1, 3.1", hazard.AlertArea},
		"none":           {"", hazard.AlertArea},
		"without extent": {"POINT (3.1 41.1)", hazard.AlertArea},
	} {
		if r := only(t, page(detail(aoi, tt.extent))); len(r.Areas) != 1 || r.Areas[0].Role != tt.want {
			t.Errorf("%s: %v", name, r.Areas)
		}
	}
}

func TestAPayloadThatIsNoListIsRefusedWithOneSentence(t *testing.T) {
	for name, tt := range map[string]struct {
		payload, want string
		cut           bool
	}{
		"empty":           {"", "an empty payload, expected an object of activations", false},
		"HTML":            {"<html>503</html>", "HTML or XML instead of an object of activations: <html>503</html>", false},
		"an array":        {"[]", "begins with [], expected an object of activations", false},
		"an error":        {`{"detail":"Not found."}`, "an error message instead of activations: Not found.", false},
		"nothing in it":   {`{}`, "results: missing, expected an array of activations", false},
		"no array":        {`{"results":7}`, "results: 7, expected one array", false},
		"two arrays":      {`{"results":[],"results":[]}`, "results: the member is there twice", false},
		"two documents":   {`{"results":[]}{}`, "{} at byte 14, expected the end of the document", true},
		"cut":             {`{"count":1,"results":[{"code":`, "the payload ends early", true},
		"cut in a member": {`{"cou`, "the payload ends early", true},
	} {
		t.Run(name, func(t *testing.T) {
			batch, err := Parse([]byte(tt.payload), now)
			bad, ok := errors.AsType[*source.PayloadError](err)
			if !ok || bad.Cut != tt.cut || bad.Reason != tt.want && !tt.cut {
				t.Errorf("%v, want %q, cut %v", err, tt.want, tt.cut)
			}
			if len(batch.Reports)+len(batch.Rejects)+batch.Read != 0 {
				t.Errorf("batch %+v, want none", batch)
			}
		})
	}
	if batch := parsed(t, []byte("\ufeff"+`{"count":0,"next":null,"results":[]}`), now); batch.Read != 0 || batch.Whole {
		t.Errorf("an empty list: %+v", batch)
	}
}

func TestTheOrderOfRecordsDoesNotMatter(t *testing.T) {
	var all []string
	for i := range 8 {
		all = append(all, []string{listed("EMSR888", fmt.Sprint("EMSR", i+1)), unified("EMSR888", fmt.Sprint("EMSR", i+1)), detail("EMSR888", fmt.Sprint("EMSR", i+1))}[i%3])
	}
	sorted := func(batch source.Batch) []hazard.Report {
		slices.SortFunc(batch.Reports, func(a, b hazard.Report) int { return strings.Compare(a.Key, b.Key) })
		return batch.Reports
	}
	want := sorted(parsed(t, page(all...), now))
	rapid.Check(t, func(rt *rapid.T) {
		if diff := cmp.Diff(want, sorted(parsed(t, page(rapid.Permutation(all).Draw(rt, "order")...), now))); diff != "" {
			rt.Fatalf("-want +got:\n%s", diff)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(page(listed(), unified(), listed(`"Wildfire"`, `"Other"`)))
	f.Add(page(detail()))
	f.Add([]byte(detail(`"closed":false`, `"closed":true`)))
	f.Fuzz(func(t *testing.T, payload []byte) {
		batch, err := Parse(payload, now)
		if _, ok := errors.AsType[*source.PayloadError](err); err != nil && !ok {
			t.Errorf("error %v", err)
		}
		if batch.Whole || batch.Read < len(batch.Reports)+batch.Ignored {
			t.Errorf("read %d, %d reports, %d ignored", batch.Read, len(batch.Reports), batch.Ignored)
		}
		for i := range batch.Reports {
			checkReport(t, &batch.Reports[i])
			_ = hazard.Derive(batch.Reports[i:i+1], now)
		}
	})
}
