package operate

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/state/task"
)

// Workflows of each kind of node and edge, with times and defaults.
const exportedFlows = `
agents: {a: {description: Works}}
mcpServers: {bank: {command: run}}
workflows:
  flow:
    description: "Of ${WHERE}"
    examples: ["Ask ${WHERE}", Pay 5 EUR]
    kind: debug
    retention_days: 3
    timeout: 90s
    nodes:
      first: {type: agent, agent: a, input: "Begin at ${WHERE}", output: {routing_key: result.text}}
      route: {type: condition, expression: routing_key}
      pay: {type: tool, tool: bank/pay, arguments: {amount: "1 + 1"}, timeout: 5s}
      ask: {type: human, prompt: "Go on?", timeout: 72h, approvers: [ann]}
      last: {type: agent, agent: a, pattern: reflection, repeat: {critic: a, until: "critic.json.score >= 8", max: 2}}
    edges:
      - {from: first, to: route}
      - {from: route, to: {pay: pay, ask: ask, default: last}}
      - {from: pay, to: last, condition: "true"}
      - {from: ask, to: last}
`

// The layout has nodes by name, an entry for all ways out of a condition, and seconds.
func TestExportedWorkflow(t *testing.T) {
	t.Parallel()
	cfg := configured(t, exportedFlows, "SLUICE_STORE", "memory", "WHERE", "q7.test")
	text, err := json.Marshal(exportedWorkflow(cfg.Workflows[0].Definition(), readWritten(cfg.Path)))
	if err != nil {
		t.Fatal(err)
	}
	var got, want map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{
		"name": "flow", "description": "Of ${WHERE}", "examples": ["Ask ${WHERE}", "Pay 5 EUR"], "patterns": ["react", "reflection"], "kind": "debug", "retention_days": 3, "timeout_seconds": 90,
		"entry_point": "first", "max_iterations": 50,
		"nodes": {
			"first": {"type": "agent", "agent": "a", "input": "Begin at ${WHERE}", "pattern": "react", "output": [{"field": "routing_key", "expression": "result.text"}]},
			"route": {"type": "condition", "expression": "routing_key"},
			"pay": {"type": "tool", "tool": "bank/pay", "arguments": [{"name": "amount", "expression": "1 + 1"}], "timeout_seconds": 5},
			"ask": {"type": "human", "prompt": "Go on?", "approvers": ["ann"], "on_timeout": "reject", "timeout_seconds": 259200},
			"last": {"type": "agent", "agent": "a", "pattern": "reflection", "repeat": {"critic": "a", "until": "critic.json.score >= 8", "max": 2}}
		},
		"edges": [
			{"from": "first", "to": "route"},
			{"from": "route", "to": {"pay": "pay", "ask": "ask", "default": "last"}},
			{"from": "pay", "to": "last", "condition": "true"},
			{"from": "ask", "to": "last"}
		]
	}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The policy is that which counts, also where no file says it, and has no null.
func TestExportedRetention(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]task.Retention{
		`{"default_days":7,"by_task":{"critical":30,"debug":3},"by_status":{"completed":7,"failed":14}}`: {},
		`{"default_days":9,"by_task":{},"by_status":{}}`:                                                 {Set: true, Days: 9},
		`{"default_days":0,"by_task":{"x":1},"by_status":{}}`:                                            {Set: true, ByTask: map[string]int{"x": 1}},
	} {
		if got, err := json.Marshal(exportedRetention(r)); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

// A value is written as its variable where one stands in the file; one that may be a secret
// is written only where the file shows that it is none.
func TestWrittenValues(t *testing.T) {
	t.Parallel()
	w := written{"a": map[string]any{"list": []any{"x", "at ${PLACE}"}, "plain": "p", "TOKEN": "typed", "from": "${KEY}", "n": 7}}
	for _, tt := range []struct {
		place []string
		text  string
	}{
		{[]string{"a", "list", "1"}, "at ${PLACE}"}, {[]string{"a", "list", "0"}, "value"}, {[]string{"a", "plain"}, "value"}, {[]string{"a", "from"}, "${KEY}"},
		{[]string{"a", "list", "2"}, "value"}, {[]string{"a", "list", "-1"}, "value"}, {[]string{"a", "list", "x"}, "value"}, {[]string{"b", "c"}, "value"},
		{[]string{"a", "n"}, "value"}, {[]string{"a", "plain", "deeper"}, "value"}, {nil, "value"},
	} {
		if got := w.textAt("value", tt.place...); got != tt.text {
			t.Errorf("%q is %q, want %q", tt.place, got, tt.text)
		}
	}
	for name, want := range map[string]string{"plain": "value", "TOKEN": "[redacted]", "from": "${KEY}", "gone": "[redacted]"} {
		if got := w.secretAt(name, "value", "a", name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := w.secretValues(map[string]config.Secret{"plain": "p", "TOKEN": "t"}, "x", "a"); len(got) != 2 || got["plain"] != "[redacted]" {
		t.Errorf("of a server that is not in the file: %v", got)
	}
	if w.secretValues(nil, "a", "env") != nil || readWritten("/nowhere/sluice.yaml") != nil || readWritten("") != nil {
		t.Error("what is not there has values")
	}
}
