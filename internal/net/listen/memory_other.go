//go:build !linux

package listen

import (
	"errors"
	"net"
)

func sealed([]byte) (int, error) { return 0, errors.ErrUnsupported }

func unseal(int) {}

func send(*net.TCPConn, int, int64, int) (int, error) { return 0, errors.ErrUnsupported }

func writeMore(conn *net.TCPConn, b []byte) (int, error) { return conn.Write(b) }
