//go:build unix

package faults

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sluice/e2e/process"
	"sluice/e2e/toolserver"
	"sluice/internal/base/testnet"
)

// The process is asked to end while a thousand streams run.
func TestP1Sigterm(t *testing.T) {
	api := newCrowdModel(t)
	sigterm(t, 1000, 4*time.Second, api, func() { close(api.let) })
}

// The same with ten thousand; where a process may have no more than 20,000 descriptors, with
// almost as many as that.
func TestP2SigtermWithTenThousand(t *testing.T) {
	process.Needed(t)
	n := 10_000
	if limit := descriptors(t); limit < 2*n+500 {
		n = limit/2 - 100
	}
	if n < 9000 {
		t.Skipf("%d descriptors are too few", descriptors(t))
	}
	api, let := newCrowdModelElsewhere(t)
	sigterm(t, n, 8*time.Second, api, let)
}

// sigterm asks a gateway to end that has n streams: readiness fails at once, nothing new begins,
// what can end does, and the rest is reported when the time to drain is over. None is lost.
func sigterm(t *testing.T, n int, drain time.Duration, api *crowdModel, let func()) {
	const quick = 50
	g := process.Start(t, api.env("SLUICE_DRAIN_TIMEOUT", drain.String(), "SLUICE_MAX_STREAMS", fmt.Sprint(n)))
	a := gather(t, g.Addr, n, func(i int) string {
		if i < quick {
			return fmt.Sprint("quick ", i)
		}
		return fmt.Sprint("hold ", i)
	})
	a.allBegun(n)
	if _, r := readiness(t, g.Addr); r.Streams != n {
		t.Errorf("%d streams run, want %d", r.Streams, n)
	}
	began := time.Now()
	g.Signal(syscall.SIGTERM)
	draining(t, g.Addr)
	let()
	waits := map[int]int{}
	got := a.count(n, func(o *outcome) {
		if o.end.Reason == "shutdown" {
			wasCut(t, o)
			waits[o.fault.RetryAfter]++
		}
	})
	if got["stop"] != quick || got["shutdown shutting_down"] != n-quick {
		t.Errorf("of %d streams, %d of them able to end: %v", n, quick, got)
	}
	if len(waits) < 3 {
		t.Errorf("clients are to come back after %v, all of them at the same time", waits)
	}
	if code := g.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	testnet.Prompt(t, "the end of the process", time.Since(began), 25*time.Second)
	if _, err := net.Dial("tcp", g.Addr); err == nil {
		t.Error("the port is still open")
	}
}

// A second signal means now.
func TestP3SecondSignal(t *testing.T) {
	const n = 20
	for _, second := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(second.String(), func(t *testing.T) {
			api := newCrowdModel(t)
			g := process.Start(t, api.env("SLUICE_DRAIN_TIMEOUT", "1h", "SLUICE_WRITE_TIMEOUT", "1h"))
			a := gather(t, g.Addr, n, func(int) string { return "hold" })
			a.allBegun(n)
			g.Signal(syscall.SIGTERM)
			g.Await("draining")
			g.Signal(second)
			began := time.Now()
			code := g.Wait()
			testnet.Prompt(t, "the end after the second signal", time.Since(began), time.Second)
			if code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			if got := a.count(n, func(o *outcome) { wasCut(t, o) }); got["shutdown shutting_down"] != n {
				t.Errorf("the streams ended with %v", got)
			}
		})
	}
}

// A client that reads nothing does not keep the process from ending: it is cut after the time of a
// write, and where that did not happen the drain has an end all the same.
func TestP4StuckClient(t *testing.T) {
	var said atomic.Int32
	flood := process.NewModel(t, func(q *process.Question) {
		for range 2000 {
			said.Add(1)
			q.SendText(strings.Repeat("flood ", 2000))
		}
	})
	g := process.Start(t, with(flood.Env(), "SLUICE_DRAIN_TIMEOUT", "1s", "SLUICE_WRITE_TIMEOUT", "3s", "SLUICE_REQUEST_TIMEOUT", "1h", "SLUICE_MODEL_TIMEOUT", "1h"))
	conn, err := net.Dial("tcp", g.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	if _, err := conn.Write([]byte(turnRequest("hi"))); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, "the model can say no more, as the client does not read", func() bool {
		before := said.Load()
		testnet.SleepAtLeast(300 * time.Millisecond)
		return before > 0 && said.Load() == before
	})
	began := time.Now()
	g.Signal(syscall.SIGTERM)
	if code := g.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	testnet.Prompt(t, "the end of the process", time.Since(began), 10*time.Second)
	ended := g.Logged("request_completed")
	if len(ended) != 1 || ended[0].Detail("finish_reason") != "cancelled" || !strings.Contains(ended[0].Detail("cause"), "i/o timeout") {
		t.Errorf("the client was not cut for its silence: %v", ended)
	}
}

// slowTool is an MCP server with one tool, pay, which changes something and answers when it is
// let go.
type slowTool struct {
	url    string
	called chan struct{}
	let    chan struct{}
	calls  atomic.Int32
}

func newSlowTool(t testing.TB) *slowTool {
	s := &slowTool{called: make(chan struct{}, 10), let: make(chan struct{})}
	pay := toolserver.Tool("pay", "Pays.", `{"type":"object"}`, `"readOnlyHint":false,"destructiveHint":false`)
	srv := httptest.NewServer(&toolserver.Server{Name: "slow", List: pay, Call: s.pay})
	t.Cleanup(srv.Close)
	s.url = srv.URL + "/mcp"
	return s
}

// pay is a call of the tool.
func (s *slowTool) pay(_ http.ResponseWriter, r *http.Request, _ toolserver.Call) toolserver.Reply {
	s.calls.Add(1)
	s.called <- struct{}{}
	select {
	case <-s.let:
		return toolserver.Text("paid")
	case <-r.Context().Done():
		return ""
	}
}

// A call that changes something is awaited while the process drains, and its outcome is logged:
// also that it is not known, if the time is over before.
func TestP5ToolThatChangesSomething(t *testing.T) {
	for name, answered := range map[string]bool{"answers in time": true, "does not answer": false} {
		t.Run(name, func(t *testing.T) {
			tool := newSlowTool(t)
			model := process.NewModel(t, func(q *process.Question) {
				if q.Results == 0 {
					q.Call("pay", "{}")
				} else {
					q.SendText("Paid.")
				}
			})
			drain := "1h"
			if !answered {
				drain = "200ms"
			}
			g := process.Start(t, with(model.Env(), "MCP_SERVER_URL", tool.url, "SLUICE_DRAIN_TIMEOUT", drain, "SLUICE_TOOL_TIMEOUT", "1h",
				"SLUICE_REQUEST_TIMEOUT", "1h", "SLUICE_MODEL_TIMEOUT", "1h"))
			g.Await("mcp_connected")
			turn := make(chan outcome, 1)
			go func() { turn <- talk(t.Context(), g.Addr, "pay", nil) }()
			receive(t, "the call", tool.called)
			g.Signal(syscall.SIGTERM)
			g.Await("draining")
			want, calls := "shutdown shutting_down", "unknown"
			if answered {
				testnet.SleepAtLeast(300 * time.Millisecond) // a gateway that does not wait has ended by then
				close(tool.let)
				want, calls = "stop", "completed"
			}
			o := receive(t, "the turn's end", turn)
			if got := o.says(); got != want || strings.Join(o.calls, " ") != calls {
				t.Errorf("the turn ended with %q, its call %v; want %q and %s", got, o.calls, want, calls)
			}
			if !answered && o.fault != nil && o.fault.Recoverable {
				t.Error("the client is asked to send again what may have paid")
			}
			if code := g.Wait(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			lines := g.Logged("mcp_tool_result")
			if len(lines) != 1 || lines[0].Detail("success") != fmt.Sprint(answered) || tool.calls.Load() != 1 {
				t.Errorf("%d calls; the log has %v", tool.calls.Load(), lines)
			}
		})
	}
}

// Killed, a gateway cannot say anything: no client takes its stream for a whole one, and the
// next gateway is there within a second.
func TestP6Sigkill(t *testing.T) {
	const n = 50
	api := newCrowdModel(t)
	g := process.Start(t, api.env())
	a := gather(t, g.Addr, n, func(int) string { return "hold" })
	a.allBegun(n)
	ask := exec.Command(process.Program(t), "ask", "--url", "http://"+g.Addr, "hold")
	var says strings.Builder
	ask.Stderr = &says
	if err := ask.Start(); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, "the stream of sluice ask", func() bool { _, r := readiness(t, g.Addr); return r.Streams == n+1 })
	g.Kill()
	if got := a.count(n, nil); got["broken"] != n {
		t.Errorf("of %d streams: %v, want all of them broken", n, got)
	}
	_ = ask.Wait()
	if code := ask.ProcessState.ExitCode(); code != 1 || !strings.Contains(says.String(), "broke before done") {
		t.Errorf("sluice ask ended with %d: %s", code, &says)
	}

	began := time.Now()
	next := process.Launch(t, exec.Command(process.Program(t)), api.env("SLUICE_ADDR", g.Addr))
	next.Await("listening")
	status, _ := readiness(t, g.Addr)
	testnet.Prompt(t, "the start of the next gateway", time.Since(began), time.Second)
	if status != http.StatusOK {
		t.Errorf("/readyz of the next gateway: %d", status)
	}
	wantTurn(t, g.Addr, "hi", "stop")
}

// descriptors is how many a process of ours may have open: its own limit at most, which Go raises
// to what may be had.
func descriptors(t testing.TB) int {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Skip(err)
	}
	return int(min(limit.Cur, 1<<20))
}
