package poll

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/sources/nws"
	"github.com/hazardd/hazardd/internal/ingest/sources/usgs"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

func TestCompressedVectors(t *testing.T) {
	const maxBytes = 32 << 20 // the limit of usgs and other sources
	var vectors map[string]struct {
		Plain  int    `json:"plain_bytes"`
		Expect string `json:"expect"`
		Why    string `json:"why"`
	}
	if err := json.Unmarshal(recordings.Read(t, "vectors/compressed/expected.json"), &vectors); err != nil {
		t.Fatal(err)
	}
	for name, v := range vectors {
		t.Run(name, func(t *testing.T) {
			body := recordings.Read(t, "vectors/compressed/"+name)
			coding := "gzip"
			if strings.HasSuffix(name, ".zst") {
				coding = "zstd"
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			payload, err := readBody(&wire{r: bytes.NewReader(body)}, []string{coding}, maxBytes)
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 3*maxBytes {
				t.Errorf("%d MB allocated", grown>>20)
			}
			if err != nil && len(payload) > 0 {
				t.Error("a payload that is not whole was given out")
			}
			if v.Expect == "accept" {
				if err != nil || len(payload) != v.Plain {
					t.Errorf("%d bytes, %v, want %d", len(payload), err, v.Plain)
				}
				return
			}
			if err == nil { // then every parser must reject the payload
				for _, parse := range []func([]byte, hazard.Instant) error{
					func(b []byte, now hazard.Instant) error { _, err := usgs.Parse(b, now); return err },
					func(b []byte, now hazard.Instant) error { _, err := nws.Parse(b, now); return err },
				} {
					if err := parse(payload, hazard.At(time.Now())); err == nil {
						t.Errorf("accepted: %s", v.Why)
					}
				}
				return
			}
			if f := asFailure(err); f.Class != ClassTooLarge && f.Class != ClassUnreadable {
				t.Errorf("class %s", f.Class)
			}
		})
	}
}

func TestABodyOfExactlyTheLimitIsRead(t *testing.T) {
	for _, size := range []int64{0, 1, firstPiece - 1, firstPiece, firstPiece + 1, 1 << 20} {
		for extra := range int64(2) {
			body := bytes.Repeat([]byte("x"), int(size+extra))
			payload, err := readBody(&wire{r: bytes.NewReader(body)}, nil, size)
			if extra == 0 && (err != nil || int64(len(payload)) != size) || extra == 1 && asFailureOrNil(err).Class != ClassTooLarge {
				t.Errorf("%d bytes of at most %d: %d, %v", size+extra, size, len(payload), err)
			}
		}
	}
}

func asFailureOrNil(err error) *Failure {
	if err == nil {
		return &Failure{}
	}
	return asFailure(err)
}

func TestNoAddressInsideIsConnectedTo(t *testing.T) {
	var hits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hits.Add(1) }))
	defer server.Close()
	port := server.Listener.Addr().(*net.TCPAddr).Port
	c, err := newClient(&Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "127.1", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"} {
		u := url.URL{Scheme: "http", Host: net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(port)), Path: "/"}
		_, err := c.get(t.Context(), question{url: u.String(), maxBytes: 100})
		if f := asFailureOrNil(err); f.Class != ClassUnreachable {
			t.Errorf("%s: %v", u.String(), err)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d connections came through", hits.Load())
	}
	open, err := newClient(&Config{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.get(t.Context(), question{url: server.URL, maxBytes: 100}); err != nil || hits.Load() != 1 {
		t.Errorf("with AllowPrivate: %v, %d connections", err, hits.Load())
	}
	open.http.CloseIdleConnections()
}

func TestTheGuardRefusesWhatTheVectorsRefuse(t *testing.T) {
	var vectors struct {
		Targets []struct{ URL, Expect, Why string }
	}
	if err := json.Unmarshal(recordings.Read(t, "vectors/ssrf/targets.json"), &vectors); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, v := range vectors.Targets {
		u, err := url.Parse(v.URL)
		if err != nil {
			continue
		}
		ip, err := netip.ParseAddr(u.Hostname())
		if err != nil {
			continue // names are only checked when a connection is opened
		}
		checked++
		network := "tcp4"
		if ip.Is6() {
			network = "tcp6"
		}
		port := u.Port()
		if port == "" {
			port = "443"
		}
		err = guard(network, net.JoinHostPort(ip.WithZone("").String(), port), nil)
		_, bad := parseURL(v.URL)
		if refused := err != nil || bad != nil || u.User != nil; refused != (v.Expect == "refuse") && !strings.Contains(v.Why, "port") {
			t.Errorf("%s (%s): refused %v, want %s", v.URL, v.Why, refused, v.Expect)
		}
	}
	if checked < 30 {
		t.Errorf("only %d addresses were checked", checked)
	}
}

func TestTheEnvironmentsProxyIsNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	tr, err := NewTransport(&Config{})
	if err != nil || tr.Proxy != nil {
		t.Errorf("proxy %v, %v", tr.Proxy != nil, err)
	}
	tr, err = NewTransport(&Config{ProxyURL: "http://proxy.example:3128"})
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequest("GET", "https://a.example/", nil)
	if u, err := tr.Proxy(req); err != nil || u.Host != "proxy.example:3128" {
		t.Errorf("proxy %v, %v", u, err)
	}
	if _, err := New(Config{ProxyURL: "proxy:secret@nonsense"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}

func TestABadCertificateIsSeen(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.StartTLS()
	defer server.Close()
	c, err := newClient(&Config{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.get(t.Context(), question{url: server.URL, maxBytes: 100})
	if f := asFailureOrNil(err); f.Class != ClassCertificate {
		t.Errorf("error %v", err)
	}
}

func TestRedirectsToHTTPSOnTheSameHostAreFollowed(t *testing.T) {
	for name, tt := range map[string]struct {
		from, to string
		follow   bool
	}{
		"same":                         {"https://a.example/x", "https://a.example/y", true},
		"other case":                   {"https://a.example/x", "https://A.EXAMPLE/y", true},
		"to https":                     {"http://a.example/x", "https://a.example/y", true},
		"same port":                    {"https://a.example:8443/x", "https://a.example:8443/y", true},
		"from https":                   {"https://a.example/x", "http://a.example/y", false},
		"other host":                   {"https://a.example/x", "https://b.example/y", false},
		"subdomain":                    {"https://a.example/x", "https://x.a.example/y", false},
		"other port":                   {"https://a.example/x", "https://a.example:22/y", false},
		"user in front of another one": {"https://a.example/x", "https://a.example@b.example/y", false},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := httptest.NewRequest("GET", tt.from, nil), httptest.NewRequest("GET", tt.to, nil)
			from.URL.Host, to.URL.Host = mustHost(tt.from), mustHost(tt.to)
			if err := checkRedirect(to, []*http.Request{from}); (err == nil) != tt.follow {
				t.Errorf("error %v", err)
			}
		})
	}
}

func mustHost(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	return u.Host
}

func TestAddressesOfAPayloadLeadNowhereElse(t *testing.T) {
	src := testSource("a")
	src.Hosts = []string{"more.example"}
	for address, want := range map[string]bool{
		"https://a.example/detail/1":          true,
		"https://more.example/detail/1":       true,
		"http://a.example/detail/1":           false,
		"https://b.example/detail/1":          false,
		"https://a.example:8443/detail/1":     false,
		"https://user:pass@a.example/":        false,
		"https://a.example@127.0.0.1/":        false,
		"//a.example/x":                       false,
		"file:///etc/passwd":                  false,
		"gopher://a.example/":                 false,
		"https://a.example.evil.example/x":    false,
		"https://a.example\\@evil.example/x":  false,
		"":                                    false,
		"https:///x":                          false,
		"https://a.example/\x00":              false,
		"javascript:alert(1)":                 false,
		"https://a.example/ok?with=query#and": true,
	} {
		if got := src.follows(address); got != want {
			t.Errorf("follows(%q) = %v, want %v", address, got, want)
		}
	}
}

func TestKeysInAddressesAreNotShown(t *testing.T) {
	src := testSource("a")
	if got := src.shown("https://u:secret@a.example/path?key=secret#secret"); got != "https://a.example/path" {
		t.Errorf("shown as %s", got)
	}
	src.Private = true
	if got := src.shown("https://a.example/secret/csv"); got != "https://a.example/" {
		t.Errorf("shown as %s", got)
	}
	src.Feeds[0].URL = "https://a.exa mple/secret"
	if _, err := New(Config{Sources: []Source{src}}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}
