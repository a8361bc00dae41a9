package app_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/server"
	"github.com/hazardd/hazardd/wire"
)

// eventually waits until get returns want, and fails with the last result.
func eventually(t *testing.T, what string, want []string, get func() []string) {
	t.Helper()
	var got []string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if got = get(); slices.Equal(got, want) {
			return
		}
	}
	t.Fatalf("%s: %q, want %q", what, got, want)
}

// active lists "uuid name" of the active hazards, sorted.
func active(t *testing.T, s *server.Server) []string {
	t.Helper()
	var list []wire.Hazard
	s.Do("reader", http.MethodGet, "/hazards/active", nil).JSON(t, &list)
	names := []string{}
	for _, h := range list {
		names = append(names, h.UUID+" "+h.HazardName)
	}
	slices.Sort(names)
	return names
}

// address is an address whose server is set later.
type address struct {
	URL string
	to  atomic.Pointer[url.URL]
}

func newAddress(t *testing.T) *address {
	a := &address{}
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			if to := a.to.Load(); to != nil {
				r.SetURL(to)
			}
		},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
	})
	t.Cleanup(front.Close)
	a.URL = front.URL
	return a
}

func (a *address) leadTo(t *testing.T, s *server.Server) {
	t.Helper()
	to, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	a.to.Store(to)
}

// mirroring configures polling of the server at base as one of its users.
func mirroring(t *testing.T, name, base, user string) func(*app.Config) {
	t.Helper()
	known, err := app.NewSources(app.SourceSettings{Mirrors: []app.MirrorSource{{Name: name, URL: base, Username: user, Password: server.Password, Every: 100 * time.Millisecond}}})
	if err != nil {
		t.Fatal(err)
	}
	return func(cfg *app.Config) { cfg.Known, cfg.Sources, cfg.PrivateSources = known, []string{name}, true }
}

// quake returns a USGS batch with an earthquake.
func quake(key string, version int64, ended hazard.EndReason, now hazard.Instant) source.Batch {
	end := now.Add(24 * time.Hour)
	return source.Batch{Read: 1, Reports: []hazard.Report{{
		Source: "usgs", Key: key, Version: version, Name: "Earthquake M 7.1 - Test", Type: hazard.Earthquake, Severity: hazard.Warning,
		Start: now.Add(-time.Minute), End: &end, Point: &hazard.Point{Lon: 10, Lat: 20}, Ended: ended,
	}}}
}

// Two servers mirror each other, so that everything that one publishes comes back to it.
func TestTwoServersThatMirrorEachOtherShowTheSame(t *testing.T) {
	toA, toB := newAddress(t), newAddress(t)
	a := server.Serve(t, mirroring(t, "b", toB.URL, "red-reader"))
	toA.leadTo(t, a)
	b := server.Serve(t, mirroring(t, "a", toA.URL, "red-reader"))
	toB.leadTo(t, b)
	same := func(step string, names ...string) {
		t.Helper()
		ofA := active(t, a)
		if len(ofA) != len(names) {
			t.Fatalf("%s: %q are active at the first, want %q", step, ofA, names)
		}
		for i, name := range names {
			if !slices.ContainsFunc(ofA, func(h string) bool { return strings.HasSuffix(h, " "+name) }) {
				t.Errorf("%s: %d. %q is not among %q", step, i, name, ofA)
			}
		}
		eventually(t, step+": active at the second", ofA, func() []string { return active(t, b) })
	}
	post := func(s *server.Server, path string, body any) (made struct {
		UUID      string `json:"uuid"`
		ProductID int64  `json:"product_ID"`
	}) {
		t.Helper()
		got := s.Do("red", http.MethodPost, path, body)
		if got.Status/100 != 2 {
			t.Fatalf("POST %s: %d %s", path, got.Status, got.Body)
		}
		got.JSON(t, &made)
		return made
	}
	flood := map[string]any{"hazard_Name": "Flood - Boston", "type_ID": "FLOOD", "severity_ID": "WARNING", "latitude": 42.36, "longitude": -71.06}
	boston := post(a, "/hazards", flood)
	post(a, "/hazards/"+boston.UUID+"/products", map[string]any{"title": "Note", "product_Type": "TEXT_PRODUCT", "data": "boil water"})
	post(a, "/hazards/"+boston.UUID+"/products", map[string]any{"title": "SECRET", "product_Type": "TEXT_PRODUCT", "data": "SECRET", "security_Flag": "R"})
	same("a hazard without end", "Flood - Boston")
	var hazards []wire.Hazard
	b.Do("reader", http.MethodGet, "/hazards/active", nil).JSON(t, &hazards)
	if hazards[0].AutoExpire != "N" {
		t.Errorf("at the second it ends by itself: %+v", hazards[0])
	}
	products := func() []string {
		return []string{string(b.Do("red", http.MethodGet, "/hazards/"+boston.UUID+"/products", nil).Body) + string(b.Do("root", http.MethodGet, "/changes", nil).Body)}
	}
	eventually(t, "the note is at the second", []string{"true"}, func() []string { return []string{fmt.Sprint(strings.Contains(products()[0], "boil water"))} })
	if all := products()[0]; strings.Contains(all, "SECRET") {
		t.Errorf("products at the second: %s", all)
	}

	// An event that both have from the source itself is one hazard, and on both the source decides.
	now := a.Now()
	for _, s := range []*server.Server{a, b} {
		if _, err := app.BuiltIn().Intake(s.Store).Apply(t.Context(), "usgs", quake("us1", 1, "", now), now, fuse.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "hazards at the first", []string{"2"}, func() []string { return []string{fmt.Sprint(len(active(t, a)))} })
	same("an earthquake that both know", "Flood - Boston", "Earthquake M 7.1 - Test")

	// An ended event is not kept active by the other server's copy.
	if _, err := app.BuiltIn().Intake(a.Store).Apply(t.Context(), "usgs", quake("us1", 2, hazard.EndWithdrawn, now), a.Now(), fuse.Options{}); err != nil {
		t.Fatal(err)
	}
	ended := a.Do("red", http.MethodPatch, "/hazards/"+boston.UUID, map[string]any{"status": "E"}, "Content-Type", "application/merge-patch+json")
	if ended.Status != http.StatusOK {
		t.Fatalf("%d %s", ended.Status, ended.Body)
	}
	eventually(t, "active at the first", []string{}, func() []string { return active(t, a) })
	eventually(t, "active at the second", []string{hazard.EventUUID("usgs", "us1").String() + " Earthquake M 7.1 - Test"}, func() []string { return active(t, b) })
	for range 3 { // some polls later nothing has come back
		waitForPoll(t, a, "b")
		if back := active(t, a); len(back) > 0 {
			t.Fatalf("came back: %q", back)
		}
	}

	// A hazard that only they have ends when one of them ends it.
	made := post(b, "/hazards", map[string]any{"hazard_Name": "Fire - Lima", "type_ID": "WILDFIRE", "severity_ID": "WATCH", "latitude": -12, "longitude": -77, "autoexpire": "N"})
	eventually(t, "active at the first", []string{made.UUID + " Fire - Lima"}, func() []string { return active(t, a) })
	if got := b.Do("red", http.MethodPost, "/hazards/"+made.UUID+"/retract", map[string]any{"reason": "no fire"}); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	eventually(t, "active at the first after the end", []string{}, func() []string { return active(t, a) })
}

func TestAServerThatDoesNotLetUsInIsAFailingSource(t *testing.T) {
	origin := server.Serve(t)
	known, err := app.NewSources(app.SourceSettings{Mirrors: []app.MirrorSource{{Name: "origin", URL: origin.URL(), Username: "reader", Password: "not this one", Every: time.Minute}}})
	if err != nil {
		t.Fatal(err)
	}
	s := server.Serve(t, func(cfg *app.Config) {
		cfg.Known, cfg.Sources, cfg.PrivateSources = known, []string{"origin"}, true
	})
	eventually(t, "the source", []string{"refused"}, func() []string {
		for _, st := range sources(t, s) {
			if st.Name == "origin" && st.Error != nil {
				return []string{st.Error.Class}
			}
		}
		return nil
	})
	// Internal addresses are unreachable unless they are allowed.
	shut := server.Serve(t, func(cfg *app.Config) { cfg.Known, cfg.Sources = known, []string{"origin"} })
	eventually(t, "the source", []string{"unreachable"}, func() []string {
		for _, st := range sources(t, shut) {
			if st.Name == "origin" && st.Error != nil {
				return []string{st.Error.Class}
			}
		}
		return nil
	})
}

type sourceState struct {
	Name        string    `json:"name"`
	LastSuccess time.Time `json:"last_success"`
	Error       *struct {
		Class string `json:"class"`
	} `json:"last_error"`
	Held []struct {
		Reason string `json:"reason"`
	} `json:"held"`
}

func sources(t *testing.T, s *server.Server) (list []sourceState) {
	t.Helper()
	s.Do("root", http.MethodGet, "/sources", nil).JSON(t, &list)
	return list
}

// waitForPoll waits for one more successful poll of a source.
func waitForPoll(t *testing.T, s *server.Server, name string) {
	t.Helper()
	last := func() (at time.Time) {
		for _, st := range sources(t, s) {
			if st.Name == name {
				at = st.LastSuccess
			}
		}
		return at
	}
	before := last()
	eventually(t, "another poll of "+name, []string{"true"}, func() []string { return []string{fmt.Sprint(last().After(before))} })
}

// capAlert returns an alert for a region given only by its code.
func capAlert(identifier, event, region string, now time.Time) string {
	return fmt.Sprintf(`<?xml version="1.0"?><alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>%s</identifier><sender>weather@example.org</sender><sent>%s</sent>
<status>Actual</status><msgType>Alert</msgType><scope>Public</scope><info><language>en</language><category>Met</category><event>%s</event><urgency>Immediate</urgency>
<severity>Severe</severity><certainty>Observed</certainty><expires>%s</expires><senderName>Weather Office</senderName><area><areaDesc>%s</areaDesc><geocode>
<valueName>EMMA_ID</valueName><value>%s</value></geocode></area></info></alert>`, identifier, now.Format("2006-01-02T15:04:05-07:00"), event,
		now.Add(6*time.Hour).Format("2006-01-02T15:04:05-07:00"), region, region)
}

func TestAnIndexOfCAPByConfiguration(t *testing.T) {
	now := time.Now().UTC().Add(-time.Minute)
	var reads atomic.Int64
	agency := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/index.atom":
			base := "http://" + r.Host
			_, _ = fmt.Fprintf(w, `<feed xmlns="http://www.w3.org/2005/Atom"><updated>%s</updated>`, time.Now().Format(time.RFC3339Nano))
			for _, doc := range []string{"flood", "wind", "test"} {
				_, _ = fmt.Fprintf(w, `<entry><id>%s</id><updated>%s</updated><link type="application/cap+xml" href="%s/%s.cap"/></entry>`, doc, now.Format(time.RFC3339), base, doc)
			}
			_, _ = w.Write([]byte("</feed>"))
		case "/flood.cap":
			reads.Add(1)
			_, _ = w.Write([]byte(capAlert("A-1", "Flood Warning", "XX001", now)))
		case "/wind.cap":
			_, _ = w.Write([]byte(capAlert("A-2", "Wind Warning", "XX009", now)))
		case "/test.cap":
			_, _ = w.Write([]byte(strings.Replace(capAlert("A-3", "Flood Warning", "XX001", now), "Actual", "Test", 1)))
		}
	}))
	t.Cleanup(agency.Close)
	places := filepath.Join(t.TempDir(), "places.json")
	err := os.WriteFile(places, []byte(`{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"code":"XX001","type":"EMMA_ID"},
"geometry":{"type":"Polygon","coordinates":[[[10,50],[11,50],[11,51],[10,51],[10,50]]]}}]}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	known, err := app.NewSources(app.SourceSettings{CAP: []app.CAPSource{{Config: cap.Config{Name: "weather", URL: agency.URL + "/index.atom", Every: 200 * time.Millisecond}, PlacesFile: places}}})
	if err != nil {
		t.Fatal(err)
	}
	s := server.Serve(t, func(cfg *app.Config) {
		cfg.Known, cfg.Sources, cfg.PrivateSources = known, []string{"weather"}, true
	})
	eventually(t, "hazards", []string{"Flood Warning - XX001 50.5 10.5"}, func() (names []string) {
		var list []wire.Hazard
		s.Do("reader", http.MethodGet, "/hazards/active", nil).JSON(t, &list)
		for _, h := range list {
			names = append(names, fmt.Sprint(h.HazardName, " ", h.Latitude, " ", h.Longitude))
		}
		return names
	})
	// The place of the wind and its country are unknown here, so the report is held, and the
	// source's state says so.
	eventually(t, "held", []string{"no place: no shape is known of [EMMA_ID:XX009]"}, func() (reasons []string) {
		for _, st := range sources(t, s) {
			for _, h := range st.Held {
				reasons = append(reasons, h.Reason)
			}
		}
		return reasons
	})
	for range 3 { // the index changes at each poll, but its entries do not
		waitForPoll(t, s, "weather")
	}
	if n := reads.Load(); n != 1 {
		t.Errorf("the document was read %d times", n)
	}
}

func TestAnActivationMovesAHazardToResponseUnlessItIsToldNotTo(t *testing.T) {
	payload := recordings.Read(t, "feeds/copernicus-ems/activations-202609-excerpt.json")
	for noResponse, want := range map[bool]bool{false: true, true: false} {
		known, err := app.NewSources(app.SourceSettings{NoResponse: noResponse})
		if err != nil {
			t.Fatal(err)
		}
		src, err := known.Find("copernicus")
		if err != nil {
			t.Fatal(err)
		}
		batch, err := src.Parse(payload, hazard.At(time.Date(2026, 9, 27, 12, 0, 0, 0, time.UTC)))
		if err != nil || len(batch.Reports) == 0 {
			t.Fatalf("%d reports, error %v", len(batch.Reports), err)
		}
		if got := slices.ContainsFunc(batch.Reports, func(r hazard.Report) bool { return r.Category == hazard.Response }); got != want {
			t.Errorf("NoResponse %v: a RESPONSE is there: %v", noResponse, got)
		}
	}
}
