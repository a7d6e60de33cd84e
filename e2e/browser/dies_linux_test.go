package browser

import "syscall"

// diesWithUs lets a program be killed when this test dies without a cleanup, as
// after a timeout.
func diesWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
