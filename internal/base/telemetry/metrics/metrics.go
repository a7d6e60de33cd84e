// Package metrics is what packages count and measure with. A package asks a Registry for its
// instruments at construction. So a figure's name, words and labels stand next to the code that
// knows it.
//
// A nil *Registry and a zero instrument need no check by the caller: both do nothing at no cost.
//
// Labels are made of words of our own, of ids of the configuration and of
// bounded sets of types. A text of a user or a model is never one: it would
// make a series for each.
package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// namespace stands in front of every name.
const namespace = "sluice"

// Registry holds the metrics of one gateway. It is safe for concurrent use. A nil
// *Registry hands out instruments that do nothing.
//
// Asked again for a counter or a histogram, it returns the same one: several models
// share theirs. A name that is registered with other words or labels, or whose value is
// a function's, is a bug and panics.
type Registry struct{ prom *prometheus.Registry }

// New returns a Registry with the usual metrics of Go programs and of processes.
func New() *Registry {
	r := &Registry{prometheus.NewRegistry()}
	r.prom.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Gatherer returns the reader of the metrics.
func (r *Registry) Gatherer() prometheus.Gatherer {
	if r == nil {
		return prometheus.Gatherers{}
	}
	return r.prom
}

// Counter counts what happened, for each set of label values. The zero value does
// nothing.
type Counter struct {
	vec *prometheus.CounterVec
	one prometheus.Counter // the only counter of a vector without labels, found without a search
}

// Counter returns a counter. A counter without labels is shown from the start.
func (r *Registry) Counter(name, help string, labels ...string) Counter {
	if r == nil {
		return Counter{}
	}
	vec := registerOnce(r, prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels))
	if len(labels) == 0 {
		return Counter{vec, vec.WithLabelValues()}
	}
	return Counter{vec: vec}
}

// Inc adds one. It takes a value for each label.
func (c Counter) Inc(values ...string) { c.Add(1, values...) }

// Add adds n, a number of at least 0. It takes a value for each label.
func (c Counter) Add(n float64, values ...string) {
	switch {
	case c.one != nil:
		c.one.Add(n)
	case c.vec != nil:
		c.vec.WithLabelValues(values...).Add(n)
	}
}

// Histogram holds durations in seconds, for each set of label values. The zero value
// does nothing.
type Histogram struct {
	vec *prometheus.HistogramVec
	one prometheus.Observer // as a Counter's
}

// Histogram returns a histogram. A histogram without labels is shown from the start. The buckets
// reach from a local tool's millisecond to a whole turn's half minute.
func (r *Registry) Histogram(name, help string, labels ...string) Histogram {
	return r.newHistogram(name, help, prometheus.ExponentialBuckets(0.001, 2, 16), labels)
}

// Fractions returns a histogram of values from 0 to 1, in tenths.
func (r *Registry) Fractions(name, help string, labels ...string) Histogram {
	return r.newHistogram(name, help, []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}, labels)
}

// Sizes returns a histogram of lengths, from 64 to a million.
func (r *Registry) Sizes(name, help string, labels ...string) Histogram {
	return r.newHistogram(name, help, prometheus.ExponentialBuckets(64, 4, 8), labels)
}

// newHistogram registers a histogram with the buckets given. It resolves a histogram without labels
// here, so that observing is without a look-up.
func (r *Registry) newHistogram(name, help string, buckets []float64, labels []string) Histogram {
	if r == nil {
		return Histogram{}
	}
	vec := registerOnce(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, Buckets: buckets,
	}, labels))
	if len(labels) == 0 {
		return Histogram{vec, vec.WithLabelValues()}
	}
	return Histogram{vec: vec}
}

// Observe adds a duration in seconds. It takes a value for each label.
func (h Histogram) Observe(seconds float64, values ...string) {
	switch {
	case h.one != nil:
		h.one.Observe(seconds)
	case h.vec != nil:
		h.vec.WithLabelValues(values...).Observe(seconds)
	}
}

// GaugeFunc registers a value that is asked for when it is read, from any goroutine.
func (r *Registry) GaugeFunc(name, help string, value func() float64) {
	if r != nil {
		r.prom.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, value))
	}
}

// CounterFunc is GaugeFunc for a value that only grows.
func (r *Registry) CounterFunc(name, help string, value func() float64) {
	if r != nil {
		r.prom.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, value))
	}
}

// GaugesFunc is GaugeFunc for several values, one for each set of label values. When
// they are read, all calls report once for each of them.
func (r *Registry) GaugesFunc(name, help string, labels []string, all func(report func(value float64, values ...string))) {
	if r != nil {
		r.prom.MustRegister(gauges{prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil), all})
	}
}

// gauges is a collector that asks for its values when it is scraped.
type gauges struct {
	desc *prometheus.Desc
	all  func(report func(value float64, values ...string))
}

// Describe implements prometheus.Collector.
func (g gauges) Describe(ch chan<- *prometheus.Desc) { ch <- g.desc }

// Collect implements prometheus.Collector.
func (g gauges) Collect(ch chan<- prometheus.Metric) {
	g.all(func(value float64, values ...string) {
		ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, value, values...)
	})
}

// registerOnce returns c, or the equal collector that was registered before.
func registerOnce[C prometheus.Collector](r *Registry, c C) C {
	err := r.prom.Register(c)
	if err == nil {
		return c
	}
	if before, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if same, ok := before.ExistingCollector.(C); ok {
			return same
		}
	}
	panic(err)
}
