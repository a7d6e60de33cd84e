package handlers

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sluice/fault"
	"sluice/stream"
	"sluice/stream/sse"
)

// metrics are the gateway's Prometheus metrics. Everything about a turn is added
// when it ends.
type metrics struct {
	registry *prometheus.Registry

	streams, events, errors, tools, tokens, rejections, attempts *prometheus.CounterVec
	stalls, blocked                                              prometheus.Counter
	turnTime, firstEvent, firstDelta, modelTime                  prometheus.Histogram
	toolTime, attemptTime                                        *prometheus.HistogramVec
}

// latencies reach from a local tool's millisecond to a whole turn's half minute.
func latencies() []float64 { return prometheus.ExponentialBuckets(0.001, 2, 16) }

func newMetrics(active func() int, upstreams func() Upstreams) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "sluice", Name: name, Help: help}, labels)
		m.registry.MustRegister(c)
		return c
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "sluice", Name: name, Help: help, Buckets: latencies()}, labels)
		m.registry.MustRegister(h)
		return h
	}
	one := func(h *prometheus.HistogramVec) prometheus.Histogram {
		return h.WithLabelValues().(prometheus.Histogram)
	}
	m.streams = counter("streams_total", "Streams that ended, by finish reason.", "finish_reason")
	m.events = counter("events_total", "Events sent, by type.", "event")
	m.errors = counter("stream_errors_total", "Error events sent, by type.", "error_type", "fatal")
	m.tools = counter("tool_calls_total", "Tool calls that ended, by MCP server and outcome.", "server", "outcome")
	m.tokens = counter("tokens_total", "Tokens used, by kind.", "kind")
	m.rejections = counter("rejections_total", "Requests refused before a stream began, by error type.", "error_type")
	m.attempts = counter("model_attempts_total", "Attempts at a model call, by outcome.", "outcome")
	m.stalls = counter("write_stalls_total", "Clients cut because a write took too long.").WithLabelValues()
	m.blocked = counter("write_blocked_seconds_total", "Time spent in writes to clients.").WithLabelValues()
	m.turnTime = one(histogram("turn_seconds", "Duration of a turn."))
	m.firstEvent = one(histogram("first_event_seconds", "Time from the request to the first event."))
	m.firstDelta = one(histogram("first_delta_seconds", "Time from the request to the first piece of the answer."))
	m.modelTime = one(histogram("model_call_seconds", "Duration of a model call, retries included."))
	m.toolTime = histogram("tool_call_seconds", "Duration of a tool call.", "server")
	m.attemptTime = histogram("model_attempt_seconds", "Duration of an attempt at a model call.", "outcome")
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "sluice", Name: "streams_active", Help: "Streams that run now."},
			func() float64 { return float64(active()) }),
		upstreamCollector{upstreams},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// handler panics when a collector fails, so that the reply is a 500 like any other
// and its cause is in the log; by itself promhttp would tell it to the client.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.PanicOnError})
}

func (m *metrics) rejected(t fault.Type) { m.rejections.WithLabelValues(string(t)).Inc() }

func (m *metrics) modelAttempt(outcome string, took time.Duration) {
	m.attempts.WithLabelValues(outcome).Inc()
	m.attemptTime.WithLabelValues(outcome).Observe(took.Seconds())
}

func (m *metrics) connections(stats func() (open int, evicted uint64)) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "sluice", Name: "connections_open", Help: "Connections of clients that are open now."},
			func() float64 { open, _ := stats(); return float64(open) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "sluice", Name: "connections_evicted_total", Help: "Connections of clients that were closed to make room for others."},
			func() float64 { _, evicted := stats(); return float64(evicted) }),
	)
}

// turn adds up a turn that has ended.
func (m *metrics) turn(seen *observer, s *stream.Stamper, w sse.Stats, took time.Duration) {
	reason := string(seen.reason)
	if reason == "" {
		reason = "cancelled"
	}
	m.streams.WithLabelValues(reason).Inc()
	m.turnTime.Observe(took.Seconds())
	for _, c := range seen.counts {
		m.events.WithLabelValues(c.name).Add(float64(c.n))
	}
	for _, e := range seen.errors {
		fatal := "false"
		if e.Fatal {
			fatal = "true"
		}
		m.errors.WithLabelValues(string(e.Type), fatal).Inc()
	}
	for _, t := range seen.ended {
		m.tools.WithLabelValues(t.server, t.outcome).Inc()
		m.toolTime.WithLabelValues(t.server).Observe(t.seconds)
	}
	for _, d := range seen.done.Model {
		m.modelTime.Observe(d.Seconds())
	}
	m.tokens.WithLabelValues("input").Add(float64(seen.done.Usage.InputTokens))
	m.tokens.WithLabelValues("output").Add(float64(seen.done.Usage.OutputTokens))
	m.tokens.WithLabelValues("thinking").Add(float64(seen.done.Usage.ThinkingTokens))
	m.written(s, w)
}

func (m *metrics) written(s *stream.Stamper, w sse.Stats) {
	event, delta := s.First()
	if event > 0 {
		m.firstEvent.Observe(event.Seconds())
	}
	if delta > 0 {
		m.firstDelta.Observe(delta.Seconds())
	}
	m.blocked.Add(w.Blocked.Seconds())
	if w.Stalled {
		m.stalls.Inc()
	}
}

// upstreamCollector reports the breakers and MCP sessions as they are when asked.
type upstreamCollector struct{ upstreams func() Upstreams }

var (
	breakerState = prometheus.NewDesc("sluice_breaker_state", "1 for the state that a circuit breaker is in.", []string{"service", "state"}, nil)
	mcpConnected = prometheus.NewDesc("sluice_mcp_connected", "1 while the session with an MCP server is up.", []string{"server"}, nil)
)

// Describe implements prometheus.Collector.
func (c upstreamCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- breakerState
	ch <- mcpConnected
}

// Collect implements prometheus.Collector.
func (c upstreamCollector) Collect(ch chan<- prometheus.Metric) {
	u := c.upstreams()
	for _, b := range u.Breakers {
		for _, state := range [...]string{"closed", "open", "half-open"} {
			ch <- prometheus.MustNewConstMetric(breakerState, prometheus.GaugeValue, truth(b.State == state), b.Service, state)
		}
	}
	for _, s := range u.MCP {
		ch <- prometheus.MustNewConstMetric(mcpConnected, prometheus.GaugeValue, truth(s.Connected), s.Server)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
