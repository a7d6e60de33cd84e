// This file starts and ends the sending of spans and metrics. Package trace selects the steps that
// are measured. This file selects the receiver.

package gateway

import (
	"fmt"
	"time"

	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/telemetry/otlp"
	"sluice/internal/base/telemetry/trace"
)

// telemetrySender sends spans and metrics. Its zero value, and nil, send nothing.
type telemetrySender struct {
	otlp  *otlp.Telemetry
	seams Seams
}

// startTelemetry begins to send spans and metrics if the settings ask for it.
func startTelemetry(c *commonParts) (*telemetrySender, error) {
	o := settings.Of[config.OTel](&c.cfg)
	if !o.Traces && !o.Metrics {
		return &telemetrySender{seams: c.seams}, nil
	}
	sender, err := otlp.New(otlp.Config{
		Traces: o.Traces, Metrics: o.Metrics,
		TracesURL: o.TracesURL, MetricsURL: o.MetricsURL,
		Version:  c.cfg.Version,
		Gatherer: c.metrics.Gatherer(),
		Log:      c.log,
	})
	if err != nil {
		return nil, fmt.Errorf("SLUICE_OTEL: %w", err)
	}
	return &telemetrySender{sender, c.seams}, nil
}

// spanTracer returns the maker of spans, or nil if spans are not sent.
func (t *telemetrySender) spanTracer() trace.Tracer {
	if t.otlp == nil {
		return t.seams.Tracer
	}
	return t.otlp.Tracer()
}

// flushPending sends the pending spans and metrics, within limit. The gateway calls it before it closes
// the parts that are measured.
func (t *telemetrySender) flushPending(limit time.Duration) {
	if t != nil && t.otlp != nil {
		t.otlp.Close(limit)
	}
}
