package peers

import (
	"os"
	"syscall"
)

// ownGroup starts a process group. Should this test die without a cleanup, as
// after a timeout, the program is killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// signalGroup sends a signal to the group that p leads.
func signalGroup(p *os.Process, s syscall.Signal) { _ = syscall.Kill(-p.Pid, s) }
