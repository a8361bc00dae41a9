package s3

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Gate stands before a server, and can be shut.
type Gate struct {
	Addr string // host:port
	to   string
	mu   sync.Mutex
	way  way
	open map[net.Conn]bool
	wg   sync.WaitGroup
}

// way is what a gate does with connections.
type way struct {
	shut, hang     bool
	asked, answers int64 // bytes that go through each way; negative: all
}

var through = way{asked: -1, answers: -1}

// NewGate makes a gate before the server of b, which is open.
func NewGate(t testing.TB, b Bucket) *Gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &Gate{Addr: l.Addr().String(), to: b.Server.Host, open: map[net.Conn]bool{}, way: through}
	g.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			g.wg.Go(func() { g.pass(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close() // only reading could still fail
		g.Shut()
		g.wg.Wait()
	})
	return g
}

// Open lets connections through.
func (g *Gate) Open() { g.set(through) }

// Shut cuts all connections; those that come are cut at once.
func (g *Gate) Shut() { g.set(way{shut: true}) }

// Hang lets connections come, and nothing through.
func (g *Gate) Hang() { g.set(way{hang: true}) }

// Let cuts every connection after so many bytes that were asked, or answered; negative: never.
func (g *Gate) Let(asked, answers int64) { g.set(way{asked: asked, answers: answers}) }

// set cuts what is open, and does so with what comes.
func (g *Gate) set(w way) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.way = w
	for c := range g.open {
		_ = c.Close() // it may have ended by itself
	}
}

// note keeps a connection to be cut, unless the gate is shut.
func (g *Gate) note(c net.Conn) way {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open[c] = true
	return g.way
}

func (g *Gate) forget(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, c)
	_ = c.Close() // it may be closed
}

func (g *Gate) pass(in net.Conn) {
	defer g.forget(in)
	w := g.note(in)
	if w.shut {
		return
	}
	if w.hang {
		_, _ = io.Copy(io.Discard, in)
		return
	}
	out, err := net.Dial("tcp", g.to)
	if err != nil {
		return
	}
	defer g.forget(out)
	if g.note(out) != w {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { carry(out, in, w.asked) })
	carry(in, out, w.answers)
	both.Wait()
}

// carry carries what one side says to the other, at most so many bytes, and hangs up on both. That connections break is what this is for.
func carry(to, from net.Conn, most int64) {
	var said io.Reader = from
	if most >= 0 {
		said = io.LimitReader(from, most)
	}
	_, _ = io.Copy(to, said)
	_, _ = to.Close(), from.Close()
}
