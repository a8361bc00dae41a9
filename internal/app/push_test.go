package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	mqtt "github.com/mochi-mqtt/server/v2"
	mqttauth "github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/test/server"
)

// No step from a pushing source to a reader's event stream waits for a timer. The limits allow for
// other load on the machine; bench/pushed measures the delay. GET /sources and the metrics count
// what was sent to streams.
func TestAPushedAlertReachesEventStreamsAtOnce(t *testing.T) {
	const alerts = 30
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	index := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`<rss version="2.0"><channel><title>none</title></channel></rss>`))
	}))
	defer index.Close()
	known, err := app.NewSources(app.SourceSettings{CAP: []app.CAPSource{{Config: cap.Config{Name: "pushed", URL: index.URL, Push: []string{"tcp://" + l.Addr().String()}}}}})
	if err != nil {
		t.Fatal(err)
	}
	srv := server.Serve(t, func(cfg *app.Config) {
		cfg.Known, cfg.Sources, cfg.PrivateSources = known, []string{"pushed"}, true
	})
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	c, err := client.New(srv.URL(), client.Options{Username: "reader", Password: server.Password})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	sent := map[string]time.Time{}
	var delays []time.Duration
	next := make(chan struct{}, 1)
	connected := func(int64) { next <- struct{}{} }
	failed := make(chan error, 1)
	came := make(chan string)
	go func() {
		for e, err := range c.Events(ctx, client.FromNow, client.EventOptions{Connected: connected}) {
			if err != nil {
				failed <- err
				return
			}
			if e.Hazard != nil {
				came <- e.Hazard.HazardName
			}
		}
	}()
	<-next
	for i := range alerts {
		name := fmt.Sprintf("Flood %d", i)
		sent[name] = time.Now()
		if _, err := conn.Write([]byte(pushedAlert(name, i))); err != nil {
			t.Fatal(err)
		}
		for found := false; !found; {
			select {
			case got := <-came:
				found = strings.Contains(got, name)
			case err := <-failed:
				t.Fatal(err)
			case <-ctx.Done():
				t.Fatalf("%s did not come", name)
			}
		}
		delays = append(delays, time.Since(sent[name]))
	}
	cancel()
	slices.Sort(delays)
	if p50, last := delays[len(delays)/2], delays[len(delays)-1]; last > 30*time.Second { // bench/pushed measures it; a poll would take minutes
		t.Errorf("median %s, slowest %s", p50, last)
	}
	t.Logf("median %s, slowest %s", delays[len(delays)/2], delays[len(delays)-1])
	within(t, "the counts of the last alert", func() bool { // they follow the commit, and so may come after it was sent
		list, err := c.Sources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := list.Items[slices.IndexFunc(list.Items, func(s client.Source) bool { return s.Name == "pushed" })]
		sent, committed := s.Delays["sent"], s.Delays["committed"]
		if len(s.Pushes) != 1 || s.Pushes[0].State != "ok" || sent != nil && sent.P99 > 10 {
			t.Fatalf("GET /sources: %+v, sent %+v, committed %+v", s.Pushes, sent, committed)
		}
		return sent != nil && sent.Count >= alerts && committed != nil && committed.Count >= alerts
	})
	answer, err := http.Get(srv.URL() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var text bytes.Buffer
	if _, err := text.ReadFrom(answer.Body); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`hazardd_report_delay_seconds_count{source="pushed",stage="sent"} `,
		`hazardd_source_push_up{address="tcp://` + l.Addr().String() + `",source="pushed"} 1`,
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
}

// pushedAlert returns an alert as a source pushes it.
func pushedAlert(name string, n int) string {
	now := time.Now().UTC()
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?><alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>2.49.0.0.999.%d</identifier><sender>office@example.org</sender><sent>%s</sent><status>Actual</status><msgType>Alert</msgType><scope>Public</scope><info><language>en</language><category>Met</category><event>%s</event><urgency>Immediate</urgency><severity>Severe</severity><certainty>Observed</certainty><expires>%s</expires><headline>%[3]s</headline><area><areaDesc>District</areaDesc><polygon>%[5]d,10 %[5]d,11 %[6]d,11 %[5]d,10</polygon></area></info></alert>
`, n, now.Format("2006-01-02T15:04:05.000Z07:00"), name, now.Add(time.Hour).Format(time.RFC3339), n, n+1)
}

// A broker of WIS2 announces two alerts: one is in its notification, the other at an address.
// Notifications of other data, and on other topics, are ignored.
func TestAlertsOfWIS2ArePushedByABroker(t *testing.T) {
	const topics = "cache/a/wis2/+/data/core/weather/advisories-warnings/#"
	broker := mqtt.New(&mqtt.Options{InlineClient: true, Logger: slog.New(slog.DiscardHandler)})
	if err := broker.AddHook(new(mqttauth.AllowHook), nil); err != nil {
		t.Fatal(err)
	}
	at := listeners.NewTCP(listeners.Config{ID: "tcp", Address: "127.0.0.1:0"})
	if err := broker.AddListener(at); err != nil {
		t.Fatal(err)
	}
	go func() { _ = broker.Serve() }() // ends with Close
	defer func() { _ = broker.Close() }()
	cache := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/linked.xml" {
			_, _ = w.Write([]byte(pushedAlert("Flood linked", 2)))
			return
		}
		_, _ = w.Write([]byte(`{"type":"FeatureCollection","features":[],"numberMatched":0}`))
	}))
	defer cache.Close()
	config := cap.Config{Name: "wis2", URL: cache.URL, Push: []string{"mqtt://" + at.Address()}, Topics: []string{topics}}
	if err := config.Check(); err != nil {
		t.Fatal(err)
	}
	known, err := app.NewSources(app.SourceSettings{CAP: []app.CAPSource{{Config: config}}})
	if err != nil {
		t.Fatal(err)
	}
	srv := server.Serve(t, func(cfg *app.Config) {
		cfg.Known, cfg.Sources, cfg.PrivateSources = known, []string{"wis2"}, true
	})
	c, err := client.New(srv.URL(), client.Options{Username: "reader", Password: server.Password})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	notice := func(id, rest string) []byte {
		return fmt.Appendf(nil, `{"type":"Feature","properties":{"data_id":%q,"pubtime":"2026-08-01T00:00:00Z"%s`, id, rest)
	}
	content, err := json.Marshal(pushedAlert("Flood within", 1))
	if err != nil {
		t.Fatal(err)
	}
	const topic = "cache/a/wis2/xx-office/data/core/weather/advisories-warnings/cap"
	link := func(media, path string) string {
		return fmt.Sprintf(`},"links":[{"rel":"canonical","type":%q,"href":"%s/%s"}]}`, media, cache.URL, path)
	}
	messages := map[string][]byte{
		topic + "/1":                             notice("1", fmt.Sprintf(`,"content":{"encoding":"utf-8","value":%s}`, content)+link("application/xml", "within.xml")),
		topic + "/2":                             notice("2", link("application/cap+xml", "linked.xml")),
		topic + "/3":                             notice("3", link("application/bufr", "none.bufr")),
		"cache/a/wis2/xx-office/data/core/ocean": notice("4", link("application/cap+xml", "ocean.xml")),
	}
	missing := map[string]bool{"within": true, "linked": true}
	publish := func(int64) {
		for broker.Info.Clone().Subscriptions == 0 && ctx.Err() == nil {
			runtime.Gosched()
		}
		for topic, m := range messages {
			if err := broker.Publish(topic, m, false, 1); err != nil {
				t.Error(err)
			}
		}
	}
	for e, err := range c.Events(ctx, client.FromNow, client.EventOptions{Connected: publish}) {
		if err != nil {
			t.Fatalf("missing %v: %v", missing, err)
		}
		if e.Hazard != nil {
			for name := range missing {
				if strings.Contains(strings.ToLower(e.Hazard.HazardName), name) {
					delete(missing, name)
				}
			}
		}
		if len(missing) == 0 {
			break
		}
	}
	if len(missing) > 0 {
		t.Errorf("missing: %v", missing)
	}
}
