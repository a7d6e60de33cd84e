package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// CPU is the time that the gateway has used so far. Linux counts a hundredth of a second; without
// Linux's /proc the test is skipped.
func (g *Gateway) CPU(t testing.TB) time.Duration {
	t.Helper()
	fields := strings.Fields(g.stat(t, "stat"))
	var ticks int
	for _, f := range fields[13:15] { // utime, stime
		n, _ := strconv.Atoi(f)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// Memory is what the gateway has in memory, in bytes. Without Linux's /proc the test is skipped.
func (g *Gateway) Memory(t testing.TB) int64 {
	t.Helper()
	fields := strings.Fields(g.stat(t, "statm"))
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// stat returns a file about the process, by its name in proc(5).
func (g *Gateway) stat(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", g.PID(), file))
	if err != nil {
		t.Skip("needs Linux's /proc")
	}
	return string(text)
}
