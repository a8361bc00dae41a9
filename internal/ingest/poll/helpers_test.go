package poll

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/datadir"
)

// The tests' feed is a list of lines: "event KEY [version=N] [detail=URL] [place=CODE] [minor]",
// "whole", "gone KEY", "link URL [UPDATED]", "reject [KEY]", and at the end "end". A list without
// "end" was cut off.
func parseLines(payload []byte, now hazard.Instant) (source.Batch, error) {
	var b source.Batch
	lines := strings.SplitAfter(string(payload), "\n")
	for i, line := range lines {
		words := strings.Fields(line)
		if !strings.HasSuffix(line, "\n") || len(words) == 0 {
			break
		}
		switch words[0] {
		case "whole":
			b.Whole = true
		case "link":
			link := source.Link{URL: words[1]}
			if len(words) > 2 {
				n, err := strconv.ParseInt(words[2], 10, 64)
				if err != nil {
					return b, err
				}
				link.Updated = new(hazard.Instant(n))
			}
			b.Links = append(b.Links, link)
		case "panic":
			panic("a fault of the parser")
		case "reject":
			b.Read++
			b.Rejects = append(b.Rejects, source.Reject{Record: fmt.Sprint(i), Reason: "a bad record", Raw: []byte(line), Events: words[1:]})
			if len(words) == 1 {
				b.Rejects[len(b.Rejects)-1].Events = nil
			}
		case "end":
			return b, nil
		case "event", "gone":
			b.Read++
			b.Reports = append(b.Reports, report(words, now))
		default:
			return b, source.Errorf("line %d: %.20q, expected event", i+1, line)
		}
	}
	b.Whole = false
	return b, &source.PayloadError{Reason: "no end", Cut: true}
}

func report(words []string, now hazard.Instant) hazard.Report {
	start := now - now%hazard.Instant(24*time.Hour.Milliseconds())
	end := start.Add(48 * time.Hour)
	r := hazard.Report{Key: words[1], Version: 1, Name: words[1], Type: hazard.Flood, Severity: hazard.Watch, Start: start, End: &end, Point: &hazard.Point{Lon: 1, Lat: 2}}
	if words[0] == "gone" {
		r.Version, r.Ended = int64(now), hazard.EndWithdrawn
	}
	for _, w := range words[2:] {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "version":
			r.Version, _ = strconv.ParseInt(value, 10, 64)
		case "detail":
			r.Detail = value
		case "place":
			r.Places, r.Point = append(r.Places, value), nil
		case "severity":
			r.Severity = hazard.Warning
		}
	}
	return r
}

// list is a complete payload of events.
func list(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		if e == "whole" {
			b.WriteString("whole\n")
			continue
		}
		b.WriteString("event " + e + "\n")
	}
	return b.String() + "end\n"
}

// network is a network in memory. A handler serves each host, through the real HTTP client and
// server.
type network struct {
	t        *testing.T
	mu       sync.Mutex
	handlers map[string]http.Handler // by host
	asked    []ask
	inFlight map[string]int // requests by host, until the client has closed the response
	most     map[string]int
	conns    chan net.Conn
}

type ask struct {
	at     time.Time
	url    string
	header http.Header
}

func newNetwork(t *testing.T) *network {
	n := &network{t: t, handlers: map[string]http.Handler{}, inFlight: map[string]int{}, most: map[string]int{}, conns: make(chan net.Conn)}
	server := &http.Server{Handler: n, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(n) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return n
}

// Accept, Close and Addr make the network the server's listener.
func (n *network) Accept() (net.Conn, error) {
	c, ok := <-n.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (n *network) Close() error   { close(n.conns); return nil }
func (n *network) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (n *network) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	n.conns <- theirs
	return ours, nil
}

// transport is the poller's own transport on this network. TLS is left out.
func (n *network) transport() http.RoundTripper {
	t, err := NewTransport(&Config{})
	if err != nil {
		n.t.Fatal(err)
	}
	t.DialContext, t.DialTLSContext, t.ForceAttemptHTTP2 = n.dial, n.dial, false
	n.t.Cleanup(t.CloseIdleConnections)
	return counted{n, t}
}

// counted is a transport that counts the requests in flight. The server cannot count them: its
// handler may still run when the client has closed the connection and sends the next request.
type counted struct {
	n *network
	http.RoundTripper
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	host := r.URL.Host
	c.n.count(host, 1)
	answer, err := c.RoundTripper.RoundTrip(r)
	if err != nil || answer.StatusCode == http.StatusSwitchingProtocols { // the body of a WebSocket is also written to
		c.n.count(host, -1)
		return answer, err
	}
	answer.Body = &countedBody{ReadCloser: answer.Body, closed: sync.OnceFunc(func() { c.n.count(host, -1) })}
	return answer, nil
}

type countedBody struct {
	io.ReadCloser
	closed func()
}

func (b *countedBody) Close() error {
	defer b.closed()
	return b.ReadCloser.Close()
}

func (n *network) count(host string, by int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.inFlight[host] += by
	n.most[host] = max(n.most[host], n.inFlight[host])
}

func (n *network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	n.asked = append(n.asked, ask{time.Now(), r.Host + r.URL.String(), r.Header})
	h := n.handlers[r.Host]
	n.mu.Unlock()
	if h == nil {
		http.NotFound(w, r)
		return
	}
	h.ServeHTTP(w, r)
}

func (n *network) serve(host string, h http.HandlerFunc) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.handlers[host] = h
}

// text serves a payload.
func (n *network) text(host, payload string) {
	n.serve(host, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, payload) })
}

// asks returns the requests to a host whose address contains part, with their times.
func (n *network) asks(part string) (asks []ask) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range n.asked {
		if strings.Contains(a.url, part) {
			asks = append(asks, a)
		}
	}
	return asks
}

func testSource(name string) Source {
	parse := func(payload []byte, now hazard.Instant) (source.Batch, error) {
		b, err := parseLines(payload, now)
		for i := range b.Reports {
			b.Reports[i].Source = name
		}
		return b, err
	}
	return Source{Source: source.Source{Name: name, Title: name, Parse: parse, Lists: source.Lists{Complete: source.Yes},
		Feeds: []source.Feed{{URL: "https://" + name + ".example/feed", Every: time.Minute, MaxBytes: 1 << 20}}}}
}

// bed is a test bed: a store with its intake, and a log.
type bed struct {
	t     *testing.T
	dir   string
	store *store.Store
	net   *network
	log   *lockedBuffer
	// intake, if not nil, replaces the real one.
	intake Intake
}

func newBed(t *testing.T) *bed {
	b := &bed{t: t, dir: datadir.Empty(t), log: &lockedBuffer{}}
	b.store = b.open()
	b.net = newNetwork(t)
	return b
}

// open opens the bed's store again, like another process.
func (b *bed) open() *store.Store {
	b.t.Helper()
	s, err := store.Open(b.t.Context(), b.dir, "sqlite:?synchronous=off")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return s
}

func (b *bed) poller(sources ...Source) *Poller { return b.pollerOn(b.store, sources...) }

func (b *bed) pollerOn(s *store.Store, sources ...Source) *Poller {
	b.t.Helper()
	in := b.intake
	if in == nil {
		in = fuse.New(s, fuse.Known{Places: map[string]source.Places{"nws": places{s}}})
	}
	p, err := New(Config{Store: s, Intake: in, Sources: sources, Version: "1.2", Contact: "ops@example.org", Transport: b.net.transport(),
		Log: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// run runs a poller for d, then stops it and waits for its end.
func (b *bed) run(p *Poller, d time.Duration) {
	b.t.Helper()
	stop := b.start(p)
	time.Sleep(d)
	stop()
}

func (b *bed) start(p *Poller) (stop func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = p.Run(ctx) }()
	return func() { cancel(); <-done }
}

func (b *bed) status(sources ...Source) []Status {
	b.t.Helper()
	kept, err := b.store.Sources.States(b.t.Context())
	all := new(States).Statuses(kept, hazard.At(time.Now()), sources)
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// active returns the active events of a source.
func (b *bed) active(name string) map[string]bool {
	b.t.Helper()
	events, err := b.store.Reports.ActiveEvents(b.t.Context(), name)
	if err != nil {
		b.t.Fatal(err)
	}
	keys := map[string]bool{}
	for _, e := range events {
		keys[e.Event] = true
	}
	return keys
}

func (b *bed) wantActive(name string, want ...string) {
	b.t.Helper()
	got := slices.Sorted(maps.Keys(b.active(name)))
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		b.t.Errorf("active events of %s: %d %.200q, want %d %.200q", name, len(got), fmt.Sprint(got), len(want), fmt.Sprint(want))
	}
}

// places finds shapes in the store.
type places struct{ s *store.Store }

func (p places) Shape(ctx context.Context, code string) (geo.Shape, bool) {
	text, err := p.s.Sources.Place(ctx, "nws", code)
	if err != nil {
		return geo.Shape{}, false
	}
	s, err := geo.ParseLoose([]byte(text))
	return s, err == nil
}

// lockedBuffer is a log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), part)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// bubble runs a test in a bubble with its own bed.
func bubble(t *testing.T, f func(t *testing.T, b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t, newBed(t))
		time.Sleep(time.Minute) // the clock stops when this returns: what an end has cut off may still sleep in a server
	})
}
