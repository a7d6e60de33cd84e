// Package otlp sends spans and metrics to a collector, by OTLP over HTTP. It is
// the one place that knows OpenTelemetry: spans are begun through package trace, and
// metrics are those that GET /metrics reports, read once more.
//
// Nothing of it waits for the collector but Close. What cannot be sent is dropped, and
// logged at most once a minute.
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

// Config says what is sent. Whatever else there is to say, the OTEL_* variables do, which
// the SDK reads from the environment of the process.
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

	exporting context.Context // ends when what is still being sent is given up
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

// scope names what the spans come from.
const scope = "sluice"

// describeProgram returns what the spans and metrics are reported to be of. The variables
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

// Tracer returns what begins the spans that are sent; nil if none are.
func (t *Telemetry) Tracer() trace.Tracer {
	if t.traces == nil {
		return nil
	}
	return &tracer{t.traces.Tracer(scope)}
}

// sendMetrics starts sending what the registry has, at intervals.
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

// Close sends what is left, which may take as long as limit, and ends all goroutines. It
// may be called again.
func (t *Telemetry) Close(limit time.Duration) {
	t.closed.Do(func() {
		// The providers get a context that does not end: it is ours that ends what they
		// wait for, so that they have ended when they return.
		// Timer (patience with the collector): ends what the providers wait for.
		// Ends: `Close` returns, or it has fired.
		// Waits: nobody: it only cancels a context.
		defer time.AfterFunc(limit, t.giveUp).Stop()
		defer t.giveUp()
		var ending sync.WaitGroup
		defer ending.Wait()
		if t.traces != nil {
			// Goroutine (last spans): sends what is queued.
			// Ends: it is sent, or `giveUp` is called.
			// Waits: `Close`.
			ending.Go(func() { t.report.logFailure("traces", t.traces.Shutdown(context.Background())) })
		}
		if t.metrics != nil {
			// Goroutine (last metrics): sends what the registry holds.
			// Ends: they are sent, or `giveUp` is called.
			// Waits: `Close`.
			ending.Go(func() { t.report.logFailure("metrics", t.metrics.Shutdown(context.Background())) })
		}
	})
}
