package otlp_test

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

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/telemetry/trace"
	"sluice/internal/base/telemetry/trace/tracetest"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store/memory"
)

// spied is a gateway whose spans a tree keeps.
func spied(t *testing.T, content string, env map[string]string, with gateway.Seams) *wholetest.Flow {
	t.Helper()
	cfg, file := wholetest.Configured(t, content, env)
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(io.Discard), with)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	f := &wholetest.Flow{T: t, Gateway: g}
	f.Client.Transport = testnet.Serve(t, g)
	return f
}

// A run that nobody answers continues without a request: its trace is one of its own.
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
		f := spied(t, content, map[string]string{"GEMINI_API_KEY": wholetest.Key, "GEMINI_BASE_URL": "http://gemini", "SLUICE_TODO_DB": "", "SLUICE_HEARTBEAT": "0"},
			gateway.Seams{Store: memory.New(memory.Config{}), Tracer: tree, Gemini: testnet.Serve(t, wholetest.Silent())})
		if status, stream := f.Post(`{"input":"CANARY","workflow":"unheard"}`); status != http.StatusOK {
			t.Fatal(stream)
		}
		time.Sleep(2 * time.Minute)
		want := "POST /chat/stream (server)\n" +
			"  invoke_workflow unheard waiting\n" +
			"invoke_workflow unheard after 2 failed failed: approval_rejected\n"
		if diff := cmp.Diff(want, wholetest.Names(tree)); diff != "" {
			t.Errorf("spans (-want +got):\n%s", diff)
		}
		if strings.Contains(tree.String(), "CANARY") {
			t.Error("somebody's text is in a span")
		}
	})
}

// An agent that another one calls is below the call, with what it does; of the two
// nothing is sent that they wrote.
func TestSpansOfDelegates(t *testing.T) {
	t.Parallel()
	tree := new(tracetest.Tree)
	o := wholetest.OpenOfficeWith(t, wholetest.OfficeFile, map[string]string{"GEMINI_MODEL": "m"}, map[string][]string{
		"boss":       {calling("delegate_to_researcher", `{"task":"CANARY"}`), `{"text":"CANARY"}`},
		"researcher": {calling("delegate_to_writer", `{"task":"CANARY"}`), `{"text":"CANARY"}`},
		"writer":     {`{"text":"CANARY"}`},
	}, gateway.Seams{Tracer: tree})
	if status, stream := o.Post(`{"input":"CANARY","workflow":"flow"}`); status != http.StatusOK || !strings.Contains(stream, `"success":true`) {
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
	if diff := cmp.Diff(want, wholetest.Names(tree)); diff != "" {
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

// A plain turn that a person lets continue links to the one that asked, whether the state is in
// the token or in a store.
func TestSpansAcrossAQuestion(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]string{"token": "", "store": "memory"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := new(tracetest.Tree)
			f := spied(t, "trace: {payloads: full}\n", map[string]string{"SLUICE_CONFIRM": "writes", "SLUICE_STORE": store}, gateway.Seams{Tracer: tree})
			_, stream := f.Post(`{"input":"Remind me to buy eggs"}`)
			var asked struct {
				Token string
				Calls []struct {
					ID string `json:"call_id"`
				}
			}
			wholetest.DataOf(t, stream, "approval", &asked)
			answer, err := json.Marshal(map[string]any{"approval": map[string]any{"token": asked.Token, "action": "approve"}})
			if err != nil {
				t.Fatal(err)
			}
			if status, stream := f.Post(string(answer)); status != http.StatusOK || !strings.Contains(stream, `"success":true`) {
				t.Fatal(stream)
			}
			const chat = "  chat offline-demo (client)\n"
			want := "POST /chat/stream (server)\n" + chat + "POST /chat/stream (server) after 1\n" + chat + "  execute_tool create_todo\n"
			if diff := cmp.Diff(want, wholetest.Names(tree)); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
			if span := trace.Of(t.Context()); strings.Contains(stream, "traceparent") || span.On() {
				t.Error("a client is told of spans")
			}
		})
	}
}
