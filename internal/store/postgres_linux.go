package store

import (
	"errors"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// giveUpDeadPeers makes a connection fail once its peer has acknowledged nothing for deadPeer.
// Keep-alives do not detect that while data waits to be sent (tcp(7), TCP_USER_TIMEOUT).
func giveUpDeadPeers(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadPeer.Milliseconds()))
	})
	return errors.Join(err, failed)
}
