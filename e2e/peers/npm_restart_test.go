package peers

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/internal/base/testnet"
)

// A server of every kind is killed in the middle of a call and comes back. The turn
// ends as every turn ends; a tool that may have done something is not run again, one
// that only reads may be; the next turn uses the server as if nothing had been.
func TestKilledInACall(t *testing.T) {
	t.Parallel()
	const slow, long = `slow {"ms":60000}`, `trigger-long-running-operation {"duration":60,"steps":60}`
	for name, tt := range map[string]struct {
		server nodeServer
		adjust func(map[string]any)
		slow   string
		unsafe bool // the slow tool may have changed something
	}{
		"everything, stdio":           {server: everything("stdio"), slow: long},
		"everything, streamable HTTP": {server: everything("streamableHttp"), slow: long},
		"everything, SSE":             {server: everything("sse"), slow: long},
		"fastmcp, stdio":              {server: fastmcp(), slow: slow, unsafe: true},
		"fastmcp, HTTP with sessions": {server: fastmcp("http"), slow: slow, unsafe: true},
		"server2026, 2025-11-25":      {server: server2026("http"), slow: slow, unsafe: true},
		"server2026, 2026-07-28":      {server: server2026("http"), adjust: pinned2026, slow: slow, unsafe: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entry, l := entryOf(t, tt.server)
			if tt.adjust != nil {
				tt.adjust(entry)
			}
			// The tool that only reads is called again and must not take a minute then.
			entry["timeout"] = 3
			model := scripted(t, "call "+tt.slow+"\nfinish STOP\n---\ntext It is gone.\nfinish STOP\n---\n"+
				"call echo {\"message\":\"again\"}\nfinish STOP\n---\ntext It is back.\nfinish STOP\n"+lenient)
			g := startWith(t, model, map[string]any{"peer": entry})
			s := g.begin(t, t.Context(), "go on")
			s.until(t, "the slow call", inProgress)
			awaitCall(t, g)
			if l == nil {
				g.killChild(t, tt.server)
			} else {
				l.kill()
				l.startAgain(t)
			}
			tu, err := s.rest()
			if err != nil {
				t.Fatal(err)
			}
			wantKilled(t, tu, tt.unsafe)
			g.awaitTools(t, "peer")
			if tu := g.ask(t, "and again"); tu.done().FinalOutput != "It is back." || tu.ends()[0].Status != completed {
				t.Errorf("%v", tu)
			}
		})
	}
}

func pinned2026(entry map[string]any) { protocol(entry, "2026-07-28") }

// awaitCall gives a call that was announced the time to reach the server: nothing
// that can be seen from outside says that it has.
func awaitCall(t *testing.T, g *gateway) {
	t.Helper()
	g.awaitLog(t, "mcp_tool_called")
	testnet.SleepAtLeast(200 * time.Millisecond)
}

func wantKilled(t *testing.T, tu turn, unsafe bool) {
	t.Helper()
	if !tu.done().Success || tu.done().FinalOutput != "It is gone." || len(tu.ends()) != 1 || tu.of("error")[0].Fatal {
		t.Fatalf("%v", tu)
	}
	switch end := tu.ends()[0]; {
	case unsafe && end.Status != "unknown", !unsafe && end.Status != failed:
		t.Errorf("the call ended as %s:\n%v", end.Status, tu)
	}
}

// A child that dies between two calls of a turn is started again; what it keeps in
// a file is still there.
func TestKilledBetweenCalls(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for name, tt := range map[string]struct {
		server            nodeServer
		write, read, kept string
	}{
		"memory": {
			memory(filepath.Join(dir, "graph.jsonl")),
			`create_entities {"entities":[{"name":"Ada","entityType":"person","observations":[]}]}`, `read_graph {}`, `"Ada"`,
		},
		"filesystem": {
			filesystem(dir),
			`write_file {"path":"` + dir + `/kept.txt","content":"kept"}`, `read_text_file {"path":"` + dir + `/kept.txt"}`, "kept",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := scripted(t, "call "+tt.write+"\nfinish STOP\n---\ndelay 200ms\ncall "+tt.read+"\nfinish STOP\n---\ntext Done.\nfinish STOP\n---\n"+
				"call "+tt.read+"\nfinish STOP\n---\ntext Done.\nfinish STOP\n"+lenient)
			g := startWith(t, model, map[string]any{"peer": tt.server.child(t)})
			s := g.begin(t, t.Context(), "go on")
			s.until(t, "the first result", func(e event) bool { return e.Status == completed })
			g.killChild(t, tt.server)
			tu, err := s.rest()
			if err != nil || !tu.done().Success || len(tu.ends()) != 2 || tu.ends()[1].Status == "unknown" {
				t.Fatalf("%v\n%v", err, tu)
			}
			g.awaitTools(t, "peer")
			tu = g.ask(t, "and again")
			if got := model.reported(t); !tu.done().Success || !strings.Contains(got[0], tt.kept) {
				t.Errorf("%q, and\n%v", got, tu)
			}
		})
	}
}

// A server over HTTP that was restarted between two turns knows our session no
// more. The next turn does not notice: the call is sent again in a new session,
// because it is proven that nothing ran. Servers say that a session is unknown in
// different ways.
func TestRestartedBetweenTurns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		server nodeServer
		call   string // one that must not run twice
	}{
		"everything, streamable HTTP": {everything("streamableHttp"), `toggle-simulated-logging {}`},
		"everything, SSE":             {everything("sse"), `toggle-simulated-logging {}`},
		"fastmcp, HTTP with sessions": {fastmcp("http"), `slow {"ms":4}`},
		"server2026":                  {server2026("http"), `slow {"ms":4}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entry, l := entryOf(t, tt.server)
			turn := "call " + tt.call + "\nfinish STOP\n---\ntext Done.\nfinish STOP\n---\n"
			g := startWith(t, scripted(t, turn+turn+turn+lenient), map[string]any{"peer": entry})
			g.ask(t, "go on")
			l.kill()
			l.startAgain(t)
			g.awaitTools(t, "peer")
			tu := g.ask(t, "and again")
			if e := tu.ends()[0]; e.Status == failed && tu.of("error")[0].ErrorType == "mcp_unavailable" {
				// The new session took longer than a call waits for one.
				g.awaitLogs(t, 2, "mcp_connected")
				tu = g.ask(t, "and once more")
			}
			if !tu.done().Success || tu.ends()[0].Status != completed {
				t.Errorf("%v", tu)
			}
		})
	}
}
