//go:build unix

package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/rs/zerolog"

	"sluice/store"
	"sluice/stream"
	"sluice/task"
)

// Variables of the process that is killed.
const (
	crashDir = "SLUICE_TEST_CRASH_DIR"
	crashAt  = "SLUICE_TEST_CRASH_AT"
	crashURL = "SLUICE_TEST_CRASH_URL"
)

const crashFile = `
mcpServers: {bank: {url: %q}}
agents: {a: {description: answers}}
workflows:
  pay:
    nodes:
      pay: {type: tool, tool: bank/pay, arguments: {amount: "30"}}
      answer: {type: agent, agent: a}
    edges: [{from: pay, to: answer}]
`

func crashGateway(t *testing.T, dir, url string, wrote func()) *flowing {
	cfg, file := configured(t, fmt.Sprintf(crashFile, url), map[string]string{"SLUICE_STORE": "sqlite:" + filepath.Join(dir, "s.db")})
	g, err := New(t.Context(), Config{Config: cfg, Version: "test", HasFile: true, Team: file.Team, Models: file.Models, Workflows: file.Workflows}, zerolog.New(io.Discard), Seams{Wrote: wrote})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return &flowing{t: t, Gateway: g}
}

func (f *flowing) serve(path, body string) string {
	req := httptest.NewRequestWithContext(f.t.Context(), http.MethodPost, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.ServeHTTP(w, req)
	return w.Body.String()
}

// TestCrashChild is the process that is killed between two writes of a run.
func TestCrashChild(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("it is run by TestKilledBetweenWrites")
	}
	var at, n atomic.Int64
	var limit int64
	_, _ = fmt.Sscan(os.Getenv(crashAt), &limit)
	at.Store(limit)
	f := crashGateway(t, dir, os.Getenv(crashURL), func() {
		if n.Add(1) == at.Load() {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	if got := f.serve("/chat/stream", `{"input":"Show my todos","workflow":"pay"}`); !strings.Contains(got, `"finish_reason":"stop"`) {
		t.Fatal(got)
	}
}

// A run whose process is killed between any two of its writes is finished by the next
// one: the payment is made once, and one log tells it all.
func TestKilledBetweenWrites(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	over := false
	for n := 1; !over && n < 40; n++ {
		if n != 4 && (testing.Short() || n%4 != 0) { // a lease of a process that was killed lasts 15 seconds
			continue
		}
		over = killedAt(t, path, n)
	}
}

// killedAt kills a process at its write n, and goes on in this one. It returns true if
// the process made fewer.
func killedAt(t *testing.T, path string, n int) (over bool) {
	t.Run(fmt.Sprint("write ", n), func(t *testing.T) {
		var paid atomic.Int64
		no, yes := false, true
		mcpServer := server.NewMCPServer("bank", "1")
		mcpServer.AddTool(mcp.NewTool("pay", mcp.WithToolAnnotation(mcp.ToolAnnotation{ReadOnlyHint: &no, DestructiveHint: &yes, IdempotentHint: &no}),
			mcp.WithNumber("amount")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(fmt.Sprint("paid ", paid.Add(1))), nil
		})
		bank := httptest.NewServer(server.NewStreamableHTTPServer(mcpServer, server.WithStateLess(true)))
		defer bank.Close()
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), path, "-test.run=^TestCrashChild$")
		cmd.Env = append(os.Environ(), crashDir+"="+dir, fmt.Sprint(crashAt, "=", n), crashURL+"="+bank.URL+"/mcp")
		out, err := cmd.CombinedOutput()
		if err == nil {
			over = true
			return
		}
		if cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%v\n%s", err, out)
		}
		f := crashGateway(t, dir, bank.URL+"/mcp", nil)
		f.finish(&paid)
		if got := paid.Load(); got != 1 {
			t.Errorf("paid %d times", got)
		}
	})
	return over
}

// finish waits until the run is over, and says what became of a call of which nobody knows.
func (f *flowing) finish(paid *atomic.Int64) {
	f.t.Helper()
	for range 600 {
		page, err := f.state.store.Tasks(f.t.Context(), store.Query{Limit: 10})
		if err != nil || len(page.IDs) != 1 {
			f.t.Fatal(err, page.IDs)
		}
		id, t := page.IDs[0], page.Tasks[0]
		switch t.State {
		case task.Completed:
			f.wholeLog(t.Turn)
			return
		case task.InputRequired:
			body := `{"action":"approve"}`
			if paid.Load() > 0 {
				body = `{"action":"modify","result":"paid 1"}`
			}
			if got := f.serve("/tasks/"+id+"/decision", body); !strings.Contains(got, `"finish_reason":"stop"`) {
				f.t.Fatal(got)
			}
		case task.Working:
		default:
			f.t.Fatalf("the task is %s: %s", t.State, t.Doc)
		}
		time.Sleep(50 * time.Millisecond)
	}
	f.t.Error("the run is not finished")
}

// wholeLog checks that a turn's log has no gap and ends well.
func (f *flowing) wholeLog(turn string) {
	f.t.Helper()
	log, err := f.state.tasks.OpenLog(f.t.Context(), turn)
	if err != nil {
		f.t.Fatal(err)
	}
	last := 0
	var done *stream.Done
	for told, err := range log.Events(f.t.Context()) {
		if err != nil {
			f.t.Fatal(err)
		}
		for _, e := range told {
			if last++; e.N != last {
				f.t.Fatalf("event %d follows %d", e.N, last-1)
			}
			done, _ = e.Event.(*stream.Done)
		}
	}
	if done == nil || done.Reason != stream.Stop {
		f.t.Errorf("the log ends with %+v", done)
	}
}
