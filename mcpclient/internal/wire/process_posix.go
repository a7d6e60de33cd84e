//go:build unix && !linux

package wire

import "syscall"

// childAttr puts a child into a process group of its own. There is no signal for
// the death of a parent here: a child must end when its input does.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
