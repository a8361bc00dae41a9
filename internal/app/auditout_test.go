package app

import (
	"bufio"
	"io"
	"log/slog"
	"net"
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
