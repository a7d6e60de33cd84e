package config_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
)

func loadOTel(env map[string]string) (config.Config, error) {
	l := config.NewLoader(func(c *config.Config) config.Table {
		return config.Table{{Name: "telemetry", Settings: []config.Setting{config.Telemetry("SLUICE_OTEL", config.Bind[config.OTel](c), "m")}}}
	})
	return l.Load(nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, nil)
}

func TestTelemetry(t *testing.T) {
	t.Parallel()
	const traces, metrics = "http://localhost:4318/v1/traces", "http://localhost:4318/v1/metrics"
	for name, tt := range map[string]struct {
		env  map[string]string
		want config.OTel
	}{
		"off":          {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "nonsense"}, config.OTel{}},
		"a local one":  {map[string]string{"SLUICE_OTEL": "otlp"}, config.OTel{Traces: true, Metrics: true, TracesURL: traces, MetricsURL: metrics}},
		"a named one":  {map[string]string{"SLUICE_OTEL": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": "https://c:4318"}, config.OTel{Traces: true, Metrics: true}},
		"for traces":   {map[string]string{"SLUICE_OTEL": "otlp", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/x"}, config.OTel{Traces: true, Metrics: true, MetricsURL: metrics}},
		"no metrics":   {map[string]string{"SLUICE_OTEL": "otlp", "OTEL_METRICS_EXPORTER": "none"}, config.OTel{Traces: true, TracesURL: traces, MetricsURL: metrics}},
		"disabled":     {map[string]string{"SLUICE_OTEL": "otlp", "OTEL_SDK_DISABLED": "True"}, config.OTel{}},
		"as JSON":      {map[string]string{"SLUICE_OTEL": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, config.OTel{Traces: true, Metrics: true, TracesURL: traces, MetricsURL: metrics}},
		"empty values": {map[string]string{"SLUICE_OTEL": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": " "}, config.OTel{Traces: true, Metrics: true, TracesURL: traces, MetricsURL: metrics}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := loadOTel(tt.env)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, config.Of[config.OTel](&c)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFaultsOfTelemetry(t *testing.T) {
	t.Parallel()
	_, err := loadOTel(map[string]string{
		"SLUICE_OTEL": "otlp", "OTEL_TRACES_EXPORTER": "jaeger", "OTEL_EXPORTER_OTLP_ENDPOINT": "secret:4318",
		"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc",
	})
	faults, ok := errors.AsType[*config.Error](err)
	if !ok {
		t.Fatal(err)
	}
	want := []config.Fault{
		{Name: "OTEL_TRACES_EXPORTER", Message: "must be otlp or none"},
		{Name: "OTEL_EXPORTER_OTLP_ENDPOINT", Message: "must be an http or https URL"},
		{Name: "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", Message: "must be http/protobuf or http/json"},
	}
	if diff := cmp.Diff(want, faults.Faults); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A collector's key is nothing for the log.
func TestSecretsOfTelemetry(t *testing.T) {
	t.Parallel()
	c, err := loadOTel(map[string]string{
		"SLUICE_OTEL": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": "https://me:password-one@c",
		"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20token-of-the-collector,x=y", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "api-key = key-of-the-collector,no-value,bad=100%-of-the-key",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"password-one", "token-of-the-collector", "Bearer token-of-the-collector", "key-of-the-collector", "100%-of-the-key"} {
		if !slices.Contains(c.Secrets(), secret) {
			t.Errorf("%q is not among %q", secret, c.Secrets())
		}
	}
}
