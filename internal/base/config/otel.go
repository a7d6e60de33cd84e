package config

import (
	"net/url"
	"strings"
)

// OTel is where spans and metrics are sent, besides GET /metrics. Its zero value sends
// nothing. The OTEL_* variables that are not here the SDK of OpenTelemetry reads itself.
type OTel struct {
	// Traces and Metrics say which of them are sent.
	Traces, Metrics bool
	// TracesURL and MetricsURL are empty where a variable names the collector.
	TracesURL, MetricsURL string
}

// Values of SLUICE_OTEL.
const (
	oTelOff  = "off"
	oTelOTLP = "otlp"
)

// localCollector is where a collector listens unless it is set otherwise (OpenTelemetry
// Protocol Exporter). The SDK would ask it for TLS.
const localCollector = "http://localhost:4318"

// Telemetry takes off or otlp. With the latter the variables of OpenTelemetry count.
func Telemetry(variable string, p *OTel, meaning string) Setting {
	var mode string
	s := OneOf(variable, &mode, oTelOff, []string{oTelOff, oTelOTLP}, meaning)
	s.then = func(r *reader) {
		if mode == oTelOTLP {
			*p = r.readOTel()
		}
	}
	return s
}

// readOTel reads the variables of OpenTelemetry's specification, as far as they
// hold for exporters over HTTP. Without one that asks for it nothing is
// exported.
func (r *reader) readOTel() (o OTel) {
	if strings.EqualFold(r.trimmedEnv("OTEL_SDK_DISABLED"), "true") {
		return o
	}
	o.Traces = r.isExported("OTEL_TRACES_EXPORTER")
	o.Metrics = r.isExported("OTEL_METRICS_EXPORTER")
	o.TracesURL, o.MetricsURL = localCollector+"/v1/traces", localCollector+"/v1/metrics"
	if r.namesCollector("OTEL_EXPORTER_OTLP_ENDPOINT") {
		o.TracesURL, o.MetricsURL = "", ""
	}
	if r.namesCollector("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
		o.TracesURL = ""
	}
	if r.namesCollector("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") {
		o.MetricsURL = ""
	}
	for _, signal := range []string{"", "TRACES_", "METRICS_"} {
		r.overHTTP("OTEL_EXPORTER_OTLP_" + signal + "PROTOCOL")
		r.hideHeaders(r.trimmedEnv("OTEL_EXPORTER_OTLP_" + signal + "HEADERS"))
	}
	return o
}

// trimmedEnv returns a variable without white space around it; the specification
// treats an empty one as not set.
func (r *reader) trimmedEnv(name string) string { return strings.TrimSpace(r.envValue(name)) }

// isExported reports whether a signal is sent.
func (r *reader) isExported(variable string) bool {
	switch strings.ToLower(r.trimmedEnv(variable)) {
	case "none":
		return false
	case "", "otlp":
	default:
		r.addFault(variable, "must be otlp or none")
	}
	return true
}

// namesCollector reports whether a variable names a collector.
func (r *reader) namesCollector(variable string) bool {
	value := r.trimmedEnv(variable)
	if value == "" {
		return false
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.addFault(variable, "must be an http or https URL")
		return true
	}
	if password, ok := u.User.Password(); ok {
		r.hide("", Secret(password), Secret(u.User.String()))
	}
	return true
}

// overHTTP refuses the protocol that is not built in, gRPC, instead of
// exporting nothing without a word.
func (r *reader) overHTTP(variable string) {
	switch r.trimmedEnv(variable) {
	case "", "http/protobuf", "http/json":
	default:
		r.addFault(variable, "must be http/protobuf or http/json")
	}
}

// hideHeaders takes "name=value,name=value" with percent-encoded values.
func (r *reader) hideHeaders(list string) {
	for header := range strings.SplitSeq(list, ",") {
		_, value, ok := strings.Cut(header, "=")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		plain, err := url.PathUnescape(value)
		if err != nil {
			plain = value
		}
		r.hide("", Secret(value), Secret(plain), Secret(Secret(plain).Credentials()))
	}
}
