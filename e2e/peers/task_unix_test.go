//go:build unix

package peers

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/state/store/redis/redistest"
)

// A program that knows nothing of ours reads a task in Redis and finds what docs/tasks.md
// promises; and what it writes there by hand, in its own form, is a task here.
func TestTasksOfOtherPrograms(t *testing.T) {
	t.Parallel()
	needPeers(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		missing(t, "python3")
	}
	server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") == "1", "--appendonly", "yes")
	g := startTeam(t, "unix://"+server.Socket, "SLUICE_STORE_PREFIX", "p:")
	tu, err := g.openBody(t, t.Context(), `{"input":"Play some jazz","conversation_id":"conv_1","user_id":"ann","context":{"room":"kitchen"}}`).rest()
	if err != nil {
		t.Fatal(err)
	}
	var started struct {
		Task string `json:"task_id"`
	}
	if err := json.Unmarshal([]byte(tu[0].raw), &started); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, installed(t, "e2e/peers/testdata/task_judge.py"), server.Socket, "p:", started.Task)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("the judge: %v\n%s", err, &errOut)
	}
	id := strings.TrimSpace(out.String())
	var got map[string]any
	g.get(t, "/tasks/"+id, &got)
	var want map[string]any
	_ = json.Unmarshal([]byte(`{"id":"`+id+`","sessionId":"session-7","contextId":"session-7","status":{"state":"completed","timestamp":"2026-01-02T03:04:05Z"},
"history":[{"role":"user","content":"Dim the lights","timestamp":"2026-01-02T03:04:00Z"},{"role":"assistant","content":"Done.","agentId":"light-agent"}],
"artifacts":[{"artifactId":"a1","name":"answer","parts":[{"text":"Done."}]}],
"metadata":{"agentSelections":["light-agent"],"routingConfidence":0.85,"agentResponses":[{"agentId":"light-agent","content":"Done.","success":true,"executionTimeMs":120}],"Tier":"gold"}}`), &want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a task that was written by hand (-want +got):\n%s", diff)
	}
	var reply struct {
		Result struct {
			ID     string
			Status struct{ State string }
		}
	}
	resp, err := g.client.Post(g.base+"/a2a", "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"`+id+`"}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil || reply.Result.ID != id || reply.Result.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("over A2A: %v, %+v", err, reply)
	}
}
