package webhook

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/net/outbound"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// reach returns the error of an attempt to connect: for the address as written, and for a literal
// IP address.
func reach(t *outbound.Targets, address string) error {
	if err := t.Check(address); err != nil {
		return err
	}
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(u.Hostname(), "."))
	if err != nil {
		return nil // a name, which needs a lookup
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return t.Guard(u.Scheme)(map[bool]string{true: "tcp4", false: "tcp6"}[ip.Is4()], net.JoinHostPort(ip.String(), port), nil)
}

func TestWebhooksLeadOnlyWhereTheVectorsLetThem(t *testing.T) {
	var vectors struct {
		Targets []struct{ URL, Expect, Why string } `json:"targets"`
	}
	if err := json.Unmarshal(recordings.Read(t, "vectors/ssrf/targets.json"), &vectors, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	refused, allowed := 0, 0
	for _, v := range vectors.Targets {
		want := v.Expect == "refuse"
		if want {
			refused++
		} else {
			allowed++
		}
		spellings := []string{v.URL}
		if rest, ok := strings.CutPrefix(v.URL, "http:"); ok {
			// The scheme alone must not be the reason: try the same with https, and with http if it
			// is allowed for another network.
			spellings = append(spellings, "https:"+rest)
		}
		for _, address := range spellings {
			if err := reach(&outbound.Targets{}, address); (err != nil) != want {
				t.Errorf("%.100q (%s): %v, want refused: %v", address, v.Why, err, want)
			}
		}
		// Allowing one network must not allow another. Exceptions: internal names are then decided
		// by their lookup, and other ports by their address.
		if want && !strings.HasPrefix(v.Why, "name") && !strings.HasPrefix(v.Why, "port of") && !strings.Contains(v.Why, "6761") && !strings.Contains(v.Why, "by name") {
			if reach(&outbound.Targets{Allow: []netip.Prefix{netip.MustParsePrefix("10.99.0.0/16")}}, v.URL) == nil {
				t.Errorf("%.100q (%s) is allowed although another network was allowed", v.URL, v.Why)
			}
		}
	}
	if refused < 80 || allowed < 7 {
		t.Errorf("%d and %d vectors", refused, allowed)
	}
}

func TestASettingOpensANetwork(t *testing.T) {
	inside := &outbound.Targets{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")}}
	for address, want := range map[string]bool{
		"http://10.1.2.3/": true, "http://10.1.2.3:3000/hook": true, "https://10.1.2.3/": true, "http://[fd00::1]:8065/": true, "http://[::ffff:10.1.2.3]/": true,
		"http://chat.internal:3000/": true, "https://example.org/": true, "https://example.org:8443/": true,
		"http://10.2.0.1/": false, "https://127.0.0.1/": false, "http://93.184.215.14/": false, "https://93.184.215.14:22/": false, "http://10.1.2.3:0/": false, "http://[fe80::1]/": false,
	} {
		if err := reach(inside, address); (err == nil) != want {
			t.Errorf("%s: %v, want allowed: %v", address, err, want)
		}
	}
}

// nameserver returns addresses for names, each time from the next list of that name; the last list
// stays.
func nameserver(t *testing.T, names map[string][][]string) *net.Resolver {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { _ = conn.Close(); wg.Wait() })
	wg.Go(func() {
		buf := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Response, m.Additionals = true, nil
			name := strings.TrimSuffix(q.Name.String(), ".")
			if lists := names[name]; q.Type == dnsmessage.TypeA && len(lists) > 0 {
				for _, a := range lists[0] {
					m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
						Body: &dnsmessage.AResource{A: netip.MustParseAddr(a).As4()}})
				}
				if len(lists) > 1 {
					names[name] = lists[1:]
				}
			}
			if out, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(out, from)
			}
		}
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// listen serves h on a loopback address.
func listen(t *testing.T, ip string, h http.HandlerFunc) (server *httptest.Server, port string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server = httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	_ = server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return server, port
}

// outside returns a sender for which 127.0.0.2 is outside and the rest of the loopback network is
// inside.
func outside(r *net.Resolver) *Service {
	return New(Config{Store: &store.Store{}, Targets: outbound.Targets{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, Resolver: r}, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
}

func TestWhatAHostileReceiverAnswers(t *testing.T) {
	var inside atomic.Int32
	_, insidePort := listen(t, "127.0.0.1", func(http.ResponseWriter, *http.Request) { inside.Add(1) })
	var written atomic.Int64
	endless := func(w http.ResponseWriter, r *http.Request) {
		for chunk := make([]byte, 64<<10); r.Context().Err() == nil && written.Load() < 1<<30; {
			n, err := w.Write(chunk)
			if written.Add(int64(n)); err != nil {
				return
			}
		}
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   outcome
	}{
		"a redirect to loopback": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:"+insidePort+"/", http.StatusFound)
		}, outcome{status: 302, fault: "redirect"}},
		"a redirect that keeps the method": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:"+insidePort+"/", http.StatusTemporaryRedirect)
		}, outcome{status: 307, fault: "redirect"}},
		"a redirect to itself": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusPermanentRedirect)
		}, outcome{status: 308, fault: "redirect"}},
		"a gigabyte": {endless, outcome{status: 200}},
		"a body that never ends": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(200)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, outcome{status: 200}},
		"a mebibyte of header": {func(w http.ResponseWriter, _ *http.Request) {
			for i := range 1024 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1024))
			}
		}, outcome{fault: "connection"}},
		"nothing, and hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, outcome{fault: "connection"}},
		"that it wants no more": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }, outcome{status: 410, fault: "gone"}},
		"that it is busy": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(503)
		}, outcome{status: 503, fault: "status", retry: 7 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			_, port := listen(t, "127.0.0.2", tt.answer)
			s := outside(nil)
			got := s.post(t.Context(), "http://127.0.0.2:"+port+"/hook", http.Header{}, "{}")
			if got.took = 0; got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
			for _, c := range s.clients {
				c.CloseIdleConnections()
			}
		})
	}
	if n := inside.Load(); n != 0 {
		t.Errorf("%d requests came inside", n)
	}
	if n := written.Load(); n > 64<<20 {
		t.Errorf("%d bytes of a gigabyte were taken", n)
	}
}

func TestNamesThatLeadInside(t *testing.T) {
	var inside, world atomic.Int32
	// Both listen on the same port, so that only the address differs.
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	l2, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Skipf("the port is in use on the other address: %v", err)
	}
	serve := func(l net.Listener, n *atomic.Int32) {
		server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { n.Add(1) }), ReadHeaderTimeout: time.Minute}
		done := make(chan struct{})
		go func() { defer close(done); _ = server.Serve(l) }()
		t.Cleanup(func() { _ = server.Close(); <-done })
	}
	serve(l, &world)
	serve(l2, &inside)
	for name, tt := range map[string]struct {
		answers [][]string
		want    []string // errors of two attempts, alternately
	}{
		"a name that is rebound":            {[][]string{{"127.0.0.2"}, {"127.0.0.1"}}, []string{"", "blocked"}},
		"a name with both":                  {[][]string{{"127.0.0.1", "127.0.0.2"}}, []string{"", ""}},
		"a name inside":                     {[][]string{{"127.0.0.1"}}, []string{"blocked", "blocked"}},
		"a name of the metadata of a cloud": {[][]string{{"169.254.169.254"}}, []string{"blocked", "blocked"}},
		"a name that there is not":          {nil, []string{"name not found", "name not found"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := outside(nameserver(t, map[string][][]string{"hook.example.org": tt.answers}))
			for i, want := range tt.want {
				got := s.post(t.Context(), "http://hook.example.org:"+port+"/hook", http.Header{}, "{}")
				if got.fault != want {
					t.Errorf("attempt %d: %+v, want %q", i, got, want)
				}
				for _, c := range s.clients { // otherwise the connection would be used again
					c.CloseIdleConnections()
				}
			}
		})
	}
	if n := inside.Load(); n != 0 {
		t.Errorf("%d requests reached internal addresses", n)
	}
	if world.Load() == 0 {
		t.Error("no request arrived anywhere, so the test proves nothing")
	}
}

func TestCertificatesAreChecked(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.StartTLS()
	defer server.Close()
	allow := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	for want, targets := range map[string]outbound.Targets{"": {Allow: allow, RootCAs: roots}, "tls": {Allow: allow}} {
		s := New(Config{Store: &store.Store{}, Targets: targets, Now: time.Now})
		if got := s.post(t.Context(), server.URL, http.Header{}, "{}"); got.fault != want {
			t.Errorf("%+v, want %q", got, want)
		}
		for _, c := range s.clients {
			c.CloseIdleConnections()
		}
	}
}

func TestTheEnvironmentsProxyIsNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	for scheme, c := range outside(nil).clients {
		if c.Transport.(*http.Transport).Proxy != nil {
			t.Errorf("%s has a proxy", scheme)
		}
	}
}

// signatureCase is a test vector for signatures.
type signatureCase struct {
	Name, Secret, ID, Timestamp, Body, Signature, Expect string
}

func TestSignaturesAreThoseOfTheVectors(t *testing.T) {
	var vectors struct {
		Cases []signatureCase `json:"cases"`
	}
	if err := json.Unmarshal(recordings.Read(t, "vectors/webhooks/cases.json"), &vectors, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	s := New(Config{Store: &store.Store{}, Now: time.Now})
	n := 0
	for _, v := range vectors.Cases {
		if v.Expect != "accept" || strings.Contains(v.Signature, " ") {
			continue
		}
		n++
		var second int64
		if _, err := fmt.Sscan(v.Timestamp, &second); err != nil {
			t.Fatal(err)
		}
		at := hazard.At(time.Unix(second, 0))
		header, err := s.header(&hook{kept: kept{Secrets: []secret{{Text: v.Secret}}}}, &message{id: v.ID, body: v.Body}, at)
		if err != nil || header.Get("webhook-signature") != v.Signature || header.Get("webhook-id") != v.ID || header.Get("webhook-timestamp") != v.Timestamp {
			t.Errorf("%s: %v %v", v.Name, header, err)
		}
	}
	if n < 3 {
		t.Errorf("%d vectors", n)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	const canary = "whsec_Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5"
	h := &hook{kept: kept{Secrets: []secret{{Text: canary}}}}
	var out strings.Builder
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "secret", h.Secrets[0], "all", h.Secrets)
	fmt.Fprintf(&out, "%v %+v %#v %s", h.kept, h.kept, h.kept, h.Secrets)
	if strings.Contains(out.String(), "Y2FuYXJ5") {
		t.Error(out.String())
	}
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"https://example.org/hook", "https://127.0.0.1/", "https://[::ffff:127.0.0.1]:443/", "http://10.0.0.1:80", "https://a@b", "https://0x7f.1/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		targets := &outbound.Targets{}
		if targets.Check(address) != nil {
			return
		}
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
			t.Fatalf("%q is allowed: %v", address, err)
		}
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && (ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.Unmap().IsLoopback() || ip.IsUnspecified()) {
			t.Fatalf("%q is allowed", address)
		}
		if _, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, io.NopCloser(strings.NewReader(""))); err != nil {
			t.Fatalf("%q is allowed, and no request can be made: %v", address, err)
		}
	})
}
