package serve_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/test/server"
)

// series parses metrics with the library's own parser: by name and labels, as "name{a=b,c=d}". For
// histograms it returns the count.
func series(t *testing.T, text []byte) map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	all := map[string]float64{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			slices.Sort(labels)
			all[name+"{"+strings.Join(labels, ",")+"}"] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return all
}

// scrape reads the metrics as an agent on the machine does.
func (w *world) scrape() map[string]float64 {
	w.t.Helper()
	a := w.do("", "GET", "/metrics", nil)
	if a.Status != 200 || a.Header.Get("Cache-Control") != "no-store" {
		w.t.Fatalf("%d %v %.300s", a.Status, a.Header, a.Body)
	}
	return series(w.t.(*testing.T), a.Body)
}

func TestMetricsFollowWhatIsDone(t *testing.T) {
	s := start(t)
	before := s.scrape()
	for range 3 {
		s.do("reader", "GET", "/hazards/active", nil)
	}
	s.do("", "GET", "/hazards/active", nil) // 403
	s.do("reader", "HEAD", "/hazards/active", nil)
	h := s.hazard("red") // two of them, one read by number and one by uuid
	s.hazard("red")
	for _, id := range []string{digits(h.HazardID), h.UUID} {
		s.do("reader", "GET", "/hazards/"+id, nil)
	}
	for i := range 50 {
		s.do("reader", "GET", fmt.Sprintf("/no/such/%d", i), nil)
	}
	s.do("", "POST", "/authorize", map[string]string{"username": "reader", "password": server.Password})
	s.do("", "POST", "/authorize", map[string]string{"username": "reader", "password": "not this one, surely"})
	s.report(quake("us1", 1))
	hook := s.do("red", "POST", "/webhooks", map[string]string{"url": "https://example.org/hook", "status": "paused"})
	after := s.scrape()
	want := map[string]float64{
		"hazardd_http_requests_total{method=GET,route=/hazards/active,status=2xx}":   3,
		"hazardd_http_requests_total{method=GET,route=/hazards/active,status=4xx}":   1,
		"hazardd_http_requests_total{method=HEAD,route=/hazards/active,status=2xx}":  1,
		"hazardd_http_request_seconds{route=/hazards/active}":                        5,
		"hazardd_http_requests_total{method=GET,route=/hazards/{hazard},status=2xx}": 2,
		"hazardd_http_requests_total{method=POST,route=/hazards,status=2xx}":         2,
		"hazardd_http_requests_total{method=GET,route=none,status=4xx}":              50,
		"hazardd_http_requests_total{method=POST,route=/authorize,status=2xx}":       1,
		"hazardd_http_requests_total{method=POST,route=/authorize,status=4xx}":       1,
		"hazardd_logins_total{result=ok}":                                            1,
		"hazardd_logins_total{result=failed}":                                        1,
		"hazardd_logins_total{result=limited}":                                       0,
		"hazardd_view_change{}":                                                      3,
		"hazardd_store_change{}":                                                     3,
		"hazardd_webhook_deliveries_pending{}":                                       0,
		"hazardd_http_requests_total{method=GET,route=/metrics,status=2xx}":          1, // the first; this one is not answered yet
		"hazardd_store_writes_refused_total{reason=unavailable}":                     0,
		"hazardd_store_away{}":                                                       0,
	}
	for name, n := range want {
		if got, ok := after[name]; !ok || got-before[name] != n {
			t.Errorf("%s: %v after %v, want %v more", name, got, before[name], n)
		}
	}
	if hook.Status == 201 && after["hazardd_webhooks{status=active}"]+after["hazardd_webhooks{status=paused}"] != 1 {
		t.Errorf("webhooks: %v active, %v paused, want one", after["hazardd_webhooks{status=active}"], after["hazardd_webhooks{status=paused}"])
	}
	active := 0.0
	for _, severity := range hazard.Severities() {
		n, ok := after["hazardd_active_hazards{severity="+severity.ID+"}"]
		if !ok {
			t.Errorf("there is no metric of active hazards of severity %s", severity.ID)
		}
		active += n
	}
	if active != 3 {
		t.Errorf("%v active hazards, want 3", active)
	}
	if after["hazardd_store_write_seconds{}"] < before["hazardd_store_write_seconds{}"]+3 {
		t.Errorf("write transactions: %v after %v", after["hazardd_store_write_seconds{}"], before["hazardd_store_write_seconds{}"])
	}
	for _, name := range []string{"hazardd_build_info{version=dev}", "hazardd_view_age_seconds{}", "hazardd_clock_skew_seconds{}", "hazardd_lease_held{lease=poll}", "hazardd_lease_held{lease=pictures}", "hazardd_ready{}",
		"hazardd_source_state{source=usgs,state=starting}", "hazardd_source_records_total{result=read,source=usgs}", "hazardd_source_documents{source=usgs,state=missing}", "go_sql_open_connections{db_name=write}",
		"hazardd_webhook_attempts_total{result=ok}", "go_goroutines{}", "process_open_fds{}", "hazardd_stream_events_total{}", "hazardd_streams_stalled_total{}", "hazardd_streams_replaced_total{}", "hazardd_slow_readers_total{}"} {
		if _, ok := after[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		for _, secret := range []string{"red-reader", h.UUID, "such", s.tokens.of("reader")} {
			if strings.Contains(name, secret) {
				t.Errorf("%s tells of %s", name, secret)
			}
		}
	}
}

func TestMetricsCountStreamsAndTheirEvents(t *testing.T) {
	s := start(t)
	req := newRequest(t, s.tokens, "reader", "GET", s.URL()+"/events", nil)
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got []byte
	wait := func(word string) {
		for buf := make([]byte, 4096); !strings.Contains(string(got), word); {
			n, err := resp.Body.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, buf[:n]...)
		}
	}
	for range 3 {
		wait(s.hazard("red").UUID)
	}
	// The third event is counted once it has been sent, so it may be missing.
	if m := s.scrape(); m["hazardd_streams{}"] != 1 || m["hazardd_stream_events_total{}"] < 2 || m["hazardd_stream_events_total{}"] > 3 {
		t.Errorf("%v streams, %v events", m["hazardd_streams{}"], m["hazardd_stream_events_total{}"])
	}
}

func TestMetricsAreForTheMachineAndForAdmins(t *testing.T) {
	t.Run("by role, from outside", func(t *testing.T) {
		p := handle(t) // do uses the address 192.0.2.1
		for _, scope := range []auth.Scope{auth.ScopeRead, auth.ScopeMetrics} {
			_, text, err := p.Auth.CreateServiceToken(t.Context(), auth.Actor{}, "scraper", "", scope, hazard.At(time.Now()))
			if err != nil {
				t.Fatal(err)
			}
			p.tokens.byUser[string(scope)] = string(text)
		}
		for user, want := range map[string]int{"": 403, "reader": 403, "editor": 403, "root": 200, "metrics": 200, "read": 403} {
			a := p.do(user, "GET", "/metrics", nil)
			if a.Status != want || user == "" && string(a.Body) != "Invalid Token" || want == 403 && strings.Contains(string(a.Body), "go_goroutines") {
				t.Errorf("%q: %d %.200s, want %d", user, a.Status, a.Body, want)
			}
		}
	})
	p := handle(t, func(c *serve.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")} })
	for name, tt := range map[string]struct {
		peer, host string
		header     []string
		want       int
	}{
		"loopback":                            {"127.0.0.1:5", "127.0.0.1:8080", nil, 200},
		"loopback, by name":                   {"127.0.0.1:5", "localhost:8080", nil, 200},
		"loopback of IPv6":                    {"[::1]:5", "[::1]:8080", nil, 200},
		"loopback of IPv6, no port":           {"[::1]:5", "[::1]", nil, 200},
		"loopback as mapped":                  {"[::ffff:127.0.0.1]:5", "127.0.0.1", nil, 200},
		"another machine":                     {"192.0.2.1:5", "127.0.0.1:8080", nil, 403},
		"a private network":                   {"10.0.0.1:5", "10.0.0.2:8080", nil, 403},
		"no address":                          {"@", "127.0.0.1", nil, 403},
		"says that it is loopback":            {"192.0.2.1:5", "127.0.0.1", []string{"X-Forwarded-For", "127.0.0.1"}, 403},
		"a trusted proxy":                     {"127.0.0.2:5", "127.0.0.1", nil, 403},
		"a trusted proxy, for loopback":       {"127.0.0.2:5", "127.0.0.1", []string{"X-Forwarded-For", "127.0.0.1"}, 403},
		"an unknown proxy":                    {"127.0.0.1:5", "127.0.0.1", []string{"X-Forwarded-For", "192.0.2.1"}, 403},
		"an unknown proxy, of another kind":   {"127.0.0.1:5", "127.0.0.1", []string{"Forwarded", "for=192.0.2.1"}, 403},
		"an unknown proxy that passes Host":   {"127.0.0.1:5", "hazards.example.org", nil, 403},
		"a page whose name leads to loopback": {"127.0.0.1:5", "rebound.example:8080", nil, 403},
	} {
		t.Run(name, func(t *testing.T) {
			req := newRequest(t, p.tokens, "", "GET", "http://hazardd.example/metrics", nil, tt.header...)
			req.RemoteAddr, req.Host = tt.peer, tt.host
			if a := p.in(t).answer(req); a.Status != tt.want {
				t.Errorf("%d %.200s, want %d", a.Status, a.Body, tt.want)
			}
		})
	}
}

// A connection with too much data is closed, also if answers are counted.
func TestTooMuchEndsTheConnection(t *testing.T) {
	s := start(t)
	resp, err := s.client.Do(newRequest(t, s.tokens, "", "POST", s.URL()+"/authorize", io.MultiReader(strings.NewReader(strings.Repeat(" ", 64*kib+1)))))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge || !resp.Close {
		t.Errorf("%s, and the connection is closed: %v", resp.Status, resp.Close)
	}
}

func TestMetricsSayWhichVersionAnswers(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Version = "1.2.3" })
	if s.scrape()["hazardd_build_info{version=1.2.3}"] != 1 {
		t.Error("no build_info of version 1.2.3")
	}
}
