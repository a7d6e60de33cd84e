package terminal_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"sluice/internal/clients/terminal"
)

// A terminal has as many columns as it says, within what can be read; one that says nothing has
// as many as is said.
func TestColumnsOfATerminal(t *testing.T) {
	t.Parallel()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there is no terminal to be had: %v", err)
	}
	defer master.Close()
	conn, err := master.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		says uint16
		want int
	}{{0, 77}, {1, 40}, {39, 40}, {40, 40}, {41, 41}, {100, 100}, {120, 120}, {121, 120}, {5000, 120}} {
		var failed error
		err := conn.Control(func(fd uintptr) {
			failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: tt.says})
		})
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		if got := terminal.Columns(master, 77); got != tt.want {
			t.Errorf("a terminal of %d columns has %d, want %d", tt.says, got, tt.want)
		}
	}
}
