//go:build !unix

package wire

import (
	"os"
	"syscall"
)

// childAttr returns nothing special: there are no process groups to signal here.
func childAttr() *syscall.SysProcAttr { return nil }

// terminateGroup ends a child. Windows has no polite way.
func terminateGroup(p *os.Process) { _ = p.Kill() }

// killGroup ends a child; what it started must end when its pipes do.
func killGroup(p *os.Process) { _ = p.Kill() }
