package wholetest

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/fault"
	"sluice/internal/base/testnet"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/router"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// echo answers by the begin of the input: slow, ask and fail; and records the input.
type echo struct{ inputs *[]string }

// Run implements stream.Runner.
func (c echo) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	*c.inputs = append(*c.inputs, req.Input)
	switch {
	case strings.HasPrefix(req.Input, "slow"):
		return Slow{Words: 5, Runs: new(int)}.Run(ctx, req, sink)
	case strings.HasPrefix(req.Input, "ask"), strings.HasSuffix(req.Input, "The request:\nask me"):
		_ = sink.Emit(&stream.Delta{Text: "Which one?"})
		return stream.Result{Reason: stream.InputRequired}, nil
	case strings.HasPrefix(req.Input, "fail"):
		_ = sink.Emit(&stream.Delta{Text: "Hm. "})
		return stream.Result{}, &fault.Error{Type: fault.ModelUnavailable, Message: "The model is unavailable"}
	}
	_ = sink.Emit(&stream.Thinking{Content: "let me see"})
	_ = sink.Emit(&stream.Delta{Text: "You said: "})
	_ = sink.Flush()
	return stream.Result{Reason: stream.Stop}, sink.Emit(&stream.Delta{Text: req.Input})
}

// Remote is a gateway served over A2A, and what its runner got.
type Remote struct {
	Peer
	Inputs []string
}

// StartRemote starts a gateway; st is nil for no store.
func StartRemote(t *testing.T, st store.Store) *Remote {
	t.Helper()
	env := map[string]string{"GEMINI_API_KEY": Key, "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0", "SLUICE_MAX_STREAMS": "2"}
	cfg, err := settings.Loader().Load(nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole := settings.Config{Config: cfg, File: settings.File{A2A: settings.A2A{Enabled: true}}, Version: "1.2.3"}
	a := new(Remote)
	g, err := gateway.New(t.Context(), whole, zerolog.Nop(), gateway.Seams{
		Store: st, Gemini: testnet.Serve(t, Silent()),
		Runner: func(*agent.Agent) stream.Runner { return echo{&a.Inputs} },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	a.Client = http.Client{Transport: testnet.Serve(t, g)}
	return a
}

// MessageOf returns the parameters of a message.
func MessageOf(id, text string, more ...string) string {
	return `{"message":{"messageId":"` + id + `","role":"ROLE_USER","parts":[{"text":"` + text + `"}]` + strings.Join(more, "") + `}}`
}

// AskingTeam is a gateway whose team is agents that are somewhere else.
func AskingTeam(t *testing.T, far http.RoundTripper, st store.Store, more ...router.AgentSpec) (*gateway.Gateway, Peer) {
	t.Helper()
	env := map[string]string{"GEMINI_API_KEY": Key, "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0"}
	cfg, err := settings.Loader().Load(nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, nil)
	if err != nil {
		t.Fatal(err)
	}
	agents := append([]router.AgentSpec{{
		ID: "far", Description: "Something far",
		Remote: &router.Remote{Card: "http://far/.well-known/agent-card.json", Headers: map[string]config.Secret{"X-Token": "s"}, Refresh: time.Minute},
	}}, more...)
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: settings.File{Path: "sluice.yaml", Team: router.Spec{Agents: agents}}, Version: "1"}, zerolog.Nop(), gateway.Seams{
		Store: st, Gemini: testnet.Serve(t, Silent()), Agents: far,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g, Peer{Client: http.Client{Transport: testnet.Serve(t, g)}}
}
