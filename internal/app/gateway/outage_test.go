package gateway_test

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/testnet"
)

// mcpProcess starts an MCP server on addr, as a process, and returns the address.
func mcpProcess(t *testing.T, addr, report string) (address string, kill func()) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), path, addr)
	cmd.Env = append(os.Environ(), gatewaytest.ChildVariable+"=http", gatewaytest.ReportVariable+"="+report, "GORACE="+gatewaytest.NoExitSleep)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // it lives as long as this
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the MCP server did not start: %v", err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	return strings.TrimSpace(line), kill
}

// slowThenPid is a turn that calls slow, and any number of turns that call pid.
const slowThenPid = `
call slow {}
finish STOP
---
text I do not know what became of it
finish STOP
---
call pid {}
finish STOP
---
text That was it
finish STOP`

// wantUnknown checks a turn whose tool was lost while it ran: it continues, and ends well.
func wantUnknown(t *testing.T, frames []gatewaytest.Frame) {
	t.Helper()
	gatewaytest.WantSuccess(t, frames, "stop")
	calls := gatewaytest.Only(frames, "tool_call")
	if last := calls[len(calls)-1]; last.Str("tool_name") != "slow" || last.Str("status") != "unknown" || last.Str("error") == "" {
		t.Errorf("the call ended with %s", last.Raw)
	}
	errs := gatewaytest.Only(frames, "error")
	if len(errs) != 1 || errs[0].Str("error_type") != "tool_execution_failed" || errs[0].Data["fatal"] != false || errs[0].Data["recoverable"] != true {
		t.Errorf("errors: %v", errs)
	}
}

func TestHTTPServerKilledInACall(t *testing.T) {
	t.Parallel()
	home := gatewaytest.AcceptCalls(t)
	addr, kill := mcpProcess(t, "127.0.0.1:0", home.Addr())
	r := wholetest.Listen(t, gatewaytest.Scripted(t, slowThenPid).Env("MCP_SERVER_URL", "http://"+addr+"/mcp"))
	s := r.StartTurn("go")
	victim, _ := home.Next(t)
	kill()
	wantUnknown(t, s.All(t))

	mcpProcess(t, addr, home.Addr())
	if pid := gatewaytest.WantResult(t, r.Ask("again"), "pid"); pid == strconv.Itoa(victim.Pid) {
		t.Error("it is the old process that answered")
	}
}

func TestChildKilledInACall(t *testing.T) {
	t.Parallel()
	home := gatewaytest.AcceptCalls(t)
	file := gatewaytest.MCPConfig(t, map[string]any{"kid": gatewaytest.StdioChild(map[string]string{gatewaytest.ReportVariable: home.Addr()})})
	r := wholetest.Listen(t, gatewaytest.Scripted(t, slowThenPid).Env("MCP_CONFIG", file))
	r.Log.Await(t, "mcp_connected", nil)
	s := r.StartTurn("go")
	victim, _ := home.Next(t)
	if err := victim.Kill(); err != nil {
		t.Fatal(err)
	}
	wantUnknown(t, s.All(t))

	r.Log.AwaitAll(t, 2, "mcp_connected", nil) // it comes back by itself
	if pid := gatewaytest.WantResult(t, r.Ask("again"), "pid"); pid == strconv.Itoa(victim.Pid) {
		t.Error("it is the old process that answered")
	}
}

// Three model calls that fail open the breaker: from then on turns are answered at
// once and nothing is sent, until the recovery time is over. Not parallel: time
// is measured.
func TestModelOutage(t *testing.T) {
	const attempts = 3 // of one model call
	api := gatewaytest.Scripted(t, strings.Repeat("error 503\n---\n", 3*attempts)+"loop\ntext Back\nfinish STOP")
	r := wholetest.Listen(t, api.Env("SLUICE_GEMINI_BREAKER", "3,1500ms,3"))
	for i := range 3 {
		e := gatewaytest.WantFailure(t, r.Ask("hi"), "model_unavailable", "error")
		if e.Str("message") != "AI service temporarily unavailable" || e.Data["recoverable"] != true || e.Str("service") != "gemini" || e.Data["retry_after_ms"].(float64) <= 0 {
			t.Errorf("turn %d: %s", i, e.Raw)
		}
	}
	if api.Calls() != 3*attempts {
		t.Fatalf("%d requests, want %d", api.Calls(), 3*attempts)
	}

	var wait time.Duration
	elapsed := testnet.Soonest(func() time.Duration {
		began := time.Now()
		frames := r.Ask("hi")
		elapsed := time.Since(began)
		e := gatewaytest.WantFailure(t, frames, "model_unavailable", "error")
		wait = time.Duration(e.Data["retry_after_ms"].(float64)) * time.Millisecond
		return elapsed
	})
	testnet.Prompt(t, "with an open breaker a turn", elapsed, 50*time.Millisecond)
	if wait <= 0 || wait > 1500*time.Millisecond {
		t.Errorf("with an open breaker a turn tells to wait %v", wait)
	}
	if api.Calls() != 3*attempts {
		t.Errorf("%d requests reached Gemini through an open breaker", api.Calls()-3*attempts)
	}
	if status, rep := r.Ready(); status != http.StatusOK || rep.Status != "degraded" || rep.Breakers[0].State != "open" || rep.Breakers[0].FailureCount != 3 {
		t.Errorf("/readyz: %d %+v", status, rep)
	}

	awaitRecovery(t, r, 0)
	for range 3 {
		gatewaytest.WantSuccess(t, r.Ask("hi"), "stop")
	}
	if _, rep := r.Ready(); rep.Status != "ok" || rep.Breakers[0].State != "closed" {
		t.Errorf("/readyz: %+v", rep)
	}
	r.Stop()
	wantBreakerLog(t, r.Log, "gemini", "3")
}

// One turn whose model fails never closes the model for others, nor do answers that came to their
// end without anything: with the usual breaker the next turn is served.
func TestOneTurnNeverClosesAModel(t *testing.T) {
	for name, script := range map[string]string{
		"failures": strings.Repeat("error 503\n---\n", 3),
		"odd ends": strings.Repeat("finish MALFORMED_FUNCTION_CALL\n---\n", 6) + strings.Repeat("finish STOP\n---\n", 6),
	} {
		t.Run(name, func(t *testing.T) {
			api := gatewaytest.Scripted(t, script+"loop\ntext Back\nfinish STOP")
			r := wholetest.Listen(t, api.Env())
			failed := map[string]int{"failures": 1, "odd ends": 6}[name]
			for range failed {
				if done := r.Ask("odd"); done[len(done)-1].Data["success"] != false {
					t.Errorf("the turn was answered: %v", done)
				}
			}
			gatewaytest.WantSuccess(t, r.Ask("hi"), "stop")
			if changes := r.Log.All("circuit_breaker_state_change"); len(changes) > 0 {
				t.Errorf("the breaker changed: %v", changes)
			}
			r.Stop()
		})
	}
}

// awaitRecovery waits until the recovery time of an open breaker is over. /readyz cuts
// off what is less than a millisecond, so it must say so twice.
func awaitRecovery(t *testing.T, r *gatewaytest.Running, breaker int) {
	t.Helper()
	looks := 0
	testnet.Eventually(t, "the breaker's recovery time is over", func() bool {
		if _, rep := r.Ready(); rep.Breakers[breaker].RetryAfter == 0 {
			looks++
		}
		return looks == 2
	})
}

// wantBreakerLog checks the log of one outage.
func wantBreakerLog(t *testing.T, log *gatewaytest.LogTail, service, threshold string) {
	t.Helper()
	opened := log.All("circuit_breaker_opened")
	if len(opened) != 1 || opened[0].Detail("service") != service || opened[0].Detail("failure_count") != threshold ||
		opened[0].Detail("threshold") != threshold || opened[0].Fields["level"] != "ERROR" {
		t.Errorf("circuit_breaker_opened: %v", opened)
	}
	for _, line := range log.All("error_occurred") {
		if line.Detail("error_type") == "" || line.Detail("error_message") == "" || line.Detail("recoverable") != "true" || line.Fields["request_id"] == "" {
			t.Errorf("error_occurred: %s", line.Raw)
		}
	}
	changes := log.All("circuit_breaker_state_change")
	states := []string{"closed", "open", "half-open", "closed"}
	if len(changes) != len(states)-1 {
		t.Fatalf("circuit_breaker_state_change: %v", changes)
	}
	for i, line := range changes {
		if line.Detail("service") != service || line.Detail("old_state") != states[i] || line.Detail("new_state") != states[i+1] ||
			line.Detail("failure_count") == "" || line.Detail("last_error") == "" || line.Fields["request_id"] == "" {
			t.Errorf("change %d: %s", i, line.Raw)
		}
	}
}

// The same for an MCP server, but here the turn continues without it.
func TestToolOutage(t *testing.T) {
	const turn = "call work {}\nfinish STOP\n---\ntext Sorry\nfinish STOP\n---\n"
	const without = "expect-contains /contents/0/parts/1/text Unavailable\ntext The todo list is unavailable\nfinish STOP\n---\n"
	api := gatewaytest.Scripted(t, strings.Repeat(turn, 3)+strings.Repeat(without, 5)+strings.Repeat(turn, 3))
	var down atomic.Bool
	var requests atomic.Int64
	tools := gatewaytest.ToolServer(t, map[string]func(context.Context) string{"work": func(context.Context) string { return "worked" }})
	url := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		requests.Add(1)
		if down.Load() {
			http.Error(w, "gone fishing", http.StatusServiceUnavailable)
			return
		}
		tools.ServeHTTP(w, req)
	}))
	r := wholetest.Listen(t, api.Env("MCP_SERVER_URL", url+"/mcp", "SLUICE_MCP_BREAKER", "3,1500ms,3"))
	r.Log.Await(t, "mcp_connected", nil)
	down.Store(true)
	for i := range 3 {
		frames := r.Ask("hi")
		gatewaytest.WantSuccess(t, frames, "stop")
		if e := gatewaytest.Only(frames, "error"); len(e) != 1 || !isUnavailable(e[0]) {
			t.Errorf("turn %d: errors %v", i, e)
		}
	}

	before := requests.Load()
	elapsed := testnet.Soonest(func() time.Duration {
		began := time.Now()
		frames := r.Ask("hi")
		elapsed := time.Since(began)
		gatewaytest.WantSuccess(t, frames, "stop")
		if e := gatewaytest.Only(frames, "error"); len(e) != 1 || !isUnavailable(e[0]) || e[0].Data["retry_after_ms"] == nil {
			t.Errorf("with an open breaker: errors %v", e)
		}
		return elapsed
	})
	testnet.Prompt(t, "with an open breaker a turn", elapsed, 50*time.Millisecond)
	if requests.Load() != before {
		t.Errorf("with an open breaker %d requests went out", requests.Load()-before)
	}
	_, rep := r.Ready()
	if rep.Breakers[1].State != "open" {
		t.Errorf("/readyz: %+v", rep)
	}

	down.Store(false)
	awaitRecovery(t, r, 1)
	for range 3 {
		if got := gatewaytest.WantResult(t, r.Ask("hi"), "work"); got != "worked" {
			t.Errorf("the tool said %q", got)
		}
	}
	r.Stop()
	wantBreakerLog(t, r.Log, "mcp:todo", "3")
}

func isUnavailable(e gatewaytest.Frame) bool {
	return e.Str("error_type") == "mcp_unavailable" && e.Str("message") == "MCP service temporarily unavailable" &&
		e.Data["fatal"] == false && e.Data["recoverable"] == true && e.Str("service") == "mcp:todo"
}
