package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"

	"sluice/e2e/scenario"
)

// run is a running scenario, with its processes and its figures. As with testing.T, a scenario ends
// where it cannot continue; see Must.
type run struct {
	scenario.Run
	sizes    sizes
	progress io.Writer // for the waiting person; not a part of the result
}

// needPrograms ends the scenario, as skipped, on a machine without a program.
func (r *run) needPrograms(programs ...string) {
	for _, p := range programs {
		if _, err := findProgram(p); err != nil {
			r.Lack(p)
		}
	}
}

// findProgram returns the path of a program. Debian has servers where only root looks.
func findProgram(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + program)
	}
	return path, err
}

// printProgress prints a line of progress for the waiting person.
func (r *run) printProgress(format string, args ...any) {
	fmt.Fprintf(r.progress, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// awaitOrFail waits until something holds.
func (r *run) awaitOrFail(what string, limit time.Duration, holds func() bool) {
	for deadline := time.Now().Add(limit); !holds(); r.Pause(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.Must(fmt.Errorf("%s: not within %s", what, limit))
		}
	}
}

// makeFolder makes a folder that is removed when the scenario ends, unless its logs are wanted.
func (r *run) makeFolder() string {
	dir, err := os.MkdirTemp("", "sluice-failover-")
	r.Must(err)
	if r.sizes.keepLogs {
		r.printProgress("logs are in %s", dir)
		return dir
	}
	r.AtEnd(func() { _ = os.RemoveAll(dir) })
	return dir
}

// freePort returns a port of this host that is free now. A process that listens there must get the
// same port again after a kill.
func (r *run) freePort() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	r.Must(err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	r.Must(err)
	return port
}
