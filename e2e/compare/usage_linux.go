package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpu is the time that a process has used so far, by the clock that Linux has of each. That of
// /proc counts in ticks of 10 ms.
func (d *side) cpu() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^d.cmd.Process.Pid<<3|2), &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}

// memory is what a process has of memory, in bytes.
func (d *side) memory() (float64, error) {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", d.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	return float64(pages * os.Getpagesize()), err
}
