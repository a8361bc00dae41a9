// Poll measures the cost of polling 300 feeds of CAP alerts. To finish in minutes instead of an
// hour, it polls every minute, five times as often as the catalog does, so that the processor time
// is an upper bound. --every 5m --warm 11m --for 10m measures the real interval.
//
// The service runs in its own process and reads 300 indexes from local servers: 144 at one address
// and 40 at another, as in the catalog, and the rest at separate addresses. An index lists 20
// documents of a few kilobytes. Each server answers conditional requests, and one feed in ten has a
// new alert in each interval. One feed hangs, one floods, and one returns false data, all at the
// address with 144. After a warm-up, the processor time of the process is measured over --for, at
// least one interval. Its memory is the peak (VmHWM, on Linux). The delay of a feed is computed
// from the times of requests at the servers: how much longer than the interval a gap was.
package main

import (
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hazardd/hazardd/bench/internal/measure"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
)

// asServer is the variable that makes this program run the service.
const asServer = "HAZARDD_BENCH_SERVER"

const (
	feeds     = 300
	bucket    = 144 // of them at one address
	hub       = 40  // and at another
	documents = 20  // in an index
	changing  = 10  // one feed in so many has a new alert in each interval
)

type options struct {
	every, length, warm time.Duration
	json                bool
}

func main() {
	var o options
	flag.DurationVar(&o.every, "every", time.Minute, "interval of a feed; the default of the service is 5m")
	flag.DurationVar(&o.length, "for", 3*time.Minute, "how long to measure")
	flag.DurationVar(&o.warm, "warm", 2*time.Minute, "how long to wait before, at least two intervals")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	run := measureAll
	if os.Getenv(asServer) != "" {
		run = serve
	}
	measure.Main("poll", func(ctx context.Context) error { return run(ctx, o) })
}

// serve runs the service. Its arguments after the flags are a folder and the addresses of the
// feeds.
func serve(ctx context.Context, o options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var set app.SourceSettings
	var names []string
	for i, address := range flag.Args()[1:] {
		name := fmt.Sprintf("feed-%03d", i)
		names = append(names, name)
		set.CAP = append(set.CAP, app.CAPSource{Config: cap.Config{Name: name, URL: address, Every: o.every, Shared: true, MaxBytes: 16 << 20}})
	}
	known, err := app.NewSources(set)
	if err != nil {
		return err
	}
	app.CollectOften() // as in the real server
	s, err := app.Open(ctx, app.Config{Version: "bench", Logger: slog.New(slog.DiscardHandler), Known: known, Settings: app.Settings{DataDir: flag.Arg(0), Listen: "127.0.0.1:0", Grace: time.Second, Sources: names, PrivateSources: true, Pictures: -1}})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	_, err = io.Copy(io.Discard, os.Stdin)
	cancel()
	return errors.Join(err, <-ended)
}

// world is the set of all servers. It is safe for concurrent use.
type world struct {
	began time.Time
	every time.Duration
	mu    sync.Mutex
	asked [feeds][]time.Time
	busy  map[string]int
	most  int // concurrent requests at one address
}

// The feeds that misbehave, all at the address of the bucket.
const (
	hangs = iota
	floods
	lies
	faulty
)

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	part := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	n, err := strconv.Atoi(part[0])
	if err != nil || n >= feeds {
		http.NotFound(rw, r)
		return
	}
	w.mu.Lock()
	w.busy[r.Host]++
	w.most = max(w.most, w.busy[r.Host])
	if len(part) == 1 {
		w.asked[n] = append(w.asked[n], time.Now())
	}
	w.mu.Unlock()
	defer func() { w.mu.Lock(); w.busy[r.Host]--; w.mu.Unlock() }()
	version := 0
	if n%changing == 5 {
		version = int(time.Since(w.began) / w.every)
	}
	switch {
	case n == hangs:
		<-r.Context().Done()
		return
	case n == floods:
		for err == nil {
			_, err = rw.Write(make([]byte, 64<<10))
		}
		return
	case n == lies:
		_, _ = io.WriteString(rw, "<html>all is well</html>")
		return
	}
	tag := fmt.Sprintf(`"%d-%d"`, n, version)
	rw.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		rw.WriteHeader(http.StatusNotModified)
		return
	}
	rw.Header().Set("Content-Type", "application/xml")
	if len(part) > 1 {
		_, _ = io.WriteString(rw, alert(n, part[1], w.began))
		return
	}
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>Alerts</title>`)
	for k := range documents {
		id := k + version
		fmt.Fprintf(&b, "<item><title>Warning %d of an office</title><link>http://%s/%d/%d</link><guid isPermaLink=\"false\">2.49.0.0.%d.%d</guid><description>%s</description><pubDate>%s</pubDate></item>",
			id, r.Host, n, id, n, id, strings.Repeat("Heavy rain and strong winds are expected. ", 5), w.began.Format(time.RFC1123Z))
	}
	b.WriteString("</channel></rss>")
	_, _ = io.WriteString(rw, b.String())
}

// alert returns a CAP document of typical size.
func alert(n int, id string, began time.Time) string {
	var polygon strings.Builder
	lat, lon := float64(n%120)-60, float64(n*7%340)-170
	for k := range 61 {
		a := 2 * math.Pi * float64(k%60) / 60
		fmt.Fprintf(&polygon, "%.4f,%.4f ", lat+math.Sin(a), lon+math.Cos(a))
	}
	var text strings.Builder
	_ = xml.EscapeText(&text, []byte(strings.Repeat("Heavy rain and strong winds are expected in the afternoon. ", 20)))
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?><alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>2.49.0.0.%d.%s</identifier><sender>office@example.org</sender><sent>%s</sent><status>Actual</status><msgType>Alert</msgType><scope>Public</scope><info><language>en</language><category>Met</category><event>Heavy rain</event><urgency>Expected</urgency><severity>Severe</severity><certainty>Likely</certainty><onset>%s</onset><expires>%s</expires><headline>Heavy rain</headline><description>%s</description><area><areaDesc>District %d</areaDesc><polygon>%s</polygon></area></info></alert>`,
		n, id, began.Format(time.RFC3339), began.Format(time.RFC3339), began.Add(12*time.Hour).Format(time.RFC3339), text.String(), n, strings.TrimSpace(polygon.String()))
}

func measureAll(ctx context.Context, o options) error {
	w := &world{began: time.Now().Truncate(time.Second), every: o.every, busy: map[string]int{}}
	var addresses []string
	var serving []*http.Server
	defer func() {
		for _, s := range serving {
			_ = s.Close()
		}
	}()
	base := ""
	for n := range feeds {
		if n == 0 || n == bucket || n >= bucket+hub {
			l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			s := &http.Server{Handler: w, ReadHeaderTimeout: time.Minute}
			serving = append(serving, s)
			go func() { _ = s.Serve(l) }() // ends with Close
			base = "http://" + l.Addr().String()
		}
		addresses = append(addresses, fmt.Sprintf("%s/%d", base, n))
	}
	dir, err := os.MkdirTemp("", "hazardd-bench-poll-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{"--every", o.every.String(), dir}, addresses...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), asServer+"=1"), os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { _ = input.Close(); _ = cmd.Wait() }()
	wait := func(d time.Duration) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
			return nil
		}
	}
	if err := wait(o.warm); err != nil {
		return err
	}
	first, err := measure.ProcessorTime(cmd.Process.Pid)
	if err != nil {
		return err
	}
	from := time.Now()
	if err := wait(o.length); err != nil {
		return err
	}
	last, err := measure.ProcessorTime(cmd.Process.Pid)
	if err != nil {
		return err
	}
	share := 100 * (last - first).Seconds() / time.Since(from).Seconds()
	peak := measure.PeakMemory(cmd.Process.Pid)
	return w.report(o, share, peak, from)
}

// report prints the results.
func (w *world) report(o options, share, peak float64, from time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	polls, unread := 0, 0
	var late, first []float64
	for n, asked := range w.asked {
		if n < faulty {
			continue
		}
		if len(asked) == 0 {
			unread++
			continue
		}
		first = append(first, asked[0].Sub(w.began).Seconds())
		for _, at := range asked {
			if at.After(from) {
				polls++
			}
		}
		for i := 1; i < len(asked); i++ {
			if i > 1 { // the first gap depends on the feed's own offset
				late = append(late, max(0, asked[i].Sub(asked[i-1]).Seconds()-o.every.Seconds()))
			}
		}
		// A feed that is overdue at the end counts too.
		if i := len(asked) - 1; i > 0 {
			late = append(late, max(0, time.Since(asked[i]).Seconds()-o.every.Seconds()))
		}
	}
	t := measure.Table{Title: fmt.Sprintf("%d feeds every %v, of which one hangs, one floods, one lies, for %v", feeds, o.every, o.length), Heads: []string{"figure", "value"}}
	t.Add("processor time, % of a core", share)
	t.Add("peak memory, MB", peak)
	t.Add("polls of indexes while measuring", float64(polls))
	t.Add("well-behaved feeds that were never read", float64(unread))
	t.Add("from the start to the first poll of a feed, median, s", measure.Median(first))
	t.Add("from the start to the first poll of the last feed, s", measure.Quantile(first, 1))
	t.Add("later than the interval, 99th percentile, s", measure.Quantile(late, 0.99))
	t.Add("later than the interval, maximum, s", measure.Quantile(late, 1))
	t.Add("concurrent requests to one address, maximum", float64(w.most))
	r := measure.Report{Program: "poll", Machine: measure.Machine(), Tables: []measure.Table{t}, Goals: []measure.Goal{
		measure.AtMost("processor time, % of a core", share, 5), measure.AtMost("peak memory, MB", peak, 200),
		measure.AtMost("a feed is later than its interval, most, s", measure.Quantile(late, 1), 10), measure.AtMost("feeds never read", float64(unread), 0),
	}}
	return r.Write(os.Stdout, o.json)
}
