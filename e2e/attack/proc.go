// This file reads the used resources of a process from Linux's /proc. Elsewhere figures that need
// it are skipped and not failed.

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"sluice/e2e/proc"
)

// usage is the resources that a process has used so far.
type usage struct {
	cpu  time.Duration
	peak int64 // bytes of memory at most
}

// usage returns the usage of the gateway.
func (g *gateway) usage() (usage, error) { return usageOf(g.cmd.Process.Pid) }

// usageOf reads Linux's /proc; elsewhere it is an error.
func usageOf(pid int) (usage, error) {
	cpu, err := proc.CPU(pid)
	if err != nil {
		return usage{}, err
	}
	peak, err := procField(fmt.Sprintf("/proc/%d/status", pid), "VmHWM:")
	return usage{cpu, peak << 10}, err
}

// openFiles returns how many files this process may open, or 0 if that is unknown.
func openFiles() int {
	n, err := procField("/proc/self/limits", "Max open files")
	if err != nil {
		return 0
	}
	return int(n)
}

// procField returns the first number behind a name in a file of /proc.
func procField(path, name string) (int64, error) {
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
