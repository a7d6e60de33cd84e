package otlp

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"sluice/internal/base/telemetry/otlp/otlptest"
	"sluice/internal/base/telemetry/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, c *otlptest.Collector) *Telemetry {
	t.Helper()
	tel, err := New(Config{Traces: true, TracesURL: c.URL + otlptest.TracesPath, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	return tel
}

// A request without a readable parent begins a tree of its own, and one whose parent
// is not kept is not kept either; both are handed on.
func TestParents(t *testing.T) {
	t.Parallel()
	const id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for name, tt := range map[string]struct {
		given   []string
		ours    bool // the trace is a new one
		flags   string
		nothing bool // no span is sent
	}{
		"none":       {nil, true, "01", false},
		"one":        {[]string{"00-" + id + "-" + parent + "-01"}, false, "01", false},
		"not kept":   {[]string{"00-" + id + "-" + parent + "-00"}, false, "00", true},
		"two":        {[]string{"00-" + id + "-" + parent + "-01", "00-" + id + "-" + parent + "-01"}, true, "01", false},
		"zeros":      {[]string{"00-" + strings.Repeat("0", 32) + "-" + parent + "-01"}, true, "01", false},
		"upper case": {[]string{strings.ToUpper("00-" + id + "-" + parent + "-01")}, true, "01", false},
		"text":       {[]string{"Robert'); DROP TABLE"}, true, "01", false},
		"very long":  {[]string{strings.Repeat("00-"+id+"-", 10_000)}, true, "01", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := otlptest.Start(t)
			tel := open(t, c)
			root := tel.Tracer().Begin(trace.Server, "POST", "/", http.Header{"Traceparent": tt.given, "Tracestate": {"a=b"}})
			out := http.Header{}
			root.Propagate(out)
			root.End("")
			tel.Close(10 * time.Second)

			got := strings.Split(out.Get("Traceparent"), "-")
			if len(got) != 4 || got[0] != "00" || (got[1] != id) != tt.ours || got[2] == parent || got[3] != tt.flags {
				t.Errorf("traceparent is %q", out.Get("Traceparent"))
			}
			if len(out) != 1 {
				t.Errorf("the headers are %v", out)
			}
			spans := c.Spans(t)
			if tt.nothing {
				if len(spans) != 0 {
					t.Errorf("sent: %v", spans)
				}
				return
			}
			if len(spans) != 1 || spans[0].Trace != got[1] || spans[0].ID != got[2] || (spans[0].Parent == parent) == tt.ours {
				t.Errorf("sent: %v", spans)
			}
		})
	}
}

func TestNothingIsAskedFor(t *testing.T) {
	t.Parallel()
	tel, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if tel.Tracer() != trace.Tracer(nil) {
		t.Error("there is a tracer")
	}
	tel.Close(0)
	tel.Close(0)
}

// A collector that fails is in the log once a minute, with how often it failed since.
func TestFailuresAreLoggedOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := &reporter{log: zerolog.New(&log)}
		r.logFailure("traces", nil)
		for range 130 { // seconds
			r.logFailure("traces", errors.New("away"))
			time.Sleep(time.Second)
		}
		if got := strings.Count(log.String(), "telemetry_unavailable"); got != 3 {
			t.Errorf("%d lines in 130 s, want 3:\n%s", got, log.String())
		}
		if !strings.Contains(log.String(), `"failures_since_last":59`) {
			t.Errorf("the failures between are not counted:\n%s", log.String())
		}
	})
}

// What the SDK says of a variable, its value may not stand in.
func TestFaultsOfVariables(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	sdkLog{&reporter{log: zerolog.New(&log)}}.Error(errors.New("CANARY"), "parse duration", "input", "CANARY")
	if s := log.String(); !strings.Contains(s, "parse duration") || strings.Contains(s, "CANARY") {
		t.Error(s)
	}
}

// BenchmarkSpan is a span with three attributes, below another.
func BenchmarkSpan(b *testing.B) {
	c := otlptest.Start(b)
	tel, err := New(Config{Traces: true, TracesURL: c.URL + otlptest.TracesPath, Gatherer: prometheus.NewRegistry()})
	if err != nil {
		b.Fatal(err)
	}
	defer tel.Close(time.Second)
	ctx, root := trace.Request(b.Context(), tel.Tracer(), http.Header{}, "POST", "/")
	defer root.End(nil)
	b.ReportAllocs()
	for b.Loop() {
		_, span := trace.Start(ctx, trace.Client, trace.Chat, "m")
		span.String(trace.RequestModel, "m")
		span.Usage(1, 2, 3)
		span.End(nil)
	}
}
