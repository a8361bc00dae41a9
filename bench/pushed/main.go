// Pushed measures how long an alert takes from a source that pushes it to a client's event stream:
// from before it is written to the connection until the client has read its event.
//
// The service runs in this process, with a store on disk that syncs each commit, and is connected
// to a local sender of CAP alerts over TCP. The client reads /events over HTTP. Alerts are sent at
// random moments, --rate per second on average, for --for. Each creates a hazard.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"regexp"
	"sync"
	"time"

	"github.com/hazardd/hazardd/bench/internal/measure"
	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
)

func main() {
	rate := flag.Float64("rate", 10, "alerts a second; a source may have 20 in the long run")
	length := flag.Duration("for", time.Minute, "how long to measure")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	measure.Main("pushed", func(ctx context.Context) error { return run(ctx, *rate, *length, *asJSON) })
}

// named matches the part of a hazard's name that identifies its alert.
var named = regexp.MustCompile(`District \d+`)

// clock records when each alert was sent and received. It is safe for concurrent use.
type clock struct {
	mu   sync.Mutex
	sent map[string]time.Time
	took []float64 // ms
}

func (c *clock) send(name string) { c.mu.Lock(); defer c.mu.Unlock(); c.sent[name] = time.Now() }

func (c *clock) came(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.sent[name]; ok {
		c.took = append(c.took, time.Since(at).Seconds()*1000)
		delete(c.sent, name)
	}
}

func (c *clock) left() int { c.mu.Lock(); defer c.mu.Unlock(); return len(c.sent) }

func run(ctx context.Context, rate float64, length time.Duration, asJSON bool) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var listening net.ListenConfig
	sender, err := listening.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = sender.Close() }()
	web, err := listening.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	index := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `<rss version="2.0"><channel><title>Alerts</title></channel></rss>`)
	})}
	defer func() { _ = index.Close() }()
	go func() { _ = index.Serve(web) }() // ends with Close
	dir, err := os.MkdirTemp("", "hazardd-bench-pushed-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	known, err := app.NewSources(app.SourceSettings{CAP: []app.CAPSource{{Config: cap.Config{
		Name: "pushed", URL: "http://" + web.Addr().String(), Push: []string{"tcp://" + sender.Addr().String()}}}}})
	if err != nil {
		return err
	}
	s, err := app.Open(ctx, app.Config{Version: "bench", Logger: slog.New(slog.DiscardHandler), Known: known, Settings: app.Settings{DataDir: dir, Listen: "127.0.0.1:0", Grace: time.Second, Sources: []string{"pushed"}, PrivateSources: true, Pictures: -1}})
	if err != nil {
		return err
	}
	const password = "violet kayak thermos orbit"
	if err := s.Auth.Accounts().AddUser(ctx, auth.Actor{}, auth.NewUser{Name: "bench", Role: auth.Reader, Password: password}, s.Now()); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() { cancel(); err = errors.Join(err, <-ended) }()
	conn, err := sender.Accept()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()

	c, err := client.New(s.URL(), client.Options{Username: "bench", Password: password})
	if err != nil {
		return err
	}
	times := &clock{sent: map[string]time.Time{}}
	connected := make(chan struct{}, 1)
	go func() { // ends with ctx
		for e, err := range c.Events(ctx, client.FromNow, client.EventOptions{Connected: func(int64) { connected <- struct{}{} }}) {
			if err != nil {
				if ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, "pushed: the client:", err)
				}
				return
			}
			if e.Hazard != nil {
				times.came(named.FindString(e.Hazard.HazardName))
			}
		}
	}()
	<-connected
	n := 0
	for end := time.Now().Add(length); time.Now().Before(end) && ctx.Err() == nil; n++ {
		time.Sleep(time.Duration(rand.ExpFloat64() / rate * float64(time.Second)))
		name := fmt.Sprintf("District %d", n)
		text := alert(name, n)
		times.send(name)
		if _, err := io.WriteString(conn, text); err != nil {
			return err
		}
	}
	for end := time.Now().Add(30 * time.Second); times.left() > 0 && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	missing := times.left()
	p50, p99, most := measure.Median(times.took), measure.Quantile(times.took, 0.99), measure.Quantile(times.took, 1)
	t := measure.Table{Title: fmt.Sprintf("from a pushing source to an event stream, %d alerts in %v", n, length), Heads: []string{"figure", "value"}}
	t.Add("median, ms", p50)
	t.Add("99th percentile, ms", p99)
	t.Add("maximum, ms", most)
	t.Add("alerts that did not arrive", float64(missing))
	r := measure.Report{Program: "pushed", Machine: measure.Machine(), Tables: []measure.Table{t}, Goals: []measure.Goal{
		measure.AtMost("median, ms", p50, 300), measure.AtMost("99th percentile, ms", p99, 1000), measure.AtMost("alerts that did not arrive", float64(missing), 0),
	}}
	return r.Write(os.Stdout, asJSON)
}

// alert returns a CAP document for place n.
func alert(name string, n int) string {
	now, lat, lon := time.Now().UTC(), float64(n%120)-60, float64(n*7%340)-170
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?><alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>2.49.0.0.999.%d</identifier><sender>office@example.org</sender><sent>%s</sent><status>Actual</status><msgType>Alert</msgType><scope>Public</scope><info><language>en</language><category>Met</category><event>Heavy rain</event><urgency>Immediate</urgency><severity>Severe</severity><certainty>Observed</certainty><expires>%s</expires><headline>Heavy rain</headline><area><areaDesc>%s</areaDesc><polygon>%[5]g,%[6]g %[5]g,%[7]g %[8]g,%[7]g %[5]g,%[6]g</polygon></area></info></alert>
`, n, now.Format(time.RFC3339), now.Add(12*time.Hour).Format(time.RFC3339), name, lat, lon, lon+1, lat+1)
}
