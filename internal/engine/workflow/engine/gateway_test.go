package engine_test

import (
	"os"
	"strings"
	"testing"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
)

// The examples run without a key: the offline model plays all agents.
func TestExampleWorkflows(t *testing.T) {
	t.Parallel()
	refund, err := os.ReadFile("../../../../examples/workflows/refund.yaml")
	if err != nil {
		t.Fatal(err)
	}
	research, err := os.ReadFile("../../../../examples/workflows/research.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		file, input, action string
		tools               int
		want                string
	}{
		"approved":  {string(refund), `I want a refund of 30 EUR","workflow":"refund`, "approve", 1, "Hello,\n\nhere is what we found.\n\n- Your refund was paid: 30 EUR.\n\nKind regards"},
		"rejected":  {string(refund), `I want a refund of 30 EUR","workflow":"refund`, "reject", 0, "nothing was found"},
		"no refund": {string(refund), `Are you open today?","workflow":"refund`, "", 0, "nothing was found"},
		"research":  {string(research), `How do tides work?","workflow":"research`, "", 4, "What is unsure about: How do tides work"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := wholetest.StartFlows(t, tt.file, nil)
			status, stream := f.Post(`{"input":"` + tt.input + `"}`)
			if tt.action != "" {
				var asked struct {
					Kind, Prompt, Token string
				}
				wholetest.DataOf(t, stream, "approval", &asked)
				if asked.Kind != "human" || asked.Prompt != "Refund 30 EUR?" {
					t.Errorf("asked %+v", asked)
				}
				status, stream = f.Post(`{"approval":{"token":"` + asked.Token + `","action":"` + tt.action + `"}}`)
			}
			var done wholetest.Done
			wholetest.DataOf(t, stream, "done", &done)
			if status != 200 || !done.Success || done.Reason != "stop" || len(done.Tools) != tt.tools || !strings.Contains(done.Output, tt.want) {
				t.Errorf("%d %+v", status, done)
			}
			if !strings.Contains(stream, "event: inner_delta\n") || !strings.Contains(stream, `"iteration":2`) {
				t.Errorf("no draft is told:\n%s", stream)
			}
			last := stream[strings.LastIndex(stream, `"status":"started"`):]
			if n := strings.Count(last, "event: response_delta\n"); n < 5 || strings.Contains(stream, "event: response_replace\n") {
				t.Errorf("the last node says its answer in %d parts:\n%s", n, last)
			}
		})
	}
}

func TestWorkflowRequests(t *testing.T) {
	t.Parallel()
	f := wholetest.StartFlows(t, "agents: {a: {description: x}}\nworkflows: {one: {nodes: {n: {type: agent, agent: a}}}}\n", nil)
	for body, want := range map[string]string{
		`{"input":"x","workflow":"two"}`:                       `{"field":"/workflow","code":"unknown_value"`,
		`{"input":"x","workflow":"Not a name"}`:                `{"field":"/workflow","code":"unknown_value"`,
		`{"input":"x","workflow":"one","agent":"a"}`:           `{"field":"/agent","code":"not_allowed"`,
		`{"input":"x","workflow":"one","kind":"A B"}`:          `{"field":"/kind","code":"invalid_format"`,
		`{"input":"x","workflow":"one","retention_days":"7"}`:  `{"field":"/retention_days","code":"wrong_type"`,
		`{"input":"x","workflow":"one","retention_days":1.5}`:  `{"field":"/retention_days","code":"invalid_format"`,
		`{"input":"x","workflow":"one","retention_days":3651}`: `{"field":"/retention_days","code":"invalid_format"`,
	} {
		if status, got := f.Post(body); status != 422 || !strings.Contains(got, want) {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
	if status, got := f.Post(`{"input":"Show my todos","workflow":"one","kind":"debug","retention_days":0}`); status != 200 || !strings.Contains(got, `"node_id":"n"`) {
		t.Errorf("%d %s", status, got)
	}
	plain := wholetest.StartFlows(t, "agents: {a: {description: x}}\n", nil)
	if status, got := plain.Post(`{"input":"x","workflow":"one"}`); status != 422 || !strings.Contains(got, `"code":"unknown_value"`) {
		t.Errorf("%d %s", status, got)
	}
}

// Workflows are read again with the agents. A run that waits continues with the definition that
// it began with.
func TestWorkflowsReload(t *testing.T) {
	t.Parallel()
	const before = "agents: {a: {description: x}}\nworkflows: {one: {nodes: {h: {type: human, prompt: q}, n: {type: agent, agent: a}}, edges: [{from: h, to: n}]}}\n"
	f := wholetest.StartFlows(t, before, nil)
	_, stream := f.Post(`{"input":"Show my todos","workflow":"one"}`)
	var asked struct{ Token string }
	wholetest.DataOf(t, stream, "approval", &asked)
	cfg, file := wholetest.Configured(t, strings.Replace(before, "prompt: q", "prompt: other", 1), nil)
	if err := f.Reload(settings.Config{Config: cfg, File: file}, nil); err != nil {
		t.Fatal(err)
	}
	if _, stream := f.Post(`{"input":"Show my todos","workflow":"one"}`); !strings.Contains(stream, `"prompt":"other"`) {
		t.Errorf("the file before answers:\n%s", stream)
	}
	if status, got := f.Post(`{"approval":{"token":"` + asked.Token + `","action":"approve"}}`); status != 200 || !strings.Contains(got, `"finish_reason":"stop"`) {
		t.Errorf("%d %s", status, got)
	}
}
