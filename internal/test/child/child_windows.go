package child

import (
	"errors"
	"os"
	"os/exec"
)

// RunAs does nothing: there is no root that a server would refuse.
func RunAs(*exec.Cmd, uint32, uint32) {}

// Halt is not to be had on Windows.
func Halt(*os.Process) error { return errors.ErrUnsupported }
