package limit

import "sluice/internal/base/telemetry/metrics"

// figures are the metrics of a Limiter.
type figures struct {
	refusals, turns, tokens metrics.Counter
	waits                   metrics.Histogram
}

// registerMetrics registers them.
func (l *Limiter) registerMetrics(m *metrics.Registry) {
	l.figures = figures{
		refusals: m.Counter("limit_refusals_total", "Requests that a limit refused.", "limit"),
		turns:    m.Counter("tenant_turns_total", "Turns of the tenants of the configuration file.", "tenant"),
		tokens:   m.Counter("tenant_tokens_total", "Tokens that turns of the tenants of the configuration file have used.", "tenant"),
		waits:    m.Histogram("limit_wait_seconds", "Time that calls of models waited for their limits, of those that waited.", "model"),
	}
	m.GaugeFunc("limits_shared", "1 while limits hold for all gateways together, else 0.", func() float64 {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.isShared() && !l.lost {
			return 1
		}
		return 0
	})
}
