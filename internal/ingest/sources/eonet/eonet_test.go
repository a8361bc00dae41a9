package eonet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

// now is the time in the tests; their events are a few hours older.
var now = instant("2025-09-23T12:00:00Z")

func instant(s string) hazard.Instant {
	at, ok := parseTime(s)
	if !ok {
		panic(s)
	}
	return at
}

// storm returns a valid event, with some parts replaced; stormFeatures does the same in GeoJSON.
func storm(replace ...string) string {
	return replaced(`{"id":"EONET_15547","title":"Tropical Storm Narda","description":null,`+
		`"link":"https://eonet.gsfc.nasa.gov/api/v3/events/EONET_15547","closed":null,`+
		`"categories":[{"id":"severeStorms","title":"Severe Storms"}],`+
		`"sources":[{"id":"JTWC","url":"https://www.metoc.navy.mil/jtwc/products/ep1425.tcw"}],"geometry":[`+
		`{"magnitudeValue":35.00,"magnitudeUnit":"kts","date":"2025-09-22T18:00:00Z","type":"Point","coordinates":[-99.4,14.4]},`+
		`{"magnitudeValue":60.00,"magnitudeUnit":"kts","date":"2025-09-23T06:00:00Z","type":"Point","coordinates":[-105.6,15.7]}]}`, replace)
}

func stormFeatures() []string {
	feature := func(value, date, at string) string {
		return `{"type":"Feature","properties":{"id":"EONET_15547","title":"Tropical Storm Narda","description":null,` +
			`"link":"https://eonet.gsfc.nasa.gov/api/v3/events/EONET_15547/geojson","closed":null,"date":"` + date + `","magnitudeValue":` + value +
			`,"magnitudeUnit":"kts","categories":[{"id":"severeStorms","title":"Severe Storms"}],` +
			`"sources":[{"id":"JTWC","url":"https://www.metoc.navy.mil/jtwc/products/ep1425.tcw"}]},` +
			`"geometry":{"type":"Point","coordinates":` + at + `}}`
	}
	return []string{feature("35.00", "2025-09-22T18:00:00Z", "[-99.4,14.4]"), feature("60.00", "2025-09-23T06:00:00Z", "[-105.6,15.7]")}
}

// fire returns an event with one position.
func fire(replace ...string) string {
	return replaced(`{"id":"EONET_24487","title":"Wildfire Davis Coulee, Big Horn, Montana","description":"9 Miles SW from Crow Agency, MT",`+
		`"link":"x","closed":null,"categories":[{"id":"wildfires","title":"Wildfires"}],`+
		`"sources":[{"id":"IRWIN","url":"https://irwin.doi.gov/observer/incidents/2026-MTCRA-261393"}],"geometry":[`+
		`{"magnitudeValue":9999,"magnitudeUnit":"acres","date":"2025-09-22T11:43:00Z","type":"Point","coordinates":[-107.6275,45.5398]}]}`, replace)
}

func replaced(doc string, replace []string) string {
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(doc, replace[i]) {
			panic("nothing to replace: " + replace[i])
		}
		doc = strings.ReplaceAll(doc, replace[i], replace[i+1])
	}
	return doc
}

func eventList(events ...string) []byte {
	return []byte(`{"title":"EONET Events","link":"https://eonet.gsfc.nasa.gov/api/v3/events","events":[` + strings.Join(events, ",\n") + `]}`)
}

func collection(features ...string) []byte {
	return []byte(`{"type":"FeatureCollection","features":[` + strings.Join(features, ",") + `]}`)
}

// one reads a payload that must make one report.
func one(t testing.TB, payload []byte) hazard.Report {
	t.Helper()
	batch, err := Parse(payload, now)
	if err != nil || len(batch.Reports) != 1 || len(batch.Rejects) != 0 {
		t.Fatalf("error %v, batch %+v; want one report", err, batch)
	}
	checkReport(t, &batch.Reports[0])
	return batch.Reports[0]
}

func TestEveryRecordingIsRead(t *testing.T) {
	test.NoRace(t)
	type counts struct{ Read, Reports, Ignored, Rejected, Held, Cyclones, Volcanoes, Fires, Watch int }
	for name, tt := range map[string]struct {
		at, err string
		want    counts
	}{
		// 395 features are icebergs; 22 positions are one storm.
		"events-20210419.geojson":      {"2021-04-19T12:00:00Z", "", counts{Read: 471, Reports: 55, Ignored: 395, Cyclones: 1, Volcanoes: 34, Fires: 20, Watch: 1}},
		"events-2025.json":             {"2025-09-23T12:00:00Z", "", counts{Read: 3, Reports: 3, Cyclones: 3, Watch: 3}},
		"events-2025.geojson":          {"2025-09-23T12:00:00Z", "", counts{Read: 34, Reports: 3, Cyclones: 3, Watch: 3}},
		"events-20260928-excerpt.json": {"2026-09-28T09:00:00Z", "", counts{Read: 4, Reports: 2, Ignored: 2, Cyclones: 1, Fires: 1, Watch: 2}}, // a prescribed fire, an iceberg
		"categories.json":              {"2026-09-28T09:00:00Z", "a list of categories, expected events", counts{}},
	} {
		t.Run(name, func(t *testing.T) {
			batch, err := Parse(recordings.Read(t, "feeds/eonet/"+name), instant(tt.at))
			if fmt.Sprint(err) != tt.err && (err != nil || tt.err != "") || batch.Whole {
				t.Fatalf("error %v, whole %v", err, batch.Whole)
			}
			got := counts{Read: batch.Read, Reports: len(batch.Reports), Ignored: batch.Ignored, Rejected: len(batch.Rejects)}
			for i := range batch.Reports {
				r := &batch.Reports[i]
				checkReport(t, r)
				if r.Suspect != "" {
					t.Errorf("%s is held: %s", r.Key, r.Suspect)
					got.Held++
				}
				switch r.Type {
				case hazard.Cyclone:
					got.Cyclones++
				case hazard.Volcano:
					got.Volcanoes++
				case hazard.Wildfire:
					got.Fires++
				}
				if r.Severity >= hazard.Watch {
					got.Watch++
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecordedEventsHaveTheirNamesAndReferences(t *testing.T) {
	test.NoRace(t)
	type named struct {
		name, called, level string
		refs                []string
	}
	want := map[string]named{
		"EONET_24786": {"Hurricane Nolo", "Nolo", "Hurricane", []string{"eonet:EONET_24786", "atcf:EP152026"}},
		"EONET_24487": {"Wildfire - Davis Coulee, Big Horn, Montana", "Davis Coulee", "", []string{"eonet:EONET_24487", "nifc:2026-MTCRA-261393"}},
		"EONET_5300":  {"Super Typhoon Surigae", "Surigae", "Super Typhoon", []string{"eonet:EONET_5300", "atcf:WP022021", "gdacs:TC1000778"}},
		"EONET_5303":  {"Wildfire - Valparaiso, Vina del Mar and Quilpue, Chile", "", "", []string{"eonet:EONET_5303", "pdc:123392"}},
		"EONET_5294":  {"Wildfire - Pinal County (Margo Fire), Arizona, United States", "Margo", "", []string{"eonet:EONET_5294", "pdc:123206"}},
		"EONET_5295":  {"Wildfire - Margo Fire", "Margo", "", []string{"eonet:EONET_5295"}},
		"EONET_5257":  {"Volcano - San Cristóbal, Nicaragua", "San Cristóbal", "", []string{"eonet:EONET_5257", "gvp:344020"}},
		"EONET_980": {"Volcano - Fuego, Guatemala", "Fuego", "",
			[]string{"eonet:EONET_980", "cems:EMSR289", "charter:576", "gdacs:VO512", "glide:VO-2018-000066-GTM", "gvp:342090"}},
	}
	got := map[string]named{}
	for _, file := range []string{"events-20260928-excerpt.json", "events-20210419.geojson"} {
		batch, err := Parse(recordings.Read(t, "feeds/eonet/"+file), now)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range batch.Reports {
			if _, ok := want[r.Key]; ok {
				got[r.Key] = named{r.Name, r.Called, r.Level, r.Refs}
			}
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(named{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJSONAndGeoJSONComeToTheSameReport(t *testing.T) {
	renewed := instant("2025-09-23T06:00:00Z")
	start := instant("2025-09-22T18:00:00Z")
	want := hazard.Report{
		Source: "eonet", Key: "EONET_15547", Version: int64(renewed), Name: "Tropical Storm Narda",
		Description: "Last position: 15.7 N, 105.6 W at 2025-09-23 06:00 UTC, of 2 since 2025-09-22.\nWind: 60 kts.\n" +
			"Gathered by NASA EONET from Joint Typhoon Warning Center.",
		Type: hazard.Cyclone, Severity: hazard.Watch, Category: hazard.Event, Start: start, LifeMS: 24 * 3600 * 1000, Renewed: &renewed,
		Point: &hazard.Point{Lon: -105.6, Lat: 15.7},
		Areas: []hazard.Area{{Role: hazard.TrackArea, Geometry: `{"type":"LineString","coordinates":[[-99.4,14.4],[-105.6,15.7]]}`}},
		Refs:  []string{"eonet:EONET_15547", "atcf:EP142025"}, Called: "Narda", Level: "Tropical Storm",
		Measurements: []hazard.Measurement{{Name: hazard.Wind, Value: 111.12}},
		URL:          "https://eonet.gsfc.nasa.gov/api/v3/events/EONET_15547", Comment: "eonet:EONET_15547", Creator: "NASA EONET",
		Products: []hazard.ReportProduct{
			{Key: "eonet", Title: "NASA EONET", Type: hazard.FolderProduct, Time: start},
			{Key: "event", Parent: "eonet", Title: "Event record (JSON)", Type: hazard.URLProduct, Time: start, Data: "https://eonet.gsfc.nasa.gov/api/v3/events/EONET_15547"},
			{Key: "source/7260b3055a0d2bd7", Parent: "eonet", Title: "Joint Typhoon Warning Center", Type: hazard.URLProduct, Time: start,
				Data: "https://www.metoc.navy.mil/jtwc/products/ep1425.tcw"},
		},
	}
	f := stormFeatures()
	for name, payload := range map[string][]byte{
		"a list":              eventList(storm()),
		"one event":           []byte(storm()),
		"features":            collection(f...),
		"features, reordered": collection(f[1], f[0]),
		"features, repeated":  collection(f[0], f[1], f[0]),
	} {
		if diff := cmp.Diff(want, one(t, payload)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestALineOfFeaturesIsATrackWithItsDates(t *testing.T) {
	line := `{"type":"Feature","properties":{"id":"EONET_15547","title":"Tropical Storm Narda","description":null,"link":"x","closed":null,` +
		`"categories":[{"id":"severeStorms","title":"Severe Storms"}],"geometryDates":["2025-09-22 18:00:00","2025-09-23 06:00:00"]},` +
		`"geometry":{"type":"LineString","coordinates":[[-99.4,14.4],[-105.6,15.7]]}}`
	r := one(t, collection(line))
	if r.Type != hazard.Storm || r.Version != int64(instant("2025-09-23T06:00:00Z")) || len(r.Areas) != 1 {
		t.Errorf("alone: %+v", r)
	}
	with := stormFeatures()
	if diff := cmp.Diff(one(t, collection(with...)), one(t, collection(append(with, line)...))); diff != "" {
		t.Errorf("beside points it says nothing new (-without +with):\n%s", diff)
	}
	short := one(t, collection(strings.Replace(line, `,"2025-09-23 06:00:00"`, ``, 1)))
	if len(short.Notes) != 2 || !strings.Contains(short.Notes[1], "properties/geometryDates: 1 dates, expected one for each of 2 positions") {
		t.Errorf("notes %q", short.Notes)
	}
}

func TestCategories(t *testing.T) {
	for category, want := range map[string]hazard.Type{
		"drought": hazard.Drought, "dustHaze": hazard.Occurrence, "earthquakes": hazard.Earthquake, "floods": hazard.Flood,
		"landslides": hazard.Landslide, "manmade": hazard.ManMade, "seaLakeIce": "", "severeStorms": hazard.Storm, "snow": hazard.WinterStorm,
		"tempExtremes": hazard.ExtremeTemperature, "volcanoes": hazard.Volcano, "waterColor": "", "wildfires": hazard.Wildfire,
	} {
		batch, err := Parse(eventList(storm(`"severeStorms"`, `"`+category+`"`, `JTWC`, `EO`, `https://www.metoc.navy.mil/jtwc/products/ep1425.tcw`, `http://a.b/`)), now)
		if err != nil || len(batch.Rejects) != 0 || batch.Ignored+len(batch.Reports) != 1 {
			t.Fatalf("%s: error %v, %+v", category, err, batch)
		}
		if want == "" {
			if batch.Ignored != 1 {
				t.Errorf("%s makes a %s", category, batch.Reports[0].Type)
			}
			continue
		}
		checkReport(t, &batch.Reports[0])
		if got := batch.Reports[0].Type; got != want {
			t.Errorf("%s: %s, want %s", category, got, want)
		}
	}
	if len(rows) != 13 {
		t.Errorf("%d rows, EONET has 13 categories", len(rows))
	}
	for _, r := range rows {
		if r.basis == "" || r.typ != "" && (r.life == 0 || r.word == "" || r.severity == 0) {
			t.Errorf("row %+v", r)
		}
	}
}

func TestLevelsAndEnds(t *testing.T) {
	closed := `"closed":null`
	for name, tt := range map[string]struct {
		event    string
		typ      hazard.Type
		severity hazard.Severity
		hours    int64
		ended    hazard.EndReason
		version  string
	}{
		"a storm of 63 kt":                    {storm(`60.00`, `63`), hazard.Cyclone, hazard.Watch, 24, "", "2025-09-23T06:00:00Z"},
		"a storm of 64 kt":                    {storm(`60.00`, `64`), hazard.Cyclone, hazard.Warning, 24, "", "2025-09-23T06:00:00Z"},
		"a storm that has weakened":           {storm(`35.00`, `120`), hazard.Cyclone, hazard.Watch, 24, "", "2025-09-23T06:00:00Z"},
		"the last wind not known":             {storm(`35.00`, `120`, `60.00`, `null`), hazard.Cyclone, hazard.Warning, 24, "", "2025-09-23T06:00:00Z"},
		"64 of something else":                {storm(`kts`, `mph`, `60.00`, `64`), hazard.Cyclone, hazard.Advisory, 24, "", "2025-09-23T06:00:00Z"},
		"a storm that GDACS calls a cyclone":  {storm(`"JTWC"`, `"GDACS"`, `https://www.metoc.navy.mil/jtwc/products/ep1425.tcw`, `https://www.gdacs.org/Cyclones/report.aspx?eventid=1000778&amp;eventtype=TC`), hazard.Cyclone, hazard.Watch, 24, "", "2025-09-23T06:00:00Z"},
		"a storm of nobody who tracks":        {storm(`"JTWC"`, `"EO"`, `https://www.metoc.navy.mil/jtwc/products/ep1425.tcw`, `https://earthobservatory.nasa.gov/images/1`), hazard.Storm, hazard.Advisory, 24, "", "2025-09-23T06:00:00Z"},
		"a fire below 10,000 acres":           {fire(), hazard.Wildfire, hazard.Advisory, 168, "", "2025-09-22T11:43:00Z"},
		"a fire of 10,000 acres":              {fire(`9999`, `10000`), hazard.Wildfire, hazard.Watch, 168, "", "2025-09-22T11:43:00Z"},
		"closed":                              {fire(closed, `"closed":"2025-09-23T00:00:00Z"`), hazard.Wildfire, hazard.Advisory, 168, hazard.EndAllClear, "2025-09-23T00:00:00.001Z"},
		"closed as of a day before its last":  {fire(closed, `"closed":"2025-09-20T00:00:00Z"`), hazard.Wildfire, hazard.Advisory, 168, hazard.EndAllClear, "2025-09-22T11:43:00.001Z"},
		"a volcano":                           {fire(`wildfires`, `volcanoes`), hazard.Volcano, hazard.Advisory, 8 * 24, "", "2025-09-22T11:43:00Z"},
		"a flood, open for years":             {fire(`wildfires`, `floods`, `2025-09-22T11:43:00Z`, `2002-01-04T00:00:00Z`), hazard.Flood, hazard.Information, 48, "", "2002-01-04T00:00:00Z"},
		"two categories, the first that is":   {fire(`[{"id":"wildfires","title":"Wildfires"}]`, `[{"id":"news"},{"id":"drought"}]`), hazard.Drought, hazard.Information, 720, "", "2025-09-22T11:43:00Z"},
		"a date without time":                 {fire(`2025-09-22T11:43:00Z`, `2025-09-22`), hazard.Wildfire, hazard.Advisory, 168, "", "2025-09-22T00:00:00Z"},
		"longitude and latitude exchanged":    {fire(`[-107.6275,45.5398]`, `[45.5398,-107.6275]`), hazard.Wildfire, hazard.Advisory, 168, "", "2025-09-22T11:43:00Z"},
		"a longitude beyond the antimeridian": {fire(`-107.6275`, `252.3725`), hazard.Wildfire, hazard.Advisory, 168, "", "2025-09-22T11:43:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			r := one(t, eventList(tt.event))
			if r.Type != tt.typ || r.Severity != tt.severity || r.LifeMS != tt.hours*3600*1000 || r.Ended != tt.ended || r.Version != int64(instant(tt.version)) || r.Suspect != "" {
				t.Errorf("%s %v, life %d h, ended %q, version %v, suspect %q", r.Type, r.Severity, r.LifeMS/3600/1000, r.Ended, hazard.Instant(r.Version), r.Suspect)
			}
			if strings.Contains(tt.event, "EONET_24487") && *r.Point != (hazard.Point{Lon: -107.6275, Lat: 45.5398}) {
				t.Errorf("point %v", *r.Point)
			}
		})
	}
}

func TestPrescribedFiresAreNoHazard(t *testing.T) {
	for title, ignored := range map[string]int{
		"Prescribed Fire D2 Dye RX, Coconino, Arizona":     1,
		"D2 Dye RX Prescribed Fire, Coconino, Arizona":     1,
		"Rx 12 Unit, Grant, Oregon":                        1,
		"Wildfire RX310, Grant, Oregon":                    0,
		"Wildfire Rx Creek, Grant, Oregon":                 0, // the name of a creek
		"CATO 2 Wildfire, Chaves, New Mexico":              0,
		"Wildfire in Attica, Greece":                       0,
		"Wildfires - Pinal County (Margo Fire), Arizona, ": 0,
	} {
		batch, err := Parse(eventList(fire("Wildfire Davis Coulee, Big Horn, Montana", title)), now)
		if err != nil || batch.Ignored != ignored || len(batch.Rejects) != 0 {
			t.Errorf("%s: error %v, ignored %d, want %d", title, err, batch.Ignored, ignored)
		}
	}
}

func TestNames(t *testing.T) {
	for title, want := range map[string][3]string{
		"wildfires|CATO 2 Wildfire, Chaves, New Mexico":           {"Wildfire - CATO 2, Chaves, New Mexico", "CATO 2", ""},
		"wildfires|Wildfire in Attica, Greece":                    {"Wildfire - Attica, Greece", "", ""},
		"wildfires|Wildfires":                                     {"Wildfire", "", ""},
		"wildfires|Smoke Signal, Utah":                            {"Wildfire - Smoke Signal, Utah", "", ""},
		"wildfires|":                                              {"Wildfire", "", ""},
		"severeStorms|Tropical Cyclone 01S":                       {"Tropical Cyclone 01S", "", "Tropical Cyclone"},
		"severeStorms|Severe Tropical Storm Co-may":               {"Severe Tropical Storm Co-may", "Co-may", "Severe Tropical Storm"},
		"severeStorms|Subtropical Storm Don":                      {"Subtropical Storm Don", "Don", "Subtropical Storm"},
		"severeStorms|Dust storm over Iraq":                       {"Dust storm over Iraq", "", ""},
		"volcanoes|Etna":                                          {"Volcano - Etna", "", ""},
		"volcanoes|Kilauea Volcano, Hawaii":                       {"Volcano - Kilauea, Hawaii", "Kilauea", ""},
		"floods|Flooding in Kenya ,":                              {"Flooding in Kenya", "", ""},
		"floods|Heavy rain in\\u202e Kenya\\n<b>":                 {"Flood - Heavy rain in Kenya <b>", "", ""},
		"volcanoes|Piton de la Fournaise Volcano, Réunion (X)":    {"Volcano - Piton de la Fournaise, Réunion (X)", "Piton de la Fournaise", ""},
		"wildfires|Wildfire - NW of Chico, California":            {"Wildfire - NW of Chico, California", "", ""},
		"wildfires|Wildfires - Gran Canaria (Valleseco Fire), ES": {"Wildfire - Gran Canaria (Valleseco Fire), ES", "Valleseco", ""},
	} {
		category, title, _ := strings.Cut(title, "|")
		r := one(t, eventList(fire("wildfires", category, "Wildfire Davis Coulee, Big Horn, Montana", title)))
		if got := [3]string{r.Name, r.Called, r.Level}; got != want {
			t.Errorf("%s: %q, want %q", title, got, want)
		}
	}
}

func TestAddressesOfSourcesAreReferences(t *testing.T) {
	for address, want := range map[string]string{
		"http://www.gdacs.org/report.aspx?eventtype=VO&amp;eventid=512":                   "gdacs:VO512",
		"https://www.gdacs.org/report.aspx?eventid=1000778&eventtype=tc":                  "gdacs:TC1000778",
		"https://www.gdacs.org/report.aspx?eventid=x&eventtype=TC":                        "",
		"https://gdacs.org.example.com/report.aspx?eventtype=VO&eventid=512":              "",
		"https://www.metoc.navy.mil/jtwc/products/sh0123.tcw":                             "atcf:SH012023",
		"https://www.metoc.navy.mil/jtwc/jtwc.html":                                       "",
		"https://www.nhc.noaa.gov/storm_graphics/api/AL092021_040adv_CONE.kmz":            "atcf:AL092021",
		"https://www.nhc.noaa.gov/archive/2018/FLORENCE.shtml":                            "",
		"https://irwin.doi.gov/observer/incidents/2026-AZASF-000955":                      "nifc:2026-AZASF-000955",
		"https://irwin.doi.gov/observer/incidents/{a3b1c2d4-0000-4abc-8def-0123456789ab}": "irwin:A3B1C2D4-0000-4ABC-8DEF-0123456789AB",
		"http://volcano.si.edu/volcano.cfm?vn=352010":                                     "gvp:352010",
		"http://volcano.si.edu/volcano.cfm?vn=35201x":                                     "",
		"http://emops.pdc.org/emops/?hazard_id=123392":                                    "pdc:123392",
		"http://emergency.copernicus.eu/mapping/list-of-components/EMSR289":               "cems:EMSR289",
		"https://rapidmapping.emergency.copernicus.eu/EMSR871/":                           "cems:EMSR871",
		"https://disasterscharter.org/web/guest/-/volcano-in-guatemala-activation-576-":   "charter:576",
		"https://reliefweb.int/disaster/vo-2018-000066-gtm":                               "glide:VO-2018-000066-GTM",
		"https://earthquake.usgs.gov/earthquakes/eventpage/us7000PUFS/executive":          "usgs:us7000pufs",
		"https://earthobservatory.nasa.gov/images/148184/eruption":                        "",
		"javascript:alert(1)": "",
		"https://user:secret@www.gdacs.org/report.aspx?eventtype=VO&eventid=512":                    "",
		"https://www.gdacs.org/" + strings.Repeat("x", maxAddress) + "?eventtype=VO&eventid=512":    "",
		"//www.gdacs.org/report.aspx?eventtype=VO&eventid=512":                                      "",
		"https://WWW.GDACS.ORG/report.aspx?EventType=VO&EVENTID=512#top":                            "gdacs:VO512",
		"https://www.gdacs.org/report.aspx?eventtype=VO&eventid=512 ":                               "gdacs:VO512",
		"https://www.gdacs.org/report.aspx?eventtype=VO&eventid=5 12":                               "",
		"https://www.gdacs.org/report.aspx?eventtype=VO&eventid=512&name=" + strings.Repeat("é", 3): "",
	} {
		got := refs("EONET_1", []reference{{ID: "X", URL: address}, {ID: "X", URL: address}})
		if want == "" && len(got) != 1 || want != "" && !slices.Equal(got, []string{"eonet:EONET_1", want}) {
			t.Errorf("%.100s: %v, want %s", address, got, want)
		}
	}
}

func TestTracksAndAreas(t *testing.T) {
	for name, tt := range map[string]struct {
		event string
		want  []hazard.Area
	}{
		"over the antimeridian": {storm(`[-99.4,14.4]`, `[179,14]`, `[-105.6,15.7]`, `[-179,16]`),
			[]hazard.Area{{Role: hazard.TrackArea, Geometry: `{"type":"MultiLineString","coordinates":[[[179,14],[180,15]],[[-180,15],[-179,16]]]}`}}},
		"one place twice":       {storm(`[-105.6,15.7]`, `[-99.4,14.4]`), nil},
		"a fire does not move":  {strings.ReplaceAll(storm(), "severeStorms", "wildfires"), nil},
		"an area beside a path": {storm(`"type":"Point","coordinates":[-99.4,14.4]`, `"type":"Polygon","coordinates":[[[1,1],[2,1],[2,2],[1,1]]]`), []hazard.Area{{Role: hazard.ImpactArea, Geometry: `{"type":"Polygon","coordinates":[[[1,1],[2,1],[2,2],[1,1]]]}`}}},
	} {
		if diff := cmp.Diff(tt.want, one(t, eventList(tt.event)).Areas); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	r := one(t, eventList(fire(`"type":"Point","coordinates":[-107.6275,45.5398]`, `"type":"Polygon","coordinates":[[[1,1],[2,1],[2,2],[1,1]]]`)))
	if r.Point != nil || len(r.Areas) != 1 || !strings.Contains(r.Description, "Last area at") {
		t.Errorf("only an area: %+v", r)
	}
}

func TestWhatIsNotToBeBelievedIsHeld(t *testing.T) {
	for name, tt := range map[string]struct{ event, want string }{
		"a date years ahead":    {fire(`2025-09-22`, `2035-09-22`), "geometry: the date 2035-09-22T11:43:00.000Z is in the future"},
		"a date long ago":       {fire(`2025-09-22`, `0025-09-22`), "geometry: the date 0025-09-22T11:43:00.000Z is before all that EONET holds"},
		"closed years ahead":    {fire(`"closed":null`, `"closed":"2035-01-01"`), "closed: 2035-01-01T00:00:00.000Z is in the future"},
		"0, 0":                  {fire(`[-107.6275,45.5398]`, `[0,0]`), "no place: geometry/coordinates are 0, 0"},
		"a test by its title":   {fire(`Davis Coulee`, `TEST event`), "title says TEST: Wildfire TEST event, Big Horn, Montana"},
		"a day ahead is a zone": {fire(`2025-09-22T11:43:00Z`, `2025-09-24T00:00:00Z`), ""},
	} {
		if got := one(t, eventList(tt.event)).Suspect; got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestARecordWithoutIdentityOrPlaceIsRejected(t *testing.T) {
	for name, tt := range map[string]struct{ bad, record, reason string }{
		"empty":            {"{}", "events/0", "id: null or missing, expected an id such as EONET_15547"},
		"another id":       {fire(`EONET_24487`, `24487`), "events/0", "id: 24487, expected an id such as EONET_15547"},
		"no geometry":      {fire(`"geometry"`, `"g"`), "EONET_24487", "geometry: no position that can be read, expected one at least"},
		"geometry of none": {fire(`"geometry":[`, `"geometry":{"x":[`, `}]}`, `}]}}`), "EONET_24487", "geometry/0/coordinates: null or missing, expected longitude and latitude; geometry/0/type: null or missing, expected Point or Polygon; geometry: no position that can be read, expected one at least"},
	} {
		batch, err := Parse(eventList(tt.bad), now)
		if err != nil || len(batch.Reports) != 0 || len(batch.Rejects) != 1 || batch.Rejects[0].Record != tt.record || batch.Rejects[0].Reason != tt.reason {
			t.Errorf("%s: error %v, %+v", name, err, batch)
		}
	}
}

func TestADoubtfulFieldIsANote(t *testing.T) {
	for _, tt := range []struct{ event, note string }{
		{fire(`[{"id":"wildfires","title":"Wildfires"}]`, `[]`), "categories: null or missing, expected a category of EONET version 3"},
		{fire(`"wildfires"`, `"comets"`), "categories: comets, expected a category of EONET version 3"},
		{fire(`"closed":null`, `"closed":"yes"`), "closed: yes, expected a time of ISO 8601, or null"},
		{fire(`9999`, `NaN`), "magnitudeValue: NaN is not JSON, read as null"},
		{fire(`"date":"2025-09-22T11:43:00Z"`, `"date":7`), "geometry/0/date: 7, expected a time of ISO 8601"},
		{fire(`"type":"Point"`, `"type":"Circle"`), "geometry/0/type: Circle, expected Point or Polygon"},
	} {
		if r := one(t, eventList(tt.event)); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], tt.note) || r.Suspect != "" || r.Ended != "" {
			t.Errorf("notes %q, suspect %q; want the note %q", r.Notes, r.Suspect, tt.note)
		}
	}
}

func TestABadPositionDoesNotCostTheOthers(t *testing.T) {
	for name, tt := range map[string]struct{ from, to, note string }{
		"no date":      {`"date":"2025-09-23T06:00:00Z"`, `"date":null`, "geometry/1/date: null or missing, expected a time of ISO 8601"},
		"no place":     {`[-105.6,15.7]`, `[null,15.7]`, "geometry/1/coordinates: [null,15.7], expected a longitude from -180 to 180 and a latitude from -90 to 90"},
		"not on Earth": {`[-105.6,15.7]`, `[-105.6,115.7]`, "geometry/1/coordinates: [-105.6,115.7], expected a longitude from -180 to 180 and a latitude from -90 to 90"},
		"one number":   {`[-105.6,15.7]`, `[-105.6]`, "geometry/1/coordinates: [-105.6], expected longitude and latitude"},
		"nothing":      {`[-105.6,15.7]`, `null`, "geometry/1/coordinates: null, expected longitude and latitude"},
		"a bad ring":   {`"type":"Point","coordinates":[-105.6,15.7]`, `"type":"Polygon","coordinates":[-105.6,15.7]`, "geometry/1/coordinates"},
	} {
		r := one(t, eventList(storm(tt.from, tt.to)))
		if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], tt.note) {
			t.Errorf("%s: notes %q, want %q", name, r.Notes, tt.note)
		}
		if *r.Point != (hazard.Point{Lon: -99.4, Lat: 14.4}) {
			t.Errorf("%s: point %v, want the position before", name, *r.Point)
		}
	}
}

func TestAPayloadThatIsNoListIsRefusedWithOneSentence(t *testing.T) {
	const old = "EONET version 2.1 (geometries), expected version 3 (geometry)"
	old21 := strings.ReplaceAll(fire(`"wildfires"`, `8`), `"geometry"`, `"geometries"`)
	for name, tt := range map[string]struct {
		payload, want string
		cut           bool
	}{
		"nothing in it":       {"{}", "events: missing, expected an array", false},
		"events null":         {`{"events":null}`, "events: null, expected an array", false},
		"two lists":           {`{"type":"FeatureCollection","events":[],"features":[]}`, "features beside events, expected one of them", false},
		"another topology":    {`{"features":[],"type":"Topology"}`, "events: missing, expected an array", false},
		"a complaint":         {`{"error":"Rate limit"}`, "an error message instead of events: Rate limit", false},
		"version 2.1":         {string(eventList(old21)), old, false},
		"version 2.1, one":    {old21, old, false},
		"version 2.1, cut":    {string(eventList(old21, old21))[:700], old, false},
		"two documents":       {string(eventList()) + "{}", "{} at byte 87, expected the end of the document", true},
		"cut in an event":     {`{"events":[{"id":"EO`, "the payload ends early, after 20 bytes, in element 0 of an array", true},
		"cut between events":  {`{"events":[` + fire() + `,`, "", true},
		"cut in the features": {`{"features":[` + stormFeatures()[0] + `,{`, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			batch, err := Parse([]byte(tt.payload), now)
			bad, ok := errors.AsType[*source.PayloadError](err)
			if !ok || bad.Reason != tt.want && tt.want != "" || bad.Cut != tt.cut {
				t.Errorf("error %v, want %q, cut %v", err, tt.want, tt.cut)
			}
			if tt.want == "" && len(batch.Reports) != 1 || tt.want == old && batch.Read != 0 {
				t.Errorf("batch %+v", batch)
			}
		})
	}
	if batch, err := Parse(eventList(), now); err != nil || batch.Read != 0 || batch.Whole {
		t.Errorf("an empty list: error %v, %+v", err, batch)
	}
}

func TestFeedsAreOfTheSourcesOwnHost(t *testing.T) {
	for _, f := range Source().Feeds {
		if !strings.HasPrefix(f.URL, "https://eonet.gsfc.nasa.gov/api/v3/") || f.Every <= 0 || f.MaxBytes <= 0 {
			t.Errorf("%+v", f)
		}
	}
}

var laws = sourcetest.Source{
	Parse: Parse, File: "eonet/events-2025.json", At: "2025-09-23T06:00:00Z", List: "events",
	Needed: []string{"id", "geometry/*/coordinates"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func TestLawsOfGeoJSON(t *testing.T) {
	sourcetest.Laws(t, sourcetest.Source{
		Parse: Parse, File: "eonet/events-20210419.geojson", At: "2021-04-19T23:59:00Z", List: "features",
		Needed: []string{"properties/id", "geometry/coordinates"},
	})
}

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, laws, string(eventList(storm(), "7", fire(`9999`, `NaN`))), string(eventList(storm())[:400]), fire(`"closed":null`, `"closed":"2025-09-23"`),
		string(collection(stormFeatures()...)), string(eventList(fire(`"type":"Point","coordinates":[-107.6275,45.5398]`, `"type":"Polygon","coordinates":[[[1,1],[2,1],[2,2],[1,1]]]`))))
}

// checkReport checks conditions that hold for every report.
func checkReport(t testing.TB, r *hazard.Report) {
	t.Helper()
	check := func(ok bool, format string, args ...any) {
		if !ok {
			t.Errorf(r.Key+": "+format, args...)
		}
	}
	_, known := r.Type.Info()
	check(r.Source == Name && r.Part == "" && known && r.Category == hazard.Event && r.End == nil, "source, part, type, category or end")
	check(eventID(r.Key) == r.Key && r.Key != "", "key %q", r.Key)
	check(r.Refs[0] == "eonet:"+r.Key && len(r.Refs) <= maxRefs, "refs %v", r.Refs)
	check(r.Severity >= hazard.Information && (r.Severity <= hazard.Watch || r.Severity == hazard.Warning && r.Type == hazard.Cyclone), "severity %v", r.Severity)
	check(r.LifeMS > 0, "life %d", r.LifeMS)
	check(r.Point != nil || len(r.Areas)+len(r.Places) > 0, "no place")
	check(r.Point == nil || r.Point.Lon >= -180 && r.Point.Lon <= 180 && r.Point.Lat >= -90 && r.Point.Lat <= 90, "point %v", r.Point)
	for _, a := range r.Areas {
		_, err := geo.ParseLoose([]byte(a.Geometry))
		check(err == nil && (a.Role == hazard.TrackArea || a.Role == hazard.ImpactArea), "area %v: %v", a, err)
	}
	check(r.Name != "" && r.Name == hazard.CleanLine(r.Name), "name %q", r.Name)
	check(r.Called == hazard.CleanLine(r.Called) && r.Level == hazard.CleanLine(r.Level), "called %q, level %q", r.Called, r.Level)
	check(r.Description == hazard.Clean(r.Description) && r.Description != "", "description %q", r.Description)
	check(r.Comment == "eonet:"+r.Key && r.URL == api+"/"+r.Key, "comment %q, url %q", r.Comment, r.URL)
	keys := map[string]bool{}
	for i, p := range r.Products {
		check((i == 0) == (p.Type == hazard.FolderProduct) && p.Title != "" && p.Title == hazard.CleanLine(p.Title) && !keys[p.Key], "product %+v", p)
		check(i == 0 || p.Parent == Name && address(p.Data) != nil, "product %+v", p)
		keys[p.Key] = true
	}
}
