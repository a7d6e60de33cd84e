package main

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/testnet"
)

// callers takes the calls home of the tool slow.
type callers struct{ ln net.Listener }

func takeCalls(t *testing.T) *callers {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return &callers{ln}
}

func (c *callers) addr() string { return c.ln.Addr().String() }

// next waits until the tool runs and returns the process that it runs in. The
// tool ends when conn is closed.
func (c *callers) next(t *testing.T) (process *os.Process, conn net.Conn) {
	t.Helper()
	_ = c.ln.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
	conn, err := c.ln.Accept()
	if err != nil {
		t.Fatalf("waiting for the tool slow: %v", err)
	}
	t.Cleanup(func() { conn.Close() })
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	process, err = os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	return process, conn
}

// mcpProcess starts an MCP server on addr, as a process, and returns the address.
func mcpProcess(t *testing.T, addr, report string) (address string, kill func()) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), path, addr)
	cmd.Env = append(os.Environ(), childVariable+"=http", reportVariable+"="+report, "GORACE="+noExitSleep)
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

// wantUnknown checks a turn whose tool was lost while it ran: it goes on, and ends
// well.
func wantUnknown(t *testing.T, frames []frame) {
	t.Helper()
	wantSuccess(t, frames, "stop")
	calls := only(frames, "tool_call")
	if last := calls[len(calls)-1]; last.str("tool_name") != "slow" || last.str("status") != "unknown" || last.str("error") == "" {
		t.Errorf("the call ended with %s", last.raw)
	}
	errs := only(frames, "error")
	if len(errs) != 1 || errs[0].str("error_type") != "tool_execution_failed" || errs[0].data["fatal"] != false || errs[0].data["recoverable"] != true {
		t.Errorf("errors: %v", errs)
	}
}

// wantResult checks a turn with one tool call, and returns what the tool said.
func wantResult(t *testing.T, frames []frame, tool string) string {
	t.Helper()
	wantSuccess(t, frames, "stop")
	calls := only(frames, "tool_call")
	if len(calls) != 2 || calls[1].str("tool_name") != tool || calls[1].str("status") != "completed" {
		t.Fatalf("calls: %v", calls)
	}
	return calls[1].str("result")
}

func TestHTTPServerKilledInACall(t *testing.T) {
	t.Parallel()
	home := takeCalls(t)
	addr, kill := mcpProcess(t, "127.0.0.1:0", home.addr())
	r := start(t, scripted(t, slowThenPid).env("MCP_SERVER_URL", "http://"+addr+"/mcp"))
	s := r.say("go")
	victim, _ := home.next(t)
	kill()
	wantUnknown(t, s.all(t))

	mcpProcess(t, addr, home.addr())
	if pid := wantResult(t, r.ask("again"), "pid"); pid == strconv.Itoa(victim.Pid) {
		t.Error("it is the old process that answered")
	}
}

func TestChildKilledInACall(t *testing.T) {
	t.Parallel()
	home := takeCalls(t)
	file := mcpConfig(t, map[string]any{"kid": stdioChild(map[string]string{reportVariable: home.addr()})})
	r := start(t, scripted(t, slowThenPid).env("MCP_CONFIG", file))
	r.log.await(t, "mcp_connected", nil)
	s := r.say("go")
	victim, _ := home.next(t)
	if err := victim.Kill(); err != nil {
		t.Fatal(err)
	}
	wantUnknown(t, s.all(t))

	r.log.awaitAll(t, 2, "mcp_connected", nil) // it comes back by itself
	if pid := wantResult(t, r.ask("again"), "pid"); pid == strconv.Itoa(victim.Pid) {
		t.Error("it is the old process that answered")
	}
}

// Three model calls that fail open the breaker: from then on turns are answered at
// once and nothing is sent, until the recovery time is over. Not parallel: time
// is measured.
func TestModelOutage(t *testing.T) {
	const attempts = 3 // of one model call
	api := scripted(t, strings.Repeat("error 503\n---\n", 3*attempts)+"loop\ntext Back\nfinish STOP")
	r := start(t, api.env("SLUICE_GEMINI_BREAKER", "9,1500ms,3"))
	for i := range 3 {
		e := wantFailure(t, r.ask("hi"), "model_unavailable", "error")
		if e.str("message") != "AI service temporarily unavailable" || e.data["recoverable"] != true || e.str("service") != "gemini" || e.data["retry_after_ms"].(float64) <= 0 {
			t.Errorf("turn %d: %s", i, e.raw)
		}
	}
	if api.Calls() != 3*attempts {
		t.Fatalf("%d requests, want %d", api.Calls(), 3*attempts)
	}

	var wait time.Duration
	took := testnet.Soonest(func() time.Duration {
		began := time.Now()
		frames := r.ask("hi")
		elapsed := time.Since(began)
		e := wantFailure(t, frames, "model_unavailable", "error")
		wait = time.Duration(e.data["retry_after_ms"].(float64)) * time.Millisecond
		return elapsed
	})
	if took > atOnce || wait <= 0 || wait > 1500*time.Millisecond {
		t.Errorf("with an open breaker a turn took %v, and tells to wait %v", took, wait)
	}
	if api.Calls() != 3*attempts {
		t.Errorf("%d requests reached Gemini through an open breaker", api.Calls()-3*attempts)
	}
	if status, rep := r.ready(); status != http.StatusOK || rep.Status != "degraded" || rep.Breakers[0].State != "open" || rep.Breakers[0].FailureCount != 9 {
		t.Errorf("/readyz: %d %+v", status, rep)
	}

	<-time.After(wait)
	for range 3 {
		wantSuccess(t, r.ask("hi"), "stop")
	}
	if _, rep := r.ready(); rep.Status != "ok" || rep.Breakers[0].State != "closed" {
		t.Errorf("/readyz: %+v", rep)
	}
	r.stop()
	wantBreakerLog(t, r.log, "gemini", "9")
}

// wantBreakerLog checks the log of one outage.
func wantBreakerLog(t *testing.T, log *logTail, service, threshold string) {
	t.Helper()
	opened := log.all("circuit_breaker_opened")
	if len(opened) != 1 || opened[0].detail("service") != service || opened[0].detail("failure_count") != threshold ||
		opened[0].detail("threshold") != threshold || opened[0].fields["level"] != "ERROR" {
		t.Errorf("circuit_breaker_opened: %v", opened)
	}
	for _, line := range log.all("error_occurred") {
		if line.detail("error_type") == "" || line.detail("error_message") == "" || line.detail("recoverable") != "true" || line.fields["request_id"] == "" {
			t.Errorf("error_occurred: %s", line.raw)
		}
	}
	changes := log.all("circuit_breaker_state_change")
	states := []string{"closed", "open", "half-open", "closed"}
	if len(changes) != len(states)-1 {
		t.Fatalf("circuit_breaker_state_change: %v", changes)
	}
	for i, line := range changes {
		if line.detail("service") != service || line.detail("old_state") != states[i] || line.detail("new_state") != states[i+1] ||
			line.detail("failure_count") == "" || line.detail("last_error") == "" || line.fields["request_id"] == "" {
			t.Errorf("change %d: %s", i, line.raw)
		}
	}
}

// The same for an MCP server, but here the turn goes on without it.
func TestToolOutage(t *testing.T) {
	const turn = "call work {}\nfinish STOP\n---\ntext Sorry\nfinish STOP\n---\n"
	const without = "expect-contains /systemInstruction/parts/0/text Unavailable\ntext The todo list is away\nfinish STOP\n---\n"
	api := scripted(t, strings.Repeat(turn, 3)+strings.Repeat(without, 5)+strings.Repeat(turn, 3))
	var away atomic.Bool
	var requests atomic.Int64
	tools := toolServer(t, map[string]func(context.Context) string{"work": func(context.Context) string { return "worked" }})
	url := serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		requests.Add(1)
		if away.Load() {
			http.Error(w, "gone fishing", http.StatusServiceUnavailable)
			return
		}
		tools.ServeHTTP(w, req)
	}))
	r := start(t, api.env("MCP_SERVER_URL", url+"/mcp", "SLUICE_MCP_BREAKER", "3,1500ms,3"))
	r.log.await(t, "mcp_connected", nil)
	away.Store(true)
	for i := range 3 {
		frames := r.ask("hi")
		wantSuccess(t, frames, "stop")
		if e := only(frames, "error"); len(e) != 1 || !isUnavailable(e[0]) {
			t.Errorf("turn %d: errors %v", i, e)
		}
	}

	before := requests.Load()
	took := testnet.Soonest(func() time.Duration {
		began := time.Now()
		frames := r.ask("hi")
		elapsed := time.Since(began)
		wantSuccess(t, frames, "stop")
		if e := only(frames, "error"); len(e) != 1 || !isUnavailable(e[0]) || e[0].data["retry_after_ms"] == nil {
			t.Errorf("with an open breaker: errors %v", e)
		}
		return elapsed
	})
	if took > atOnce || requests.Load() != before {
		t.Errorf("with an open breaker a turn took %v, and %d requests went out", took, requests.Load()-before)
	}
	_, rep := r.ready()
	if rep.Breakers[1].State != "open" {
		t.Errorf("/readyz: %+v", rep)
	}

	away.Store(false)
	<-time.After(time.Duration(rep.Breakers[1].RetryAfter) * time.Millisecond)
	for range 3 {
		if got := wantResult(t, r.ask("hi"), "work"); got != "worked" {
			t.Errorf("the tool said %q", got)
		}
	}
	r.stop()
	wantBreakerLog(t, r.log, "mcp:todo", "3")
}

func isUnavailable(e frame) bool {
	return e.str("error_type") == "mcp_unavailable" && e.str("message") == "MCP service temporarily unavailable" &&
		e.data["fatal"] == false && e.data["recoverable"] == true && e.str("service") == "mcp:todo"
}
