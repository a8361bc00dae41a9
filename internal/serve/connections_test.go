package serve_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/internal/app"
)

// One address without an account opens many logins and finishes none. It gets only a few
// connections. Everybody else is answered, and so is the next login from that address.
func TestUnfinishedLoginsShutNobodyOut(t *testing.T) {
	const limit, flood = 20, 300
	s := start(t, func(c *app.Config) { c.AddressConnections = limit })
	from := func(ip, text string) net.Conn {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
		c, err := dialer.DialContext(t.Context(), "tcp", s.Addr().String())
		if err != nil {
			t.Skip(err) // not every system has all of 127.0.0.0/8
		}
		t.Cleanup(func() { _ = c.Close() })
		_, _ = io.WriteString(c, text) // it may be closed already
		return c
	}
	conns := make([]net.Conn, flood)
	for i := range conns {
		conns[i] = from("127.0.0.2", "POST /authorize HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
	}
	ended := make(chan struct{}, flood)
	for _, c := range conns {
		go func() {
			// A late login would be answered.
			if n, err := c.Read(make([]byte, 1)); n == 0 && !errors.Is(err, net.ErrClosed) {
				ended <- struct{}{}
			}
		}()
	}
	late := time.After(time.Minute)
	for range flood - limit {
		select {
		case <-ended:
		case <-late:
			t.Fatalf("the server has not closed %d of %d connections of one address", flood-limit, flood)
		}
	}
	for _, ip := range []string{"127.0.0.1", "127.0.0.2"} {
		c := from(ip, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		got, err := io.ReadAll(c)
		if !strings.HasPrefix(string(got), "HTTP/1.1 200 ") {
			t.Errorf("%s is answered %.60q: %v", ip, got, err)
		}
	}
	if a := s.do("reader", "GET", "/hazards/active", nil); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestALoginMustComeWithinTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handle(t)
		srv := &http.Server{Handler: p}
		network := &pipes{conns: make(chan net.Conn)}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(network) }()
		conn := network.dial()
		began := time.Now()
		var sender sync.WaitGroup
		sender.Go(func() { // sends data all the time
			_, err := io.WriteString(conn, "POST /authorize HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n")
			for ; err == nil; time.Sleep(100 * time.Millisecond) {
				_, err = io.WriteString(conn, strings.Repeat(" ", 100))
			}
		})
		buf := make([]byte, 1000)
		n, err := conn.Read(buf)
		if took := time.Since(began); took != 10*time.Second || !strings.HasPrefix(string(buf[:n]), "HTTP/1.1 408 ") {
			t.Errorf("after %v: %.200q, %v", took, buf[:n], err)
		}
		_ = conn.Close()
		sender.Wait()
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		<-served
	})
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A client sees the refusal of its request, however large the request is and whatever the reason.
func TestRefusalsOfLargeBodiesArrive(t *testing.T) {
	s := start(t, smallFiles)
	h := s.hazard("red")
	const size = 100 * mib
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for i := range 200 {
		token, want := s.tokens.of("red"), http.StatusRequestEntityTooLarge
		if i%2 == 0 {
			token, want = "none", http.StatusForbidden
		}
		var body io.Reader = io.LimitReader(zeros{}, size)
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.URL()+"/hazards/"+h.UUID+"/products", body)
		if err != nil {
			t.Fatal(err)
		}
		if i%4 < 2 {
			req.ContentLength = size
		} else if want == http.StatusRequestEntityTooLarge {
			want = http.StatusBadRequest // without a length, it is first noticed that the body is no form
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		if i%5 == 0 {
			req.Header.Set("Expect", "100-continue")
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != want || len(text) == 0 {
			t.Fatalf("request %d: %d %q, %v, want %d", i, resp.StatusCode, text, err, want)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// A client that sends everything before it reads.
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "POST /hazards HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(conn, io.LimitReader(zeros{}, size)); err != nil {
		t.Fatalf("%d bytes were sent: %v", n, err)
	}
	if got, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 403 ") {
		t.Errorf("%.100q, %v", got, err)
	}
}
