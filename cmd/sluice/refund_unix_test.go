//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// payments starts a server whose tool counts what it pays.
func payments(t *testing.T, paid *atomic.Int64) (url string) {
	no, yes := false, true
	s := server.NewMCPServer("payments", "1")
	s.AddTool(mcp.NewTool("refund", mcp.WithNumber("amount"), mcp.WithToolAnnotation(mcp.ToolAnnotation{ReadOnlyHint: &no, DestructiveHint: &yes, IdempotentHint: &no})),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(fmt.Sprint("paid ", paid.Add(1))), nil
		})
	web := httptest.NewServer(server.NewStreamableHTTPServer(s, server.WithStateLess(true)))
	t.Cleanup(web.Close)
	return web.URL + "/mcp"
}

// posted sends a request and returns its reply.
func posted(t *testing.T, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The refund of the examples waits for a person while its gateway is killed. Another one on
// the same file pays once when it is allowed, and answers; what is exported has every
// checkpoint, and a trace with the wait in it.
func TestRefundOverAKill(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	dir := t.TempDir()
	example, err := os.ReadFile("../../examples/workflows/refund.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "refund.yaml")
	text := strings.Replace(string(example), "{builtin: fake-payments}", fmt.Sprintf("{url: %q}", payments(t, &paid)), 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"SLUICE_CONFIG=" + file, "SLUICE_STORE=sqlite:" + filepath.Join(dir, "s.db"), "GEMINI_API_KEY="}

	killed, base := spawn(t, env...)
	got := posted(t, base+"/chat/stream", `{"input":"I want a refund of 30 EUR","workflow":"refund"}`)
	_, rest, _ := strings.Cut(got, `"task_id":"`)
	task, _, ok := strings.Cut(rest, `"`)
	if !ok || !strings.Contains(got, `"prompt":"Refund 30 EUR?"`) {
		t.Fatal(got)
	}
	_ = killed.Process.Kill()
	_ = killed.Wait()
	died := time.Now()

	_, base = spawn(t, env...)
	if got = posted(t, base+"/tasks/"+task+"/decision", `{"action":"approve"}`); !strings.Contains(got, `"finish_reason":"stop"`) || !strings.Contains(got, "event: response_delta") || paid.Load() != 1 {
		t.Fatalf("paid %d times\n%s", paid.Load(), got)
	}
	out := filepath.Join(dir, "out")
	if code, _, errOut := runCommand(t, map[string]string{"SLUICE_CONFIG": file, "SLUICE_STORE": "sqlite:" + filepath.Join(dir, "s.db")}, "export", task, "--out", out); code != exitOK {
		t.Fatalf("exit %d: %s", code, errOut)
	}
	wantCheckpoints(t, filepath.Join(out, "tasks", task))
	wantGap(t, filepath.Join(out, "tasks", task, "trace.json"), died)
}

// readJSON reads a file.
func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// wantCheckpoints wants those of a whole run, from 000 to the last, among them one that
// waits.
func wantCheckpoints(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "checkpoint_*.json"))
	if err != nil || len(names) < 7 {
		t.Fatal(err, names)
	}
	waited := false
	for i := range names {
		var c struct {
			Sequence int  `json:"sequence"`
			Awaiting bool `json:"awaiting_human"`
			Frontier []any
		}
		readJSON(t, filepath.Join(dir, fmt.Sprintf("checkpoint_%03d.json", i)), &c)
		waited = waited || c.Awaiting
		if last := i == len(names)-1; c.Sequence != i || last != (len(c.Frontier) == 0) {
			t.Errorf("checkpoint %d of %d: %+v", i, len(names), c)
		}
	}
	if !waited {
		t.Error("no checkpoint waits")
	}
}

// wantGap wants a trace in which nothing happens while no gateway runs, and something
// before and after.
func wantGap(t *testing.T, path string, died time.Time) {
	t.Helper()
	var trace struct {
		Steps []struct {
			Name string    `json:"step_name"`
			At   time.Time `json:"timestamp"`
			Node string    `json:"node_id"`
		}
	}
	readJSON(t, path, &trace)
	before, after := map[string]bool{}, map[string]bool{}
	for _, s := range trace.Steps {
		if s.At.Before(died) {
			before[s.Node] = true
		} else {
			after[s.Node] = true
		}
	}
	if !before["triage"] || !before["ask"] || before["pay"] || before["answer"] || !after["pay"] || !after["answer"] || after["triage"] {
		t.Errorf("before %v, after %v of %+v", before, after, trace.Steps)
	}
}
