package gateway

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"sluice/config"
	"sluice/internal/settings"
	"sluice/internal/testnet"
	"sluice/router"
	"sluice/store"
	"sluice/store/memory"
)

// asking is a gateway whose team is agents that are somewhere else.
func asking(t *testing.T, far http.RoundTripper, st store.Store, more ...router.AgentSpec) (*Gateway, peer) {
	t.Helper()
	env := map[string]string{"GEMINI_API_KEY": goldenKey, "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0"}
	cfg, err := settings.Loader().Load(nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, nil)
	if err != nil {
		t.Fatal(err)
	}
	agents := append([]router.AgentSpec{{
		ID: "far", Description: "Something far",
		Remote: &router.Remote{Card: "http://far/.well-known/agent-card.json", Headers: map[string]config.Secret{"X-Token": "s"}, Refresh: time.Minute},
	}}, more...)
	g, err := New(t.Context(), settings.Config{Config: cfg, File: settings.File{Path: "sluice.yaml", Team: router.Spec{Agents: agents}}, Version: "1"}, zerolog.Nop(), Seams{
		Store: st, Gemini: testnet.Serve(t, silent()), Agents: far,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g, peer{client: http.Client{Transport: testnet.Serve(t, g)}}
}

// A gateway is the remote agent of another one: its text is the other's, its question is
// too, and the next input goes to it.
func TestRemoteGateway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		far := startA2A(t, memory.New(memory.Config{}))
		_, near := asking(t, far.client.Transport, memory.New(memory.Config{}))
		if status, text := near.ask(t, "GET", "/agents/far", ""); status != 200 || !strings.Contains(text, `"kind":"remote","routable":true,"available":true,"tools":[]`) {
			t.Errorf("GET /agents/far: %d %s", status, text)
		}
		told := near.say(t, `{"input":"hello","conversation_id":"conv_1"}`)
		if told.Final != "You said: hello" || told.Reason != "stop" || told.Method != "only_agent" {
			t.Errorf("got %+v", told)
		}
		if told = near.say(t, `{"input":"ask me","conversation_id":"conv_1"}`); told.Final != "Which one?" || told.Reason != "input_required" {
			t.Errorf("a question: %+v", told)
		}
		told = near.say(t, `{"input":"The red one","conversation_id":"conv_1"}`)
		if told.Method != "sticky" || told.Agent != "far" || told.Reason != "input_required" || !slices.Contains(far.inputs, "ask me\n\nThe assistant asked: Which one?\n\nThe user answered: The red one") {
			t.Errorf("an answer: %+v; it got %q", told, far.inputs)
		}
		status, text := near.ask(t, "POST", "/chat/stream", `{"input":"fail"}`)
		if status != 200 || !strings.Contains(text, `"remote":true`) || !strings.Contains(text, `"error_type":"agent_unavailable"`) {
			t.Errorf("a failure: %d %s", status, text)
		}
		time.Sleep(time.Minute)
	})
}

// An agent that is unavailable is not chosen; when it is back it is.
func TestUnavailableRemoteAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		far := startA2A(t, nil)
		away := &switched{next: far.client.Transport}
		away.off.Store(true)
		_, near := asking(t, away, nil)
		told := near.say(t, `{"input":"hello"}`)
		if told.Method != "none" || !slices.Contains(told.Errors, "agent_unavailable") {
			t.Errorf("away: %+v", told)
		}
		away.off.Store(false)
		time.Sleep(time.Minute)
		if told = near.say(t, `{"input":"hello"}`); told.Final != "You said: hello" {
			t.Errorf("back: %+v", told)
		}
	})
}

// switched is a network that can fail.
type switched struct {
	next http.RoundTripper
	off  atomic.Bool
}

func (s *switched) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.off.Load() {
		return nil, http.ErrServerClosed
	}
	return s.next.RoundTrip(r)
}
