package loadtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// Every value falls into a bucket whose middle is at most 1/128 away, and buckets
// follow each other without a hole.
func TestBuckets(t *testing.T) {
	t.Parallel()
	last := -1
	for _, from := range []int64{0, 1 << 10, 1 << 20, 1 << 30, maxValue - 4096} {
		for v := from; v <= from+4096; v++ {
			b := bucketOf(v)
			if from == 0 && b != last && b != last+1 {
				t.Fatalf("%d is in bucket %d, and %d in %d", v, b, v-1, last)
			}
			if off := math.Abs(float64(bucketMiddle(b) - v)); off > float64(v)/128 {
				t.Fatalf("%d is reported as %d", v, bucketMiddle(b))
			}
			last = b
		}
	}
	if last != buckets-1 {
		t.Errorf("the largest value is in bucket %d of %d", last, buckets)
	}
}

// Quantiles against the exact ones, of values from nanoseconds to minutes.
func TestQuantiles(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 10, 1000, 20_000} {
		var h histogram
		values := make([]time.Duration, n)
		for i := range values {
			values[i] = time.Duration(math.Exp(rnd.Float64() * math.Log(float64(10*time.Minute))))
			h.add(values[i])
		}
		slices.Sort(values)
		for _, q := range []float64{0.001, 0.5, 0.9, 0.99, 0.999, 1} {
			exact := values[max(int(math.Ceil(q*float64(n))), 1)-1]
			if got := h.quantileAt(q); math.Abs(float64(got-exact)) > float64(exact)/128 {
				t.Errorf("quantile %v of %d is %v, exactly %v", q, n, got, exact)
			}
		}
		if h.top.Load() != int64(values[n-1]) {
			t.Errorf("the largest is %v, exactly %v", time.Duration(h.top.Load()), values[n-1])
		}
	}
}

func TestHistogramEdges(t *testing.T) {
	t.Parallel()
	var h histogram
	if h.quantileAt(0.5) != 0 || h.allQuantiles() != (Quantiles{}) {
		t.Error("nothing has quantiles")
	}
	h.add(-time.Second)
	h.addRepeated(0, 2)
	h.add(1000 * time.Hour)
	if q := h.allQuantiles(); q.Count != 4 || q.P50 != 0 || q.Max < 73*60*1000 || q.P99 < q.Max*127/128 {
		t.Errorf("%+v", q)
	}
}

func TestHistogramFromManyGoroutines(t *testing.T) {
	t.Parallel()
	var h histogram
	var adders sync.WaitGroup
	for i := range 8 {
		adders.Go(func() {
			for j := range 1000 {
				h.add(time.Duration(i*1000+j) * time.Microsecond)
			}
		})
	}
	adders.Wait()
	if q := h.allQuantiles(); q.Count != 8000 || q.Max != 7.999 || math.Abs(q.P50-4) > 4.0/128 {
		t.Errorf("%+v", q)
	}
}
