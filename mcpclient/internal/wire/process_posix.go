//go:build unix && !linux

package wire

import "syscall"

// childAttr puts a child into a process group of its own. This system sends no signal at the death
// of a parent: a child must end when its input does.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
