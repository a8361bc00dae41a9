// Reach measures how long an alert takes from its source's server to readers: from the moment at
// which the server has it until its event has arrived on event streams, and until its row is painted
// in a browser.
//
// The service is the program itself (hazardd serve), with a store on disk and 300 CAP feeds of local
// servers: 30 that push over TCP, and 270 indexes that are polled, 144 of them at one address and 40
// at another, as in the catalog. Alerts come at random moments, --rate per second on average, for
// --for: half of them are pushed, a fourth come in any polled feed, and a fourth in feeds that had an
// alert before, because warnings come in groups. Readers are --readers event streams without an
// account, and a page of the map in Chromium (bench/web/reach.mjs; --page=false leaves it out).
//
// To finish in minutes, feeds are polled every minute, and every 10 seconds while they change.
// --every 5m --fastest 30s --for 20m are the real intervals. All else is as in life.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hazardd/hazardd/bench/internal/measure"
)

const (
	pushed = 30
	polled = 270
	bucket = 144 // of the polled feeds at one address
	hub    = 40  // and at another
	listed = 50  // alerts in an index
)

type options struct {
	binary         string
	every, fastest time.Duration
	length         time.Duration
	rate           float64
	readers        int
	page, json     bool
}

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "bin/hazardd", "the program")
	flag.DurationVar(&o.every, "every", time.Minute, "usual interval of a polled feed")
	flag.DurationVar(&o.fastest, "fastest", 10*time.Second, "interval while it changes")
	flag.DurationVar(&o.length, "for", 6*time.Minute, "how long alerts come")
	flag.Float64Var(&o.rate, "rate", 0.5, "alerts a second")
	flag.IntVar(&o.readers, "readers", 16, "event streams")
	flag.BoolVar(&o.page, "page", true, "look at a page in Chromium too")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	measure.Main("reach", func(ctx context.Context) error { return run(ctx, o) })
}

// The kinds of alerts.
const (
	byPush     = iota
	afterQuiet // of a polled feed, until its first ones were read
	whileChanging
	kinds
)

// alert is one alert of a source.
type alert struct {
	feed, n  int
	kind     int
	had      time.Time // since then the server has it
	answered time.Time // the poll that brought it was answered
	left     int       // streams that have not received it
	came     time.Time // the last stream received it
	shown    time.Time // its row was painted
}

func (a *alert) name() string { return fmt.Sprintf("District %d-%d", a.feed, a.n) }

var named = regexp.MustCompile(`District \d+-\d+`)

// world is the set of all sources, and what became of their alerts. It is safe for concurrent use.
type world struct {
	began time.Time
	mu    sync.Mutex
	of    [pushed + polled][]*alert
	named map[string]*alert
	conns [pushed]net.Conn
}

// ServeHTTP answers the requests for an index, /FEED, and for a document, /FEED/N.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	part := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	feed, err := strconv.Atoi(part[0])
	if err != nil || feed >= len(w.of) {
		http.NotFound(rw, r)
		return
	}
	w.mu.Lock()
	all := w.of[feed]
	w.mu.Unlock()
	if len(part) > 1 {
		n, err := strconv.Atoi(part[1])
		if err != nil || n >= len(all) {
			http.NotFound(rw, r)
			return
		}
		_, _ = io.WriteString(rw, all[n].text())
		return
	}
	tag := fmt.Sprintf(`"%d"`, len(all))
	rw.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		rw.WriteHeader(http.StatusNotModified)
		return
	}
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>Alerts</title>`)
	for i := range min(len(all), listed) {
		a := all[len(all)-1-i]
		fmt.Fprintf(&b, `<item><title>Warning</title><link>http://%s/%d/%d</link><guid isPermaLink="false">2.49.0.0.%d.%d</guid><pubDate>%s</pubDate></item>`,
			r.Host, feed, a.n, feed, a.n, a.had.UTC().Format(time.RFC1123Z))
	}
	b.WriteString("</channel></rss>")
	_, _ = io.WriteString(rw, b.String())
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range all {
		if a.answered.IsZero() {
			a.answered = now
		}
	}
}

// text returns the CAP document of typical size, of a place of its own.
func (a *alert) text() string {
	var polygon strings.Builder
	lat, lon := float64(a.feed/20)*8-60+float64(a.n%8), float64(a.feed%20)*17-170+float64(a.n/8%8)*2
	for k := range 61 {
		angle := 2 * math.Pi * float64(k%60) / 60
		fmt.Fprintf(&polygon, "%.4f,%.4f ", lat+0.3*math.Sin(angle), lon+0.3*math.Cos(angle))
	}
	at := a.had.UTC()
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?><alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>2.49.0.0.%d.%d</identifier><sender>office%d@example.org</sender><sent>%s</sent><status>Actual</status><msgType>Alert</msgType><scope>Public</scope><info><language>en</language><category>Met</category><event>Heavy rain</event><urgency>Expected</urgency><severity>Severe</severity><certainty>Likely</certainty><onset>%s</onset><expires>%s</expires><headline>Heavy rain for %s</headline><description>%s</description><area><areaDesc>%s</areaDesc><polygon>%s</polygon></area></info></alert>`,
		a.feed, a.n, a.feed, at.Format("2006-01-02T15:04:05-07:00"), at.Format("2006-01-02T15:04:05-07:00"), at.Add(12*time.Hour).Format("2006-01-02T15:04:05-07:00"),
		a.name(), strings.Repeat("Heavy rain and strong winds are expected in the afternoon. ", 20), a.name(), strings.TrimSpace(polygon.String()))
}

// issue makes a new alert of a feed.
func (w *world) issue(feed, readers int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := &alert{feed: feed, n: len(w.of[feed]), left: readers, had: time.Now()}
	switch {
	case feed < pushed:
		a.kind = byPush
	case a.n == 0 || w.of[feed][0].answered.IsZero():
		a.kind = afterQuiet
	default:
		a.kind = whileChanging
	}
	w.of[feed], w.named[a.name()] = append(w.of[feed], a), a
	if feed < pushed {
		a.answered = a.had
		_, err := io.WriteString(w.conns[feed], a.text())
		return err
	}
	return nil
}

// beat sends a sign of life over each connection, as a source does each minute.
func (w *world) beat() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		if _, err := fmt.Fprintf(c, `<?xml version="1.0" encoding="UTF-8"?><alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>beat</identifier><sender>NAADS-Heartbeat</sender><sent>%s</sent><status>System</status><msgType>Alert</msgType><scope>Public</scope></alert>`,
			time.Now().UTC().Format("2006-01-02T15:04:05-07:00")); err != nil {
			return err
		}
	}
	return nil
}

// came records that a stream received an alert.
func (w *world) came(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a := w.named[name]; a != nil && a.left > 0 {
		if a.left--; a.left == 0 {
			a.came = time.Now()
		}
	}
}

// waits returns how many alerts have not reached all readers.
func (w *world) waits(page bool) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.named {
		if a.left > 0 || page && a.shown.IsZero() {
			n++
		}
	}
	return n
}

func run(ctx context.Context, o options) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &world{began: time.Now(), named: map[string]*alert{}}
	dir, err := os.MkdirTemp("", "hazardd-bench-reach-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()

	listen := func() (net.Listener, error) { return (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0") }
	config := &strings.Builder{}
	var names []string
	var accepted [pushed]chan net.Conn
	base := ""
	fmt.Fprintln(config, "cap:")
	for feed := range pushed + polled {
		if p := feed - pushed; p <= 0 || p == bucket || p >= bucket+hub {
			l, err := listen()
			if err != nil {
				return err
			}
			s := &http.Server{Handler: w, ReadHeaderTimeout: time.Minute}
			defer func() { _ = s.Close() }()
			go func() { _ = s.Serve(l) }() // ends with Close
			base = "http://" + l.Addr().String()
		}
		name := fmt.Sprintf("feed-%03d", feed)
		names = append(names, name)
		fmt.Fprintf(config, "  - name: %s\n    url: %s/%d\n    every: %v\n    fastest: %v\n", name, base, feed, o.every, o.fastest)
		if feed < pushed {
			l, err := listen()
			if err != nil {
				return err
			}
			defer func() { _ = l.Close() }()
			accepted[feed] = make(chan net.Conn, 1)
			go func() { // ends with Close
				if c, err := l.Accept(); err == nil {
					accepted[feed] <- c
				}
			}()
			fmt.Fprintf(config, "    push: [\"tcp://%s\"]\n", l.Addr())
		}
	}
	free, err := listen()
	if err != nil {
		return err
	}
	address := free.Addr().String()
	_ = free.Close()
	file := filepath.Join(dir, "hazardd.yaml")
	if err := os.WriteFile(file, []byte(config.String()), 0o600); err != nil {
		return err
	}
	service := exec.CommandContext(ctx, o.binary, "serve", "--config", file, "--data", filepath.Join(dir, "data"), "--listen", address, "--public", "map", "--private-sources", "--sources", strings.Join(names, ","), "--public-streams", "0", "--public-rate", "0")
	service.Stderr = io.Discard
	service.Cancel = func() error { return service.Process.Signal(os.Interrupt) }
	if err := service.Start(); err != nil {
		return err
	}
	defer func() { cancel(); _ = service.Wait() }()
	for feed := range accepted {
		select {
		case w.conns[feed] = <-accepted[feed]:
			defer func() { _ = w.conns[feed].Close() }()
		case <-time.After(time.Minute):
			return fmt.Errorf("feed %d was not connected", feed)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	connected := make(chan error, o.readers)
	for range o.readers {
		go w.read(ctx, "http://"+address+"/events", connected)
	}
	for range o.readers {
		if err := <-connected; err != nil {
			return err
		}
	}
	if err := w.issue(0, 0); err != nil { // so that the page has a list
		return err
	}
	clear(w.named)
	if o.page {
		look := exec.CommandContext(ctx, "node", "bench/web/reach.mjs", "http://"+address, named.String())
		look.Stderr = os.Stderr
		end, err := look.StdinPipe()
		if err != nil {
			return err
		}
		out, err := look.StdoutPipe()
		if err != nil {
			return err
		}
		if err := look.Start(); err != nil {
			return err
		}
		defer func() { _ = end.Close(); _ = look.Wait() }()
		ready := make(chan bool, 1)
		go w.look(out, ready)
		if !<-ready {
			return errors.New("the page did not open")
		}
	}
	wait := func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	wait(min(o.every, 30*time.Second)) // first polls are over
	if err := w.beat(); err != nil {
		return err
	}
	before, err := measure.ProcessorTime(service.Process.Pid)
	if err != nil {
		return err
	}
	began := time.Now()
	var changing []int
	beaten := began
	for n := 0; time.Since(began) < o.length && ctx.Err() == nil; n++ {
		if time.Since(beaten) > time.Minute {
			beaten = time.Now()
			if err := w.beat(); err != nil {
				return err
			}
		}
		wait(time.Duration(rand.ExpFloat64() / o.rate * float64(time.Second)))
		feed := rand.IntN(pushed)
		switch {
		case n%4 == 1, n%4 == 3 && len(changing) == 0:
			feed = pushed + rand.IntN(polled)
			changing = append(changing, feed)
		case n%4 == 3:
			feed = changing[rand.IntN(len(changing))]
		}
		if err := w.issue(feed, o.readers); err != nil {
			return err
		}
	}
	for end := time.Now().Add(o.every + 30*time.Second); w.waits(o.page) > 0 && time.Now().Before(end) && ctx.Err() == nil; {
		wait(100 * time.Millisecond)
	}
	after, err := measure.ProcessorTime(service.Process.Pid)
	if err != nil {
		return err
	}
	return w.report(o, 100*(after-before).Seconds()/time.Since(began).Seconds())
}

// read follows a stream of events.
func (w *world) read(ctx context.Context, address string, connected chan<- error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		connected <- err
		return
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the stream answered %s", resp.Status)
	}
	connected <- err
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	had := map[string]bool{}
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "data:") {
			continue
		}
		if name := named.FindString(lines.Text()); name != "" && !had[name] {
			had[name] = true
			w.came(name)
		}
	}
	if err := lines.Err(); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "reach: a stream:", err)
	}
}

// look records which rows the page shows.
func (w *world) look(out io.Reader, ready chan<- bool) {
	defer close(ready)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		at, name, _ := strings.Cut(lines.Text(), " ")
		if at == "ready" {
			ready <- true
			continue
		}
		ms, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			fmt.Fprintln(os.Stderr, "reach:", lines.Text())
			continue
		}
		w.mu.Lock()
		if a := w.named[name]; a != nil {
			a.shown = time.UnixMilli(ms)
		}
		w.mu.Unlock()
	}
}

// report prints the results.
func (w *world) report(o options, share float64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var came, shown, rest [kinds][]float64
	var after []float64
	lost, unseen := 0, 0
	for _, a := range w.named {
		if a.left > 0 && o.readers > 0 {
			lost++
			continue
		}
		came[a.kind] = append(came[a.kind], a.came.Sub(a.had).Seconds())
		if a.kind != byPush {
			after = append(after, a.came.Sub(a.answered).Seconds())
		}
		last := a.came
		if o.page {
			if a.shown.IsZero() {
				unseen++
				continue
			}
			last = a.shown
			shown[a.kind] = append(shown[a.kind], a.shown.Sub(a.had).Seconds())
		}
		rest[a.kind] = append(rest[a.kind], last.Sub(a.answered).Seconds())
	}
	t := measure.Table{Title: fmt.Sprintf("from a source's server to readers, %d alerts in %v, %d feeds, polled every %v and every %v while they change, %d streams", len(w.named), o.length, pushed+polled, o.every, o.fastest, o.readers),
		Heads: []string{"alerts", "until", "number", "p50, s", "p99, s", "maximum, s"}}
	add := func(kind, until string, v []float64) {
		if len(v) > 0 {
			t.Add(kind, until, float64(len(v)), measure.Median(v), measure.Quantile(v, 0.99), measure.Quantile(v, 1))
		}
	}
	for kind, name := range [kinds]string{"pushed", "polled, after quiet", "polled, while it changes"} {
		add(name, "the last stream", came[kind])
		add(name, "the row is painted", shown[kind])
	}
	add("polled, from the answer to the poll", "the last stream", after)
	var polls []float64
	for _, kind := range []int{afterQuiet, whileChanging} {
		polls = append(polls, rest[kind]...)
	}
	if o.page {
		add("polled, from the answer to the poll", "the row is painted", polls)
	}
	s := measure.Table{Title: "besides", Heads: []string{"figure", "value"}}
	s.Add("processor time of the service, % of a core", share)
	s.Add("alerts that did not reach all streams", float64(lost))
	s.Add("alerts whose row was never seen", float64(unseen))
	half := o.every.Seconds()/2 + 1
	r := measure.Report{Program: "reach", Machine: measure.Machine(), Tables: []measure.Table{t, s}, Goals: []measure.Goal{
		measure.AtMost("pushed, p99, s", measure.Quantile(rest[byPush], 0.99), 2),
		measure.AtMost("polled while it changes, p99, s (half of the usual interval and 1 s)", measure.Quantile(ends(shown, came, whileChanging, o.page), 0.99), half),
		measure.AtMost("polled after quiet, p50, s (half of the usual interval and 1 s)", measure.Median(ends(shown, came, afterQuiet, o.page)), half),
		measure.AtMost("polled, from the answer to the poll, p99, s", measure.Quantile(polls, 0.99), 1),
		measure.AtMost("alerts that did not reach all readers", float64(lost+unseen), 0),
	}}
	return r.Write(os.Stdout, o.json)
}

// ends returns the times until the screen, or without a page those until the streams.
func ends(shown, came [kinds][]float64, kind int, page bool) []float64 {
	if page {
		return shown[kind]
	}
	return came[kind]
}
