package listen

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// connected returns both ends of a connection to a listener, which are closed after the test.
func connected(t *testing.T) (client net.Conn, conn *Conn) {
	t.Helper()
	inner, err := Options().Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := New(inner, Limits{All: 10, Address: 10})
	t.Cleanup(func() { l.Close() })
	client, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	return client, accepted.(*Conn)
}

// Accepted connections inherit the listener's options.
func TestVanishedPeersAreGoneWithin45Seconds(t *testing.T) {
	_, conn := connected(t)
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	option := func(level, name int) (value int) {
		if err := raw.Control(func(fd uintptr) { value, err = unix.GetsockoptInt(int(fd), level, name) }); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	const heartbeat, most = 15, 45 // seconds: the interval at which streams send data, and the promised limit
	if timeout := option(unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); timeout < 20_000 || timeout > (most-heartbeat)*1000 {
		t.Errorf("TCP_USER_TIMEOUT is %d ms", timeout)
	}
	alive := option(unix.SOL_SOCKET, unix.SO_KEEPALIVE)
	idle, gap, count := option(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE), option(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL), option(unix.IPPROTO_TCP, unix.TCP_KEEPCNT)
	if alive != 1 || idle+gap*count > most {
		t.Errorf("keep-alives %d: after %d s, every %d s, %d times", alive, idle, gap, count)
	}
}
