//go:build unix

package postgres

import "syscall"

// read reads what is there of a socket that does not block.
func read(fd uintptr, b []byte) (int, error) { return syscall.Read(int(fd), b) }
