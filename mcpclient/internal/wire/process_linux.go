package wire

import "syscall"

// childAttr puts a child into a process group of its own, and has the kernel
// kill it when we die, however we die.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
