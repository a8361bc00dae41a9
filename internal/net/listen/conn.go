package listen

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"
)

// Conn is a connection that a Listener has accepted. It keeps all abilities of a TCP connection,
// such as sending files without copying.
type Conn struct {
	*net.TCPConn
	listener *Listener
	from     netip.Prefix
	proxy    bool // a trusted one
	dropped  bool // to make room; guarded by the listener's mu
	more     bool // see More; of the goroutine that writes

	phase     atomic.Int32 // an http.ConnState
	since     atomic.Int64 // when phase changed last, nanoseconds since the start of the process
	known     atomic.Bool
	unread    atomic.Bool // a request's body has not been read to its end
	lingering atomic.Bool
}

// class orders connections by how little is lost when they are closed.
type class int

const (
	draining  class = iota // refused already
	strangers              // nobody knows who
	idle                   // known, between two requests
	needed
)

func (c *Conn) class() class {
	phase := http.ConnState(c.phase.Load())
	switch {
	case c.lingering.Load():
		return draining
	case phase == http.StateHijacked:
		return needed
	case phase == http.StateActive && (c.known.Load() || c.proxy):
		return needed
	case c.known.Load() || c.proxy:
		return idle
	}
	return strangers
}

var start = time.Now()

func (c *Conn) seen() { c.since.Store(int64(time.Since(start))) }

// State notes what http.Server says of the connection (http.Server.ConnState).
func (c *Conn) State(s http.ConnState) {
	c.phase.Store(int32(s))
	c.seen()
	if s == http.StateIdle {
		c.unread.Store(false) // what follows is the next request
	}
}

// Known notes that a request on the connection has proved who sends it.
func (c *Conn) Known() {
	if c.known.Load() {
		return
	}
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.known.Swap(true) {
		return
	}
	if _, counted := l.conns[c]; counted {
		l.addresses[c.from].strangers--
	}
}

// Unread notes whether a body is still to come that nobody may ever read. A connection that is
// closed then drains first, for a bounded time: closed at once it would be reset by the system, and
// the peer would lose the answer that was sent to it.
func (c *Conn) Unread(b bool) { c.unread.Store(b) }

// The bounds of draining a connection before it is closed.
const (
	lingerTime   = 30 * time.Second // in all
	lingerSilent = 5 * time.Second  // without a byte
	lingerBytes  = 128 << 20        // more than the largest body of a client that reads answers late
)

// CloseWrite ends what is sent, and drains the connection if Unread was noted last: http.Server calls
// it half a second before Close.
func (c *Conn) CloseWrite() error {
	err := c.TCPConn.CloseWrite()
	if err != nil || !c.unread.Swap(false) {
		return err
	}
	c.lingering.Store(true)
	c.seen()
	if patience := time.Duration(c.listener.patience.Load()); patience > 0 {
		discard(c.TCPConn, time.Now().Add(patience), &c.listener.patience)
	}
	return nil
}

// Close closes the connection, after it has drained if Unread was noted last. A second call, while
// the first one drains, closes it at once.
func (c *Conn) Close() error {
	if c.unread.Load() {
		_ = c.CloseWrite() // it may have been closed to make room
	}
	l := c.listener
	l.mu.Lock()
	l.forget(c)
	dropped := c.dropped
	l.mu.Unlock()
	err := c.TCPConn.Close()
	if dropped {
		return nil // it was closed then
	}
	return err
}

// discard reads and forgets what a peer sends, until it ends, falls silent, or has sent enough, or
// until end, or until patience runs out.
func discard(conn *net.TCPConn, end time.Time, patience *atomic.Int64) {
	buf := make([]byte, 64<<10)
	for left := lingerBytes; left > 0; {
		until := time.Now().Add(lingerSilent)
		if conn.SetReadDeadline(earlier(until, end)) != nil {
			return
		}
		// Hurry notes the patience before it sets deadlines, and this reads it after: neither misses the other.
		hurry := time.Duration(patience.Load())
		if hurry <= 0 {
			return
		}
		if hurried := time.Now().Add(hurry); hurried.Before(end) {
			end = hurried
			if conn.SetReadDeadline(earlier(until, end)) != nil {
				return
			}
		}
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		left -= n
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

type connKey struct{}

// Context gives a request's context its connection (http.Server.ConnContext), below TLS if there is some.
func Context(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, Below(c))
}

// Below returns the connection that a Listener has accepted, which c is, or carries the TLS of c; nil: it is another.
func Below(c net.Conn) *Conn {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	own, _ := c.(*Conn)
	return own
}

// Of returns the connection of a request's context; nil if a Listener has not accepted it.
func Of(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}
