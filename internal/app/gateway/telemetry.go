// This file starts and ends the sending of spans and metrics. What is measured is decided
// where it happens, by package trace; here is only whether, where to, and how long the end
// may take.

package gateway

import (
	"fmt"
	"time"

	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/telemetry/otlp"
	"sluice/internal/base/telemetry/trace"
)

// startTelemetry begins to send spans and metrics, if that is asked for.
func (g *Gateway) startTelemetry() (err error) {
	o := settings.Of[config.OTel](&g.cfg)
	if !o.Traces && !o.Metrics {
		return nil
	}
	g.telemetry, err = otlp.New(otlp.Config{
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
