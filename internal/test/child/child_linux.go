package child

import (
	"os/exec"
	"syscall"
)

// EndWithParent has the system send the process this signal when the one that starts it has died, so that a test binary that is killed leaves none behind.
// Elsewhere than on Linux it does nothing.
func EndWithParent(cmd *exec.Cmd, signal syscall.Signal) { attributes(cmd).Pdeathsig = signal }
