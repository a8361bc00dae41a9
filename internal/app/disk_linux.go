package app

import "golang.org/x/sys/unix"

// diskFree returns how many bytes an unprivileged user may still write on the disk of a folder.
func diskFree(dir string) (bytes int64, ok bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
