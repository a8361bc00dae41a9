//go:build unix

package listen

import "syscall"

// descriptors is the number of file descriptors that this process may have open. The standard
// library has raised the soft limit to the hard one when the process began (package os).
func descriptors() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), 1<<30))
}
