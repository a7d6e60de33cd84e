package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/settings"
	"sluice/internal/testnet"
	"sluice/store/memory"
	"sluice/trace"
	"sluice/trace/tracetest"
)

// spied is a gateway whose spans a tree keeps.
func spied(t *testing.T, content string, env map[string]string, with Seams) *flowing {
	t.Helper()
	cfg, file := configured(t, content, env)
	g, err := New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(io.Discard), with)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	f := &flowing{t: t, Gateway: g}
	f.client.Transport = testnet.Serve(t, g)
	return f
}

// names returns a tree without attributes, but for links and how a run ended.
func names(tree *tracetest.Tree) string {
	var b strings.Builder
	for line := range strings.Lines(tree.String()) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		b.WriteString(line[:indent])
		for _, word := range strings.Fields(line) {
			key, value, isAttribute := strings.Cut(word, "=")
			switch {
			case !isAttribute:
				b.WriteString(word + " ")
			case key == "link":
				fmt.Fprintf(&b, "after %s ", strings.TrimLeft(strings.Split(value, "-")[2], "0"))
			case key == "sluice.workflow.status":
				b.WriteString(value + " ")
			}
		}
		b.WriteString("\n")
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

// A run that nobody answers goes on without a request: its trace is one of its own.
func TestSpansOfARunThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tree := new(tracetest.Tree)
		const content = `
agents: {writer: {description: Writes, role: Writer}}
workflows:
  unheard:
    nodes:
      wait: {type: human, prompt: CANARY, timeout: 60s}
      after: {type: agent, agent: writer}
    edges: [{from: wait, to: after}]
`
		f := spied(t, content, map[string]string{"GEMINI_API_KEY": goldenKey, "GEMINI_BASE_URL": "http://gemini", "SLUICE_TODO_DB": "", "SLUICE_HEARTBEAT": "0"},
			Seams{Store: memory.New(memory.Config{}), Tracer: tree, Gemini: testnet.Serve(t, silent())})
		if status, stream := f.post(`{"input":"CANARY","workflow":"unheard"}`); status != http.StatusOK {
			t.Fatal(stream)
		}
		time.Sleep(2 * time.Minute)
		want := "POST /chat/stream (server)\n" +
			"  invoke_workflow unheard waiting\n" +
			"invoke_workflow unheard after 2 failed failed: approval_rejected\n"
		if diff := cmp.Diff(want, names(tree)); diff != "" {
			t.Errorf("spans (-want +got):\n%s", diff)
		}
		if strings.Contains(tree.String(), "CANARY") {
			t.Error("somebody's text is in a span")
		}
	})
}

// An agent that another one calls is below the call, with what it does; of the two
// nothing is told that they wrote.
func TestSpansOfDelegates(t *testing.T) {
	t.Parallel()
	tree := new(tracetest.Tree)
	o := openOfficeWith(t, officeFile, map[string]string{"GEMINI_MODEL": "m"}, map[string][]string{
		"boss":       {calling("delegate_to_researcher", `{"task":"CANARY"}`), `{"text":"CANARY"}`},
		"researcher": {calling("delegate_to_writer", `{"task":"CANARY"}`), `{"text":"CANARY"}`},
		"writer":     {`{"text":"CANARY"}`},
	}, Seams{Tracer: tree})
	if status, stream := o.post(`{"input":"CANARY","workflow":"flow"}`); status != http.StatusOK || !strings.Contains(stream, `"success":true`) {
		t.Fatal(stream)
	}
	const chat = "chat m (client)\n"
	want := "POST /chat/stream (server)\n" +
		"  invoke_workflow flow completed\n" +
		"    node one\n" +
		"      invoke_agent boss\n" +
		"        " + chat + "        " + chat +
		"        execute_tool delegate_to_researcher\n" +
		"          invoke_agent researcher\n" +
		"            " + chat + "            " + chat +
		"            execute_tool delegate_to_writer\n" +
		"              invoke_agent writer\n" +
		"                " + chat
	if diff := cmp.Diff(want, names(tree)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if strings.Contains(tree.String(), "CANARY") {
		t.Error("somebody's text is in a span")
	}
}

// calling is a model's call of a tool.
func calling(name, arguments string) string {
	return fmt.Sprintf(`{"functionCall":{"name":%q,"args":%s}}`, name, arguments)
}

// A plain turn that a person lets go on links to the one that asked, whether the state is
// in the token or in a store.
func TestSpansAcrossAQuestion(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]string{"token": "", "store": "memory"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := new(tracetest.Tree)
			f := spied(t, "trace: {payloads: full}\n", map[string]string{"SLUICE_CONFIRM": "writes", "SLUICE_STORE": store}, Seams{Tracer: tree})
			_, stream := f.post(`{"input":"Remind me to buy eggs"}`)
			var asked struct {
				Token string
				Calls []struct {
					ID string `json:"call_id"`
				}
			}
			dataOf(t, stream, "approval", &asked)
			answer, err := json.Marshal(map[string]any{"approval": map[string]any{"token": asked.Token, "action": "approve"}})
			if err != nil {
				t.Fatal(err)
			}
			if status, stream := f.post(string(answer)); status != http.StatusOK || !strings.Contains(stream, `"success":true`) {
				t.Fatal(stream)
			}
			const chat = "  chat offline-demo (client)\n"
			want := "POST /chat/stream (server)\n" + chat + "POST /chat/stream (server) after 1\n" + chat + "  execute_tool create_todo\n"
			if diff := cmp.Diff(want, names(tree)); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
			if span := trace.Of(t.Context()); strings.Contains(stream, "traceparent") || span.On() {
				t.Error("a client is told of spans")
			}
		})
	}
}
