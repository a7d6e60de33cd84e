package metrics_test

import (
	"testing"

	"sluice/telemetry/metrics"
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
