package quality_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/state/store/memory"
)

// judgedTeam has a router, two agents, and answers that are checked.
const judgedTeam = `
mcpServers: {fake: {command: replaced}}
agents:
  writer: {description: Writes about the timesheet and hours, tools: [fake/get_timesheet]}
  other: {description: Plays music and songs}
quality:
  mode: enforce
  criteria:
    - {id: numbers_backed, description: Every number is one that a tool has told., check: numbers_backed}
`

// judgedEntry is a document, a state or a line of the log, with the name of its model.
type judgedEntry struct {
	Kind  string `json:"kind"`
	Value any    `json:"value"`
}

// Models that were written in Python from the tables of the data models read the documents of
// tasks as a store has them, the states of checked answers, the log with payloads, and breakers.
func TestDocumentsAreReadByTheirModels(t *testing.T) {
	t.Parallel()
	python := filepath.FromSlash("../../.venv/bin/python")
	if _, err := os.Stat(python); err != nil {
		if os.Getenv("SLUICE_REQUIRE_PEERS") == "1" {
			t.Fatalf("%v: scripts/peers-install.sh installs it", err)
		}
		t.Skipf("needs Pydantic, which scripts/peers-install.sh installs: %v", err)
	}
	var entries []judgedEntry
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		kept := memory.New(memory.Config{})
		client, _, _ := checkedGatewayWith(t, judgedTeam, "SLUICE_LOG_PAYLOADS=true\n", &log, gateway.Seams{Store: kept}, nil)
		for _, body := range []string{
			`{"input":"Guess my timesheet","channel":"sms"}`, `{"input":"Check my timesheet","channel":"sms","agent":"writer"}`, `{"input":"Guess my timesheet hours","agent":"writer","channel":"whatsapp"}`,
			`{"input":"Good morning"}`,
		} {
			text := askChecked(t, client, body)
			synctest.Wait()
			stored, err := kept.Task(t.Context(), wholetest.EventOf(t, text, "start")["task_id"].(string))
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, documentEntries(t, stored.Doc)...)
		}
		_, ready := fetched(t, client, "/readyz")
		var health struct{ Breakers []any }
		if err := json.Unmarshal([]byte(ready), &health); err != nil {
			t.Fatal(err)
		}
		for _, b := range health.Breakers {
			entries = append(entries, judgedEntry{"CircuitBreakerState", b})
		}
		entries = append(entries, logEntries(t, log.String())...)
	})
	kinds := judgeEntries(t, python, entries)
	for _, kind := range []string{"TaskContext", "MultiAgentWorkflowState", "AgentInteractionLog", "ValidationFailureLog", "CircuitBreakerState", "routing_decision"} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("the turns made no %s", kind)
		}
	}
}

// documentEntries returns a document of a task as it is stored, and the state of its checked answer.
func documentEntries(t *testing.T, stored []byte) []judgedEntry {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(stored, &doc); err != nil {
		t.Fatal(err)
	}
	all := []judgedEntry{{"TaskContext", doc}}
	state, _ := doc["metadata"].(map[string]any)["quality"].(map[string]any)
	if plan, ok := state["execution_plan"].(map[string]any); ok && plan["channel"] != "web" { // the models know no such channel
		all = append(all, judgedEntry{"MultiAgentWorkflowState", state})
	}
	return all
}

// logEntries returns the lines of the log that have a model.
func logEntries(t *testing.T, log string) (all []judgedEntry) {
	t.Helper()
	names := map[string]string{
		"agent_interaction": "AgentInteractionLog", "validation_failed": "ValidationFailureLog", "routing_decision": "routing_decision", "agent_reasoning": "agent_reasoning",
	}
	for line := range strings.Lines(log) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		event, _ := entry["event"].(string)
		if names[event] == "" {
			continue
		}
		details := entry["details"].(map[string]any)
		details["request_id"], details["duration_ms"] = entry["request_id"], entry["duration_ms"]
		all = append(all, judgedEntry{names[event], details})
	}
	return all
}

// judgeEntries has the models read entries, and returns the names of their models.
func judgeEntries(t *testing.T, python string, entries []judgedEntry) (kinds []string) {
	t.Helper()
	var in, out, errOut bytes.Buffer
	enc := json.NewEncoder(&in)
	for _, e := range entries {
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), python, filepath.FromSlash("../../e2e/peers/testdata/documents_judge.py"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("the models: %v\n%s", err, &errOut)
	}
	dec := json.NewDecoder(&out)
	for i := range entries {
		var v struct {
			Kind   string
			Faults []string
		}
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if kinds = append(kinds, v.Kind); len(v.Faults) > 0 {
			text, _ := json.Marshal(entries[i].Value)
			t.Errorf("%s: %q in %s", v.Kind, v.Faults, text)
		}
	}
	return kinds
}
