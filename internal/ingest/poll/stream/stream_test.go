package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"

	"github.com/hazardd/hazardd/internal/ingest/source"
)

// A stream is split into the same documents whatever pieces arrive. The text between documents is
// returned too.
func TestAStreamIsCutIntoDocuments(t *testing.T) {
	const doc = `<?xml version="1.0"?><alert a="1"><info></info></alert>`
	for name, tt := range map[string]struct {
		in   string
		want []string
	}{
		"one":                          {doc, []string{doc}},
		"two, with blanks between":     {doc + "\r\n\n" + doc + "\n", []string{doc, doc}},
		"no declaration":               {"<alert>x</alert><alert>y</alert>", []string{"<alert>x</alert>", "<alert>y</alert>"}},
		"a prefix":                     {"<cap:alert>x</cap:alert>" + doc, []string{"<cap:alert>x</cap:alert>", doc}},
		"a blank in the closing tag":   {"<alert>x</alert >" + doc, []string{"<alert>x</alert >", doc}},
		"a byte order mark":            {"\ufeff" + doc, []string{"\ufeff" + doc}},
		"half a document, and a whole": {doc[:30] + doc, []string{doc[:30], doc}},
		"garbage before":               {"HTTP/1.1 200 OK\r\n\r\n" + doc, []string{"HTTP/1.1 200 OK", doc}},
		"other closing tags":           {"<alert><alerts></alerts></a></alert>", []string{"<alert><alerts></alerts></a></alert>"}},
		"half a document at the end":   {doc + doc[:30], []string{doc}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in)), iotest.DataErrReader(strings.NewReader(tt.in))} {
				cut := newDocuments("alert", 1<<20)
				var got []string
				for {
					m, err := cut.next(r)
					if err != nil {
						break
					}
					got = append(got, string(m))
				}
				if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tt.want) {
					t.Errorf("%q, want %q", got, tt.want)
				}
			}
		})
	}
}

func FuzzDocuments(f *testing.F) {
	f.Add([]byte("<alert>x</alert><alert>"))
	f.Add([]byte("</alert></:alert>< /alert>"))
	f.Fuzz(func(t *testing.T, in []byte) {
		cut := newDocuments("alert", 1<<10)
		given := 0
		for r := strings.NewReader(string(in)); ; {
			m, err := cut.next(r)
			if err != nil {
				break
			}
			given += len(m)
		}
		if given > len(in) {
			t.Errorf("%d bytes of %d", given, len(in))
		}
	})
}

// endless is a document without an end.
type endless struct{ n int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.n += int64(len(p))
	return len(p), nil
}

func TestADocumentWithoutEndIsGivenUp(t *testing.T) {
	r := &endless{}
	cut := newDocuments("alert", 1<<20)
	if _, err := cut.next(r); !errors.Is(err, ErrTooLarge) || r.n > 2<<20 {
		t.Errorf("%v after %d bytes", err, r.n)
	}
}

func TestASilentConnectionIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		d := &Dialer{Net: func(context.Context, string, string) (net.Conn, error) { return ours, nil }}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				if _, err := theirs.Write([]byte("x")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		began := time.Now()
		err := d.Listen(t.Context(), &source.Push{URL: "tcp://a:1", Silence: time.Minute, MaxBytes: 1 << 20, Root: "alert"}, Handler{Up: func() {}})
		if !errors.Is(err, ErrSilent) || time.Since(began) != time.Minute {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		<-done
	})
}

// broker starts a real MQTT broker.
func broker(t *testing.T) (server *mqtt.Server, address string, stop func()) {
	t.Helper()
	server = mqtt.New(&mqtt.Options{InlineClient: true, Logger: slog.New(slog.DiscardHandler)})
	if err := server.AddHook(new(auth.AllowHook), nil); err != nil {
		t.Fatal(err)
	}
	l := listeners.NewTCP(listeners.Config{ID: "tcp", Address: "127.0.0.1:0"})
	if err := server.AddListener(l); err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	stop = sync.OnceFunc(func() { _ = server.Close() })
	t.Cleanup(stop)
	return server, l.Address(), stop
}

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, address)
}

// subscription is the source.Push of a broker.
func subscription(address string) *source.Push {
	return &source.Push{URL: "mqtt://" + address, Silence: time.Minute, MaxBytes: 64 << 10, Topics: []string{"cache/a/wis2/+/data/core/weather/advisories-warnings/#"},
		User: "everyone", Password: "everyone"}
}

const warnings = "cache/a/wis2/de-dwd/data/core/weather/advisories-warnings/cap"

func TestMessagesOfABrokerCome(t *testing.T) {
	server, address, _ := broker(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	enough := errors.New("enough")
	err := (&Dialer{Net: dial}).Listen(ctx, subscription(address), Handler{
		Up: func() {
			go func() {
				for i := range 20 {
					_ = server.Publish("cache/a/wis2/de-dwd/data/core/ocean", []byte("another topic"), false, 1)
					_ = server.Publish(warnings, fmt.Appendf(nil, "message %d", i), false, 1)
				}
			}()
		},
		Alive: func() {},
		Receive: func(_ context.Context, m []byte) error {
			if got = append(got, string(m)); len(got) == 20 {
				return enough
			}
			return nil
		},
	})
	if !errors.Is(err, enough) || got[0] != "message 0" || got[19] != "message 19" {
		t.Errorf("%v, %q", err, got)
	}
}

// A connection to a broker ends with its context, its broker or its handler, and leaves no
// goroutine behind.
func TestConnectionsToABrokerEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("each in its way", func(t *testing.T) {
		server, address, stop := broker(t)
		ctx, cancel := context.WithCancel(t.Context())
		listen := func(ctx context.Context, h Handler) error {
			return (&Dialer{Net: dial}).Listen(ctx, subscription(address), h)
		}
		if err := listen(ctx, Handler{Up: cancel, Alive: func() {}}); !errors.Is(err, context.Canceled) {
			t.Errorf("its context: %v", err)
		}
		broken := errors.New("the store is away")
		err := listen(t.Context(), Handler{
			Up:      func() { go func() { _ = server.Publish(warnings, []byte("x"), false, 1) }() },
			Alive:   func() {},
			Receive: func(context.Context, []byte) error { return broken },
		})
		if !errors.Is(err, broken) {
			t.Errorf("its handler: %v", err)
		}
		if err := listen(t.Context(), Handler{Up: func() { go stop() }, Alive: func() {}}); err == nil {
			t.Error("its broker: no error")
		}
		if err := listen(t.Context(), Handler{}); err == nil {
			t.Error("a broker that is not there: no error")
		}
	})
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before+2; runtime.Gosched() {
		if time.Now().After(end) {
			text := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, text[:runtime.Stack(text, true)])
		}
	}
}

// A connection is closed as soon as a packet announces more than the allowed size.
func TestAPacketThatClaimsTooMuchIsGivenUp(t *testing.T) {
	for name, packet := range map[string]string{
		"a message": "\x30\xff\xff\xff\x7f", "an answer to the login": "\x20\xff\xff\xff\x7f", "no length": "\x30\xff\xff\xff\xff\xff",
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			go func() { _, _ = io.WriteString(theirs, packet) }()
			b := &bounded{Conn: ours, max: 1 << 20}
			buf := make([]byte, 1)
			var err error
			for range 8 {
				if _, err = b.Read(buf); err != nil {
					break
				}
			}
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("%v", err)
			}
			_ = theirs.Close()
		})
	}
}
