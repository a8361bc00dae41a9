//go:build unix

package cluster

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/test"
)

// line is a connection between two programs that can be interrupted.
type line struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	open  chan struct{} // closed while bytes pass
	dead  bool          // connections are refused
	conns map[net.Conn]struct{}
	all   sync.WaitGroup
}

// newLine forwards from a port of its own to an address.
func newLine(t testing.TB, to string) *line {
	t.Helper()
	listener, err := net.Listen("tcp", test.Address(t).String())
	if err != nil {
		t.Fatal(err)
	}
	l := &line{listener: listener, to: to, open: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	close(l.open)
	l.all.Go(l.accept)
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		l.refuse()
		l.all.Wait()
	})
	return l
}

func (l *line) addr() string { return l.listener.Addr().String() }

func (l *line) port() int { return l.listener.Addr().(*net.TCPAddr).Port }

func (l *line) accept() {
	for {
		in, err := l.listener.Accept()
		if err != nil {
			return // closed
		}
		l.all.Go(func() {
			defer l.leave(in)
			if !l.join(in) || !l.pass(in) {
				return
			}
			out, err := net.Dial("tcp", l.to)
			if err != nil {
				return
			}
			defer l.leave(out)
			if !l.join(out) {
				return
			}
			var both sync.WaitGroup
			both.Go(func() { l.copy(out, in) })
			both.Go(func() { l.copy(in, out) })
			both.Wait()
		})
	}
}

func (l *line) join(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = struct{}{}
	return !l.dead
}

func (l *line) leave(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	_ = c.Close() // closed twice, if the line was cut
}

// pass waits while the line is silent, and reports whether the connection still exists.
func (l *line) pass(c net.Conn) bool {
	for {
		l.mu.Lock()
		open, dead := l.open, l.dead
		l.mu.Unlock()
		if dead {
			return false
		}
		select {
		case <-open:
			return true
		case <-time.After(100 * time.Millisecond): // it may have been refused meanwhile
		}
	}
}

func (l *line) copy(to, from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if !l.pass(from) {
			return
		}
		if _, bad := to.Write(buf[:n]); bad != nil {
			err = errors.Join(err, bad)
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				_ = to.(*net.TCPConn).CloseWrite() // it may be closed already
				return
			}
			_, _ = to.Close(), from.Close() // the other direction ends with it
			return
		}
	}
}

// silence stops all traffic without closing connections, as when the network is down.
func (l *line) silence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = make(chan struct{})
}

// refuse ends all connections, and refuses new ones.
func (l *line) refuse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	for c := range l.conns {
		_ = c.Close() // closed twice, if it has already ended
	}
}

// mend undoes silence and refuse.
func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = false
	select {
	case <-l.open:
	default:
		close(l.open)
	}
}

func TestALineIsCutAndMended(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	l := newLine(t, echo.Addr().String())
	say := func(c net.Conn) (string, error) {
		if _, err := c.Write([]byte("hello")); err != nil {
			return "", err
		}
		buf := make([]byte, 5)
		_, err := io.ReadFull(c, buf)
		return string(buf), err
	}
	dial := func() net.Conn {
		c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", l.addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	c := dial()
	if got, err := say(c); got != "hello" || err != nil {
		t.Fatal(got, err)
	}
	l.silence()
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if got, err := say(c); err == nil {
		t.Fatalf("%q passed a silent line", got)
	}
	l.mend()
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadFull(c, make([]byte, 5)); got != 5 || err != nil {
		t.Fatal("data sent meanwhile does not arrive", got, err)
	}
	l.refuse()
	if _, err := say(c); err == nil {
		t.Fatal("a refused line continues")
	}
	if _, err := say(dial()); err == nil {
		t.Fatal("a refused line starts again")
	}
	l.mend()
	if got, err := say(dial()); got != "hello" || err != nil {
		t.Fatal(got, err)
	}
}
