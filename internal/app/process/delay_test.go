package process

import (
	"math"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	t.Parallel()
	bounds := []float64{math.Inf(-1), 0, 0.001, 0.01, 0.1, math.Inf(1)}
	for _, tt := range []struct {
		name   string
		counts []uint64
		want   time.Duration
	}{
		{"nothing", []uint64{0, 0, 0, 0, 0}, 0},
		{"one", []uint64{0, 0, 0, 1, 0}, 10 * time.Millisecond},
		{"the lowest bound has no lower one", []uint64{7, 0, 0, 0, 0}, 0},
		{"just within", []uint64{0, 95, 0, 5, 0}, 0},
		{"just beyond", []uint64{0, 94, 0, 6, 0}, 10 * time.Millisecond},
		{"all but infinite", []uint64{0, 0, 0, 0, 9}, 100 * time.Millisecond},
	} {
		h := &metrics.Float64Histogram{Counts: tt.counts, Buckets: bounds}
		if got := quantileOf(h, 0.95); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// More goroutines than processors, which all have something to do, wait for one
// another; what they waited is reported once.
func TestSchedDelaySeesAQueue(t *testing.T) {
	d := newSchedDelay()
	var wg sync.WaitGroup
	for range 100 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for began := time.Now(); time.Since(began) < 2*time.Millisecond; {
				runtime.KeepAlive(d)
			}
		})
	}
	wg.Wait()
	if got := d.sinceLast(); got < 5*time.Millisecond {
		t.Errorf("a queue of 200 ms for each processor: a delay of %v", got)
	}
	if got := d.sinceLast(); got > time.Second {
		t.Errorf("told again: %v", got)
	}
}

func TestAdmissionDelay(t *testing.T) {
	t.Parallel()
	if AdmissionDelay(true) != nil || AdmissionDelay(false) == nil {
		t.Error("count must not look at the delay, and adaptive must")
	}
}
