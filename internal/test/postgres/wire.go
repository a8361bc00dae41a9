package postgres

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Wire is what connections to a database pass, and how often somebody waits there for an answer.
type Wire struct {
	mu      sync.Mutex
	trips   int
	most    int64 // bytes that were sent at once
	sent    int64 // since the last answer
	waiting bool
	lines   []*line      // each connection that there ever was
	mark    []byte       // what CountOf looks for
	far     atomic.Int64 // nanoseconds
}

// line is one connection.
type line struct {
	trips, before int
	waiting       bool
	marked        bool
}

// Far lets what is sent from now on take as long to the database and back, as over a long way.
func (w *Wire) Far(roundTrip time.Duration) { w.far.Store(int64(roundTrip)) }

// Wired is the database that a URL names, over a wire.
func Wired(t testing.TB, database string) (*Wire, string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Wire{}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { w.join(client, server) })
		}
	})
	t.Cleanup(func() { // after that of the store, which closes the connections
		_ = l.Close()
		all.Wait()
	})
	u.Host = l.Addr().String()
	return w, u.String()
}

func (w *Wire) join(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	l := &line{}
	w.mu.Lock()
	w.lines = append(w.lines, l)
	w.mu.Unlock()
	var answers sync.WaitGroup
	answers.Go(func() {
		from := w.way(server)
		defer from.Close()
		_, _ = io.Copy(client, passing{from, func([]byte) { w.answered(l) }}) // told as the client sees it: what it sends until then, it sends at once
		_ = client.(*net.TCPConn).CloseWrite()
	})
	from := w.way(passing{client, func(b []byte) { w.asked(l, b) }})
	defer from.Close()
	_, _ = io.Copy(server, from)
	_ = server.(*net.TCPConn).CloseWrite()
	answers.Wait()
}

// way is what comes from a reader, half of the time of a round trip later.
func (w *Wire) way(from io.Reader) io.ReadCloser {
	type piece struct {
		bytes []byte
		due   time.Time
	}
	r, to := io.Pipe()
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		for {
			b := make([]byte, 64<<10)
			n, err := from.Read(b)
			if n > 0 {
				pieces <- piece{b[:n], time.Now().Add(time.Duration(w.far.Load() / 2))}
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		defer to.Close()
		for p := range pieces {
			time.Sleep(time.Until(p.due))
			_, _ = to.Write(p.bytes) // the reader may be gone; the pieces are drained
		}
	}()
	return r
}

// passing tells of the bytes that are read.
type passing struct {
	from io.Reader
	tell func([]byte)
}

func (p passing) Read(b []byte) (int, error) {
	n, err := p.from.Read(b)
	if n > 0 {
		p.tell(b[:n])
	}
	return n, err
}

func (w *Wire) asked(l *line, b []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.waiting {
		w.waiting, w.sent = true, 0
		w.trips++
	}
	if !l.waiting {
		l.waiting = true
		l.trips++
	}
	if w.mark != nil && bytes.Contains(b, w.mark) {
		l.marked = true
	}
	w.sent += int64(len(b))
	w.most = max(w.most, w.sent)
}

func (w *Wire) answered(l *line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting, l.waiting = false, false
}

// Count is how often somebody waits while do runs: the least of some times, since the first ones prepare statements, and others read meanwhile.
func (w *Wire) Count(t testing.TB, do func()) int {
	t.Helper()
	least := 0
	for i := range 8 {
		w.mu.Lock()
		before := w.trips
		w.mu.Unlock()
		do()
		w.mu.Lock()
		if n := w.trips - before; i == 0 || n < least {
			least = n
		}
		w.mu.Unlock()
	}
	return least
}

// CountOf is how often the connection over which a text is sent waits while do runs: what others ask over theirs does not count. It is the least
// of some times, since the first ones prepare statements. Far says how slow a client may be that sends in pieces.
func (w *Wire) CountOf(t testing.TB, text string, do func()) int {
	t.Helper()
	least := 0
	for range 8 {
		w.mu.Lock()
		w.mark = []byte(text)
		for _, l := range w.lines {
			l.before, l.marked = l.trips, false
		}
		w.mu.Unlock()
		do()
		w.mu.Lock()
		for _, l := range w.lines {
			if n := l.trips - l.before; l.marked && (least == 0 || n < least) {
				least = n
			}
		}
		w.mark = nil
		w.mu.Unlock()
	}
	if least == 0 {
		t.Fatalf("%q was not sent", text)
	}
	return least
}

// Most is how many bytes were sent at once, at most.
func (w *Wire) Most() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}
