//go:build !linux

package child

import (
	"os/exec"
	"syscall"
)

// EndWithParent does nothing: only Linux can tell a process that its parent has died.
func EndWithParent(*exec.Cmd, syscall.Signal) {}
