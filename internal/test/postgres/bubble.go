package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Bubble is a database for tests in bubbles of testing/synctest, one at a time. Its clock is that of the bubble, and time
// passes there only while nobody waits for an answer of the database.
type Bubble struct {
	name  string
	mu    sync.Mutex
	file  *os.File // what the database reads the time from
	wrote time.Time
}

// NewBubble returns a fresh database, outside the bubbles. It goes when the test ends.
func NewBubble(t testing.TB) *Bubble {
	t.Helper()
	u, err := url.Parse(URL(t))
	if err != nil {
		t.Fatal(err)
	}
	b := &Bubble{name: strings.TrimPrefix(u.Path, "/")}
	if b.file, err = os.Create(filepath.Join(common.dir, b.name+".clock")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.file.Close() })
	// The search path finds it before PostgreSQL's own.
	if err := common.server.execIn(b.name, fmt.Sprintf(`CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
		$$ SELECT to_timestamp(pg_read_file('%s')::float8) $$`, b.file.Name())); err != nil {
		t.Fatal(err)
	}
	return b
}

// URL is the address of the database.
func (b *Bubble) URL() string { return bubbled(common.server.URL(b.name)) }

// Copy is the address of a copy of the database, to which nobody may be connected. It goes when the test ends.
func (b *Bubble) Copy(t testing.TB) string {
	t.Helper()
	return bubbled(create(t, b.name))
}

func bubbled(address string) string { return address + "&search_path=public,pg_catalog" }

// Dial connects to the database, for store.WithDialer.
func (b *Bubble) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &bubbleConn{TCPConn: c.(*net.TCPConn), bubble: b, due: make(chan struct{}, 1), sent: messages{untyped: true}}, nil
}

// tick tells the database the time.
func (b *Bubble) tick() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if now.Equal(b.wrote) {
		return nil
	}
	b.wrote = now
	_, err := b.file.WriteAt(fmt.Appendf(nil, "%014d.%03d", now.Unix(), now.Nanosecond()/1e6), 0)
	return err
}

// bubbleConn is a connection. In a bubble, a read of a socket is no reason for time to pass. So it reads the socket only
// while an answer is owed; otherwise it sleeps, and looks now and then for what the database sends by itself.
type bubbleConn struct {
	*net.TCPConn
	bubble    *Bubble
	due       chan struct{} // has one where a deadline may have passed
	mu        sync.Mutex
	sent, got messages
	owed      int  // answers to what was sent
	open      bool // something was sent whose answer is not asked for yet
}

func (c *bubbleConn) Write(b []byte) (int, error) {
	if err := c.bubble.tick(); err != nil {
		return 0, err
	}
	c.mu.Lock()
	c.sent.pass(b, func(kind byte) {
		switch kind {
		case 'X': // the end
		case 0, 'Q', 'S', 'F': // each is answered, at last by ReadyForQuery
			c.owed++
			c.open = false
		default:
			c.open = true
		}
	})
	c.mu.Unlock()
	return c.TCPConn.Write(b)
}

func (c *bubbleConn) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owed > 0 || c.open
}

func (c *bubbleConn) Read(b []byte) (n int, err error) {
	for n == 0 && err == nil {
		if c.waits() {
			n, err = c.TCPConn.Read(b)
		} else if n, err = c.look(b); n == 0 && err == nil {
			select {
			case <-c.due:
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got.pass(b[:n], func(kind byte) {
		if kind == 'Z' {
			c.owed--
		}
	})
	return n, err
}

// look reads what is there.
func (c *bubbleConn) look(b []byte) (n int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	if err := raw.Read(func(fd uintptr) bool {
		n, failed = read(fd, b)
		return true
	}); err != nil {
		return 0, err
	}
	switch {
	case failed == syscall.EAGAIN || failed == syscall.EINTR:
		return 0, nil
	case failed != nil:
		return 0, failed
	case n == 0:
		return 0, net.ErrClosed
	}
	return n, nil
}

func (c *bubbleConn) SetDeadline(t time.Time) error { return c.wake(c.TCPConn.SetDeadline(t)) }

func (c *bubbleConn) SetReadDeadline(t time.Time) error { return c.wake(c.TCPConn.SetReadDeadline(t)) }

// wake makes a read that sleeps look at its deadline, and returns err.
func (c *bubbleConn) wake(err error) error {
	select {
	case c.due <- struct{}{}:
	default:
	}
	return err
}

// messages are those of one direction of PostgreSQL's protocol.
type messages struct {
	untyped bool   // the first one, of a client, has no type
	head    []byte // the type and length of one, as far as they have come
	rest    int    // bytes of its body that are still to come
}

// pass takes the next bytes, and calls each with the type of each message that begins in them; 0 for one without.
func (m *messages) pass(b []byte, each func(kind byte)) {
	for len(b) > 0 {
		if m.rest > 0 {
			n := min(m.rest, len(b))
			m.rest -= n
			b = b[n:]
			continue
		}
		if m.untyped && len(m.head) == 0 {
			m.head = append(m.head, 0)
		}
		m.head = append(m.head, b[0])
		b = b[1:]
		if len(m.head) == 5 {
			m.rest = int(binary.BigEndian.Uint32(m.head[1:])) - 4
			each(m.head[0])
			m.untyped, m.head = false, m.head[:0]
		}
	}
}
