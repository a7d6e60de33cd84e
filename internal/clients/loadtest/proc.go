package loadtest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// procfs is Linux's /proc, or a test's copy of it. Without it the figures are unknown.
type procfs string

const (
	linux procfs = "/proc"
	// tick is the unit of CPU times in /proc on every Linux (USER_HZ).
	tick = 10 * time.Millisecond
)

// usage is the CPU time and memory of a process so far.
type usage struct {
	cpu time.Duration // of all its threads, user and system, in ticks of 10 ms
	rss int64         // bytes
}

var errUnreadable = errors.New("not readable in /proc")

// processUsage reads the usage of process pid, or of "self".
func (p procfs) processUsage(pid string) (usage, error) {
	stat, err := os.ReadFile(filepath.Join(string(p), pid, "stat"))
	if err != nil {
		return usage{}, err
	}
	// The name, in parentheses, may hold anything. After it, counted from 0, come
	// utime and stime as fields 11 and 12, the pages of memory as field 21 (proc(5)).
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 22 {
		return usage{}, errUnreadable
	}
	user, err1 := strconv.ParseInt(string(fields[11]), 10, 64)
	system, err2 := strconv.ParseInt(string(fields[12]), 10, 64)
	pages, err3 := strconv.ParseInt(string(fields[21]), 10, 64)
	return usage{time.Duration(user+system) * tick, pages * int64(os.Getpagesize())}, errors.Join(err1, err2, err3)
}

// processName returns the name of a process, "" if it is not known.
func (p procfs) processName(pid int) string {
	comm, err := os.ReadFile(filepath.Join(string(p), strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(comm))
}

// openFiles returns how many files this process may have open, 0 if it is not
// known. Go has raised the soft limit to the hard one by now.
func (p procfs) openFiles() int {
	limits, err := os.ReadFile(filepath.Join(string(p), "self", "limits"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(limits)) {
		if rest, ok := strings.CutPrefix(line, "Max open files"); ok {
			soft, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			n, _ := strconv.Atoi(soft) // "unlimited" is not known either
			return n
		}
	}
	return 0
}
