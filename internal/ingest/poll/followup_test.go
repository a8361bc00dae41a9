package poll

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
)

// withDetails is a list of n events, each with a link to a detail.
func withDetails(host string, n int) string {
	var events []string
	for i := range n {
		events = append(events, fmt.Sprintf("e%03d detail=https://%s/detail/e%03d", i, host, i))
	}
	return list(events...)
}

// serveDetails serves payload as the feed, and a detail for each event.
func (n *network) serveDetails(host, payload string) {
	n.serve(host, func(w http.ResponseWriter, r *http.Request) {
		if key, ok := strings.CutPrefix(r.URL.Path, "/detail/"); ok {
			_, _ = io.WriteString(w, "event "+key+" version=2\nend\n")
			return
		}
		_, _ = io.WriteString(w, payload)
	})
}

func TestFullerReportsAreReadFewAtATimeNewestFirst(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		payload := withDetails("a.example", 50)
		b.net.serveDetails("a.example", payload)
		stop := b.start(b.poller(src))
		time.Sleep(50 * time.Second)
		if n := len(b.net.asks("/detail/")); n != jobsPerPoll {
			t.Errorf("%d fuller reports after the first poll, want %d", n, jobsPerPoll)
		}
		if s := b.status(src)[0]; s.Pending != 30 {
			t.Errorf("%d pending, want 30", s.Pending)
		}
		// A new event appears: its detail is read first.
		b.net.serveDetails("a.example", list(append([]string{"new detail=https://a.example/detail/new"}, eventsOf(payload)...)...))
		time.Sleep(3 * time.Minute)
		stop()
		asks := b.net.asks("/detail/")
		if len(asks) != 51 {
			t.Errorf("%d fuller reports, want 51", len(asks))
		}
		second := b.net.asks("/feed")[1]
		after := slices.IndexFunc(asks, func(a ask) bool { return !a.at.Before(second.at) })
		if !strings.HasSuffix(asks[0].url, "e000") || !strings.HasSuffix(asks[after].url, "new") {
			t.Errorf("order: %s first, %s after the second poll", asks[0].url, asks[after].url)
		}
		for i := range asks[1:] {
			if gap := asks[i+1].at.Sub(asks[i].at); gap < jobPause {
				t.Errorf("only %s between two", gap)
			}
		}
		feeds := b.net.asks("/feed")
		for i := range feeds[1:] {
			if gap := feeds[i+1].at.Sub(feeds[i].at); gap > 68*time.Second {
				t.Errorf("the feed was read %s after the read before", gap)
			}
		}
		if b.net.most["a.example"] != 1 {
			t.Error("more than one request in flight")
		}
		s := b.status(src)[0]
		if s.Pending != 0 || s.Total.New != 51 || s.Total.Unchanged == 0 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestDocumentsOfAnIndexAreReadOnceAndWhenItSaysThatTheyChanged(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		// The index changes at each poll, because its own time does. Of its documents, one is
		// dated, one is not, and one does not exist.
		var updated, polls atomic.Int64
		updated.Store(1)
		b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/dated":
				_, _ = fmt.Fprintf(w, "event storm version=%d\nend\n", updated.Load())
			case "/undated":
				_, _ = io.WriteString(w, "event flood\nend\n")
			case "/gone":
				w.WriteHeader(http.StatusNotFound)
			default:
				w.Header().Set("ETag", fmt.Sprintf(`"%d"`, polls.Add(1)))
				_, _ = fmt.Fprintf(w, "link https://a.example/dated %d\nlink https://a.example/undated\nlink https://a.example/gone 5\nlink https://b.example/elsewhere 1\nend\n", updated.Load())
			}
		})
		read := func(want map[string]int) {
			t.Helper()
			for path, n := range want {
				if got := len(b.net.asks(path)); got != n {
					t.Errorf("%s was read %d times, want %d", path, got, n)
				}
			}
		}
		stop := b.start(b.poller(src))
		time.Sleep(20 * time.Minute)
		b.wantActive("a", "flood", "storm")
		read(map[string]int{"/dated": 1, "/undated": 1, "/elsewhere": 0})
		updated.Store(2)
		time.Sleep(2 * time.Minute)
		read(map[string]int{"/dated": 2, "/undated": 1})
		time.Sleep(linkAgain)
		read(map[string]int{"/dated": 2, "/undated": 2})
		if n := len(b.net.asks("/gone")); n < 8 || n > 12 {
			t.Errorf("a document that is not there was asked for %d times in 80 minutes", n)
		}
		stop()
		stop = b.start(b.poller(src)) // another process knows which documents this one has read
		time.Sleep(5 * time.Minute)
		stop()
		read(map[string]int{"/dated": 2, "/undated": 2})
	})
}

// A standby that took over, or a backup that was restored under a running server, may lack what was
// read since: the sources are asked for all of it again, and not whether something changed.
func TestAStoreThatLostChangesReadsEverythingAgain(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			switch {
			case r.URL.Path == "/alert":
				_, _ = io.WriteString(w, "event storm\nend\n")
			case r.Header.Get("If-None-Match") != "":
				w.WriteHeader(http.StatusNotModified)
			default:
				_, _ = io.WriteString(w, "link https://a.example/alert 1\nend\n")
			}
		})
		read := func(want int) {
			t.Helper()
			time.Sleep(20 * time.Minute)
			if n := len(b.net.asks("/alert")); n != want {
				t.Errorf("the alert was read %d times, want %d", n, want)
			}
		}
		stop := b.start(b.poller(src))
		read(1)
		if _, err := b.store.Fork(t.Context(), hazard.At(time.Now()), store.Failover); err != nil {
			t.Fatal(err)
		}
		read(2)
		stop()
		if _, err := b.store.Fork(t.Context(), hazard.At(time.Now()), store.Restored); err != nil {
			t.Fatal(err)
		}
		stop = b.start(b.poller(src)) // and so does a process that starts later
		read(3)
		stop()
		stop = b.start(b.poller(src))
		read(3)
		stop()
	})
}

func TestManyDocumentsOfAnIndexAreReadSoon(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		const n = 150
		b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
			if name, ok := strings.CutPrefix(r.URL.Path, "/doc/"); ok {
				_, _ = fmt.Fprintf(w, "event %s\nend\n", name)
				return
			}
			for i := range n {
				_, _ = fmt.Fprintf(w, "link https://a.example/doc/e%03d 1\n", i)
			}
			_, _ = io.WriteString(w, "end\n")
		})
		b.run(b.poller(src), 50*time.Second)
		if got := len(b.net.asks("/doc/")); got != n {
			t.Errorf("%d documents read, want %d", got, n)
		}
	})
}

func eventsOf(payload string) (events []string) {
	for line := range strings.Lines(payload) {
		if e, ok := strings.CutPrefix(strings.TrimSpace(line), "event "); ok {
			events = append(events, e)
		}
	}
	return events
}

func TestFullerReportsThatWaitSurviveARestart(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		src.Feeds[0].Every = time.Hour
		b.net.serveDetails("a.example", withDetails("a.example", 50))
		b.run(b.poller(src), 10*time.Second)
		b.run(b.poller(src), 10*time.Second)
		b.run(b.poller(src), 5*time.Minute)
		seen := map[string]bool{}
		for _, a := range b.net.asks("/detail/") {
			seen[a.url] = true
		}
		if len(seen) != 50 || len(b.net.asks("/feed")) != 1 {
			t.Errorf("%d fuller reports, %d polls", len(seen), len(b.net.asks("/feed")))
		}
	})
}

func TestFullerReportsOfAProcessThatDiedAreNotForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
			if key, ok := strings.CutPrefix(r.URL.Path, "/detail/"); ok {
				_, _ = io.WriteString(w, "event "+key+" version=2\nend\n")
				return
			}
			w.Header().Set("ETag", `"1"`)
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			_, _ = io.WriteString(w, withDetails("a.example", 5))
		})
		p := b.poller(src)
		dying := &dyingIntake{Intake: p.intake}
		p.intake = dying
		ctx, cancel := context.WithCancel(t.Context())
		dying.die = cancel
		_ = p.Run(ctx) // the process dies after intake has committed, before it saves its own state
		if n := len(b.active("a")); n != 5 {
			t.Fatalf("%d events", n)
		}
		if n := len(b.net.asks("/detail/")); n != 0 {
			t.Fatalf("%d fuller reports before the death", n)
		}
		b.run(b.poller(src), 5*time.Minute)
		if n := len(b.net.asks("/detail/")); n != 5 {
			t.Errorf("%d fuller reports, want 5", n)
		}
		if body, _ := b.store.Sources.State(t.Context(), "a"); strings.Contains(string(body), "unfinished") {
			t.Error("the state still says that something is unfinished")
		}
	})
}

// dyingIntake processes a batch, and then stops the process.
type dyingIntake struct {
	Intake
	die func()
}

func (d *dyingIntake) Apply(ctx context.Context, src string, batch source.Batch, clock hazard.Clock, opts fuse.Options) (fuse.Result, error) {
	if _, err := d.Intake.Apply(ctx, src, batch, clock, opts); err != nil {
		return fuse.Result{}, err
	}
	d.die()
	return fuse.Result{}, errStopped
}

func TestABadFullerReportIsGivenUpAndHoldsUpNoOther(t *testing.T) {
	test.Concurrent(t)
	for name, tt := range map[string]struct {
		bad http.HandlerFunc
	}{
		"not found":  {http.NotFound},
		"unreadable": {func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "<html>") }},
		"panics":     {func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "panic\n") }},
		"cut":        {func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "event x\n") }},
		"500":        {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				src := testSource("a")
				b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
					switch r.URL.Path {
					case "/feed":
						_, _ = io.WriteString(w, withDetails("a.example", 4))
					case "/detail/e001":
						tt.bad(w, r)
					default:
						_, _ = io.WriteString(w, "event "+strings.TrimPrefix(r.URL.Path, "/detail/")+" version=2\nend\n")
					}
				})
				stop := b.start(b.poller(src))
				time.Sleep(50 * time.Second)
				if others := len(b.net.asks("/detail/")) - len(b.net.asks("/detail/e001")); others != 3 {
					t.Errorf("%d others were read", others)
				}
				time.Sleep(time.Hour)
				stop()
				if n := len(b.net.asks("/detail/e001")); n != maxTries {
					t.Errorf("tried %d times, want %d", n, maxTries)
				}
				if others := len(b.net.asks("/detail/")) - len(b.net.asks("/detail/e001")); others != 3 {
					t.Errorf("%d others were read, want 3", others)
				}
				b.wantActive("a", "e000", "e001", "e002", "e003")
				errs, err := b.store.Sources.Errors(t.Context(), "a", 10)
				if err != nil || len(errs) != 1 || errs[0].Record != "https://a.example/detail/e001" {
					t.Errorf("kept errors %+v, %v", errs, err)
				}
				if s := b.status(src)[0]; s.State != OK || s.Pending != 0 {
					t.Errorf("status %+v", s)
				}
			})
		})
	}
}

func TestAnEventThatAFeedShouldNameIsLookedAfter(t *testing.T) {
	test.Concurrent(t)
	for name, tt := range map[string]struct {
		detail http.HandlerFunc
		over   bool
		asks   int // within 30 minutes
	}{
		"deleted":            {func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "gone x\nend\n") }, true, 1},
		"404":                {http.NotFound, true, 1},
		"409":                {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(409) }, true, 1},
		"410":                {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(410) }, true, 1},
		"still there":        {func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "event x\nend\n") }, false, 1},
		"unreadable":         {func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "<html>") }, false, maxTries},
		"403 is no deletion": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) }, false, 5},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				src := testSource("a")
				src.Missing = func(feed, event string, _, _ hazard.Instant) string {
					if feed != "https://a.example/feed" || event == "old" {
						return ""
					}
					return "https://a.example/detail/" + event
				}
				serve := func(payload string) {
					b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
						if strings.HasPrefix(r.URL.Path, "/detail/") {
							tt.detail(w, r)
							return
						}
						_, _ = io.WriteString(w, payload)
					})
				}
				serve(list("x", "y", "old"))
				stop := b.start(b.poller(src))
				time.Sleep(90 * time.Second)
				serve(list("y"))
				time.Sleep(30 * time.Minute)
				stop()
				want := []string{"old", "y"}
				if !tt.over {
					want = append(want, "x")
				}
				b.wantActive("a", want...)
				if n := len(b.net.asks("/detail/x")); n != tt.asks || len(b.net.asks("/detail/")) != n {
					t.Errorf("asked %d times, want %d; others %d", n, tt.asks, len(b.net.asks("/detail/"))-n)
				}
			})
		})
	}
}

func TestAFeedThatLosesItsEventsAtOnceIsReadTwiceBeforeTheyAreLookedAfter(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		src.Missing = func(_, event string, _, _ hazard.Instant) string {
			return "https://a.example/detail/" + event
		}
		full := strings.ReplaceAll(withDetails("a.example", 30), "detail=https://a.example/detail/", "x=")
		lists := []string{full, list(), full, list(), list()}
		n := 0
		b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/detail/") {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("ETag", `"1"`)
			if r.Header.Get("If-None-Match") != "" && n > 3 {
				w.WriteHeader(http.StatusNotModified) // this must be a request without validators
				return
			}
			_, _ = io.WriteString(w, lists[min(n, 4)])
			n++
		})
		stop := b.start(b.poller(src))
		time.Sleep(4*time.Minute - 10*time.Second)
		if len(b.active("a")) != 30 || len(b.net.asks("/detail/")) != 0 {
			t.Errorf("%d active, %d looked after", len(b.active("a")), len(b.net.asks("/detail/")))
		}
		time.Sleep(5 * time.Minute)
		stop()
		b.wantActive("a")
	})
}

func TestAddressesElsewhereAreNotFetched(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		b.net.text("a.example", list("x detail=https://evil.example/x", "y detail=http://a.example/y", "z detail=https://169.254.169.254/"))
		b.run(b.poller(src), 2*time.Minute)
		for _, a := range b.net.asks("") {
			if !strings.HasPrefix(a.url, "a.example/feed") {
				t.Errorf("asked for %s", a.url)
			}
		}
	})
}

// zones serves alerts and the shapes of their zones, like api.weather.gov.
func zones(t *testing.T, b *bed, src *Source, zone http.HandlerFunc) {
	t.Helper()
	src.PlaceURL = func(code string) string {
		if strings.HasPrefix(code, "SAME:") {
			return ""
		}
		return "https://nws.example/zones/" + code
	}
	src.ParsePlace = func(payload []byte) (string, []byte, string, error) {
		code, ok := strings.CutPrefix(string(payload), "zone ")
		if !ok {
			return "", nil, "", source.Errorf("%.20q, expected a zone", payload)
		}
		return code, []byte(`{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}`), "Zone " + code, nil
	}
	feed := b.net.handlers["nws.example"]
	b.net.serve("nws.example", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/zones/") {
			zone(w, r)
			return
		}
		feed.ServeHTTP(w, r)
	})
}

func goodZone(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "zone "+strings.TrimPrefix(r.URL.Path, "/zones/"))
}

func TestPlacesAreFetchedAfterTheAlertsAndUsed(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("nws")
		var alerts []string
		for i := range 250 {
			alerts = append(alerts, fmt.Sprintf("a%03d place=Z%03d", i, i))
		}
		alerts = append(alerts, "here", "urgent place=Z900 severity=5", "same place=SAME:123456")
		b.net.serve("nws.example", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			_, _ = io.WriteString(w, list(alerts...))
		})
		zones(t, b, &src, goodZone)
		stop := b.start(b.poller(src))
		time.Sleep(2 * time.Second)
		b.wantActive("nws", "here") // it did not wait for the others
		time.Sleep(50 * time.Second)
		if n := len(b.net.asks("/zones/")); n != placesPerPoll {
			t.Errorf("%d places after one poll, want %d", n, placesPerPoll)
		}
		if !strings.HasSuffix(b.net.asks("/zones/")[0].url, "/zones/Z900") {
			t.Errorf("first asked for %s, want the place of the most severe alert", b.net.asks("/zones/")[0].url)
		}
		if n := len(b.active("nws")); n != 1+placesPerPoll {
			t.Errorf("%d active after one poll, want %d", n, 1+placesPerPoll)
		}
		time.Sleep(time.Minute)
		stop()
		if n := len(b.active("nws")); n != 252 {
			t.Errorf("%d active, want 252", n)
		}
		b.run(b.poller(src), 15*time.Minute) // also reads in full once
		if n := len(b.net.asks("/zones/")); n != 251 {
			t.Errorf("%d places were asked for, want each once", n)
		}
		if s := b.status(src)[0]; s.Pending != 0 || s.Total.New != 252 || s.Total.Held == 0 {
			t.Errorf("status %+v", s)
		}
	})
}

// The shape of a place in a document is fetched from its own address before the document is
// processed. This also works if the first request for the shape fails.
func TestThePlacesOfADocumentAreFetchedBeforeItIsUsed(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("nws")
		src.Warns = true
		x := b.net.index("nws.example", "there", "later", "nowhere")
		documents := map[string]http.HandlerFunc{}
		for name, zone := range map[string]string{"there": "Z1", "later": "Z2", "nowhere": "Z3"} {
			documents[name] = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, list(name+" place="+zone)) }
		}
		x.set([]string{"there", "later", "nowhere"}, documents)
		var well atomic.Bool
		zones(t, b, &src, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "Z3"):
				http.NotFound(w, r)
			case strings.HasSuffix(r.URL.Path, "Z2") && !well.Load():
				answer500(w, r)
			default:
				goodZone(w, r)
			}
		})
		stop := b.start(b.poller(src))
		defer func() { stop() }()
		time.Sleep(30 * time.Second)
		b.wantActive("nws", "there")
		if s := b.status(src)[0]; s.State != Failing {
			t.Errorf("%s while the shape of what it announced is missing", s.State)
		}
		well.Store(true)
		time.Sleep(5 * time.Minute)
		b.wantActive("nws", "there", "later")
		if n := len(b.net.asks("/zones/Z3")); n != 1 {
			t.Errorf("a shape that is not there was asked for %d times", n)
		}
	})
}

func TestAPlaceThatCannotBeHadIsAskedForOnceADay(t *testing.T) {
	for name, zone := range map[string]http.HandlerFunc{
		"not found":     http.NotFound,
		"another place": func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "zone other") },
		"unreadable":    func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "<html>") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				src := testSource("nws")
				src.Feeds[0].Every = 10 * time.Minute
				b.net.text("nws.example", list("a place=Z1", "b"))
				zones(t, b, &src, zone)
				b.run(b.poller(src), 20*time.Minute)
				b.run(b.poller(src), 20*time.Minute)
				if n := len(b.net.asks("/zones/")); n != 1 {
					t.Errorf("asked %d times, want 1", n)
				}
				time.Sleep(24 * time.Hour)
				b.run(b.poller(src), 15*time.Minute)
				if n := len(b.net.asks("/zones/")); n != 2 {
					t.Errorf("asked %d times in two days, want 2", n)
				}
			})
		})
	}
}

func TestPlacesWaitWhileTheirServerIsNotWell(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("nws")
		b.net.text("nws.example", list("a place=Z1", "b place=Z2", "c"))
		var broken atomic.Bool
		broken.Store(true)
		zones(t, b, &src, func(w http.ResponseWriter, r *http.Request) {
			if broken.Load() {
				w.Header().Set("Retry-After", "600")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			goodZone(w, r)
		})
		stop := b.start(b.poller(src))
		time.Sleep(9 * time.Minute)
		if n, polls := len(b.net.asks("/zones/")), len(b.net.asks("/feed")); n != 1 || polls < 8 {
			t.Errorf("%d places asked for within the Retry-After, %d polls", n, polls)
		}
		broken.Store(false)
		time.Sleep(5 * time.Minute)
		stop()
		b.wantActive("nws", "a", "b", "c")
	})
}

func TestPlacesThatBecameKnownBeforeADeathAreUsed(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("nws")
		b.net.serve("nws.example", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			_, _ = io.WriteString(w, list("a place=Z1", "b place=Z2"))
		})
		ctx, cancel := context.WithCancel(t.Context())
		var once sync.Once
		zones(t, b, &src, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "Z2") {
				once.Do(cancel) // Z1 is known, but was not applied
			}
			goodZone(w, r)
		})
		_ = b.poller(src).Run(ctx)
		b.wantActive("nws")
		b.run(b.poller(src), 5*time.Minute)
		b.wantActive("nws", "a", "b")
	})
}

func TestTheStateStaysSmall(t *testing.T) {
	st := &state{}
	var jobs []job
	for i := range 3 * maxJobs {
		jobs = append(jobs, job{URL: fmt.Sprint("https://a.example/detail/", i)})
	}
	if n := st.enqueue(jobs); n != 2*maxJobs || len(st.Jobs) != maxJobs || st.Jobs[0].URL != jobs[0].URL {
		t.Errorf("%d dropped, %d kept", n, len(st.Jobs))
	}
	if n := st.enqueue(jobs[:10]); n != 0 || len(st.Jobs) != maxJobs {
		t.Errorf("the same again: %d dropped, %d kept", n, len(st.Jobs))
	}
	if n := st.enqueue([]job{{URL: "new"}}); n != 1 || st.Jobs[0].URL != "new" || slices.Contains(st.Jobs, jobs[maxJobs-1]) {
		t.Errorf("one more: %d dropped", n)
	}
}
