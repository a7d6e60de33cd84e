// This file gives health and metrics the list of the parts. It measures nothing itself: parts
// report when they are asked, and no probe goes out to an upstream, since a provider's tokens
// are not spent on health.

package gateway

import (
	"slices"

	"sluice/internal/app/process"
	"sluice/internal/base/config"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/edge/conns"
	"sluice/mcpclient/servers"
)

// watch makes health of the parts behind the server, and metrics of their health.
//
// It is called once, when models and tools are there. The metrics ask the same parts as
// /healthz does, so that both always say the same.
func (g *Gateway) watch() {
	g.health.Add(g.models.Checkers()...)
	g.health.Add(g.tools.client.Checkers()...)
	g.metrics.GaugesFunc("breaker_state", "1 for the state that a circuit breaker is in.", []string{"service", "state"},
		func(report func(float64, ...string)) {
			for _, part := range g.health.Check() {
				if b, ok := part.(health.Breaker); ok {
					reportBreaker(report, b)
				}
			}
		})
	g.metrics.GaugesFunc("mcp_connected", "1 while the session with an MCP server is up.", []string{"server"},
		func(report func(float64, ...string)) {
			for _, part := range g.health.Check() {
				if s, ok := part.(health.Session); ok {
					report(truth(s.Connected), s.Server)
				}
			}
		})
}

// Unwell names the parts that are not well, each once, but for models without a key (MissingKeys)
// and MCP servers: at the start their sessions are being opened.
func (g *Gateway) Unwell() (names []string) {
	for _, part := range g.health.Check() {
		switch part.(type) {
		case health.Session, health.Model:
			continue
		}
		if !part.OK() && !slices.Contains(names, part.Name()) {
			names = append(names, part.Name())
		}
	}
	return names
}

// MissingKeys returns the configured models that lack the key that they need.
func (g *Gateway) MissingKeys() (models []health.Model) {
	for _, part := range g.health.Check() {
		if m, ok := part.(health.Model); ok && !m.OK() {
			models = append(models, m)
		}
	}
	return models
}

// Disconnected returns the configured MCP servers without a session, in their order.
func (g *Gateway) Disconnected() (list []servers.Server) {
	for _, part := range g.health.Check() {
		session, ok := part.(health.Session)
		if !ok || session.OK() {
			continue
		}
		for _, s := range config.Of[servers.List](&g.cfg.Config) {
			if s.Name == session.Server {
				list = append(list, s)
			}
		}
	}
	return list
}

// reportBreaker reports a breaker as one figure a state, of which exactly one is 1.
func reportBreaker(report func(float64, ...string), b health.Breaker) {
	for _, state := range [...]health.State{health.Closed, health.Open, health.HalfOpen} {
		report(truth(b.State == state), b.Service, string(state))
	}
}

// watchConnections makes metrics of the connections of clients.
func (g *Gateway) watchConnections(l *conns.Limiter) {
	g.metrics.GaugeFunc("connections_open", "Connections of clients that are open now.", func() float64 {
		open, _ := l.Stats()
		return float64(open)
	})
	g.metrics.CounterFunc("connections_evicted_total", "Connections of clients that were closed to make room for others.", func() float64 {
		_, evicted := l.Stats()
		return float64(evicted)
	})
}

// watchCertificate makes health and a metric of the certificate.
func (g *Gateway) watchCertificate(c *process.Certificate) {
	g.health.Add(certified{c})
	g.metrics.GaugeFunc("tls_not_after_seconds", "When the certificate in use ends, in seconds since 1970.", func() float64 {
		return float64(c.NotAfter().Unix())
	})
}

// countHTTP2 returns what counts the errors of HTTP/2; nil where it is not served.
func (s *Service) countHTTP2() func(kind string) {
	if s.cert == nil {
		return nil
	}
	errs := s.metrics.Counter("h2_errors_total", "Errors of HTTP/2 that clients made, by what was wrong.", "type")
	return func(kind string) { errs.Inc(kind) }
}

// certified reports whether the files of the certificate hold what is in use.
type certified struct{ *process.Certificate }

// Check implements health.Checker.
func (c certified) Check() health.Status { return c }

// Name implements health.Status.
func (certified) Name() string { return "tls" }

// truth is 1 for true and 0 for false, as Prometheus has it.
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
