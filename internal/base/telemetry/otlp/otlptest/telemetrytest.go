// Package otlptest is a collector for tests: it accepts exports by OTLP over HTTP and keeps them.
package otlptest

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Paths of the two signals.
const (
	TracesPath  = "/v1/traces"
	MetricsPath = "/v1/metrics"
)

// Collector keeps the exports that it got. Use Start.
type Collector struct {
	URL string

	mu     sync.Mutex // guards the fields below
	bodies map[string][][]byte
	heads  []http.Header
}

// Start returns a Collector, which ends with the test.
func Start(t testing.TB) *Collector {
	c := &Collector{bodies: map[string][][]byte{}}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

// ServeHTTP takes one export.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	b, err := io.ReadAll(body)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies[r.URL.Path] = append(c.bodies[r.URL.Path], b)
	c.heads = append(c.heads, r.Header.Clone())
}

// Bodies returns the requests to a path, as they came but for their compression.
func (c *Collector) Bodies(path string) [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.bodies[path])
}

// Headers returns the headers of all requests.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.heads)
}

// Span is one span that came.
type Span struct {
	Trace, ID, Parent string // in hex
	Name, Kind        string
	Status            string
	Attributes        map[string]string
	Resource          map[string]string
	Links             []string // ids of spans, each behind that of its trace and a dash
}

// Spans decodes the spans in the order of their arrival.
func (c *Collector) Spans(t testing.TB) (list []Span) {
	t.Helper()
	for _, body := range c.Bodies(TracesPath) {
		var req collectortrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &req); err != nil {
			t.Fatal(err)
		}
		for _, rs := range req.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					list = append(list, spanOf(s, rs.Resource.GetAttributes()))
				}
			}
		}
	}
	return list
}

func spanOf(s *traces.Span, resource []*common.KeyValue) Span {
	var links []string
	for _, l := range s.Links {
		links = append(links, hex.EncodeToString(l.TraceId)+"-"+hex.EncodeToString(l.SpanId))
	}
	return Span{
		Links: links,
		Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId), Parent: hex.EncodeToString(s.ParentSpanId),
		Name: s.Name, Kind: strings.ToLower(strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_")),
		Status:     strings.ToLower(strings.TrimPrefix(s.GetStatus().GetCode().String(), "STATUS_CODE_")),
		Attributes: attributesOf(s.Attributes), Resource: attributesOf(resource),
	}
}

func attributesOf(list []*common.KeyValue) map[string]string {
	m := make(map[string]string, len(list))
	for _, kv := range list {
		switch v := kv.Value.GetValue().(type) {
		case *common.AnyValue_StringValue:
			m[kv.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			m[kv.Key] = fmt.Sprint(v.IntValue)
		case *common.AnyValue_DoubleValue:
			m[kv.Key] = fmt.Sprint(v.DoubleValue)
		default:
			m[kv.Key] = kv.Value.String()
		}
	}
	return m
}

// Tree returns the spans, one a line, each below its parent and siblings by their names. A line has
// the name, the kind, and the failure, if any.
func Tree(spans []Span) string {
	children := map[string][]Span{}
	known := map[string]bool{}
	for _, s := range spans {
		known[s.ID] = true
	}
	for _, s := range spans {
		parent := s.Parent
		if !known[parent] {
			parent = ""
		}
		children[parent] = append(children[parent], s)
	}
	var b strings.Builder
	var write func(parent string, depth int)
	write = func(parent string, depth int) {
		below := children[parent]
		slices.SortStableFunc(below, func(a, b Span) int { return strings.Compare(a.Name, b.Name) })
		for _, s := range below {
			fmt.Fprintf(&b, "%s%s %s", strings.Repeat("  ", depth), s.Name, s.Kind)
			if s.Status != "ok" {
				fmt.Fprintf(&b, " %s: %s", s.Status, s.Attributes["error.type"])
			}
			b.WriteByte('\n')
			write(s.ID, depth+1)
		}
	}
	write("", 0)
	return b.String()
}

// Metrics decodes the last metrics that came, by their names.
func (c *Collector) Metrics(t testing.TB) map[string]*metrics.Metric {
	t.Helper()
	bodies := c.Bodies(MetricsPath)
	if len(bodies) == 0 {
		return nil
	}
	var req collectormetrics.ExportMetricsServiceRequest
	if err := proto.Unmarshal(bodies[len(bodies)-1], &req); err != nil {
		t.Fatal(err)
	}
	m := map[string]*metrics.Metric{}
	for _, rm := range req.ResourceMetrics {
		for _, sm := range rm.ScopeMetrics {
			for _, metric := range sm.Metrics {
				m[metric.Name] = metric
			}
		}
	}
	return m
}
