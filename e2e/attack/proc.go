// This file reads what a process has used out of Linux's /proc. Elsewhere figures that need
// it are skipped and not failed.

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// usage is what a process has used so far.
type usage struct {
	cpu  time.Duration // in ticks of 10 ms, which is USER_HZ on every Linux
	peak int64         // bytes of memory at most
}

// usage is that of the gateway.
func (g *gateway) usage() (usage, error) { return usageOf(g.cmd.Process.Pid) }

// usageOf reads Linux's /proc; elsewhere it is an error.
func usageOf(pid int) (usage, error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return usage{}, err
	}
	// After the name, in parentheses, come utime and stime as fields 11 and 12 (proc(5)).
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return usage{}, errors.New("stat is too short")
	}
	user, err1 := strconv.ParseInt(string(fields[11]), 10, 64)
	system, err2 := strconv.ParseInt(string(fields[12]), 10, 64)
	peak, err3 := field(dir+"status", "VmHWM:")
	return usage{time.Duration(user+system) * 10 * time.Millisecond, peak << 10}, errors.Join(err1, err2, err3)
}

// openFiles is the number of files that this process may open, 0 if it is not known.
func openFiles() int {
	n, err := field("/proc/self/limits", "Max open files")
	if err != nil {
		return 0
	}
	return int(n)
}

// field returns the first number behind a name in a file of /proc.
func field(path, name string) (int64, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(content)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			return strconv.ParseInt(number, 10, 64)
		}
	}
	return 0, fmt.Errorf("%s: no %s", path, name)
}
