//go:build unix

package wire

import (
	"os"
	"syscall"
)

// terminateGroup asks a child and all that it started to end.
func terminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

// killGroup kills a child and all that it started. The child may be dead: the
// group has its id as long as a member lives.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
