package gateway_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/operate"
	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/records"
)

// A run is exported while its gateway runs: when it waits for a person, and again when it is
// over; each time models that were written for the layout, in Python, read every file.
func TestExportIsReadBack(t *testing.T) {
	t.Parallel()
	python := filepath.FromSlash("../../../.venv/bin/python")
	if _, err := os.Stat(python); err != nil {
		if os.Getenv("SLUICE_REQUIRE_PEERS") == "1" {
			t.Fatalf("%v: scripts/peers-install.sh installs it", err)
		}
		t.Skipf("needs Pydantic, which scripts/peers-install.sh installs: %v", err)
	}
	content, err := os.ReadFile("../../../examples/workflows/refund.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(content), "payments: {builtin: fake-payments}", "payments: {builtin: fake-payments}\n  other: {command: no-such-program, env: {TOKEN: canary}}", 1) +
		"retention: {default_days: 9, by_task: {debug: 1}}\n"
	dir := t.TempDir()
	env := map[string]string{"SLUICE_STORE": "sqlite:" + filepath.Join(dir, "s.db"), "GEMINI_MODEL": providers.OfflineModel}
	f := wholetest.StartFlows(t, text, env)
	_, body := f.Post(`{"input":"I want a refund of 30 EUR","workflow":"refund","retention_days":5}`)
	var start struct {
		Task string `json:"task_id"`
	}
	wholetest.DataOf(t, body, "start", &start)
	sessions := &records.Sessions{Store: f.Store()}
	if err := sessions.Put(t.Context(), &records.SubAgentSession{
		SessionID: "6f1c9a52-7b1e-4c1f-9b53-0d4bd9a6b8a1", ParentTaskID: start.Task, AgentName: "writer", TaskDescription: "write",
		MessageHistory: []engine.Message{{Role: "user", Content: "write", Timestamp: time.Now()}}, Status: records.SessionCompleted, CreatedAt: time.Now(),
	}, 0); err != nil {
		t.Fatal(err)
	}
	cfg, file := wholetest.Configured(t, text, env)
	out := filepath.Join(dir, "out")
	export := func() []string {
		t.Helper()
		if err := operate.Export(t.Context(), settings.Config{Config: cfg, File: file}, start.Task, out); err != nil {
			t.Fatal(err)
		}
		return judged(t, python, out)
	}
	of := "tasks/" + start.Task + "/"
	want := []string{
		"agents/reviewer.json", "agents/support.json", "agents/writer.json", "config/mcp_servers.yaml", "config/retention_policy.yaml",
		of + "checkpoint_000.json", of + "checkpoint_001.json", of + "checkpoint_002.json", of + "checkpoint_003.json",
		of + "sessions/6f1c9a52-7b1e-4c1f-9b53-0d4bd9a6b8a1.json", of + "task.json", of + "trace.json", "workflows/refund.json",
	}
	if diff := cmp.Diff(want, export()); diff != "" {
		t.Errorf("while it waits (-want +got):\n%s", diff)
	}
	status, reply := f.Answer(start.Task, `{"action":"approve"}`)
	if status != http.StatusOK || !strings.Contains(reply, `"finish_reason":"stop"`) {
		t.Fatal(status, reply)
	}
	after := export()
	if len(after) < len(want)+3 {
		t.Errorf("when it is over there is %q", after)
	}
	var doc struct {
		Status string `json:"status"`
		Days   int    `json:"retention_days"`
	}
	task, _ := os.ReadFile(filepath.Join(out, filepath.FromSlash(of), "task.json"))
	if err := json.Unmarshal(task, &doc); err != nil || doc.Status != "completed" || doc.Days != 5 {
		t.Errorf("%v %s", err, task)
	}
	_ = filepath.WalkDir(out, func(name string, e fs.DirEntry, err error) error {
		if text, _ := os.ReadFile(name); bytes.Contains(text, []byte("canary")) {
			t.Errorf("%s has a secret: %s", name, text)
		}
		return err
	})
}

// judged returns the files that the judge has read.
func judged(t *testing.T, python, dir string) (names []string) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(t.Context(), python, "../../../e2e/peers/testdata/export_judge.py", dir)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("the judge: %v\n%s", err, &errOut)
	}
	for dec := json.NewDecoder(&out); dec.More(); {
		var v struct {
			Name   string
			Faults []string
		}
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		names = append(names, v.Name)
		for _, fault := range v.Faults {
			t.Errorf("%s: %s", v.Name, fault)
		}
	}
	return names
}
