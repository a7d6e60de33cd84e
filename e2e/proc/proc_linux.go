// Package proc reads the resources that a process has used, by its id. Elsewhere than on Linux each
// function returns an error.
package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CPU returns the CPU time of a process, by the clock that Linux has of each: that of /proc counts
// in hundredths of a second.
func CPU(pid int) (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|2), &t) // clock_getcpuclockid(3)
	return time.Duration(t.Nano()), err
}

// Memory returns the resident memory of a process, in bytes.
func Memory(pid int) (int64, error) {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// Files returns how many descriptors a process has open.
func Files(pid int) (int, error) {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(all), err
}
