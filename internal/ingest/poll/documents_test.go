package poll

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
)

// index serves an index of documents at a host, and the documents. Each document contains one event
// with its own name, unless a fault is set for it.
type index struct {
	mu     sync.Mutex
	host   string
	names  []string
	faults map[string]http.HandlerFunc
}

func (n *network) index(host string, names ...string) *index {
	x := &index{host: host, names: names, faults: map[string]http.HandlerFunc{}}
	n.serve(host, func(w http.ResponseWriter, r *http.Request) {
		x.mu.Lock()
		name := strings.TrimPrefix(r.URL.Path, "/")
		fault, names := x.faults[name], slices.Clone(x.names)
		x.mu.Unlock()
		switch {
		case fault != nil:
			fault(w, r)
		case name == "feed":
			for _, name := range names {
				_, _ = fmt.Fprintf(w, "link https://%s/%s 1\n", host, name)
			}
			_, _ = io.WriteString(w, "end\n")
		default:
			_, _ = fmt.Fprintf(w, "event %s\nend\n", name)
		}
	})
	return x
}

func (x *index) set(names []string, faults map[string]http.HandlerFunc) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.names, x.faults = names, maps.Clone(faults)
}

func answer500(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }

// Once, an index listed five Extreme alerts, and four of them could not be read for 15 s. They were
// not retried for an hour, although the source's state was ok.
func TestAnAnnouncedDocumentIsReadSoonAfterItIsThere(t *testing.T) {
	test.SeldomButRaced(t)
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		src.Warns = true
		x := b.net.index("a.example", "good", "absent", "empty", "page", "cut")
		faulty := map[string]http.HandlerFunc{
			"absent": http.NotFound,
			"empty":  func(http.ResponseWriter, *http.Request) {},
			"page":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
			"cut":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "event cut\nev") },
		}
		x.set(x.names, faulty)
		stop := b.start(b.poller(src))
		defer func() { stop() }()
		time.Sleep(15 * time.Second)
		b.wantActive("a", "good")
		s := b.status(src)[0]
		if s.State != Failing || s.Error == nil || s.Error.Class != ClassMissing || !strings.HasPrefix(s.Public().Error.Text, "4 documents") ||
			s.Documents != (Documents{Read: 1, Waiting: 4, Missing: 4}) {
			t.Errorf("status %+v, %+v", s, s.Error)
		}
		if text := Summary(b.status(src)); text != `ok=0; stale=0; failing=1; names="a"` {
			t.Errorf("summary %s", text)
		}
		x.set(x.names, nil)
		time.Sleep(25 * time.Second)
		b.wantActive("a", "good", "absent", "empty", "page", "cut")
		if s := b.status(src)[0]; s.State != OK || s.Error != nil || s.Documents != (Documents{Read: 5}) {
			t.Errorf("status %+v, %+v", s, s.Error)
		}
		// Documents are unavailable for hours, with a restart during that time. 2 minutes after the
		// end of the outage, all are known.
		x.set(append(x.names, "late"), map[string]http.HandlerFunc{"late": answer500})
		time.Sleep(3 * time.Hour)
		stop()
		stop = b.start(b.poller(src))
		time.Sleep(5 * time.Minute)
		if n := b.log.count("level=WARN"); n != 2 { // each of the two processes logs one
			t.Errorf("%d warnings, want 2:\n%s", n, b.log)
		}
		x.set(append(x.names, "late"), nil)
		time.Sleep(2*time.Minute + 10*time.Second)
		b.wantActive("a", "good", "absent", "empty", "page", "cut", "late")
	})
}

// Once, one document with status 500 delayed all others by a minute.
func TestOneBadDocumentHoldsNothingBack(t *testing.T) {
	for name, bad := range map[string]http.HandlerFunc{
		"500": answer500,
		"503, later": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"403":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"panics":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "panic\n") },
		"no HTTP": raw(func(w io.Writer) { _, _ = io.WriteString(w, "SSH-2.0\r\n") }),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				src := testSource("a")
				var good []string
				for i := range 50 {
					good = append(good, fmt.Sprintf("e%02d", i))
				}
				x := b.net.index("a.example")
				x.set(slices.Insert(slices.Clone(good), 3, "bad"), map[string]http.HandlerFunc{"bad": bad})
				stop := b.start(b.poller(src))
				time.Sleep(10 * time.Second)
				b.wantActive("a", good...)
				// The index is read at its interval, and new documents are read at once.
				x.set(slices.Insert(slices.Clone(good), 3, "bad", "new"), map[string]http.HandlerFunc{"bad": bad})
				time.Sleep(70 * time.Second)
				stop()
				b.wantActive("a", append(good, "new")...)
				if n := len(b.net.asks("/bad")); n > 6 {
					t.Errorf("the bad one was asked for %d times in 80 s", n)
				}
			})
		})
	}
}

// A document is retried until it expires according to the index, or until the index has not
// listed it for an hour.
func TestADocumentThatNeverComesIsGivenUpWhenItIsOver(t *testing.T) {
	test.SeldomButRaced(t)
	for name, over := range map[string]func(x *index, l *source.Link){
		"expired": func(_ *index, l *source.Link) {
			l.Expires = new(hazard.At(time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)))
		},
		"no longer": func(x *index, _ *source.Link) {
			x.set([]string{"other"}, map[string]http.HandlerFunc{"bad": answer500})
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				src := testSource("a")
				x := b.net.index("a.example")
				x.set([]string{"bad"}, map[string]http.HandlerFunc{"bad": answer500})
				parse := src.Parse
				src.Parse = func(payload []byte, now hazard.Instant) (source.Batch, error) {
					batch, err := parse(payload, now)
					for i := range batch.Links {
						over(x, &batch.Links[i])
					}
					return batch, err
				}
				stop := b.start(b.poller(src))
				time.Sleep(55 * time.Minute)
				if s := b.status(src)[0]; s.State != Failing || s.Error.Class != ClassMissing {
					t.Errorf("status %+v", s)
				}
				time.Sleep(50 * time.Minute)
				x.set(nil, nil)
				time.Sleep(2 * time.Minute)
				stop()
				if s := b.status(src)[0]; s.State != OK || s.Documents.Waiting != 0 {
					t.Errorf("status %+v, %+v", s, s.Error)
				}
				errs, err := b.store.Sources.Errors(t.Context(), "a", 10)
				if err != nil || len(errs) == 0 || errs[0].Record != "https://a.example/bad" || !strings.Contains(errs[0].Reason, "server error") {
					t.Errorf("errors %+v, %v", errs, err)
				}
			})
		})
	}
}

// Once, an index with links that must not be followed had the state ok.
func TestLinksThatAreNotFollowedAreAnErrorThatNamesTheSetting(t *testing.T) {
	for name, tt := range map[string]struct {
		link   string
		hosts  []string
		asked  string // "" if the link is not followed
		secret bool
	}{
		"another host":               {link: "https://cdn.example/x"},
		"another host, secret":       {link: "https://cdn.example/x", secret: true},
		"another host, as set":       {link: "https://cdn.example/x", hosts: []string{"CDN.example"}, asked: "cdn.example/x"},
		"the same host, by its port": {link: "https://A.example:443/x", asked: "a.example:443/x"},
		"another port":               {link: "https://a.example:8443/x"},
		"inside":                     {link: "https://169.254.169.254/x"},
		"a password":                 {link: "https://u:p@a.example/x"},
		"no web":                     {link: "ftp://a.example/x"},
		"without TLS":                {link: "http://a.example/x", asked: "a.example/x"},
		"relative to the host":       {link: "/x", asked: "a.example/x"},
		"relative to the feed":       {link: "x", asked: "a.example/x"},
		"no scheme":                  {link: "//a.example/x", asked: "a.example/x"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				src := testSource("a")
				src.Hosts, src.Private = tt.hosts, tt.secret
				payload := func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/feed" {
						_, _ = io.WriteString(w, "event x\nend\n")
						return
					}
					w.Header().Set("ETag", `"1"`)
					if r.Header.Get("If-None-Match") != "" {
						w.WriteHeader(http.StatusNotModified)
						return
					}
					_, _ = fmt.Fprintf(w, "link %s\nend\n", tt.link)
				}
				for _, host := range []string{"a.example", "A.example:443", "cdn.example"} {
					b.net.serve(host, payload)
				}
				b.run(b.poller(src), 3*time.Minute)
				s := b.status(src)[0]
				if tt.asked != "" {
					b.wantActive("a", "x")
					if s.State != OK || s.Documents != (Documents{Read: 1}) || len(b.net.asks("/x")) != 1 || !strings.EqualFold(b.net.asks("/x")[0].url, tt.asked) {
						t.Errorf("status %+v, asked %+v", s, b.net.asks("/x"))
					}
					return
				}
				if s.State != Failing || s.Error == nil || s.Error.Class != ClassElsewhere || s.Documents.Refused != 1 || len(b.net.asks("/x")) != 0 {
					t.Fatalf("status %+v", s)
				}
				text := s.Public().Error.Text
				if tt.secret == strings.Contains(text, "cdn.example") && strings.Contains(tt.link, "cdn") || !tt.secret && !strings.Contains(text, "setting hosts") {
					t.Errorf("readers are told %q", text)
				}
				if n := b.log.count("level=WARN"); n != 1 {
					t.Errorf("%d warnings:\n%s", n, b.log)
				}
			})
		})
	}
}

func TestAnIndexOfAnySizeIsReadInBoundedState(t *testing.T) {
	test.NoRace(t)
	test.Seldom(t)
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		src.Warns = true
		var names []string
		for i := range test.Rounds(2*maxJobs, maxJobs+300) {
			names = append(names, fmt.Sprintf("e%05d", i))
		}
		b.net.index("a.example", names...)
		stop := b.start(b.poller(src))
		time.Sleep(90 * time.Second)
		if s := b.status(src)[0]; s.State != Failing || s.Documents.Read+s.Documents.Waiting != len(names) || s.Documents.Missing == 0 {
			t.Errorf("%s, %+v", s.State, s.Documents)
		}
		body, err := b.store.Sources.State(t.Context(), "a")
		if err != nil || len(body) > 1<<20 {
			t.Errorf("the state has %d bytes, %v", len(body), err)
		}
		time.Sleep(14 * time.Minute)
		stop()
		if n := len(b.active("a")); n != len(names) {
			t.Errorf("%d of %d read", n, len(names))
		}
		if s := b.status(src)[0]; s.State != OK || s.Documents != (Documents{Read: len(names)}) {
			t.Errorf("%s, %+v", s.State, s.Documents)
		}
		if n := len(b.net.asks("/e")); n != len(names) {
			t.Errorf("%d documents asked for, want each once", n)
		}
	})
}

func TestDocumentsThatCannotBeReachedWaitTogether(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		src.Warns, src.Hosts = true, []string{"docs.example"}
		b.net.serve("a.example", func(w http.ResponseWriter, _ *http.Request) {
			for i := range 50 {
				_, _ = fmt.Fprintf(w, "link https://docs.example/e%02d 1\n", i)
			}
			_, _ = io.WriteString(w, "end\n")
		})
		b.net.serve("docs.example", raw(func(io.Writer) {}))
		stop := b.start(b.poller(src))
		time.Sleep(30 * time.Minute)
		if n := len(b.net.asks("docs.example")); n > 120 { // the HTTP client may repeat a request
			t.Errorf("%d requests in half an hour of an outage", n)
		}
		for i := range b.net.asks("a.example")[1:] {
			if gap := b.net.asks("a.example")[i+1].at.Sub(b.net.asks("a.example")[i].at); gap > 70*time.Second {
				t.Errorf("the index was read %s after the time before", gap)
			}
		}
		b.net.serve("docs.example", func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, "event %s\nend\n", strings.TrimPrefix(r.URL.Path, "/"))
		})
		time.Sleep(4 * time.Minute)
		stop()
		if n := len(b.active("a")); n != 50 {
			t.Errorf("%d of 50 read", n)
		}
	})
}

func TestADocumentOfSeveralEntriesIsReadOnce(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/feed" {
				_, _ = io.WriteString(w, "link /x 2\nlink /y 1\nlink /x 1\nend\n")
				return
			}
			_, _ = fmt.Fprintf(w, "event %s\nend\n", strings.TrimPrefix(r.URL.Path, "/"))
		})
		b.run(b.poller(src), 10*time.Minute)
		b.wantActive("a", "x", "y")
		if n := len(b.net.asks("/x")); n != 1 {
			t.Errorf("asked for %d times", n)
		}
	})
	for want, expires := range map[hazard.Instant][]*hazard.Instant{
		7: {new(hazard.Instant(3)), new(hazard.Instant(7)), new(hazard.Instant(5))},
		0: {new(hazard.Instant(3)), nil, new(hazard.Instant(5))},
	} {
		src := testSource("a")
		var links []source.Link
		for _, e := range expires {
			links = append(links, source.Link{URL: "/x", Expires: e})
		}
		if all, _, _ := src.entries(src.Feeds[0].URL, links); len(all) != 1 || all[0].expires != want {
			t.Errorf("%+v, want one that expires at %d", all[0], want)
		}
	}
}
