package limit

import (
	"cmp"
	"math/bits"
	"time"

	"sluice/internal/edge/access"
)

// gcra is a Rate by the generic cell rate algorithm. The charges are stored as the time until they
// have drained: the level. Levels and costs are nanoseconds. The zero value is unlimited.
type gcra struct {
	n, period uint64
	window    int64 // the level of a used-up rate
	debt      int64 // how far a level may be above window
	one       int64 // the cost of one
	burst     int
}

// newGCRA returns r as the algorithm takes it. With afterwards set, a charge may leave a debt.
func newGCRA(r access.Rate, afterwards bool) (g gcra) {
	q := r.Quota
	if q.N == 0 {
		return g
	}
	g.n, g.period, g.burst = uint64(q.N), uint64(q.Unit.Length()), cmp.Or(r.Burst, q.N)
	g.window, g.one = g.cost(g.burst), g.cost(1)
	if afterwards {
		g.debt = g.window
	}
	return g
}

func (g *gcra) isSet() bool { return g.n != 0 }

// cost returns by what n raise a level. It is rounded down, so that a whole burst fits into
// the window.
func (g *gcra) cost(n int) int64 {
	high, low := bits.Mul64(uint64(max(n, 0)), g.period)
	if high >= g.n {
		return 1 << 62
	}
	quotient, _ := bits.Div64(high, low, g.n)
	return max(1, int64(min(quotient, 1<<62)))
}

// levelAt returns the level of a tat (the time at which all charges have drained) at now. It is at
// most the highest level that a charge can make.
func (g *gcra) levelAt(tat, now int64) int64 { return min(max(tat-now, 0), g.window+g.debt) }

// waitFor returns how long it takes until there is room for need; 0: there is.
func (g *gcra) waitFor(level, need int64) time.Duration {
	return time.Duration(max(level+min(need, g.window)-g.window, 0))
}

// charge returns the tat after a charge.
func (g *gcra) charge(level, cost, now int64) int64 {
	return now + min(level+min(cost, 1<<61), g.window+g.debt)
}

// remainingAt returns how many fit at a level.
func (g *gcra) remainingAt(level int64) int {
	if level >= g.window {
		return 0
	}
	high, low := bits.Mul64(uint64(g.window-level), g.n)
	quotient, _ := bits.Div64(high, low, g.period)
	return min(int(quotient), g.burst)
}
