package app

import (
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// oneConn is a listener that accepts one connection.
type oneConn struct{ conns chan net.Conn }

func (l *oneConn) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

func TestHeadThatComesTooSlowlyIsCut(t *testing.T) {
	s, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler), Settings: Settings{DataDir: t.TempDir(), Listen: "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		network := &oneConn{conns: make(chan net.Conn, 1)}
		network.conns <- theirs
		served := make(chan error, 1)
		go func() { served <- s.server.Serve(network) }()
		began := time.Now()
		if _, err := io.WriteString(ours, "GET /hazards/types HTTP/1.1\r\nHost: x\r\nX: "); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(ours)
		if took := time.Since(began); err != nil || took != 5*time.Second || !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") && len(answer) > 0 {
			t.Errorf("cut after %v: %.200q, %v", took, answer, err)
		}
		close(network.conns)
		<-served
	})
}
