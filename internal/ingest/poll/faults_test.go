package poll

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/ingest/evidence"
	"github.com/hazardd/hazardd/internal/store/blob"

	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
)

// raw takes over the connection, and calls f to write the response without the HTTP server.
func raw(f func(w io.Writer)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer func() { _ = conn.Close() }()
		f(buf)
		_ = buf.Flush()
	}
}

func zipped(parts ...string) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, p)
		_ = z.Close()
	}
	return b.Bytes()
}

// faults are the ways in which a source may fail.
var faults = map[string]struct {
	serve http.HandlerFunc
	class Class
	// events are the events that are known despite the fault.
	events []string
	text   string // part of the error's text
}{
	"never answers": {class: ClassTimeout, serve: func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	"one byte a second": {class: ClassTooSlow, text: "30s", events: []string{"x"}, serve: func(w http.ResponseWriter, r *http.Request) {
		for _, c := range []byte(list("x") + strings.Repeat(" ", 1000)) {
			if _, err := w.Write([]byte{c}); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(time.Second):
			}
		}
	}},
	"just fast enough, and endless": {class: ClassTimeout, text: "2m0s", serve: func(w http.ResponseWriter, r *http.Request) {
		for range 1000 {
			if _, err := w.Write(bytes.Repeat([]byte{' '}, 2000)); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(time.Second):
			}
		}
	}},
	"stops in the middle": {class: ClassTooSlow, events: []string{"x"}, serve: func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "event x\neven")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}},
	"breaks in the body": {class: ClassIncomplete, text: "unexpected EOF", events: []string{"x", "y"}, serve: raw(func(w io.Writer) {
		_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nevent x\nevent y\nevent z")
	})},
	"breaks in a chunk": {class: ClassIncomplete, events: []string{"x"}, serve: raw(func(w io.Writer) {
		_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nevent x\neve")
	})},
	"breaks in a gzip body": {class: ClassIncomplete, serve: raw(func(w io.Writer) {
		z := zipped(list("x", "y"))
		_, _ = fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(z), z[:12])
	})},
	"breaks before the header": {class: ClassUnreachable, serve: raw(func(io.Writer) {})},
	"breaks in the header":     {class: ClassUnreachable, serve: raw(func(w io.Writer) { _, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nCont") })},
	"is no HTTP":               {class: ClassUnreachable, serve: raw(func(w io.Writer) { _, _ = io.WriteString(w, "SSH-2.0-OpenSSH\r\n\r\n") })},
	"a header of 1 MB": {class: ClassUnreachable, serve: raw(func(w io.Writer) {
		_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1<<20)+"\r\n\r\n"+list("x"))
	})},
	"half a document in a whole answer": {class: ClassIncomplete, text: "no end", events: []string{"x"}, serve: func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "event x\neven")
	}},
	"an empty document": {class: ClassIncomplete, serve: func(w http.ResponseWriter, r *http.Request) {}},
	"a gzip bomb": {class: ClassTooLarge, serve: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for range 1000 {
			if _, err := z.Write(make([]byte, 100_000)); err != nil {
				return
			}
		}
		_ = z.Close()
	}},
	"100 MB, announced": {class: ClassTooLarge, text: "100000000", serve: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100000000")
		huge(w)
	}},
	"100 MB, in chunks": {class: ClassTooLarge, serve: func(w http.ResponseWriter, r *http.Request) { huge(w) }},
	"gzip that is none": {class: ClassUnreadable, serve: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, list("x"))
	}},
	"gzip with a wrong checksum": {class: ClassUnreadable, serve: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := zipped(list("x"))
		z[len(z)-8] ^= 1
		_, _ = w.Write(z)
	}},
	"an encoding that was not asked for": {class: ClassUnreadable, text: `"br"`, serve: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, list("x"))
	}},
	"HTML with 200": {class: ClassUnreadable, text: "HTML", serve: func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "\ufeff\n<!DOCTYPE HTML><title>Sign in</title>")
	}},
	"another document":           {class: ClassUnreadable, text: "expected event", serve: func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "Sorry!\n") }},
	"a parser that panics":       {class: ClassInternal, text: "a fault of the parser", serve: func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "panic\n") }},
	"304 that was not asked for": {class: ClassRedirected, serve: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotModified) }},
	"206":                        {class: ClassUnreadable, serve: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusPartialContent) }},
	"403 with a reason": {class: ClassRefused, text: "User-Agent required", serve: func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "User-Agent\r\nrequired\x1b[31m")
	}},
	"404": {class: ClassNotFound, serve: http.NotFound},
	"410": {class: ClassNotFound, serve: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusGone) }},
	"429": {class: ClassBusy, serve: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }},
	"500": {class: ClassServer, serve: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusInternalServerError) }},
	"a redirect to another host": {class: ClassRedirected, text: "good.example", serve: func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://good.example/feed", http.StatusFound)
	}},
	"a redirect inside": {class: ClassRedirected, serve: func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
	}},
	"a redirect to another port": {class: ClassRedirected, serve: func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://bad.example:8443/feed", http.StatusFound)
	}},
	"a redirect to http": {class: ClassRedirected, text: "from https", serve: func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://bad.example/feed", http.StatusFound)
	}},
	"a redirect to a file": {class: ClassRedirected, serve: func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	}},
	"a redirect to itself": {class: ClassRedirected, text: "more than 3", serve: func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/feed", http.StatusMovedPermanently)
	}},
	"a redirect to nowhere": {class: ClassRedirected, serve: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusFound) }},
}

func huge(w io.Writer) {
	for range 1000 {
		if _, err := w.Write(bytes.Repeat([]byte("event x\n"), 12_500)); err != nil {
			return
		}
	}
}

// TestABadFeedHurtsOnlyItself runs each fault beside a good source. The fault's class is visible
// within one interval, the good source is read on time, and memory use stays low. After the fault
// ends, nothing has been lost.
func TestABadFeedHurtsOnlyItself(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, tt := range faults {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				bad, good := testSource("bad"), testSource("good")
				b.net.serve("bad.example", tt.serve)
				b.net.text("good.example", list("g"))
				p := b.poller(bad, good)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				stop := b.start(p)
				time.Sleep(2*time.Minute + spread)
				runtime.ReadMemStats(&after)
				all := b.status(bad, good)
				s := all[0]
				if s.Error == nil || s.Error.Class != tt.class || !strings.Contains(s.Error.Text, tt.text) {
					t.Fatalf("error %+v, want %q with %q", s.Error, tt.class, tt.text)
				}
				if s.State != Failing || s.LastSuccess != nil {
					t.Errorf("state %s, last success %v", s.State, s.LastSuccess)
				}
				if sum := Summary(all); sum != `ok=1; stale=0; failing=1; names="bad"` {
					t.Errorf("summary %s", sum)
				}
				if s.Public().Error.Text != "" || s.Public().Feeds[0].Error.Text != "" || s.Error.Text == "" {
					t.Error("readers must see the class alone, admins the text")
				}
				if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
					t.Errorf("%d MB allocated in two minutes", grown>>20)
				}
				b.wantActive("bad", tt.events...)
				time.Sleep(3 * time.Minute)
				asks := b.net.asks("good.example/feed")
				for i := range asks[1:] {
					if gap := asks[i+1].at.Sub(asks[i].at); gap > 66*time.Second {
						t.Errorf("the good source was read %s after the read before", gap)
					}
				}
				if b.net.most["bad.example"] > 1 {
					t.Error("more than one request in flight")
				}
				b.net.text("bad.example", list("x", "y", "z"))
				time.Sleep(8 * time.Minute)
				stop()
				b.wantActive("bad", "x", "y", "z")
				if s := b.status(bad)[0]; s.State != OK || s.Error != nil {
					t.Errorf("after the fault: %+v", s)
				}
				if n := b.log.count("level=WARN"); n != 1 {
					t.Errorf("%d warnings, want 1:\n%s", n, b.log)
				}
			})
		})
	}
}

func TestWhatIsOddButHarmlessIsRead(t *testing.T) {
	for name, serve := range map[string]http.HandlerFunc{
		"a wrong content type": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=latin-9")
			_, _ = io.WriteString(w, list("x"))
		},
		"a clock that is far off": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", "Thu, 01 Jan 1970 00:00:00 GMT")
			w.Header().Set("Last-Modified", "Fri, 01 Jan 2100 00:00:00 GMT")
			_, _ = io.WriteString(w, list("x"))
		},
		"a validator of 10 kB": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusBadRequest)
			}
			w.Header().Set("ETag", `"`+strings.Repeat("x", 10_000)+`"`)
			_, _ = io.WriteString(w, list("x"))
		},
		"gzip in two members": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "X-GZIP")
			_, _ = w.Write(zipped("event x\n", "end\n"))
		},
		"a redirect on the same host": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/feed" {
				http.Redirect(w, r, "/there", http.StatusFound)
				return
			}
			_, _ = io.WriteString(w, list("x"))
		},
		"no length, the connection's end ends the body": raw(func(w io.Writer) {
			_, _ = io.WriteString(w, "HTTP/1.0 200 OK\r\n\r\n"+list("x"))
		}),
		"a slow answer": func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(20 * time.Second)
			_, _ = io.WriteString(w, "event x\n")
			w.(http.Flusher).Flush()
			time.Sleep(20 * time.Second)
			_, _ = io.WriteString(w, "end\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bed) {
				src := testSource("a")
				b.net.serve("a.example", serve)
				b.run(b.poller(src), 3*time.Minute)
				b.wantActive("a", "x")
				if s := b.status(src)[0]; s.State != OK {
					t.Errorf("status %+v, %+v", s, s.Error)
				}
			})
		})
	}
}

func TestLastModifiedMayGoBackwards(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		n := 0
		b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
			n++
			modified := time.Date(2020, 1, 1, 0, -n, 0, 0, time.UTC).Format(http.TimeFormat)
			if r.Header.Get("If-Modified-Since") == modified {
				t.Error("asked with a validator that was never given")
			}
			w.Header().Set("Last-Modified", modified)
			_, _ = io.WriteString(w, list("x", fmt.Sprint("y", n)))
		})
		b.run(b.poller(src), 5*time.Minute)
		if n < 4 || len(b.active("a")) != n+1 {
			t.Errorf("%d polls, events %v", n, b.active("a"))
		}
	})
}

// TestWhatCameBeforeACutIsTakenIn cuts a response at every kB. The events before the cut are known,
// no event ends, and the validator of the cut response is not used.
func TestWhatCameBeforeACutIsTakenIn(t *testing.T) {
	test.Concurrent(t)
	var names []string
	for i := range 150 {
		names = append(names, fmt.Sprintf("event-with-a-long-name-so-that-there-are-some-kilobytes-%03d", i))
	}
	payload := list(append([]string{"whole"}, names...)...)
	for at := 0; at < len(payload); at += 1000 {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, b *bed) {
				src := testSource("a")
				src.Lists = source.Lists{Complete: source.Yes, Confirm: 1}
				first := true
				b.net.serve("a.example", func(w http.ResponseWriter, r *http.Request) {
					if r.Header.Get("If-None-Match") == `"cut"` {
						w.WriteHeader(http.StatusNotModified)
						return
					}
					switch {
					case first: // an event that comes after the cut
						first = false
						_, _ = io.WriteString(w, list("whole", names[149]))
						return
					case len(b.net.asks("a.example")) == 2:
						w.Header().Set("ETag", `"cut"`)
						w.Header().Set("Content-Length", fmt.Sprint(len(payload)))
						_, _ = io.WriteString(w, payload[:at])
						w.(http.Flusher).Flush()
						panic(http.ErrAbortHandler)
					}
					_, _ = io.WriteString(w, payload)
				})
				stop := b.start(b.poller(src))
				time.Sleep(70 * time.Second)
				complete := max(0, strings.Count(payload[:at], "\n")-1) // without the line "whole"
				b.wantActive("a", append([]string{names[149]}, names[:complete]...)...)
				if s := b.status(src)[0]; s.State != Failing || s.Error.Class != ClassIncomplete {
					t.Errorf("status %+v", s)
				}
				time.Sleep(2 * time.Minute)
				stop()
				b.wantActive("a", names...)
			})
		})
	}
}

func TestWhatCannotBeReadIsKeptOnceOfAKind(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		b.net.text("a.example", "Sorry, we are closed "+strings.Repeat("x", 100_000)+"\n")
		keeper, err := evidence.Open(b.store, t.TempDir(), blob.Settings{}, evidence.Limits{Age: time.Hour}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer keeper.Close()
		p := b.poller(src)
		p.keeper = keeper
		b.run(p, 30*time.Minute)
		errs, err := b.store.Sources.Errors(t.Context(), "a", 100)
		if err != nil || len(errs) != 1 {
			t.Fatalf("%d errors, %v", len(errs), err)
		}
		payload, err := keeper.Read(t.Context(), errs[0].Payload)
		if e := errs[0]; e.Record != "" || e.Times < 4 || err != nil || !bytes.HasPrefix(payload, []byte("Sorry, we")) || len(payload) < 100_000 {
			t.Errorf("kept %d times %d bytes: %q, %v", e.Times, len(payload), e.Reason, err)
		}
		if use, err := b.store.Evidence.Usage(t.Context()); err != nil || use.Payloads != 1 {
			t.Errorf("evidence %+v, %v", use, err)
		}
	})
}
