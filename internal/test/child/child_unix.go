//go:build unix

package child

import (
	"os"
	"os/exec"
	"syscall"
)

// RunAs has the command run as another user, which takes root.
func RunAs(cmd *exec.Cmd, uid, gid uint32) {
	attributes(cmd).Credential = &syscall.Credential{Uid: uid, Gid: gid}
}

// Halt stops a process where it is (SIGSTOP): it does nothing more until it is killed.
func Halt(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func attributes(cmd *exec.Cmd) *syscall.SysProcAttr {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	return cmd.SysProcAttr
}
