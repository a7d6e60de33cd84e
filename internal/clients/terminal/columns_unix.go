//go:build unix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// columnsOf asks a terminal how wide it is; 0: it does not say.
func columnsOf(f *os.File) (columns int) {
	conn, err := f.SyscallConn() // not Fd, which takes a file out of the poller
	if err != nil {
		return 0
	}
	_ = conn.Control(func(fd uintptr) {
		if size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ); err == nil {
			columns = int(size.Col)
		}
	})
	return columns
}
