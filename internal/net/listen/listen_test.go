package listen

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// door is a server behind a Listener. Requests for /known authenticate the client. Requests for
// /wait are answered when release is closed. /refuse answers 413 and reads no body.
type door struct {
	*Listener
	t       *testing.T
	release chan struct{}
	waiting chan struct{} // gets a value when a request for /wait has arrived
	mu      sync.Mutex
	over    map[string]int // guarded by mu
}

func open(t *testing.T, limits Limits) *door {
	t.Helper()
	inner, err := Options().Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{t: t, release: make(chan struct{}), waiting: make(chan struct{}, 1000), over: map[string]int{}}
	limits.Over = func(limit string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.over[limit]++
	}
	d.Listener = New(inner, limits)
	server := &http.Server{
		ConnContext: Context,
		ConnState:   func(c net.Conn, s http.ConnState) { c.(*Conn).State(s) },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/known":
				Of(r.Context()).Known()
			case "/wait":
				Of(r.Context()).Known()
				d.waiting <- struct{}{}
				<-d.release
			case "/refuse":
				Of(r.Context()).Unread(true)
				http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			case "/body":
				_, _ = io.Copy(io.Discard, r.Body)
			}
		}),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(d.Listener) }()
	t.Cleanup(func() {
		d.Hurry(0)
		close(d.release)
		_ = server.Close()
		<-served
		d.Wait()
	})
	return d
}

// dial connects from a loopback address and sends text.
func (d *door) dial(from, text string) net.Conn {
	d.t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := dialer.DialContext(d.t.Context(), "tcp", d.Addr().String())
	if err != nil {
		d.t.Skip(err) // not every system has all of 127.0.0.0/8
	}
	d.t.Cleanup(func() { _ = c.Close() })
	_, _ = io.WriteString(c, text) // a refused connection may be closed already
	return c
}

func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n" }

const unfinished = "POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"

// answer reads an answer; nil if the connection was closed without one.
func (d *door) answer(c net.Conn) *http.Response {
	d.t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		d.t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r
}

func (d *door) want(c net.Conn, status int) {
	d.t.Helper()
	if r := d.answer(c); r == nil || r.StatusCode != status {
		d.t.Errorf("%v, want %d", r, status)
	}
}

// settle returns when n connections are open.
func (d *door) settle(n int) {
	d.t.Helper()
	for end := time.Now().Add(time.Minute); d.Count() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatalf("%d connections are open, want %d", d.Count(), n)
		}
	}
}

// idles returns when a connection is idle: the client may have the answer before net/http reports
// this.
func (d *door) idles() {
	d.t.Helper()
	idles := func() bool {
		d.Listener.mu.Lock()
		defer d.Listener.mu.Unlock()
		for c := range d.conns {
			if c.class() == idle {
				return true
			}
		}
		return false
	}
	for end := time.Now().Add(time.Minute); !idles(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatal("no connection is idle")
		}
	}
}

func TestStrangersOfOneAddressTakeAFewConnections(t *testing.T) {
	d := open(t, Limits{All: 1000, Address: 10})
	mine := d.dial("127.0.0.1", get("/known"))
	d.want(mine, 200)
	for range 100 {
		d.dial("127.0.0.2", unfinished)
	}
	d.settle(11)
	d.want(d.dial("127.0.0.3", get("/")), 200)
	d.want(d.dial("127.0.0.2", get("/")), 200) // even from the same address: silent connections make room
	if _, err := io.WriteString(mine, get("/")); err != nil {
		t.Fatal(err)
	}
	d.want(mine, 200)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over[limitAddress] != 91 || d.over[limitAll] != 0 {
		t.Errorf("counted %v, want 91 over %s", d.over, limitAddress)
	}
}

func TestUsersOfOneAddressDoNotCountAsStrangers(t *testing.T) {
	d := open(t, Limits{All: 1000, Address: 10})
	for range 100 {
		d.want(d.dial("127.0.0.1", get("/known")), 200)
	}
	d.settle(100)
}

func TestOneAddressTakesHalfOfAllAtMost(t *testing.T) {
	d := open(t, Limits{All: 20, Address: 20})
	for range 10 {
		d.dial("127.0.0.1", get("/wait"))
		<-d.waiting
	}
	refused := d.answer(d.dial("127.0.0.1", get("/")))
	if refused == nil || refused.StatusCode != 429 || refused.Header.Get("Retry-After") == "" {
		t.Errorf("an eleventh connection of the address is answered %v, want 429 and Retry-After", refused)
	} else if body, _ := io.ReadAll(refused.Body); !strings.Contains(string(body), limitAddress) {
		t.Errorf("the refusal %q does not name the limit", body)
	}
	d.want(d.dial("127.0.0.2", get("/")), 200)
}

func TestATrustedProxyIsNotLimitedByItsAddress(t *testing.T) {
	d := open(t, Limits{All: 30, Address: 2, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.9/32")}})
	for range 25 {
		d.dial("127.0.0.9", unfinished)
	}
	d.settle(25)
}

func TestWhoMakesRoomWhenAllConnectionsAreTaken(t *testing.T) {
	d := open(t, Limits{All: 6, Address: 6})
	stranger := d.dial("127.0.0.1", unfinished)
	d.settle(1)
	idle := d.dial("127.0.0.2", get("/known"))
	d.want(idle, 200)
	d.idles()
	busy := make([]net.Conn, 4)
	for i := range busy {
		busy[i] = d.dial([]string{"127.0.0.3", "127.0.0.4"}[i/2], get("/wait"))
		<-d.waiting
	}
	d.settle(6)
	more := func() net.Conn {
		c := d.dial("127.0.0.5", get("/wait"))
		<-d.waiting
		return c
	}
	fifth := more()
	if r := d.answer(stranger); r != nil {
		t.Errorf("the stranger is answered %v, want a closed connection", r)
	}
	sixth := more()
	if r := d.answer(idle); r != nil {
		t.Errorf("the idle connection is answered %v, want a closed one", r)
	}
	refused := d.answer(d.dial("127.0.0.6", get("/")))
	if refused == nil || refused.StatusCode != 503 || refused.Header.Get("Retry-After") == "" {
		t.Errorf("with nothing to close a new connection is answered %v, want 503 and Retry-After", refused)
	}
	for range 6 {
		d.release <- struct{}{}
	}
	for _, c := range append(busy, fifth, sixth) {
		d.want(c, 200)
	}
}

// A client that sends its whole body before it reads still gets the refusal, although the server
// does not read the body.
func TestARefusalArrivesBehindALargeBody(t *testing.T) {
	d := open(t, Limits{All: 100, Address: 10})
	const size = 16 << 20
	for i := range 50 {
		c := d.dial("127.0.0.1", "POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 16777216\r\n\r\n")
		if n, err := io.Copy(c, io.LimitReader(zeros{}, size)); err != nil {
			t.Fatalf("request %d: %d bytes were sent: %v", i, n, err)
		}
		d.want(c, 413)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	d.settle(0)
}

// A client that continues to send does not keep its connection.
func TestDrainingMakesRoomFirst(t *testing.T) {
	d := open(t, Limits{All: 4, Address: 4, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	endless := d.dial("127.0.0.1", "POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 16777216\r\n\r\n")
	d.want(endless, 413)
	d.Listener.mu.Lock()
	for c := range d.conns {
		for !c.lingering.Load() { // net/http waits half a second before it closes
			time.Sleep(time.Millisecond)
		}
	}
	d.Listener.mu.Unlock()
	for range 3 {
		d.dial("127.0.0.1", unfinished)
	}
	d.settle(4)
	d.want(d.dial("127.0.0.1", get("/")), 200)
	if _, err := io.Copy(endless, zeros{}); err == nil {
		t.Error("the connection that drains was not closed")
	}
	d.settle(4)
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestTheServiceDoesNotWaitForADrainingConnection(t *testing.T) {
	d := open(t, Limits{All: 4, Address: 4})
	c := d.dial("127.0.0.1", "POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 16777216\r\n\r\n")
	d.want(c, 413)
	began := time.Now()
	d.Hurry(0)
	d.settle(0)
	if took := time.Since(began); took > lingerSilent {
		t.Errorf("closed after %v", took)
	}
}

func TestOriginIsAnAddressOrANetworkOfIPv6(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.7:80":                  "192.0.2.7/32",
		"[::ffff:192.0.2.7]:80":         "192.0.2.7/32",
		"[2001:db8:1:2:3:4:5:6]:80":     "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff::]:80":      "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80":             "fe80::/64",
		"[2001:db8:1:3:ffff::%eth1]:80": "2001:db8:1:3::/64",
	} {
		if got := origin(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(in))).String(); got != want {
			t.Errorf("%s counts for %s, want %s", in, got, want)
		}
	}
}

func TestDescriptorsAreLeftForTheStore(t *testing.T) {
	for _, tt := range []struct{ wanted, descriptors, want int }{
		{20_000, 1_048_576, 20_000},
		{20_000, 20_000, 17_500},
		{20_000, 1024, 768},
		{20_000, 256, 128},
		{100, 1024, 100},
		{20_000, 0, 20_000}, // unknown
		{20_000, 1, 1},
	} {
		if got := share(tt.wanted, tt.descriptors); got != tt.want {
			t.Errorf("of %d descriptors %d are for connections, want %d", tt.descriptors, got, tt.want)
		}
	}
}

// Embedding must not hide the methods that net/http and net.Buffers look for.
func TestConnKeepsTheAbilitiesOfTCP(t *testing.T) {
	var c any = &Conn{}
	if _, ok := c.(io.ReaderFrom); !ok {
		t.Error("files cannot be sent without copying")
	}
	if _, ok := c.(interface{ CloseWrite() error }); !ok {
		t.Error("the connection cannot be closed for writing only")
	}
}

func TestARefusalBeforeTLSIsAnAlert(t *testing.T) {
	d := open(t, Limits{All: 1, Address: 1, Secure: true})
	_ = d.dial("127.0.0.1", get("/wait"))
	<-d.waiting
	c := tls.Client(d.dial("127.0.0.1", ""), &tls.Config{InsecureSkipVerify: true})
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, refused := errors.AsType[*net.OpError](c.Handshake()); !refused || !strings.Contains(c.Handshake().Error(), "internal error") {
		t.Errorf("the handshake ends with %v, want an alert", c.Handshake())
	}
}
