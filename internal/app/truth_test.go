package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// fact is what is true of an event at a moment, according to the raw payloads; a zero time, an empty
// text, a point at 0, 0 or no area is not compared. The end is the one that the source says, or
// else until when docs/sources.md says that the event counts.
type fact struct {
	start, end time.Time
	typ, level string
	place      string     // the country or region, if nothing smaller is known
	point      [2]float64 // longitude, latitude
	area       geo.Shape
}

// snapshot is a recorded list, or a message, and when it was read. Without a payload, time passes.
type snapshot struct {
	payload []byte
	at      time.Time
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
		all = append(all, snapshot{recordings.Read(t, filepath.Join(folder, name)), at})
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

// passing adds moments at which nothing comes, as often as every, until a time after the last snapshot.
func passing(all []snapshot, every, until time.Duration) []snapshot {
	last := all[len(all)-1].at
	for after := every; after <= until; after += every {
		all = append(all, snapshot{at: last.Add(after)})
	}
	return all
}

// truth returns which events are in force after a payload, which is nil if only time has passed: by the
// names that the service gives them, or with "cap:" before the sender and the identifier of a CAP
// message. It reads the payload itself.
type truth func(t *testing.T, payload []byte, at time.Time) map[string]fact

// compared is a source that is compared with its payloads.
type compared struct {
	name   string
	source string // if it has another name
	url    string // of an operator's CAP feed; empty for a built-in source
	feed   string // the address of its lists, if it has several
	lists  []snapshot
	// listed is set if only the second list in a row that lacks an event ends it.
	listed bool
	// stated is set if its starts are when things began, which it corrects: the last one counts.
	stated bool
	truth  truth
}

// TestActiveIsWhatTheSourceSays replays recorded lists of sources, and compares what is active after
// each with what the lists say, which is read here without the adapters. It prints a table.
func TestActiveIsWhatTheSourceSays(t *testing.T) {
	test.Slow(t)
	nws := series(t, "feeds/nws", "active-")
	for i := range nws { // as the national list, which says when it was made
		nws[i].payload = national(nws[i].payload, nws[i].at)
	}
	const mowas = "https://warnung.bund.de/api31/mowas/mapData.json"
	const meteoalarm = "https://feeds.meteoalarm.org/api/v1/warnings/feeds-"
	t.Logf("%-12s %5s %6s %9s %9s %9s %9s %9s %9s %9s %9s", "source", "lists", "events", "precision", "recall", "start", "end", "level", "point", "area", "inside")
	rows := map[string]bool{}
	for _, tt := range []compared{
		{name: "nhc", lists: snapshots(t, "feeds/nhc", "20260822T1000Z CurrentStorms-20260822.json", "20260927T1600Z CurrentStorms-20260927.json"), truth: stormsOfTheNHC},
		{name: "calfire", lists: snapshots(t, "feeds/calfire", "20240616T2300Z map-20240616.json", "20240617T2300Z map-20240617.json",
			"20240618T1200Z map-20240618a.json", "20240618T2300Z map-20240618b.json"), truth: firesOfCalifornia()},
		{name: "nswrfs", lists: series(t, "feeds/nsw-rfs", "majorIncidents-"), listed: true, truth: firesOfNSW},
		{name: "nws", lists: nws, listed: true, stated: true, truth: startsOfTheNWS(eventsOfTheNWS)},
		{name: "usgs", lists: quakeLists(t), stated: true, truth: quakesOfTheUSGS()},
		{name: "gdacs", lists: disasterLists(t), stated: true, truth: disastersOfGDACS()},
		{name: "nifc", lists: passing(snapshots(t, "feeds/nifc", "20211120T0000Z locations.json", "20260513T1200Z derived-wfigs-perimeters-20260513.geojson",
			"20260727T1200Z incidents-20260727.geojson", "20260727T1203Z perimeters-20260727.geojson"), day, 12*day), stated: true, truth: firesOfTheNIFC()},
		{name: "bmkg", lists: passing(snapshots(t, "cases/bmkg_tsunami", "20260210T0600Z 000.json", "20260210T0730Z 001.json"), 6*time.Hour, 4*day), truth: quakesOfBMKG()},
		{name: "croatia", source: "test", url: meteoalarm + "croatia", truth: warnings(""),
			lists: passing(snapshots(t, "feeds/meteoalarm", "20240107T1200Z api-croatia-202401.json"), 3*time.Hour, 4*day)},
		{name: "bosnia", source: "test", url: meteoalarm + "bosnia-herzegovina", truth: warnings("later of the same"),
			lists: passing(snapshots(t, "feeds/meteoalarm", "20240107T0800Z api-bosnia-herzegovina-202401.json"), 3*time.Hour, 4*day)},
		{name: "germany", source: "test", url: meteoalarm + "germany", truth: warnings(""),
			lists: passing(snapshots(t, "feeds/meteoalarm", "20260420T1300Z api-germany-20260420.json", "20260420T2317Z api-germany-20260420.json"), time.Hour, 12*time.Hour)},
		{name: "canada", source: "test", url: "https://rss.naad-adna.pelmorex.com", lists: messagesOf(t, "feeds/cap/canada-2026", "*.cap"), truth: warnings("")},
		{name: "saudi arabia", source: "test", url: "https://www.ncm.gov.sa/cap/en/alerts/", truth: warnings(""),
			lists: passing(snapshots(t, "feeds/cap", "20260927T1900Z ncm-sa-20260927.cap"), 3*time.Hour, 2*day)},
		{name: "tasmania", source: "test", url: "https://alert.tas.gov.au/data/cap-au.xml", truth: warnings("no end"),
			lists: passing(snapshots(t, "feeds/cap", "20260920T1646Z edxl-tasmania-20260921.xml"), 3*time.Hour, 9*time.Hour)},
		{name: "emsc", lists: growing(t, "feeds/emsc/fdsn-turkey-202504.json", "lastupdate", 446), stated: true, truth: quakes("unid", "mag", "", "depth")},
		{name: "geonet", lists: growing(t, "feeds/geonet/quake-mmi4.json", "time", 12), stated: true, truth: quakes("publicID", "magnitude", "mmi", "depth")},
		{name: "ign", lists: snapshots(t, "feeds/georss", "20190318T2000Z ign-sismologia.xml"), stated: true, truth: quakesOfIGN},
		{name: "eafloods", lists: snapshots(t, "feeds/ea-floods", "20160328T0915Z floods-20160328.json"), truth: floodsOfEngland},
		{name: "avalancheorg", lists: passing(snapshots(t, "feeds/avalanche-org", "20251228T1800Z map-layer-20251228.geojson"), 3*time.Hour, 2*day), truth: avalanchesOfTheUS()},
		{name: "hans", lists: snapshots(t, "feeds/hans", "20260727T2000Z getElevatedVolcanoes-20260727.json"), truth: volcanoesOfTheUS},
		{name: "copernicus", lists: passing(snapshots(t, "feeds/copernicus-ems", "20260917T0000Z activations-202609-excerpt.json"), day, 16*day), truth: activationsOfCopernicus()},
		{name: "avalanchecanada", lists: forecastsOfCanada(t), truth: avalanchesOfCanada()},
		{name: "bbk", feed: mowas, lists: append(append(snapshots(t, "cases/bbk_listed_3_days", "20260901T1300Z 000.json", "20260901T1301Z 001.json", "20260901T1400Z 002.json", "20260901T2200Z 004.json",
			"20260902T1400Z 005.json", "20260902T2200Z 007.json", "20260903T1400Z 008.json", "20260903T2200Z 010.json", "20260904T1400Z 011.json", "20260904T2200Z 013.json"),
			snapshot{[]byte("[]"), time.Date(2026, 9, 5, 6, 0, 0, 0, time.UTC)}, snapshot{[]byte("[]"), time.Date(2026, 9, 5, 6, 10, 0, 0, time.UTC)}),
			snapshots(t, "feeds/bbk", "20260920T1552Z mowas-cancel-20260920.json")...), listed: true, truth: warningsOfGermany(t)},
		{name: "euregio", source: "eaws", feed: "https://static.avalanche.report/bulletins/latest/EUREGIO_en_CAAMLv6.json", stated: true, truth: bulletinsOfEurope(),
			lists: between(slices.Concat(snapshots(t, "feeds/eaws-caaml", "20181226T1610Z euregio-20181227-ampm.json", "20190115T1610Z euregio-20190116.json", "20190116T1610Z euregio-20190117.json"),
				snapshots(t, "feeds/eaws-caaml-other", "20221219T1610Z euregio-20221220.json", "20230313T1610Z euregio-20230314.json"),
				snapshots(t, "feeds/eaws-caaml", "20231126T1850Z euregio-20231127.json", "20231201T0710Z euregio-20231201-unscheduled.json", "20260412T1510Z euregio-20260413.json")), 3*time.Hour, 2*day)},
		{name: "slf", source: "eaws", feed: "https://aws.slf.ch/api/bulletin/caaml/en/json", stated: true, truth: bulletinsOfEurope(),
			lists: between(append(snapshots(t, "feeds/eaws-caaml", "20231126T1610Z slf-20231127.json"), snapshots(t, "feeds/eaws-caaml-other", "20231218T1610Z slf-20231219.json")...), 3*time.Hour, 2*day)},
		{name: "eonet", lists: between(snapshots(t, "feeds/eonet", "20210419T1200Z events-20210419.geojson", "20250923T1200Z events-2025.json", "20250923T1230Z events-2025.geojson",
			"20260928T1200Z events-20260928-excerpt.json"), 6*time.Hour, 10*day), truth: eventsOfEONET()},
		{name: "gvp", lists: passing(snapshots(t, "feeds/gvp", "20260917T1200Z WeeklyVolcanoRSS-20260917-excerpt.xml"), 6*time.Hour, 10*day), truth: volcanoesOfTheWorld()},
		{name: "jma", lists: between(snapshots(t, "feeds/jma-river-flood", "20190509T1145Z 16_01_01_220728_VXKOii.xml", "20190527T0005Z 16_02_01_220728_VXKOii.xml",
			"20190527T0010Z 16_06_01_220728_VXKOii.xml", "20210813T0615Z 16_02_02_220728_VXKOii.xml"), 3*time.Hour, 3*day), truth: riversOfJapan()},
		{name: "jtwc", lists: warningsOfTheJTWC(t), truth: stormsOfTheJTWC()},
		{name: "nga", lists: messagesOfTheNGA(t), listed: true, truth: dangersToShips},
		{name: "tsunami", lists: messagesOfThePAAQ(t), stated: true, truth: tsunamisByPAAQ()},
		{name: "vaac", lists: passing(snapshots(t, "feeds/vaac", "20180222T0850Z KNES-220841-201802.txt", "20180223T0220Z KNES-230214-201802.txt", "20180223T0810Z KNES-230800-201802.txt"), time.Hour, day), truth: ashOfVolcanoes()},
		{name: "vigicrues", lists: bulletinOfVigicrues(t), listed: true, truth: floodsOfFrance},
		{name: "whodon", lists: newsOfTheWHO(t), truth: outbreaks()},
		{name: "reliefweb", lists: passing(snapshots(t, "feeds/reliefweb", "20260627T1200Z rss-disasters-20260627.xml"), day, 65*day), truth: disastersOfReliefWeb()},
		{name: "cisa", lists: between(catalogsOfCISA(t), day, 16*day), truth: vulnerabilities()},
	} {
		t.Run(tt.name, tt.run)
		rows[cmp.Or(tt.source, tt.name)] = true
	}
	for _, name := range BuiltIn().Own() {
		why := notCompared[name]
		if why != "" {
			t.Logf("%-12s not compared: %s", name, why)
		}
		if (why != "") == rows[name] {
			t.Errorf("%s has a row: %v, and is not compared because: %q", name, rows[name], why)
		}
	}
}

// notCompared says why a built-in source has no row in the table.
var notCompared = map[string]string{
	"koeri": "off unless named, and its list has no names of events, so that a truth would have to guess them as the adapter does",
}

// tally counts what was compared.
type tally struct{ right, extra, missing int }

// measure counts one comparison.
func (c *tally) measure(right bool) {
	if right {
		c.right++
	} else {
		c.missing++
	}
}

// part is how much of what was compared is right.
func part(right, wrong int) string {
	if right+wrong == 0 {
		return "-"
	}
	return fmt.Sprintf("%.4f", float64(right)/float64(right+wrong))
}

const day = 24 * time.Hour

func (c *compared) run(t *testing.T) {
	known := BuiltIn()
	if c.url != "" {
		var err error
		if known, err = NewSources(SourceSettings{CAP: []CAPSource{{Config: cap.Config{Name: c.source, URL: c.url}}}}); err != nil {
			t.Fatal(err)
		}
	}
	c.source = cmp.Or(c.source, c.name)
	s := emptyStore(t)
	defer s.Close()
	src, err := known.Find(c.source)
	if err != nil {
		t.Fatal(err)
	}
	replay := poll.NewReplay(s, known.Intake(s), hazard.MinInstant, slog.New(slog.DiscardHandler))
	r := &comparison{t: t, compared: c, store: s, first: map[string]time.Time{}}
	for _, list := range c.lists {
		if list.payload == nil {
			err = replay.Until(t.Context(), hazard.At(list.at))
		} else {
			_, err = replay.Take(t.Context(), &src, cmp.Or(c.url, c.feed), list.payload, nil, hazard.At(list.at))
		}
		if err != nil {
			t.Fatal(err)
		}
		r.compare(c.truth(t, list.payload, list.at), list.at)
	}
	row := fmt.Sprintf("%-12s %5d %6d %9s %9s", c.name, len(c.lists), len(r.first), part(r.active.right, r.active.extra), part(r.active.right, r.active.missing))
	for _, column := range []tally{r.start, r.end, r.level, r.point, r.area, r.inside} {
		row += fmt.Sprintf(" %9s", part(column.right, column.missing))
		if column.missing > 0 {
			t.Errorf("%s: a start, an end, a level, a place or an area is not that of the lists", c.name)
		}
	}
	t.Log(row)
}

// comparison is the state of one source's comparison.
type comparison struct {
	*compared
	t                                              *testing.T
	store                                          *store.Store
	first                                          map[string]time.Time // events → their start
	before                                         map[int64]bool       // hazards of what the list before held
	active, start, end, level, point, area, inside tally
}

// compare compares what is active with what is true.
func (c *comparison) compare(want map[string]fact, at time.Time) {
	active, err := c.store.Reports.ActiveEvents(c.t.Context(), c.source)
	if err != nil {
		c.t.Fatal(err)
	}
	is, reached := map[string]int64{}, map[int64]int{}
	for _, e := range active {
		name, _, _ := strings.Cut(e.Event, "@") // of a name that was used again, the last event
		is[name] = e.HazardID
	}
	found := map[string]int64{}
	for key, w := range want {
		if _, ok := c.first[key]; !ok || c.stated {
			c.first[key] = w.start
		}
		id, ok := is[key]
		if !ok {
			name := c.source + ":" + key
			if strings.HasPrefix(key, "cap:") {
				name = key
			}
			if found, err := c.store.Hazards.Called(c.t.Context(), name); err == nil && len(found) == 1 && found[0].ActiveAt(hazard.At(at)) {
				id, ok = found[0].ID, true
			}
		}
		if c.active.measure(ok); !ok {
			c.t.Errorf("%s, %s: %s is in force and not active", c.name, at, key)
			continue
		}
		found[key] = id
		reached[id]++
	}
	for key, id := range found {
		c.details(key, want[key], id, reached[id] == 1, at)
	}
	for key, id := range is {
		_, now := want[key]
		if !now && !(c.listed && c.before[id]) && reached[id] == 0 && !strings.HasPrefix(key, "urn:") {
			c.active.extra++
			c.t.Errorf("%s, %s: %s is active, and not in force", c.name, at, key)
		}
	}
	c.before = map[int64]bool{}
	for _, id := range found {
		c.before[id] = true
	}
}

// details compares a hazard with what is true of its event. Only its start is compared if it is
// not alone: the rest is that of several messages.
func (c *comparison) details(key string, w fact, id int64, alone bool, at time.Time) {
	h, err := c.store.Hazards.Get(c.t.Context(), id)
	if err != nil {
		c.t.Fatal(err)
	}
	differs := func(column *tally, right bool, what string, is, want any) {
		if column.measure(right); !right {
			c.t.Logf("%s, %s: %s %s %v, by the list %v", c.name, at, key, what, is, want)
		}
	}
	if first := c.first[key]; !first.IsZero() {
		differs(&c.start, h.Start.Time().Equal(first), "starts at", h.Start.Time(), first)
	}
	if !alone {
		return
	}
	if !w.end.IsZero() {
		differs(&c.end, h.End.Time().Equal(w.end), "ends at", h.End.Time(), w.end)
	}
	if w.level != "" {
		differs(&c.level, h.Severity.String() == w.level, "is", h.Severity, w.level)
	}
	if w.typ != "" {
		differs(&c.level, string(h.Type) == w.typ, "is", h.Type, w.typ)
	}
	if w.place != "" {
		differs(&c.point, h.PlaceKnownAs == w.place && h.Somewhere(), "is in", h.PlaceKnownAs, w.place)
	}
	if w.point != [2]float64{} {
		right := math.Abs(h.Longitude-w.point[0]) < 0.001 && math.Abs(h.Latitude-w.point[1]) < 0.001
		differs(&c.point, right, "is at", [2]float64{h.Longitude, h.Latitude}, w.point)
	}
	if !w.area.IsZero() {
		shapes, err := c.store.Hazards.Shapes(c.t.Context(), h.Areas)
		if err != nil {
			c.t.Fatal(err)
		}
		all, err := geo.Union(shapes...)
		if err != nil {
			c.t.Fatal(err)
		}
		ratio := all.AreaKm2() / w.area.AreaKm2()
		differs(&c.area, ratio > 0.95 && ratio < 1.05, "has an area of", ratio, "1 times it")
		if w.point == [2]float64{} { // otherwise the source's own point counts, even outside
			differs(&c.inside, geo.Intersects(geo.Circle(h.Longitude, h.Latitude, 100), w.area), "is at", [2]float64{h.Longitude, h.Latitude}, "elsewhere")
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
			Geometry   place
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
		all[p.GUID[strings.LastIndex(p.GUID, "/")+1:]] = believed(fact{start: at, level: levels[category], point: f.Geometry.point, area: f.Geometry.area})
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
	areas := listedAreas(t, payload)
	var list struct {
		Features []struct {
			Properties struct{ Parameters struct{ VTEC []string } }
		}
	}
	if err := json.Unmarshal(payload, &list); err != nil {
		t.Fatal(err)
	}
	open := map[string]bool{} // until further notice, in a segment
	for _, f := range list.Features {
		for _, code := range f.Properties.Parameters.VTEC {
			p := strings.Split(strings.Trim(code, "/"), ".") // O.EXP.KJKL.TO.W.0025.000000T0000Z-260815T2300Z
			if len(p) != 7 || p[0] != "O" {
				continue
			}
			key := eventOfVTEC(p, at)
			area, goesOn := areas[key]
			_, text, _ := strings.Cut(p[6], "-")
			end, err := time.Parse("060102T1504Z", text)
			// What is announced to expire counts until then.
			if !goesOn && !(p[1] == "EXP" && err == nil && end.After(at)) || p[1] == "CAN" || p[1] == "UPG" || p[1] == "ROU" {
				continue
			}
			was := all[key]
			if open[key] = open[key] || err != nil; open[key] || end.Before(was.end) {
				end = was.end
			}
			if open[key] {
				end = time.Time{}
			}
			all[key] = fact{end: end, area: area, level: map[string]string{"W": "WARNING", "A": "WATCH", "Y": "ADVISORY", "S": "INFORMATION"}[p[4]]}
		}
	}
	return all
}
