//go:build !linux

package service

// diskFree is not known here.
func diskFree(string) (bytes int64, ok bool) { return 0, false }
