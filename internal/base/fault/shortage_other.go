//go:build !windows

package fault

import "syscall"

// shortageErrors returns the errors of the system that mean a shortage of our own.
//
// EAGAIN comes from fork, and from connect if no local ports are free. The runtime waits out the
// EAGAIN of reads and writes itself. EADDRNOTAVAIL comes from connect if all local ports are in
// use.
func shortageErrors() [6]syscall.Errno {
	return [...]syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EADDRNOTAVAIL, syscall.EAGAIN,
	}
}
