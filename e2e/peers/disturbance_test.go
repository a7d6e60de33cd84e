package peers

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"sluice/internal/base/testnet"
)

// disturbed is a quirks server that can be killed and comes back.
type disturbed struct {
	*gateway
	journal journal
	kill    func(t *testing.T)
	revive  func(t *testing.T) // nil: the gateway does it
}

// What the quirks server is asked in TestDisturbances. Each turn has a marker.
func disturbances() map[string]string {
	scripts := map[string]string{
		"turn-leave":   called(`slow {"name":"leave","seconds":1}`, ""),
		"turn-timeout": called(`slow {"name":"timeout","seconds":4}`, "! took too long"),
		"turn-kill":    called(`slow {"name":"kill","seconds":30}`, "! whether it took effect is not known"),
	}
	for i := range attempts {
		name := fmt.Sprintf("idle-%d", i)
		scripts["turn-"+name] = called(fmt.Sprintf(`slow {"name":%q,"seconds":0}`, name), "")
		scripts[fmt.Sprintf("turn-back-%d", i)] = called(`echo {"text":"back again"}`, "")
	}
	return scripts
}

// attempts is how many turns a server has that has just come back. One should do;
// but on a busy machine Python may take longer for a new session than a turn waits
// for it.
const attempts = 5

// A server that is left, too slow, killed in the middle of a call or restarted
// between two calls costs a turn at most its own result, and no tool runs twice.
func TestDisturbances(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		server   func(t *testing.T) *disturbed
		left     string // what Python does when the client leaves
		sessions bool   // a restart between two turns is noticed only when a call gets 404
	}{
		{"http 2025-11-25", disturbedHTTP("2025-11-25"), "leave finished", true},
		{"http 2026-07-28", disturbedHTTP("auto"), "leave cancelled", false},
		{"sse", disturbedHTTP("2025-11-25", "FASTMCP_TRANSPORT", "sse"), "leave finished", false},
		{"stdio", disturbedStdio, "leave cancelled", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := tt.server(t)
			d.awaitLog(t, "mcp_connected")
			d.clientLeaves(t, tt.left)
			d.toolTimesOut(t)
			d.serverDies(t)
			if tt.sessions {
				d.restartWhileIdle(t)
			}
		})
	}
}

// startDisturbed starts a gateway that bounds each call to 2 s.
func startDisturbed(t *testing.T, entry map[string]any) *gateway {
	t.Helper()
	entry["timeout"] = "2s"
	env := mcpConfig(t, map[string]any{"quirks": entry})
	maps.Copy(env, byMarker(t, disturbances()).env())
	return startGateway(t, env)
}

func disturbedHTTP(protocol string, settings ...string) func(*testing.T) *disturbed {
	return func(t *testing.T) *disturbed {
		t.Helper()
		server, j := startQuirks(t, settings...)
		entry := map[string]any{"url": server.url, "protocolVersion": protocol}
		if len(settings) > 0 {
			entry["type"] = "sse"
		}
		return &disturbed{
			gateway: startDisturbed(t, entry), journal: j,
			kill:   func(*testing.T) { server.kill() },
			revive: func(t *testing.T) { server.restart(t) },
		}
	}
}

func disturbedStdio(t *testing.T) *disturbed {
	t.Helper()
	j := newJournal(t)
	return &disturbed{
		gateway: startDisturbed(t, map[string]any{
			"command": python(t, "python"), "args": []string{installed(t, quirksServer)},
			"env": quiet("QUIRKS_JOURNAL", string(j)), "dir": t.TempDir(),
		}),
		journal: j,
		kill: func(t *testing.T) {
			t.Helper()
			killProcess(t, j.pid(t))
		},
	}
}

// clientLeaves leaves while a tool runs.
func (d *disturbed) clientLeaves(t *testing.T, want string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := d.begin(t, ctx, "turn-leave")
	d.journal.await(t, "leave started")
	began := time.Now()
	cancel()
	s.leave()
	if got := d.journal.await(t, "leave finished", "leave cancelled"); got != want {
		t.Errorf("the client has left, and Python wrote %q, want %q", got, want)
	}
	t.Logf("%s, %d ms after the client has left", want, time.Since(began).Milliseconds())
}

// toolTimesOut waits until it times out.
func (d *disturbed) toolTimesOut(t *testing.T) {
	t.Helper()
	tu := d.ask(t, "turn-timeout")
	unknown, errs := tu.calls("unknown"), tu.of("error")
	if len(unknown) != 1 || len(errs) != 1 || errs[0].ErrorType != "timeout" || errs[0].Fatal || !tu.done().Success {
		t.Errorf("want one call unknown and one error timeout, not fatal:\n%v", tu)
	}
}

// serverDies kills the server while a tool runs.
func (d *disturbed) serverDies(t *testing.T) {
	t.Helper()
	s := d.begin(t, t.Context(), "turn-kill")
	d.journal.await(t, "kill started")
	began := time.Now()
	d.kill(t)
	tu, err := s.rest()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the turn was over %d ms after the server's end", time.Since(began).Milliseconds())
	if len(tu.calls("unknown")) != 1 || !tu.done().Success {
		t.Errorf("want one call unknown:\n%v", tu)
	}
	d.comeBack(t)
	if n := d.journal.count(t, "kill started"); n != 1 {
		t.Errorf("the call was executed %d times", n)
	}
}

// comeBack brings the server back. The next turn has its tools again.
func (d *disturbed) comeBack(t *testing.T) {
	t.Helper()
	began := time.Now()
	if d.revive != nil {
		d.revive(t)
	} else {
		d.awaitLogs(t, 2, "mcp_connected")
	}
	up := time.Since(began)
	for i := range attempts {
		if tu := d.ask(t, fmt.Sprintf("turn-back-%d", i)); len(tu.calls("completed")) == 1 {
			t.Logf("the server was back after %d ms, and turn %d ended %d ms later", up.Milliseconds(), i+1, (time.Since(began) - up).Milliseconds())
			return
		}
	}
	t.Fatal("the tools are not back")
}

// restartWhileIdle restarts the server between two turns. That costs the session;
// the call is sent once more, and executed once.
func (d *disturbed) restartWhileIdle(t *testing.T) {
	t.Helper()
	var tu turn
	for i := range attempts {
		d.awaitConnected(t)
		d.kill(t)
		d.revive(t)
		name, repeated := fmt.Sprintf("idle-%d", i), len(d.log("mcp_call_repeated"))
		tu = d.ask(t, "turn-"+name)
		executed := d.journal.count(t, name+" finished")
		if len(tu.calls("completed")) == 0 && executed == 0 {
			continue // it was too slow, and nothing has happened
		}
		if executed != 1 || len(tu.calls("completed")) != 1 || !tu.done().Success {
			t.Errorf("after a restart the call was executed %d times:\n%v", executed, tu)
		}
		if len(d.log("mcp_call_repeated")) == repeated {
			t.Error("the call was not sent once more: was there no session?")
		}
		return
	}
	t.Fatalf("after a restart no call is completed:\n%v", tu)
}

// awaitConnected waits until the gateway has a session with the server.
func (d *disturbed) awaitConnected(t *testing.T) {
	t.Helper()
	testnet.Eventually(t, "the gateway connects", func() bool {
		var reply struct{ MCP []struct{ Connected bool } }
		d.get(t, "/readyz", &reply)
		return reply.MCP[0].Connected
	})
}
