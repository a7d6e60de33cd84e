package metrics_test

import (
	"testing"

	"sluice/internal/base/telemetry/metrics"
)

func TestAbsentRegistryDoesNothingAndAllocatesNothing(t *testing.T) {
	var r *metrics.Registry
	c, h := r.Counter("a_total", "A.", "kind"), r.Histogram("a_seconds", "A.", "kind")
	r.GaugeFunc("g", "G.", func() float64 { panic("asked") })
	r.CounterFunc("c_total", "C.", func() float64 { panic("asked") })
	r.GaugesFunc("gs", "G.", nil, func(func(float64, ...string)) { panic("asked") })
	kind := "k"
	if n := testing.AllocsPerRun(100, func() {
		c.Inc(kind)
		c.Add(2, kind)
		h.Observe(1, kind)
		metrics.Counter{}.Inc()
		metrics.Histogram{}.Observe(1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if families, err := r.Gatherer().Gather(); len(families) != 0 || err != nil {
		t.Errorf("%v, %v", families, err)
	}
}

func TestInstrumentsOfOneNameAreShared(t *testing.T) {
	t.Parallel()
	r := metrics.New()
	r.Counter("a_total", "A.", "kind").Inc("x")
	r.Counter("a_total", "A.", "kind").Inc("x")
	r.Histogram("b_seconds", "B.").Observe(1)
	r.Histogram("b_seconds", "B.").Observe(1)
	families, err := r.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range families {
		switch f.GetName() {
		case "sluice_a_total":
			found++
			if n := f.GetMetric()[0].GetCounter().GetValue(); n != 2 {
				t.Errorf("counted %v", n)
			}
		case "sluice_b_seconds":
			found++
			if n := f.GetMetric()[0].GetHistogram().GetSampleCount(); n != 2 {
				t.Errorf("observed %v", n)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d of 2 found", found)
	}
}

func TestOtherWordsForANameAreABug(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(r *metrics.Registry){
		"other words":  func(r *metrics.Registry) { r.Counter("a_total", "B.", "kind") },
		"other labels": func(r *metrics.Registry) { r.Counter("a_total", "A.") },
		"other kind":   func(r *metrics.Registry) { r.Histogram("a_total", "A.", "kind") },
		"a function":   func(r *metrics.Registry) { r.GaugeFunc("a_total", "A.", func() float64 { return 0 }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := metrics.New()
			r.Counter("a_total", "A.", "kind")
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			again(r)
		})
	}
}

func TestFunctionsAreAskedWhenRead(t *testing.T) {
	t.Parallel()
	r, n := metrics.New(), 1.0
	r.GaugeFunc("g", "G.", func() float64 { return n })
	r.GaugesFunc("gs", "G.", []string{"of"}, func(report func(float64, ...string)) { report(n, "x"); report(n, "y") })
	n = 7
	families, _ := r.Gatherer().Gather()
	var sum float64
	for _, f := range families {
		if f.GetName() == "sluice_g" || f.GetName() == "sluice_gs" {
			for _, m := range f.GetMetric() {
				sum += m.GetGauge().GetValue()
			}
		}
	}
	if sum != 21 {
		t.Errorf("the sum is %v", sum)
	}
}

// The bounds of what is counted in buckets fit what it is: seconds, parts of one, lengths.
func TestBoundsOfHistograms(t *testing.T) {
	t.Parallel()
	r := metrics.New()
	r.Histogram("seconds", "S.").Observe(0.01)
	r.Fractions("fractions", "F.").Observe(0.95)
	r.Sizes("sizes", "S.", "of").Observe(100, "x")
	r.Counter("calls_total", "C.").Inc()
	n := 1.0
	r.CounterFunc("seen_total", "S.", func() float64 { return n })
	n = 5
	families, err := r.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][3]float64{"sluice_seconds": {0.001, 32.768, 0.01}, "sluice_fractions": {0.1, 1, 0.95}, "sluice_sizes": {64, 1048576, 100}}
	counts := map[string]float64{"sluice_calls_total": 1, "sluice_seen_total": 5}
	for _, f := range families {
		one := f.GetMetric()[0]
		if n, ok := counts[f.GetName()]; ok && one.GetCounter().GetValue() != n {
			t.Errorf("%s is %v", f.GetName(), one.GetCounter().GetValue())
		}
		bounds, ok := want[f.GetName()]
		if !ok {
			continue
		}
		delete(want, f.GetName())
		buckets := one.GetHistogram().GetBucket()
		got := [3]float64{buckets[0].GetUpperBound(), buckets[len(buckets)-1].GetUpperBound(), one.GetHistogram().GetSampleSum()}
		for i := range got {
			if d := got[i] - bounds[i]; d > 1e-9 || d < -1e-9 {
				t.Errorf("%s has %v, want %v", f.GetName(), got, bounds)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("missing are %v", want)
	}
}
