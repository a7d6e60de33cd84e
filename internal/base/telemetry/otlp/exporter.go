package otlp

import (
	"context"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// spanExporter and metricExporter report failures to us, where the SDK would write them
// to stderr, and end with us.

// spanExporter logs what cannot be sent, within bounds.
type spanExporter struct {
	sdktrace.SpanExporter
	t *Telemetry
}

// ExportSpans implements sdktrace.SpanExporter.
func (e *spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, end := e.t.withGiveUp(ctx)
	defer end()
	e.t.report.logFailure("traces", e.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

// metricExporter does the same for metrics.
type metricExporter struct {
	sdkmetric.Exporter
	t *Telemetry
}

// Export implements sdkmetric.Exporter.
func (e *metricExporter) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	ctx, end := e.t.withGiveUp(ctx)
	defer end()
	e.t.report.logFailure("metrics", e.Exporter.Export(ctx, m))
	return nil
}

// withGiveUp returns a context that ends with ctx, and when we give up.
func (t *Telemetry) withGiveUp(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(t.exporting, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
