package app

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/test/datadir"
)

// The audit trail is sent on from where it ended, each row once, to a file and to syslog; what cannot be
// sent waits.
func TestTheAuditTrailIsSentOn(t *testing.T) {
	s, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler), Settings: Settings{DataDir: datadir.Empty(t), Listen: "127.0.0.1:0", NoExposure: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	send := func() error { return s.sendAuditOnce(t.Context()) }
	add := func(action string, ok bool) {
		t.Helper()
		if err := s.Store.Accounts.AddAudit(t.Context(), auth.Audit{At: s.Now(), Actor: "ann", Action: action, OK: ok}); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	s.cfg.AuditTo = AuditTo(file)
	if err := send(); err != nil { // begins here
		t.Fatal(err)
	}
	add("one", true)
	add("two", false)
	if err := send(); err != nil {
		t.Fatal(err)
	}
	s.cfg.AuditTo = AuditTo(filepath.Dir(file))
	add("three", true)
	if err := send(); err == nil {
		t.Error("a folder was written to")
	}
	s.cfg.AuditTo = AuditTo(file)
	if err := send(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `"action":"one"`) || !strings.Contains(lines[1], `"ok":false`) || !strings.Contains(lines[2], `"action":"three"`) {
		t.Errorf("%s", text)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	got := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			got <- err.Error()
			return
		}
		defer conn.Close()
		r := bufio.NewReader(conn)
		length, _ := r.ReadString(' ')
		n, _ := strconv.Atoi(strings.TrimSpace(length))
		message := make([]byte, n)
		_, _ = io.ReadFull(r, message)
		got <- string(message)
	}()
	s.cfg.AuditTo = AuditTo("tcp://" + listener.Addr().String())
	add("four", false)
	if err := send(); err != nil {
		t.Fatal(err)
	}
	if m := <-got; !regexp.MustCompile(`^<108>1 \d{4}-\d\d-\d\dT[\d:.]+Z \S+ hazardd \d+ audit - \{.*"action":"four".*\}$`).MatchString(m) {
		t.Errorf("%q", m)
	}
	for place, ok := range map[AuditTo]bool{"": true, "-": true, "/var/log/a": true, "udp://log:514": true, "tls://[::1]:6514": true, "http://log:80": false, "tcp://log": false, "udp://log:1/x": false} {
		if err := place.Check(); (err == nil) != ok {
			t.Errorf("%s: %v", place, err)
		}
	}
}

// A receiver gets each row whole over UDP, TCP and TLS: one in a datagram (RFC 5426), or its length before
// it (RFC 6587, RFC 5425). A server whose certificate is not trusted gets nothing.
func TestSyslogReceivers(t *testing.T) {
	rows := []auth.Audit{{At: 1_000, Actor: "ann", Action: "login", OK: true}, {At: 2_000, Actor: "b \"ü\"\nc", Action: "login"}}
	web := httptest.NewUnstartedServer(nil) // for its certificate of 127.0.0.1
	web.StartTLS()
	defer web.Close()
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	head := regexp.MustCompile(`^<(\d+)>1 (\S+) \S+ hazardd \d+ audit - `)
	check := func(n int, message []byte) {
		t.Helper()
		m := head.FindSubmatch(message)
		if m == nil || string(m[1]) != []string{"110", "108"}[n] || string(m[2]) != fmt.Sprintf("1970-01-01T00:00:0%d.000Z", n+1) {
			t.Fatalf("%q", message)
		}
		var row struct{ User, Action string }
		if err := json.Unmarshal(message[len(m[0]):], &row); err != nil || row.User != rows[n].Actor || row.Action != "login" || bytes.ContainsRune(message, '\n') {
			t.Errorf("%q: %+v %v", message, row, err)
		}
	}

	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	if err := AuditTo("udp://"+packets.LocalAddr().String()).write(t.Context(), nil, nil, rows); err != nil {
		t.Fatal(err)
	}
	for n := range rows {
		datagram := make([]byte, 4096)
		size, _, err := packets.ReadFrom(datagram)
		if err != nil {
			t.Fatal(err)
		}
		check(n, datagram[:size])
	}

	for _, scheme := range []string{"tcp", "tls"} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		if scheme == "tls" {
			listener = tls.NewListener(listener, &tls.Config{Certificates: web.TLS.Certificates})
		}
		type received struct {
			text []byte
			err  error
		}
		got := make(chan received)
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				text, err := io.ReadAll(conn)
				_ = conn.Close()
				got <- received{text, err}
			}
		}()
		to := AuditTo(scheme + "://" + listener.Addr().String())
		if scheme == "tls" {
			if err := to.write(t.Context(), nil, x509.NewCertPool(), rows); err == nil {
				t.Error("a receiver that nobody vouches for was sent the trail")
			}
			if r := <-got; len(r.text) > 0 {
				t.Errorf("it got %q", r.text)
			}
		}
		if err := to.write(t.Context(), nil, roots, rows); err != nil {
			t.Fatal(err)
		}
		r := <-got
		for n := range rows {
			length, rest, _ := bytes.Cut(r.text, []byte(" "))
			size, err := strconv.Atoi(string(length))
			if err != nil || size > len(rest) {
				t.Fatalf("%s: %q", scheme, r.text)
			}
			check(n, rest[:size])
			r.text = rest[size:]
		}
		if len(r.text) > 0 || r.err != nil {
			t.Errorf("%s: %q is left, %v", scheme, r.text, r.err)
		}
	}
}
