package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpuOf returns the CPU time of a process, by the clock that Linux has of each. That of /proc
// counts in hundredths of a second.
func cpuOf(pid int) (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|2), &t) // clock_getcpuclockid(3)
	return time.Duration(t.Nano()), err
}

// memoryOf returns the resident memory of a process in bytes.
func memoryOf(pid int) (float64, error) {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	return float64(pages * os.Getpagesize()), err
}

// filesOf returns how many descriptors a process has open.
func filesOf(pid int) (int, error) {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(all), err
}
