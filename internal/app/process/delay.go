// This file measures whether the process is short of CPU, for the admission of streams: by
// how long goroutines wait until they run. The number of streams says little about that, as
// one stream may cost a hundred times as much as another.

package process

import (
	"runtime/metrics"
	"slices"
	"time"
)

// AdmissionDelay returns a function that measures, from now on, how long goroutines have waited for
// a processor since its last call. Nil: the number of streams alone decides (byCount).
//
// Only the goroutine that decides about admission may call it.
func AdmissionDelay(byCount bool) func() time.Duration {
	if byCount {
		return nil
	}
	return newSchedDelay().sinceLast
}

// delayQuantile is the share of the waits up to the delay. Most waits are short however busy the
// process is, because the scheduler runs a goroutine that is woken by another one next; the others
// stand in its queue.
const delayQuantile = 0.95

// schedDelay measures how long goroutines that could run waited for a processor. The
// runtime keeps the histogram anyway, of every eighth wait; to read it takes some
// 3 µs.
//
// Only the goroutine that decides about admission uses it.
type schedDelay struct {
	sample []metrics.Sample
	before []uint64
}

// newSchedDelay begins to measure now.
func newSchedDelay() *schedDelay {
	d := &schedDelay{sample: []metrics.Sample{{Name: "/sched/latencies:seconds"}}}
	metrics.Read(d.sample)
	d.before = slices.Clone(d.sample[0].Value.Float64Histogram().Counts)
	return d
}

// sinceLast returns the quantile of the waits that ended since the last call.
//
// 0: nothing waited.
func (d *schedDelay) sinceLast() time.Duration {
	metrics.Read(d.sample)
	h := d.sample[0].Value.Float64Histogram()
	for i, n := range h.Counts {
		d.before[i], h.Counts[i] = n, n-d.before[i]
	}
	return quantileOf(h, delayQuantile)
}

// quantileOf returns the lower bound of the bucket that holds the quantile q, 0 if
// the histogram is empty.
//
// q is from 0 to 1. The lower bound is the careful one: a busy process is found a bucket
// later and never too early.
func quantileOf(h *metrics.Float64Histogram, q float64) time.Duration {
	var total, seen uint64
	for _, n := range h.Counts {
		total += n
	}
	for i, n := range h.Counts {
		if seen += n; n > 0 && float64(seen) >= q*float64(total) {
			return time.Duration(max(0, h.Buckets[i]) * float64(time.Second)) // the first bound is -Inf
		}
	}
	return 0
}
