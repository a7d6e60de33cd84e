//go:build !linux && !windows

package peers

import (
	"os"
	"syscall"
)

// ownGroup starts a process group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// signalGroup sends a signal to the group that p leads.
func signalGroup(p *os.Process, s syscall.Signal) { _ = syscall.Kill(-p.Pid, s) }
