package listen

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// giveUpDeadPeers sets TCP_USER_TIMEOUT (tcp(7)), which accepted connections inherit: keep-alives
// are not sent while bytes wait to be acknowledged, and the system would repeat those for 15 minutes.
func giveUpDeadPeers(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadPeer.Milliseconds()))
	})
	return errors.Join(err, failed)
}
