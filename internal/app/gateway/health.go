// This file gives health and metrics the list of the parts. It measures nothing itself: parts
// report when they are asked, and no probe goes out to an upstream, since a provider's tokens
// are not spent on health.

package gateway

import (
	"sluice/internal/app/process"
	"sluice/internal/app/providers"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/edge/conns"
	"sluice/mcpclient"
)

// watchParts adds the models and tools to health, and makes metrics of the health of all parts. The
// metrics ask the same parts as /healthz, so that both always agree.
func watchParts(c *commonParts, models *providers.Models, tools *mcpclient.Client) {
	c.health.Add(models.Checkers()...)
	c.health.Add(tools.Checkers()...)
	c.metrics.GaugesFunc("breaker_state", "1 for the state that a circuit breaker is in.", []string{"service", "state"},
		func(report func(float64, ...string)) {
			for _, part := range c.health.Check() {
				if b, ok := part.(health.Breaker); ok {
					reportBreaker(report, b)
				}
			}
		})
	c.metrics.GaugesFunc("mcp_connected", "1 while the session with an MCP server is up.", []string{"server"},
		func(report func(float64, ...string)) {
			for _, part := range c.health.Check() {
				if s, ok := part.(health.Session); ok {
					report(gaugeOf(s.Connected), s.Server)
				}
			}
		})
}

// reportBreaker reports a breaker as one figure a state, of which exactly one is 1.
func reportBreaker(report func(float64, ...string), b health.Breaker) {
	for _, state := range [...]health.State{health.Closed, health.Open, health.HalfOpen} {
		report(gaugeOf(b.State == state), b.Service, string(state))
	}
}

// watchConnections makes metrics of the connections of clients.
func watchConnections(m *metrics.Registry, l *conns.Limiter) {
	m.GaugeFunc("connections_open", "Connections of clients that are open now.", func() float64 {
		open, _ := l.Stats()
		return float64(open)
	})
	m.CounterFunc("connections_evicted_total", "Connections of clients that were closed to make room for others.", func() float64 {
		_, evicted := l.Stats()
		return float64(evicted)
	})
}

// watchCertificate makes health and a metric of the certificate.
func watchCertificate(p *commonParts, c *process.Certificate) {
	p.health.Add(certificateHealth{c})
	p.metrics.GaugeFunc("tls_not_after_seconds", "When the certificate in use ends, in seconds since 1970.", func() float64 {
		return float64(c.NotAfter().Unix())
	})
}

// countHTTP2 returns the counter of HTTP/2 errors.
func countHTTP2(m *metrics.Registry) func(kind string) {
	errs := m.Counter("h2_errors_total", "Errors of HTTP/2 that clients made, by type.", "type")
	return func(kind string) { errs.Inc(kind) }
}

// certificateHealth reports whether the files have the certificate in use.
type certificateHealth struct{ *process.Certificate }

// Check implements health.Checker.
func (c certificateHealth) Check() health.Status { return c }

// Name implements health.Status.
func (certificateHealth) Name() string { return "tls" }

// gaugeOf is 1 for true and 0 for false, as Prometheus has it.
func gaugeOf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
