package peers

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"sluice/internal/base/telemetry/otlp/otlptest"
)

// What judges the spans and metrics that are sent, over OpenTelemetry's own messages.
const (
	otlpPython = ".venv/otlp/bin/python"
	otlpJudge  = "e2e/peers/testdata/otlp_judge.py"
)

type otlpRequest struct {
	Path string `json:"path"`
	Body []byte `json:"body"`
}

// otlpVerdict is on a span or on a metric.
type otlpVerdict struct {
	Trace, ID, Parent, Name, Kind string
	Failed                        bool
	Attributes                    map[string]string
	Links                         []string // trace and span
	Metric                        string
	Points                        int
	Faults                        []string
}

func judgeOTLP(t *testing.T, c *otlptest.Collector) (list []otlpVerdict) {
	t.Helper()
	var stdin, stderr bytes.Buffer
	for _, path := range []string{otlptest.TracesPath, otlptest.MetricsPath} {
		for _, body := range c.Bodies(path) {
			if err := json.NewEncoder(&stdin).Encode(otlpRequest{path, body}); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), installed(t, otlpPython), installed(t, otlpJudge))
	cmd.Stdin, cmd.Stderr = &stdin, &stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("the judge: %v\n%s", err, &stderr)
	}
	for dec := json.NewDecoder(bytes.NewReader(stdout)); dec.More(); {
		var v otlpVerdict
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// What a whole process sends is what OpenTelemetry's Python package reads: the tree of
// a turn, and the metrics. The standard variables say where it goes and with which key.
func TestOTLP(t *testing.T) {
	t.Parallel()
	installed(t, otlpPython)
	for _, compression := range []string{"none", "gzip"} {
		t.Run(compression, func(t *testing.T) {
			t.Parallel()
			c := otlptest.Start(t)
			g := startGateway(t, with(offline(t).env(), "SLUICE_OTEL", "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL,
				"OTEL_EXPORTER_OTLP_HEADERS", "api-key=key-of-the-collector", "OTEL_EXPORTER_OTLP_COMPRESSION", compression,
				"OTEL_SERVICE_NAME", "front-door", "OTEL_METRIC_EXPORT_INTERVAL", "no number"))
			if last := g.ask(t, "Remind me to buy CANARY tomorrow at 3pm"); last == nil {
				t.Fatal("no answer")
			}
			g.stop(syscall.SIGTERM)
			verdicts := judgeOTLP(t, c)
			checkOTLPSpans(t, verdicts)
			checkOTLPMetrics(t, verdicts)
			for _, h := range c.Headers() {
				if h.Get("Api-Key") != "key-of-the-collector" || h.Get("Content-Encoding") != strings.TrimPrefix(compression, "none") {
					t.Errorf("a request had the headers %v", h)
				}
			}
			for _, s := range c.Spans(t) {
				if s.Resource["service.name"] != "front-door" {
					t.Errorf("the resource is %v", s.Resource)
				}
			}
		})
	}
}

func checkOTLPSpans(t *testing.T, verdicts []otlpVerdict) {
	t.Helper()
	names, root := map[string]int{}, ""
	for _, v := range verdicts {
		if v.Name == "" {
			continue
		}
		names[v.Name]++
		if v.Kind == "server" {
			root = v.ID
		}
		if len(v.Faults) > 0 || v.Failed {
			t.Errorf("span %s: %v", v.Name, v)
		}
		for key, value := range v.Attributes {
			if strings.Contains(value, "CANARY") {
				t.Errorf("span %s: %s is %q", v.Name, key, value)
			}
		}
	}
	if names["POST /chat/stream"] != 1 || names["execute_tool create_todo"] != 1 || len(names) != 3 {
		t.Errorf("the spans are %v", names)
	}
	for _, v := range verdicts {
		if v.Name != "" && v.Kind != "server" && v.Parent != root {
			t.Errorf("span %s has the parent %s, want %s", v.Name, v.Parent, root)
		}
	}
}

func checkOTLPMetrics(t *testing.T, verdicts []otlpVerdict) {
	t.Helper()
	points := map[string]int{}
	for _, v := range verdicts {
		if v.Metric == "" {
			continue
		}
		points[v.Metric] += v.Points
		if len(v.Faults) > 0 {
			t.Errorf("metric %s: %v", v.Metric, v.Faults)
		}
	}
	for _, name := range []string{"sluice_streams_total", "sluice_turn_seconds", "sluice_breaker_state", "go_goroutines"} {
		if points[name] == 0 {
			t.Errorf("%s is missing among %d metrics", name, len(points))
		}
	}
}
