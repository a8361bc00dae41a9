package listen

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// sealed returns a file with text that nobody can change: what is being sent is not copied.
func sealed(text []byte) (file int, err error) {
	file, err = unix.MemfdCreate("hazardd", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return 0, err
	}
	for n := 0; err == nil && len(text) > 0; text = text[n:] {
		if n, err = unix.Write(file, text); errors.Is(err, unix.EINTR) {
			n, err = 0, nil
		}
		n = max(n, 0)
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(file), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err != nil {
		unseal(file)
		return 0, err
	}
	return file, nil
}

func unseal(file int) { _ = unix.Close(file) } // nothing is written to it any more

// send sends size bytes of file from at on, before the write deadline of conn.
func send(conn *net.TCPConn, file int, at int64, size int) (sent int, err error) {
	return fill(conn, size, func(to, sent int) (int, error) { return unix.Sendfile(to, file, &at, size-sent) })
}

// writeMore writes b, which the system sends together with what follows.
func writeMore(conn *net.TCPConn, b []byte) (n int, err error) {
	return fill(conn, len(b), func(to, sent int) (int, error) {
		return unix.SendmsgN(to, b[sent:], nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL)
	})
}

// fill calls next, which sends some of what follows the first sent bytes, until conn has taken size bytes.
func fill(conn *net.TCPConn, size int, next func(to, sent int) (int, error)) (sent int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Write(func(to uintptr) bool {
		for sent < size {
			n, err := next(int(to), sent)
			switch {
			case errors.Is(err, unix.EAGAIN):
				return false // until the connection takes more
			case errors.Is(err, unix.EINTR):
			case err == nil && n == 0:
				failed = unix.EIO
				return true
			case err != nil:
				failed = err
				return true
			}
			sent += max(n, 0)
		}
		return true
	})
	return sent, errors.Join(err, failed)
}
