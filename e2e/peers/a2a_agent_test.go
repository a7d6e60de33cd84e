package peers

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"sluice/internal/base/testnet"
)

const (
	a2aAgent  = "examples/a2a/agent.py"
	a2aConfig = "examples/a2a/sluice.yaml"
)

// startAgent starts the agent of the example, which offers one interface, and a gateway
// whose team has it.
func startAgent(t *testing.T, face, pace string) (*gateway, *process) {
	t.Helper()
	addr := freeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	agent := startServer(t, command{
		name: installed(t, a2aPython), args: []string{"-u", installed(t, a2aAgent), "--port", port, "--interface", face, "--pace", pace}, env: baseEnv(),
	}, addr)
	g := startGateway(t, map[string]string{"SLUICE_CONFIG": installed(t, a2aConfig), "AGENT_PORT": port, "SLUICE_STORE": "memory"})
	testnet.Eventually(t, "the agent is available", func() bool {
		var agent struct{ Available bool }
		g.get(t, "/agents/weather-agent", &agent)
		return agent.Available
	})
	return g, agent
}

// An agent made with the SDK for Python, a process of its own, is one of the team, in each
// version and over each binding: routed to, streamed, asked back, failing, cancelled.
func TestAgentInPython(t *testing.T) {
	t.Parallel()
	for _, face := range []string{"JSONRPC/1.0", "HTTP+JSON/1.0", "JSONRPC/0.3", "HTTP+JSON/0.3"} {
		t.Run(face, func(t *testing.T) {
			t.Parallel()
			g, agent := startAgent(t, face, "0.1")
			const answer = "The weather in Lisbon: rain, 17 degrees, wind from the west."
			tu := g.ask(t, "What is the weather like in Lisbon?")
			if got := tu.done(); got.FinalOutput != answer || got.FinishReason != "stop" || len(tu.of("response_delta")) < 3 {
				t.Errorf("the answer:\n%v", tu)
			}
			g.wantAnswer(t, "What is the weather like?", "For which city?", "input_required")
			g.wantAnswer(t, "Lisbon", answer, "stop")
			if tu := g.ask(t, "What is the weather like in Atlantis?"); tu.done().Success || strings.Contains(tu.String(), "no such city") {
				t.Errorf("a failure:\n%v", tu)
			}
			ctx, leave := context.WithCancel(t.Context())
			s := g.openBody(t, ctx, `{"input":"What is the weather like in Paris?","on_disconnect":"cancel"}`)
			s.until(t, "a word", func(e event) bool { return e.kind == "response_delta" })
			leave()
			if err := agent.await("cancel", func(text string) bool { return strings.Contains(text, "cancelled ") }); err != nil {
				t.Error(err)
			}
		})
	}
}

// wantAnswer runs a turn of one conversation, and checks its answer and how it ended.
func (g *gateway) wantAnswer(t *testing.T, input, answer, reason string) {
	t.Helper()
	tu, err := g.openBody(t, t.Context(), fmt.Sprintf(`{"input":%q,"conversation_id":"conv_1"}`, input)).rest()
	if err != nil {
		t.Fatal(err)
	}
	if got := tu.done(); got.FinalOutput != answer || got.FinishReason != reason {
		t.Errorf("%s:\n%v", input, tu)
	}
}

// openBody begins a turn with this request.
func (g *gateway) openBody(t *testing.T, ctx context.Context, body string) *stream {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.base+"/chat/stream", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	s, err := g.openWith(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.leave)
	return s
}

// The example of an agent in Python shows what its README says: each step of the demo
// checks itself.
func TestExampleA2A(t *testing.T) {
	t.Parallel()
	python := installed(t, a2aPython)
	demonstrate(t, "examples/a2a/run.sh", "PYTHON="+python, "PORT="+freePort(t), "AGENT_PORT="+freePort(t))
}
