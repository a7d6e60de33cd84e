//go:build unix

package docs

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// endProcesses ends the processes that work in a folder, also those of a grandchild, and waits until they are
// gone. It returns those that had to be killed. It finds none where there is no /proc.
func endProcesses(dir string) (killed []string) {
	for range 100 {
		running := processesIn(dir)
		if len(running) == 0 {
			return nil
		}
		for pid := range running {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
		time.Sleep(50 * time.Millisecond)
	}
	for pid, line := range processesIn(dir) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		killed = append(killed, line)
	}
	return killed
}

// processesIn returns the command lines of the processes whose folder is dir or lies in it, by their ids.
// This process is not among them.
func processesIn(dir string) map[int]string {
	running := map[int]string{}
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		folder, err := os.Readlink(link)
		if err != nil || folder != dir && !strings.HasPrefix(folder, dir+"/") && folder != dir+" (deleted)" {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if pid == os.Getpid() || pid <= 1 {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
		running[pid] = strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " ")
	}
	return running
}
