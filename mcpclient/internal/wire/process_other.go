//go:build !unix

package wire

import (
	"os"
	"syscall"
)

// childAttr returns nil: this system has no process groups to signal.
func childAttr() *syscall.SysProcAttr { return nil }

// terminateGroup ends a child. Windows cannot ask a process to end.
func terminateGroup(p *os.Process) { _ = p.Kill() }

// killGroup ends a child. Processes that the child started must end when their pipes do.
func killGroup(p *os.Process) { _ = p.Kill() }
