package loadtest

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// histogram counts durations in buckets whose width grows with the value: 64 for
// each power of two. A bucket is at most 1/64 of its lowest value wide and is reported
// by its middle, so a quantile is at most 1/128 (0.8 %) off. Its size is constant,
// 19 KB, and any number of goroutines may add.
type histogram struct {
	counts [buckets]atomic.Int64
	total  atomic.Int64
	top    atomic.Int64 // the largest value, exactly
}

const (
	bucketBits = 6
	// maxValue is 73 minutes in nanoseconds; longer times count as that.
	maxValue = 1<<42 - 1
	buckets  = (42-bucketBits)<<bucketBits + 1<<bucketBits
)

// add counts one duration.
func (h *histogram) add(d time.Duration) { h.addRepeated(d, 1) }

// addRepeated counts a duration n times. Negative ones count as 0, those above maxValue as
// that.
func (h *histogram) addRepeated(d time.Duration, n int64) {
	if n == 0 {
		return
	}
	v := min(max(int64(d), 0), maxValue)
	h.counts[bucketOf(v)].Add(n)
	h.total.Add(n)
	for top := h.top.Load(); v > top && !h.top.CompareAndSwap(top, v); top = h.top.Load() {
	}
}

// bucketOf is the value itself up to 127; beyond, the seven highest bits and where
// they stand.
func bucketOf(v int64) int {
	shift := max(bits.Len64(uint64(v))-bucketBits-1, 0)
	return shift<<bucketBits + int(v>>shift)
}

// bucketMiddle is the inverse of bucketOf.
func bucketMiddle(bucket int) int64 {
	shift := max(bucket>>bucketBits-1, 0)
	lowest := int64(bucket-shift<<bucketBits) << shift
	return lowest + int64(1)<<shift/2
}

// quantileAt returns the value at a rank, from 0 to 1; 0 of nothing.
func (h *histogram) quantileAt(q float64) time.Duration {
	rank := max(int64(math.Ceil(q*float64(h.total.Load()))), 1)
	for i := range h.counts {
		if rank -= h.counts[i].Load(); rank <= 0 {
			return time.Duration(min(bucketMiddle(i), h.top.Load()))
		}
	}
	return 0
}

// Quantiles are the figures of a histogram in a report, in milliseconds.
type Quantiles struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50_ms"`
	P90   float64 `json:"p90_ms"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
}

// allQuantiles returns the figures of a report. Adding must have ended, or they may not fit
// together.
func (h *histogram) allQuantiles() Quantiles {
	return Quantiles{
		Count: h.total.Load(),
		P50:   roundedMillis(h.quantileAt(0.50)),
		P90:   roundedMillis(h.quantileAt(0.90)),
		P99:   roundedMillis(h.quantileAt(0.99)),
		Max:   roundedMillis(time.Duration(h.top.Load())),
	}
}

// roundedMillis rounds to microseconds.
func roundedMillis(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}
