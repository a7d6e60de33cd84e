// Package otlp sends spans and metrics to a collector, by OTLP over HTTP. It is
// the one place that knows OpenTelemetry: spans are begun through package trace, and
// metrics are those that GET /metrics reports, read once more.
//
// Only Close waits for the collector. Data that cannot be sent is dropped, which is logged at most
// once a minute.
package otlp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"sluice/internal/base/telemetry/trace"
)

// Config selects the data to send, and its destination. All other settings are OTEL_* variables,
// which the SDK reads from the environment of the process.
type Config struct {
	// Traces and Metrics say which of them are sent.
	Traces, Metrics bool
	// TracesURL and MetricsURL are where to; empty: where the OTEL_* variables say.
	TracesURL, MetricsURL string
	// Version is the program's.
	Version string
	// Gatherer reads the metrics.
	Gatherer prometheus.Gatherer
	Log      zerolog.Logger
}

// Telemetry is safe for concurrent use. The caller must call Close.
type Telemetry struct {
	report  *reporter
	traces  *sdktrace.TracerProvider // nil: none are sent
	metrics *sdkmetric.MeterProvider // nil: none are sent

	exporting context.Context // ends when the sending is given up
	giveUp    context.CancelFunc
	closed    sync.Once
}

// New begins to send. An error is about cfg or the OTEL_* variables.
func New(cfg Config) (*Telemetry, error) {
	t := &Telemetry{report: &reporter{log: cfg.Log}}
	t.exporting, t.giveUp = context.WithCancel(context.Background())
	t.report.takeOver()
	res, err := describeProgram(cfg.Version)
	if err == nil && cfg.Traces {
		err = t.sendTraces(cfg, res)
	}
	if err == nil && cfg.Metrics {
		err = t.sendMetrics(cfg, res)
	}
	if err != nil {
		t.Close(0)
		return nil, err
	}
	return t, nil
}

// scope is the name of the spans' source.
const scope = "sluice"

// describeProgram returns the resource that the spans and metrics belong to. The variables
// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
func describeProgram(version string) (*resource.Resource, error) {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	res, err := resource.New(context.Background(),
		resource.WithTelemetrySDK(),
		resource.WithAttributes(
			attribute.String("service.name", scope),
			attribute.String("service.version", version),
			attribute.String("service.instance.id", hex.EncodeToString(id[:])),
		),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return res, nil
}

// sendTraces starts sending spans in batches. An error is one of the
// configuration: nothing is connected yet.
func (t *Telemetry) sendTraces(cfg Config, res *resource.Resource) error {
	var options []otlptracehttp.Option
	if cfg.TracesURL != "" {
		options = append(options, otlptracehttp.WithEndpointURL(cfg.TracesURL))
	}
	out, err := otlptracehttp.New(context.Background(), options...)
	if err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	t.traces = sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(&spanExporter{out, t}))
	return nil
}

// Tracer returns the Tracer whose spans are sent; nil if spans are not sent.
func (t *Telemetry) Tracer() trace.Tracer {
	if t.traces == nil {
		return nil
	}
	return &tracer{t.traces.Tracer(scope)}
}

// sendMetrics starts sending the registry's metrics, at intervals.
func (t *Telemetry) sendMetrics(cfg Config, res *resource.Resource) error {
	var options []otlpmetrichttp.Option
	if cfg.MetricsURL != "" {
		options = append(options, otlpmetrichttp.WithEndpointURL(cfg.MetricsURL))
	}
	out, err := otlpmetrichttp.New(context.Background(), options...)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	reader := sdkmetric.NewPeriodicReader(&metricExporter{out, t},
		sdkmetric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(cfg.Gatherer))))
	t.metrics = sdkmetric.NewMeterProvider(sdkmetric.WithResource(res), sdkmetric.WithReader(reader))
	return nil
}

// Close sends the remaining data, for at most limit, and ends all goroutines. It may be called
// again.
func (t *Telemetry) Close(limit time.Duration) {
	t.closed.Do(func() {
		// The providers get a context that does not end. Our own context ends their waits, so that
		// they have ended when they return.
		// Timer (patience with the collector): ends the waits of the providers.
		// Ends: `Close` returns, or it has fired.
		// Waits: nobody: it only cancels a context.
		defer time.AfterFunc(limit, t.giveUp).Stop()
		defer t.giveUp()
		var ending sync.WaitGroup
		defer ending.Wait()
		if t.traces != nil {
			// Goroutine (last spans): sends the queued spans.
			// Ends: it is sent, or `giveUp` is called.
			// Waits: `Close`.
			ending.Go(func() { t.report.logFailure("traces", t.traces.Shutdown(context.Background())) })
		}
		if t.metrics != nil {
			// Goroutine (last metrics): sends the metrics of the registry.
			// Ends: they are sent, or `giveUp` is called.
			// Waits: `Close`.
			ending.Go(func() { t.report.logFailure("metrics", t.metrics.Shutdown(context.Background())) })
		}
	})
}
