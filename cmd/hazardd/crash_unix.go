//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// crashFile is the file of the data folder for what Go's runtime writes when a panic, of whatever
// goroutine, or a fatal error ends the program: it writes to standard error, and not as JSON.
const crashFile = "crash.txt"

// maxCrash bounds what is logged of it.
const maxCrash = 32 << 10

// keepCrashes makes the runtime write to crashFile, and the console to what was standard error until
// then. It returns what a program before this one has left there.
func (c *console) keepCrashes(dir string) (before string, err error) {
	stderr, ok := c.err.(*os.File)
	if !ok || stderr != os.Stderr {
		return "", nil // of a test
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(filepath.Join(dir, crashFile), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCrash))
	if err = errors.Join(err, f.Truncate(0)); err != nil {
		return "", err
	}
	was, err := unix.FcntlInt(stderr.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err == nil {
		err = unix.Dup2(int(f.Fd()), int(stderr.Fd()))
	}
	if err == nil {
		c.err = os.NewFile(uintptr(was), stderr.Name())
	}
	return string(text), err
}
