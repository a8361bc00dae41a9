//go:build unix

package main

import (
	"os"
	"syscall"
)

// ofAnother reports whether a folder belongs to a user other than the one who runs this program.
func ofAnother(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) != os.Geteuid()
}
