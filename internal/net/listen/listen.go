// Package listen accepts TCP connections within limits: of one address, and in all.
//
// A connection is known once a request on it has proved who sends it (Conn.Known). Strangers share
// a small number of connections per address. When an address or the whole listener is full, the
// least useful connections are closed to make room: those that were refused and only drain, then
// strangers, then known connections between two requests; within each class the ones that have been
// silent longest. A known connection that a request is running on is never closed. So a flood from
// one address, or from many, takes nothing from users who are at work, and new ones still get in.
// If nothing can be closed, the new connection is answered 429 or 503 and closed.
//
// An address is an IPv4 address or an IPv6 /64. Trusted proxies count in the total alone: they carry
// the connections of many clients, and have limits of their own.
//
// A peer that has vanished is noticed within 45 seconds: see Options.
package listen

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The names of the limits in docs/interface.md.
const (
	limitAll     = "connections"
	limitAddress = "address-connections"
)

// Limits bound the connections of a Listener. All of them must be above 0.
type Limits struct {
	All     int // of everybody
	Address int // of one address, of strangers; known and unknown together may be half of All
	Proxies []netip.Prefix
	// Secure says that TLS begins at once on the connections: one that is refused is told so by an alert, and not in words of HTTP.
	Secure bool
	// NoSendfile says that Memory is copied to the connections.
	NoSendfile bool
	// Over is told the name of a limit whenever a connection is refused or closed because of it.
	// It must not block.
	Over func(limit string)
}

// Listener is a net.Listener within Limits. Its Accept returns *Conn. It is safe for concurrent use.
type Listener struct {
	net.Listener
	limits   Limits
	patience atomic.Int64  // how long closing a connection may take, a time.Duration
	refusing chan struct{} // held by each connection that is being refused
	running  sync.WaitGroup

	mu        sync.Mutex // guards what follows
	conns     map[*Conn]struct{}
	addresses map[netip.Prefix]*address
}

// address is what one address holds.
type address struct {
	conns     map[*Conn]struct{}
	strangers int
}

// maxRefusing is how many connections are refused with words at the same time. Others are reset.
const maxRefusing = 32

// New limits the connections that inner accepts. They must be TCP connections.
func New(inner net.Listener, limits Limits) *Listener {
	if limits.Over == nil {
		limits.Over = func(string) {}
	}
	l := &Listener{Listener: inner, limits: limits, refusing: make(chan struct{}, maxRefusing),
		conns: map[*Conn]struct{}{}, addresses: map[netip.Prefix]*address{}}
	l.patience.Store(int64(lingerTime))
	return l
}

// Accept returns the next connection that the limits admit.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		tcp, ok := inner.(*net.TCPConn)
		if !ok {
			return nil, fmt.Errorf("listen: accepted a %T, want a TCP connection", inner)
		}
		c := &Conn{TCPConn: tcp, listener: l, from: origin(tcp.RemoteAddr())}
		c.proxy = slices.ContainsFunc(l.limits.Proxies, func(p netip.Prefix) bool { return p.Contains(c.from.Addr()) })
		c.seen()
		if limit := l.admit(c); limit != "" {
			l.refuse(tcp, limit)
			continue
		}
		return c, nil
	}
}

// origin is the address that a connection counts for.
func origin(a net.Addr) netip.Prefix {
	ap, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	addr, bits := ap.Addr().Unmap().WithZone(""), 64
	if addr.Is4() {
		bits = 32
	}
	p, _ := addr.Prefix(bits) // the number of bits fits
	return p
}

// admit makes room for c and counts it. It returns the limit that leaves no room, or "".
func (l *Listener) admit(c *Conn) (limit string) {
	l.mu.Lock()
	var closed []*Conn
	defer func() {
		l.mu.Unlock()
		for _, old := range closed {
			_ = old.TCPConn.Close() // whoever serves it notices
		}
	}()
	if a := l.addresses[c.from]; a != nil && !c.proxy {
		if over := a.strangers - l.limits.Address + 1; over > 0 {
			dropped := l.drop(a.conns, strangers, room(over, l.limits.Address))
			closed = append(closed, dropped...)
			l.limits.Over(limitAddress)
			if len(dropped) == 0 {
				return limitAddress
			}
		} else if over := len(a.conns) - l.limits.All/2 + 1; over > 0 {
			dropped := l.drop(a.conns, idle, room(over, l.limits.All/2))
			closed = append(closed, dropped...)
			l.limits.Over(limitAddress)
			if len(dropped) == 0 {
				return limitAddress
			}
		}
	}
	if over := len(l.conns) - l.limits.All + 1; over > 0 {
		dropped := l.drop(l.conns, idle, room(over, l.limits.All))
		closed = append(closed, dropped...)
		l.limits.Over(limitAll)
		if len(dropped) == 0 {
			return limitAll
		}
	}
	a := l.addresses[c.from]
	if a == nil {
		a = &address{conns: map[*Conn]struct{}{}}
		l.addresses[c.from] = a
	}
	l.conns[c], a.conns[c] = struct{}{}, struct{}{}
	a.strangers++
	return ""
}

// room is how many connections are closed at once: looking for them costs as much as there are.
func room(over, limit int) int { return max(over, limit/32) }

// drop takes up to n connections out of the count: of those whose class is at most worst, the lowest
// classes and the longest silent first. The caller holds mu and closes them.
func (l *Listener) drop(from map[*Conn]struct{}, worst class, n int) []*Conn {
	type candidate struct {
		*Conn
		class class
		since int64
	}
	var all []candidate
	for c := range from {
		if k := c.class(); k <= worst {
			all = append(all, candidate{c, k, c.since.Load()})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.since, b.since)) })
	var dropped []*Conn
	for _, c := range all[:min(n, len(all))] {
		c.dropped = true
		l.forget(c.Conn)
		dropped = append(dropped, c.Conn)
	}
	return dropped
}

// forget takes a connection out of the count. The caller holds mu.
func (l *Listener) forget(c *Conn) {
	if _, counted := l.conns[c]; !counted {
		return
	}
	delete(l.conns, c)
	a := l.addresses[c.from]
	delete(a.conns, c)
	if !c.known.Load() {
		a.strangers--
	}
	if len(a.conns) == 0 {
		delete(l.addresses, c.from)
	}
}

// Count returns the number of connections that are open.
func (l *Listener) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

// Hurry bounds the time that closing a connection takes from now on. A service that ends calls it.
func (l *Listener) Hurry(patience time.Duration) {
	l.patience.Store(int64(patience))
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if c.lingering.Load() {
			_ = c.TCPConn.SetReadDeadline(time.Now().Add(patience)) // one that is closed needs none
		}
	}
}

// Wait returns when no goroutine of the listener runs any more: within seconds of its Close.
func (l *Listener) Wait() { l.running.Wait() }

// The time and the words of a refusal.
const (
	refusalTime  = time.Second
	refusalRetry = 5 // seconds
)

// refusals are the whole answers to connections over a limit.
var refusals = map[string][]byte{
	limitAddress: refusal(http.StatusTooManyRequests, "too many connections of your address (limit "+limitAddress+"); close some, or try again later"),
	limitAll:     refusal(http.StatusServiceUnavailable, "too many connections (limit "+limitAll+"); try again later"),
}

func refusal(status int, detail string) []byte {
	title := http.StatusText(status)
	body := fmt.Sprintf(`{"type":"about:blank","title":%q,"status":%d,"detail":%q}`, title, status, detail)
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\nCache-Control: no-store\r\nRetry-After: %d\r\nConnection: close\r\n\r\n%s",
		status, title, len(body), refusalRetry, body)
}

// secureRefusal is a fatal alert of TLS, internal_error (RFC 8446 section 6), before any handshake: it costs nothing, and a client tells it
// from an attack on the connection.
var secureRefusal = []byte{21, 3, 3, 0, 2, 2, 80}

// refuse answers a connection that is not admitted, and closes it.
func (l *Listener) refuse(conn *net.TCPConn, limit string) {
	select {
	case l.refusing <- struct{}{}:
	default: // a flood: no time for words
		_ = conn.SetLinger(0)
		_ = conn.Close()
		return
	}
	words := refusals[limit]
	if l.limits.Secure {
		words = secureRefusal
	}
	l.running.Go(func() {
		defer func() { <-l.refusing }()
		_ = conn.SetDeadline(time.Now().Add(refusalTime)) // the calls below fail if the peer has gone
		_, _ = conn.Write(words)
		_ = conn.CloseWrite()
		discard(conn, time.Now().Add(refusalTime), &l.patience)
		_ = conn.Close()
	})
}
