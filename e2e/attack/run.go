// This file is the frame of a scenario: it ends everything that the scenario started, and turns
// measurements into figures of its row. It is like testing.T, but a broken row is a result of the
// table and not a failure of the program.

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

// run is a running scenario, with its processes and its figures. As with testing.T, a scenario ends
// where it cannot continue; see Must.
type run struct {
	scenario.Run
	slow float64 // how many times as long work takes as on a quiet machine
}

// atMost records a count that may be less.
func (r *run) atMost(what string, got, most int) {
	r.Check(what, got <= most, fmt.Sprint("<= ", most), "%d", got)
}

// checkWithin records how long something took. limit is that of a quiet machine.
func (r *run) checkWithin(what string, elapsed, limit time.Duration) {
	limit = r.scaledLimit(limit)
	r.Check(what, elapsed < limit, "< "+limit.String(), "%s", scenario.Short(elapsed))
}

// checkTurn records how a turn ended, and whether it took less than limit. limit is that of a quiet
// machine.
func (r *run) checkTurn(what string, t turn, limit time.Duration, good ...string) {
	limit = r.scaledLimit(limit)
	r.Check(what, slices.Contains(good, t.endReason()) && t.elapsed < limit, strings.Join(good, "/")+" < "+limit.String(), "%s, %s", t.endReason(), scenario.Short(t.elapsed))
}

// checkHealth records whether /healthz answers within a second.
func (r *run) checkHealth(what string, g *gateway) {
	const limit = time.Second
	got := g.fetch(3*r.scaledLimit(limit), http.MethodGet, "/healthz", "")
	if got.err != nil || got.status != http.StatusOK {
		r.Check(what, false, "< "+limit.String(), "status %d, %v", got.status, got.err)
		return
	}
	r.checkWithin(what, got.elapsed, limit)
}

// checkBreaker records whether the model's circuit breaker has counted a failure.
func (r *run) checkBreaker(g *gateway) {
	state, err := g.breakerState()
	r.Must(err)
	r.Check("the model's breaker afterwards", state == "closed 0", "closed 0", "%s", state)
}

// checkCost records the CPU time since before, and peak the most memory ever. A limit of 0 is not
// checked.
func (r *run) checkCost(g *gateway, before usage, cpu time.Duration, megabytes int) {
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
		r.Check("memory at most", mb < megabytes, fmt.Sprintf("< %d MB", megabytes), "%d MB", mb)
	}
}

// canOpen reports whether this process may open n files; it records a skip if not.
func (r *run) canOpen(n int) bool {
	if have := openFiles(); have > 0 && have < n {
		r.Skip("many connections", fmt.Sprintf("needs %d descriptors", n))
		return false
	}
	return true
}

// makeFolder makes a folder that is removed when the scenario ends.
func (r *run) makeFolder() string {
	dir, err := os.MkdirTemp("", "sluice-attack-")
	r.Must(err)
	r.AtEnd(func() { _ = os.RemoveAll(dir) })
	return dir
}

// counter counts what reaches a fake.
type counter = atomic.Int64
