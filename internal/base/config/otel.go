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

// What SLUICE_OTEL can be.
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
			*p = r.otel()
		}
	}
	return s
}

// otel reads the variables of OpenTelemetry's specification, as far as they
// hold for exporters over HTTP. Without one that asks for it nothing is
// exported.
func (r *reader) otel() (o OTel) {
	if strings.EqualFold(r.trimmed("OTEL_SDK_DISABLED"), "true") {
		return o
	}
	o.Traces = r.exports("OTEL_TRACES_EXPORTER")
	o.Metrics = r.exports("OTEL_METRICS_EXPORTER")
	o.TracesURL, o.MetricsURL = localCollector+"/v1/traces", localCollector+"/v1/metrics"
	if r.collector("OTEL_EXPORTER_OTLP_ENDPOINT") {
		o.TracesURL, o.MetricsURL = "", ""
	}
	if r.collector("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
		o.TracesURL = ""
	}
	if r.collector("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") {
		o.MetricsURL = ""
	}
	for _, signal := range []string{"", "TRACES_", "METRICS_"} {
		r.overHTTP("OTEL_EXPORTER_OTLP_" + signal + "PROTOCOL")
		r.hideHeaders(r.trimmed("OTEL_EXPORTER_OTLP_" + signal + "HEADERS"))
	}
	return o
}

// trimmed returns a variable without white space around it; the specification
// treats an empty one as not set.
func (r *reader) trimmed(name string) string { return strings.TrimSpace(r.env(name)) }

// exports says whether a signal is sent.
func (r *reader) exports(variable string) bool {
	switch strings.ToLower(r.trimmed(variable)) {
	case "none":
		return false
	case "", "otlp":
	default:
		r.fault(variable, "must be otlp or none")
	}
	return true
}

// collector says whether a variable names a collector.
func (r *reader) collector(variable string) bool {
	value := r.trimmed(variable)
	if value == "" {
		return false
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.fault(variable, "must be an http or https URL")
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
	switch r.trimmed(variable) {
	case "", "http/protobuf", "http/json":
	default:
		r.fault(variable, "must be http/protobuf or http/json")
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
