// This file is the frame of a scenario: what it starts is ended with it, what it measures
// becomes figures of its row. It is like testing.T, but the result is a table and not a
// failure, since a row that is broken is what one wants to read.

package main

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"sluice/e2e/scenario"
)

// run is one scenario at work: what it has started, and what it has measured. As with
// testing.T, a scenario ends where it cannot continue; see must.
type run struct {
	scenario.Run
	slow float64 // how many times as long work takes as on a quiet machine
}

// atMost notes a count that may be less.
func (r *run) atMost(what string, got, most int) {
	r.Note(what, got <= most, fmt.Sprint("<= ", most), "%d", got)
}

// within notes how long something took. limit is that of a quiet machine.
func (r *run) within(what string, elapsed, limit time.Duration) {
	limit = r.scaled(limit)
	r.Note(what, elapsed < limit, "< "+limit.String(), "%s", scenario.Short(elapsed))
}

// turn notes how a turn ended, and that it took less than limit, which is that of a quiet
// machine.
func (r *run) turn(what string, t turn, limit time.Duration, good ...string) {
	limit = r.scaled(limit)
	r.Note(what, slices.Contains(good, t.end()) && t.elapsed < limit, strings.Join(good, "/")+" < "+limit.String(), "%s, %s", t.end(), scenario.Short(t.elapsed))
}

// health notes that /healthz answers within a second.
func (r *run) health(what string, g *gateway) {
	const limit = time.Second
	got := g.fetch(3*r.scaled(limit), http.MethodGet, "/healthz", "")
	if got.err != nil || got.status != http.StatusOK {
		r.Note(what, false, "< "+limit.String(), "status %d, %v", got.status, got.err)
		return
	}
	r.within(what, got.elapsed, limit)
}

// breaker notes whether the model's circuit breaker has counted a failure.
func (r *run) breaker(g *gateway) {
	state, err := g.breaker()
	r.Must(err)
	r.Note("the model's breaker afterwards", state == "closed 0", "closed 0", "%s", state)
}

// cost notes the CPU time since before, and peak the most memory ever. What is 0 is
// not looked at.
func (r *run) cost(g *gateway, before usage, cpu time.Duration, megabytes int) {
	u, err := g.usage()
	if err != nil {
		r.Skip("CPU and memory", "no /proc here")
		return
	}
	if cpu > 0 {
		r.withinCPU("CPU for it", u.cpu-before.cpu, cpu)
	}
	if megabytes > 0 {
		mb := int(u.peak >> 20)
		r.Note("memory at most", mb < megabytes, fmt.Sprintf("< %d MB", megabytes), "%d MB", mb)
	}
}

// descriptors says whether this process may open n files; it notes it if not.
func (r *run) descriptors(n int) bool {
	if have := openFiles(); have > 0 && have < n {
		r.Skip("many connections", fmt.Sprintf("needs %d descriptors", n))
		return false
	}
	return true
}

// folder is removed when the scenario ends.
func (r *run) folder() string {
	dir, err := os.MkdirTemp("", "sluice-attack-")
	r.Must(err)
	r.AtEnd(func() { _ = os.RemoveAll(dir) })
	return dir
}

// counter counts what reaches a fake.
type counter = atomic.Int64
