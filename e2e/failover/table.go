package main

import (
	"slices"
	"strings"
	"time"

	"sluice/e2e/scenario"
)

// checkEmpty records whether a list is empty, or its first entries.
func (r *run) checkEmpty(what string, list []string) {
	first := strings.Join(list[:min(len(list), 3)], "; ")
	r.Check(what, len(list) == 0, "0", "%d %s", len(list), first)
}

// checkTimes records how long several things took. The given share of them, 0.5, 0.99 or 1 for all,
// must be within limit. The others are only reported.
func (r *run) checkTimes(what string, elapsed []time.Duration, share float64, limit time.Duration) {
	expected := map[float64]string{0.5: "p50", 0.99: "p99", 1: "all"}[share] + " <= " + limit.String()
	if len(elapsed) == 0 {
		r.Check(what, false, expected, "never seen")
		return
	}
	slices.Sort(elapsed)
	at := func(share float64) time.Duration {
		return elapsed[min(int(float64(len(elapsed))*share), len(elapsed)-1)]
	}
	r.Check(what, at(share) <= limit, expected, "p50 %s, p99 %s, most %s", scenario.Short(at(0.5)), scenario.Short(at(0.99)), scenario.Short(at(1)))
}
