package poll

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/ingest/sources/emsc"
	"github.com/hazardd/hazardd/internal/test"
)

// sender is a server that pushes. It calls serve for each connection.
type sender struct {
	t     *testing.T
	serve func(conn net.Conn, n int) // n is the number of the connection, from 1

	mu    sync.Mutex
	count int
	down  bool
	conns []net.Conn
	wg    sync.WaitGroup
}

// senders are the senders of a bed, by address.
type senders map[string]*sender

func (s senders) dial(_ context.Context, _, address string) (net.Conn, error) {
	to := s[address]
	if to == nil {
		return nil, fmt.Errorf("no route to %s", address)
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	to.count++
	if to.down {
		return nil, errors.New("connection refused")
	}
	ours, theirs := net.Pipe()
	to.conns = append(to.conns, theirs)
	n := to.count
	to.wg.Go(func() { defer func() { _ = theirs.Close() }(); to.serve(theirs, n) })
	return ours, nil
}

// cut breaks all connections, and refuses new ones if down.
func (s *sender) cut(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.conns = nil
}

func (s *sender) opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// send writes a text on all connections.
func (s *sender) send(text string) {
	s.mu.Lock()
	conns := s.conns
	s.mu.Unlock()
	for _, c := range conns {
		_, _ = io.WriteString(c, text) // the connection may be cut
	}
}

// quiet serves a connection without writing to it; only sender.send does.
func quiet(conn net.Conn, _ int) { _, _ = io.Copy(io.Discard, conn) }

// document is a pushed document of events, as a TCP connection carries it.
func document(events ...string) string { return "<alert>\n" + list(events...) + "</alert>\n" }

// pushing is testSource with a TCP connection that carries documents, at stream:1.
func pushing(name string) Source {
	src := testSource(name)
	parse := src.Parse
	src.Parse = func(payload []byte, now hazard.Instant) (source.Batch, error) {
		if inner, ok := bytes.CutPrefix(payload, []byte("<alert>\n")); ok {
			payload = bytes.TrimSuffix(inner, []byte("</alert>"))
		}
		return parse(payload, now)
	}
	src.Lists = source.Lists{}
	src.Pushes = []source.Push{{URL: "tcp://stream:1", Silence: time.Minute, MaxBytes: 1 << 20, Root: "alert"}}
	src.Eased = 10 * time.Minute
	return src
}

// pusher is a poller whose connections lead to senders.
func (b *bed) pusher(to senders, sources ...Source) *Poller {
	p := b.poller(sources...)
	p.streams.Net = to.dial
	b.t.Cleanup(func() {
		for _, s := range to {
			s.cut(true)
			s.wg.Wait()
		}
	})
	return p
}

func TestWhatIsPushedIsTakenInAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		to := &sender{t: t, serve: quiet}
		src := pushing("a")
		b.net.text("a.example", list("polled"))
		stop := b.start(b.pusher(senders{"stream:1": to}, src))
		defer stop()
		time.Sleep(30 * time.Second)
		b.wantActive("a", "polled")
		to.send(document("x"))
		synctest.Wait()
		b.wantActive("a", "polled", "x")
		to.send(document("x")[:20])
		synctest.Wait()
		to.send(document("x")[20:] + document("y") + document("z")[:10])
		synctest.Wait()
		b.wantActive("a", "polled", "x", "y")
		time.Sleep(30 * time.Second)
		s := b.status(src)[0]
		if len(s.Pushes) != 1 || s.Pushes[0].State != OK || s.Pushes[0].Messages != 3 || s.State != OK || s.Total.New != 3 {
			t.Errorf("%+v", s)
		}
	})
}

// Polls become rarer once the connection has been up for an interval. They return to the normal
// interval as soon as it is down. What was missed meanwhile is read as soon as it is up again.
func TestPollingEasesWhileAPushIsUp(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		beating := func(conn net.Conn, _ int) {
			for {
				if _, err := io.WriteString(conn, document()); err != nil {
					return
				}
				time.Sleep(20 * time.Second)
			}
		}
		to := &sender{t: t, serve: beating}
		src := pushing("a")
		b.net.text("a.example", list())
		stop := b.start(b.pusher(senders{"stream:1": to}, src))
		defer stop()
		time.Sleep(time.Hour)
		up := len(b.net.asks("a.example"))
		if up < 7 || up > 10 {
			t.Errorf("%d polls in an hour with a connection, expected two and one each ten minutes", up)
		}
		if s := b.status(src)[0]; s.State != OK {
			t.Errorf("state %s between two polls: %+v", s.State, s.Error)
		}
		to.cut(true)
		time.Sleep(10 * time.Minute)
		down := len(b.net.asks("a.example")) - up
		if down < 9 || down > 11 {
			t.Errorf("%d polls in ten minutes without a connection", down)
		}
		if s := b.status(src)[0]; s.State != OK || s.Feeds[0].State != OK || s.Pushes[0].State != Failing || s.Pushes[0].Error.Class != ClassUnreachable {
			t.Errorf("%+v", s)
		}
		// The delays between reconnects grow: 2 s, 4 s, … two minutes.
		if n := to.opened(); n < 8 || n > 14 {
			t.Errorf("%d tries to connect in ten minutes", n)
		}
		b.net.text("a.example", list("missed"))
		before := len(b.net.asks("a.example"))
		to.cut(false)
		for to.opened() == 0 || b.status(src)[0].Pushes[0].State != OK {
			time.Sleep(time.Second)
		}
		time.Sleep(minApart)
		if len(b.net.asks("a.example")) == before {
			t.Error("the gap was not read")
		}
		b.wantActive("a", "missed")
	})
}

func TestASilentHeartbeatIsFailing(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		to := &sender{t: t, serve: func(conn net.Conn, n int) {
			for range 10 {
				_, _ = io.WriteString(conn, document())
				time.Sleep(20 * time.Second)
			}
			for n == 1 { // the connection sends single bytes, but never a whole message
				if _, err := io.WriteString(conn, "x"); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
			quiet(conn, n)
		}}
		src := pushing("a")
		b.net.text("a.example", list("x"))
		stop := b.start(b.pusher(senders{"stream:1": to}, src))
		defer stop()
		time.Sleep(239 * time.Second)
		if s := b.status(src)[0]; s.State != OK || s.Pushes[0].State != OK {
			t.Errorf("%+v", s)
		}
		time.Sleep(2 * time.Second)
		if s := b.status(src)[0]; s.State != OK || s.Pushes[0].State != Failing || s.Pushes[0].Error.Class != ClassTimeout {
			t.Errorf("%+v", s)
		}
		time.Sleep(time.Minute)
		if s := b.status(src)[0]; s.Pushes[0].State != OK || to.opened() != 2 {
			t.Errorf("%d connections, %+v", to.opened(), s)
		}
	})
}

// A feed that hangs must not delay pushed messages.
func TestAHangingPollDelaysNoPush(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		to := &sender{t: t, serve: quiet}
		src := pushing("a")
		b.net.serve("a.example", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		stop := b.start(b.pusher(senders{"stream:1": to}, src))
		defer stop()
		for range 50 {
			time.Sleep(7 * time.Second)
			to.send(document(fmt.Sprintf("x%d", time.Now().Unix())))
			synctest.Wait()
		}
		if n := len(b.active("a")); n != 50 {
			t.Errorf("%d of 50 are there", n)
		}
	})
}

// A faulty sender affects only itself, and uses bounded memory.
func TestABadSenderHarmsNobodyElse(t *testing.T) {
	test.Concurrent(t)
	for name, serve := range map[string]func(conn net.Conn, n int){
		"floods": func(conn net.Conn, _ int) {
			for i := 0; ; i++ {
				if _, err := io.WriteString(conn, document(fmt.Sprintf("f%d", i%1000))); err != nil {
					return
				}
			}
		},
		"never ends a document": func(conn net.Conn, _ int) {
			for {
				if _, err := io.WriteString(conn, "<alert>"+strings.Repeat("x", 1000)); err != nil {
					return
				}
			}
		},
		"sends garbage": func(conn net.Conn, _ int) {
			for {
				if _, err := io.WriteString(conn, "<?xml nonsense </alert>\x00\xff"); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		},
		"makes the parser panic": func(conn net.Conn, _ int) {
			for {
				if _, err := io.WriteString(conn, "<alert>\npanic\n</alert>"); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		},
		"hangs up at once": func(net.Conn, int) {},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				bad, good := &sender{t: t, serve: serve}, &sender{t: t, serve: quiet}
				a, c := pushing("a"), pushing("c")
				c.Pushes[0].URL = "tcp://stream:2"
				b.net.text("a.example", list("polled"))
				b.net.text("c.example", list("polled"))
				stop := b.start(b.pusher(senders{"stream:1": bad, "stream:2": good}, a, c))
				defer stop()
				var slowest time.Duration
				for i := range 30 {
					time.Sleep(2 * time.Second)
					key, began := fmt.Sprintf("g%d", i), time.Now()
					good.send(document(key))
					for !b.active("c")[key] && time.Since(began) < 10*time.Second {
						time.Sleep(10 * time.Millisecond)
					}
					slowest = max(slowest, time.Since(began))
				}
				if slowest > 500*time.Millisecond {
					t.Errorf("a message of a neighbor took %s", slowest)
				}
				if !b.active("a")["polled"] {
					t.Error("polling of the source itself does not go on")
				}
				states := b.status(a, c)
				if states[1].State != OK {
					t.Errorf("the neighbor: %+v", states[1])
				}
				if most := int64(pushBurst + 100*pushRate); states[0].Pushes[0].Messages > most {
					t.Errorf("%d messages taken in", states[0].Pushes[0].Messages)
				}
				if n := bad.opened(); n > 100 {
					t.Errorf("%d connections in a minute", n)
				}
			})
		})
	}
}

func TestOneOfTwoProcessesIsConnected(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		to := &sender{t: t, serve: quiet}
		src := pushing("a")
		b.net.text("a.example", list())
		at := senders{"stream:1": to}
		first := b.pusher(at, src)
		second := b.pollerOn(b.open(), src)
		second.streams.Net = at.dial
		stopFirst := b.start(first)
		stopSecond := b.start(second)
		time.Sleep(20 * time.Second)
		if n := to.opened(); n != 1 {
			t.Fatalf("%d connections", n)
		}
		to.send(document("x"))
		synctest.Wait()
		// The other process takes over, and reads what was published meanwhile.
		b.net.text("a.example", list("between"))
		if first.store.Leases.Held(hazard.At(time.Now()))[leaseName] {
			stopFirst()
			defer stopSecond()
		} else {
			stopSecond()
			defer stopFirst()
		}
		time.Sleep(15 * time.Second)
		to.send(document("y"))
		synctest.Wait()
		b.wantActive("a", "x", "y", "between")
		if n := to.opened(); n != 2 {
			t.Errorf("%d connections", n)
		}
	})
}

// A message that cannot be processed is not lost: the connection is reopened, and the poll after
// that finds it.
func TestAMessageThatMeetsABrokenStoreIsFoundByAPoll(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		to := &sender{t: t, serve: quiet}
		src := pushing("a")
		b.net.text("a.example", list())
		broken := &failing{Intake: fuse.New(b.store, fuse.Known{})}
		b.intake = broken
		stop := b.start(b.pusher(senders{"stream:1": to}, src))
		defer stop()
		time.Sleep(10 * time.Second)
		broken.set(hazard.ErrUnavailable)
		b.net.text("a.example", list("x"))
		to.send(document("x"))
		time.Sleep(30 * time.Second)
		b.wantActive("a")
		broken.set(nil)
		time.Sleep(2 * time.Minute)
		b.wantActive("a", "x")
	})
}

// failing is an intake that fails as long as a flag is set.
type failing struct {
	Intake
	mu  sync.Mutex
	err error
}

func (f *failing) set(err error) { f.mu.Lock(); defer f.mu.Unlock(); f.err = err }

func (f *failing) Apply(ctx context.Context, src string, batch source.Batch, clock hazard.Clock, opts fuse.Options) (fuse.Result, error) {
	f.mu.Lock()
	err := f.err
	f.mu.Unlock()
	if err != nil {
		return fuse.Result{}, err
	}
	return f.Intake.Apply(ctx, src, batch, clock, opts)
}

// TestEarthquakesArePushed replays recorded earthquakes as messages of EMSC's WebSocket. Each is
// sent twice, and the connection is cut in between. The result is the same as if they had been
// polled.
func TestEarthquakesArePushed(t *testing.T) {
	var list struct {
		Features []json.RawMessage `json:"features"`
	}
	payload := recorded(t, "emsc/fdsn-turkey-202504.json")
	if err := json.Unmarshal(payload, &list); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2025, 4, 23, 18, 0, 0, 0, time.UTC)
	events := func(t *testing.T, push bool) map[string]bool {
		var all map[string]bool
		bubble(t, func(t *testing.T, b *bed) {
			time.Sleep(time.Until(at))
			messages := make(chan []byte)
			b.net.serve("www.seismicportal.eu", func(w http.ResponseWriter, r *http.Request) {
				switch {
				case !strings.HasSuffix(r.URL.Path, "websocket"):
					if push {
						_, _ = io.WriteString(w, `{"type":"FeatureCollection","features":[]}`)
					} else {
						_, _ = w.Write(payload)
					}
				case push:
					conn, err := websocket.Accept(w, r, nil)
					if err != nil {
						t.Error(err)
						return
					}
					defer func() { _ = conn.CloseNow() }()
					ctx := conn.CloseRead(r.Context())
					for {
						select {
						case m := <-messages:
							if m == nil || conn.Write(ctx, websocket.MessageText, m) != nil {
								return
							}
						case <-ctx.Done():
							return
						}
					}
				default:
					http.NotFound(w, r)
				}
			})
			src := Source{Source: emsc.Source()}
			stop := b.start(b.poller(src))
			defer stop()
			time.Sleep(20 * time.Second)
			if push {
				for i, f := range list.Features {
					m := []byte(fmt.Sprintf(`{"action":"create","data":%s}`, f))
					for range 2 {
						select {
						case messages <- m:
						case <-time.After(5 * time.Minute):
							t.Fatal("the poller does not connect")
						}
					}
					if i == len(list.Features)/2 {
						messages <- nil
					}
				}
			}
			time.Sleep(2 * time.Minute)
			all = b.active(emsc.Name)
			if s := b.status(src)[0]; push && (s.State != OK || s.Pushes[0].Messages != int64(2*len(list.Features))) {
				t.Errorf("%+v", s)
			}
		})
		return all
	}
	polled, pushed := events(t, false), events(t, true)
	if len(polled) == 0 || len(polled) != len(pushed) {
		t.Errorf("%d events when pushed, %d when polled", len(pushed), len(polled))
	}
	for key := range polled {
		if !pushed[key] {
			t.Errorf("%s is missing", key)
		}
	}
}

// naad is Canada's system: two connections with the same alerts, heartbeats that list the last ten
// alerts, and two archives.
type naad struct {
	b       *bed
	streams [2]*sender
	mu      sync.Mutex
	last    []string // references of the last alerts
	archive map[string][]byte
	asked   map[string]int
}

func newNAAD(t *testing.T, b *bed) (*naad, Source) {
	n := &naad{b: b, archive: map[string][]byte{}, asked: map[string]int{}}
	for i := range n.streams {
		n.streams[i] = &sender{t: t, serve: func(conn net.Conn, k int) {
			go quiet(conn, k)
			for {
				time.Sleep(time.Minute)
				n.mu.Lock()
				beat := fmt.Sprintf(`<?xml version='1.0' encoding='UTF-8' standalone='no'?><alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>%s</identifier><sender>NAADS-Heartbeat</sender><sent>%s</sent><status>System</status><msgType>Alert</msgType><scope>Public</scope><references>%s</references></alert>`,
					time.Now(), time.Now().Format(time.RFC3339), strings.Join(n.last[max(0, len(n.last)-10):], " "))
				n.mu.Unlock()
				if _, err := io.WriteString(conn, beat); err != nil {
					return
				}
			}
		}}
	}
	for _, host := range []string{"capcp1.example", "capcp2.example"} {
		b.net.serve(host, func(w http.ResponseWriter, r *http.Request) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.asked[r.URL.Path]++
			if text := n.archive[r.URL.Path]; text != nil && host == "capcp2.example" { // the first archive has nothing
				_, _ = w.Write(text)
				return
			}
			http.NotFound(w, r)
		})
	}
	b.net.text("rss.example", `<rss version="2.0"><channel><title>none</title></channel></rss>`)
	config := cap.Config{Name: "naad", URL: "https://rss.example/", Push: []string{"tcp://stream:1", "tcp://stream:2"},
		Archive: []string{"http://capcp1.example", "http://capcp2.example"}}
	if err := config.Check(); err != nil {
		t.Fatal(err)
	}
	return n, Source{Source: config.Source(cap.Places{})}
}

// publish puts an alert into the archive, and sends it on the given streams.
func (n *naad) publish(text []byte, on ...int) {
	n.mu.Lock()
	id, sent := between(text, "<identifier>", "</identifier>"), between(text, "<sent>", "</sent>")
	n.last = append(n.last, "cap-pac@canada.ca,"+id+","+sent)
	name := strings.NewReplacer("-", "_", ":", "_", "+", "p").Replace(sent + "I" + id)
	n.archive["/"+sent[:10]+"/"+name+".xml"] = text
	n.mu.Unlock()
	for _, i := range on {
		n.streams[i].send(string(text))
	}
}

func between(text []byte, from, to string) string {
	_, rest, _ := strings.Cut(string(text), from)
	inner, _, _ := strings.Cut(rest, to)
	return inner
}

// TestCanadasStreamsLoseNoAlert replays a recorded chain of 19 alerts: on both streams, on one, or
// on none, when only the heartbeats list them. One alert is cut in half. After a restart, the
// service fetches none again. The result is the same as after reading the alerts in order.
func TestCanadasStreamsLoseNoAlert(t *testing.T) {
	test.SeldomButRaced(t)
	if os.Getenv("HAZARDD_SHARED") == "" {
		t.Skip("HAZARDD_SHARED is not set: no recordings")
	}
	files, err := filepath.Glob(filepath.Join(os.Getenv("HAZARDD_SHARED"), "feeds/cap/canada-2026/20260710-chain00-*.cap"))
	if err != nil || len(files) != 19 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var alerts [][]byte
	for _, f := range files {
		alerts = append(alerts, recorded(t, "cap/canada-2026/"+filepath.Base(f)))
	}
	sentAt := func(text []byte) time.Time {
		at, err := time.Parse("2006-01-02T15:04:05-00:00", between(text, "<sent>", "</sent>"))
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	play := func(t *testing.T, whole bool) (hazards string) {
		bubble(t, func(t *testing.T, b *bed) {
			time.Sleep(time.Until(sentAt(alerts[0])) - time.Minute)
			n, src := newNAAD(t, b)
			to := senders{"stream:1": n.streams[0], "stream:2": n.streams[1]}
			stop := b.start(b.pusher(to, src))
			for i, text := range alerts {
				time.Sleep(max(0, time.Until(sentAt(text))) + time.Second)
				switch {
				case whole:
					n.publish(text, 0)
				case i%4 == 0:
					n.publish(text, 0, 1)
				case i%4 == 1:
					n.publish(text, 1)
				case i%4 == 2: // only half of it is sent, and the next message follows
					n.publish(text)
					n.streams[0].send(string(text[:len(text)/2]))
				default:
					n.publish(text)
				}
				if i == 9 {
					time.Sleep(5 * time.Minute)
					stop()
					stop = b.start(b.pusher(to, src))
				}
				time.Sleep(10 * time.Second)
			}
			time.Sleep(5 * time.Minute)
			if s := b.status(src)[0]; s.State != OK || len(s.Pushes) != 2 || s.Pushes[0].State != OK || s.Pushes[1].State != OK || s.Documents.Missing != 0 {
				t.Errorf("%+v", s)
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			for path, times := range n.asked {
				if times > 3 {
					t.Errorf("%s was asked for %d times", path, times)
				}
			}
			if fetched := len(n.asked); whole && fetched != 0 || !whole && (fetched < 8 || fetched > 10) {
				t.Errorf("%d alerts were fetched from the archive", fetched)
			}
			hazards = b.told()
			stop()
		})
		return hazards
	}
	if all, some := play(t, true), play(t, false); all == "" || all != some {
		t.Errorf("with losses:\n%s\nwithout:\n%s", some, all)
	}
}

// told describes the active hazards, without the times of their records.
func (b *bed) told() string {
	changes, err := b.store.Log.Since(b.t.Context(), 0, 10000)
	if err != nil {
		b.t.Fatal(err)
	}
	last := map[int64]string{}
	for _, c := range changes {
		if h := c.Hazard; h != nil {
			last[h.ID] = fmt.Sprintf("%s %s %s %v %v %v", h.Name, h.Type, h.Status, h.Severity, h.Start, h.Areas)
		}
	}
	var all []string
	for _, text := range last {
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}
