//go:build !linux

package app

// diskFree is implemented on Linux only.
func diskFree(string) (bytes int64, ok bool) { return 0, false }
