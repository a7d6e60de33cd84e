// This file starts and ends the sending of spans and metrics. What is measured is decided
// where it happens, by package trace; here is only whether, where to, and how long the end
// may take.

package gateway

import (
	"fmt"
	"time"

	"sluice/internal/telemetry"
	"sluice/trace"
)

const (
	// lastSpans is how long the collector may take for what is left at the end, and
	// leastSpans how long it may if running streams have used up the time to drain.
	lastSpans  = 5 * time.Second
	leastSpans = time.Second
)

// startTelemetry begins to send spans and metrics, if that is asked for.
func (g *Gateway) startTelemetry() (err error) {
	o := g.cfg.OTel
	if !o.Traces && !o.Metrics {
		return nil
	}
	g.telemetry, err = telemetry.New(telemetry.Config{
		Traces: o.Traces, Metrics: o.Metrics,
		TracesURL: o.TracesURL, MetricsURL: o.MetricsURL,
		Version:  g.cfg.Version,
		Gatherer: g.metrics.Gatherer(),
		Log:      g.log,
	})
	if err != nil {
		return fmt.Errorf("SLUICE_OTEL: %w", err)
	}
	return nil
}

// tracer returns what makes spans; nil if nobody wants any.
func (g *Gateway) tracer() trace.Tracer {
	if g.telemetry == nil {
		return g.with.Tracer
	}
	return g.telemetry.Tracer()
}

// flushTelemetry sends what is left. It does so before anything that is measured ends.
func (g *Gateway) flushTelemetry(limit time.Duration) {
	if g.telemetry != nil {
		g.telemetry.Close(limit)
	}
}

// flushTime is how long the last spans of a drain that began then may take.
//
// The rest of the drain is used, within leastSpans and lastSpans.
func (s *Service) flushTime(began time.Time, hurried bool) time.Duration {
	if hurried {
		return forced / 2 // the end is to come within a second
	}
	return min(max(s.cfg.DrainTimeout-time.Since(began), leastSpans), lastSpans)
}
