package peers

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/base/testnet"
)

// journal is the file into which the quirks server writes what it really does.
type journal string

func newJournal(t testing.TB) journal { return journal(filepath.Join(t.TempDir(), "journal")) }

// lines returns what was written so far.
func (j journal) lines(t testing.TB) []string {
	t.Helper()
	content, err := os.ReadFile(string(j))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

// count returns how often a line was written.
func (j journal) count(t testing.TB, line string) int {
	t.Helper()
	return len(slices.DeleteFunc(j.lines(t), func(l string) bool { return l != line }))
}

// await waits until one of the lines is written, and returns it.
func (j journal) await(t testing.TB, lines ...string) string {
	t.Helper()
	found := -1
	testnet.Eventually(t, fmt.Sprintf("one of %q in the journal", lines), func() bool {
		found = slices.IndexFunc(lines, func(line string) bool { return j.count(t, line) > 0 })
		return found >= 0
	})
	return lines[found]
}

// pid returns the process that wrote last that it starts.
func (j journal) pid(t testing.TB) int {
	t.Helper()
	for _, line := range slices.Backward(j.lines(t)) {
		if s, ok := strings.CutPrefix(line, "pid "); ok {
			pid, err := strconv.Atoi(s)
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("the server has not started")
	return 0
}

// startQuirks starts the quirks server over HTTP.
func startQuirks(t testing.TB, settings ...string) (*fastMCP, journal) {
	t.Helper()
	j := newJournal(t)
	return startFastMCP(t, quirksServer, with(map[string]string{"QUIRKS_JOURNAL": string(j)}, settings...)), j
}

// called is a turn in which the model makes one call and reads its result, which
// must hold the given text. An empty text means that it is not looked at.
func called(call, got string) string {
	member := "output"
	if rest, failed := strings.CutPrefix(got, "! "); failed {
		member, got = "error", rest
	}
	expect := ""
	if got != "" {
		expect = fmt.Sprintf("expect-contains /contents/-/parts/0/functionResponse/response/%s %q\n", member, got)
	}
	return "call " + call + "\nfinish STOP\n---\n" + expect + "text That was it.\nfinish STOP\n"
}

// quirk is one call and what becomes of it.
type quirk struct {
	name, call string
	// reported is what the model must be given; after "! " it is an error.
	reported string
	// status and shown are those of the call's last event.
	status, shown string
}

func quirks() []quirk {
	return []quirk{
		{"text", `echo {"text":"Grüße, 你好 \u0001\u2028 {\"a\":1}"}`, "Grüße, 你好", "completed", "你好"},
		{"long text", `echo {"text":"` + strings.Repeat("long ", 20000) + `"}`, "[cut here: the first", "completed", "long"},
		{"exception", `crash {"secret":"x"}`, "! Error calling tool 'crash'", "failed", "The tool crash answered with an error"},
		{"exception's path", `crash {"secret":"x"}`, "! cannot open [path]", "failed", "The tool crash answered with an error"},
		{"tool error", `refuse {}`, "! the cupboard is empty", "failed", "The tool refuse answered with an error"},
		{"unknown tool", `teleport {}`, "! There is no tool", "failed", "does not exist"},
		{"structured", `order {"order":{"items":[{"name":"egg","amount":3}],"ship_to":{"street":"A","zip":"12345"}}}`,
			`"total":0.30000000000000004`, "completed", `"zip":"12345"`},
		{"nested argument that does not fit", `order {"order":{"items":[{"name":"egg"}],"ship_to":{"street":"A","zip":"x"}}}`,
			"! /order/ship_to/zip: must match", "failed", "do not fit its schema"},
		{"bound of a nested argument", `order {"order":{"items":[{"name":"egg","amount":0}],"ship_to":{"street":"A","zip":"12345"}}}`,
			"! /order/items/0/amount", "failed", "do not fit its schema"},
		{"recursive argument", `weigh {"part":{"name":"a","parts":[{"name":"b"},{"name":"c","parts":[{"name":"d"}]}]}}`,
			"4", "completed", "4"},
		{"no result", `nothing {}`, "", "completed", ""},
		{"progress and log before the answer", `report {"steps":3}`, "reported", "completed", "reported"},
		{"a question back", `ask {}`, "! ", "failed", "The tool ask answered with an error"},
	}
}

// What tools of all kinds answer reaches the model, over both generations of the
// protocol, and 100 calls at once do not get into each other's way. The simulator
// judges the schemas as the real API does. FastMCP resolves references in them
// unless it is asked not to; other tests have them resolved.
func TestQuirks(t *testing.T) {
	t.Parallel()
	server, _ := startQuirks(t, "QUIRKS_REFS", "keep")
	for _, protocol := range []string{"2025-11-25", "auto"} {
		t.Run(protocol, func(t *testing.T) {
			runQuirks(t, map[string]any{"url": server.url, "protocolVersion": protocol})
		})
	}
}

func runQuirks(t *testing.T, server map[string]any) {
	t.Helper()
	scripts := echoes(manyTurns)
	for i, q := range quirks() {
		scripts[fmt.Sprintf("quirk-%02d", i)] = called(q.call, q.reported)
	}
	env := mcpConfig(t, map[string]any{"quirks": server})
	maps.Copy(env, byMarker(t, scripts).env())
	g := startGateway(t, env)
	g.awaitLog(t, "mcp_connected")
	for i, q := range quirks() {
		tu := g.ask(t, fmt.Sprintf("quirk-%02d", i))
		ended := tu.calls(q.status)
		if len(ended) != 1 || !tu.done().Success || !strings.Contains(ended[0].Result+ended[0].Error, q.shown) {
			t.Errorf("%s: want one call %s with %q:\n%v", q.name, q.status, q.shown, tu)
		}
	}
	echoInParallel(t, g)
}
