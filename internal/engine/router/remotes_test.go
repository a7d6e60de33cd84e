package router_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/state/store/memory"
)

// A gateway is the remote agent of another one: its text is the other's, its question is
// too, and the next input goes to it.
func TestRemoteGateway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		far := wholetest.StartRemote(t, memory.New(memory.Config{}))
		_, near := wholetest.AskingTeam(t, far.Client.Transport, memory.New(memory.Config{}))
		if status, text := near.Ask(t, "GET", "/agents/far", ""); status != 200 || !strings.Contains(text, `"kind":"remote","routable":true,"available":true,"tools":[]`) {
			t.Errorf("GET /agents/far: %d %s", status, text)
		}
		got := near.RunTurn(t, `{"input":"hello","conversation_id":"conv_1"}`)
		if got.Final != "You said: hello" || got.Reason != "stop" || got.Method != "only_agent" {
			t.Errorf("got %+v", got)
		}
		if got = near.RunTurn(t, `{"input":"ask me","conversation_id":"conv_1"}`); got.Final != "Which one?" || got.Reason != "input_required" {
			t.Errorf("a question: %+v", got)
		}
		got = near.RunTurn(t, `{"input":"The red one","conversation_id":"conv_1"}`)
		if got.Method != "sticky" || got.Agent != "far" || got.Reason != "input_required" || !slices.Contains(far.Inputs, "ask me\n\nThe assistant asked: Which one?\n\nThe user answered: The red one") {
			t.Errorf("an answer: %+v; it got %q", got, far.Inputs)
		}
		status, text := near.Ask(t, "POST", "/chat/stream", `{"input":"fail"}`)
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
		far := wholetest.StartRemote(t, nil)
		unreachable := &switched{next: far.Client.Transport}
		unreachable.off.Store(true)
		_, near := wholetest.AskingTeam(t, unreachable, nil)
		got := near.RunTurn(t, `{"input":"hello"}`)
		if got.Method != "none" || !slices.Contains(got.Errors, "agent_unavailable") {
			t.Errorf("away: %+v", got)
		}
		unreachable.off.Store(false)
		time.Sleep(time.Minute)
		if got = near.RunTurn(t, `{"input":"hello"}`); got.Final != "You said: hello" {
			t.Errorf("back: %+v", got)
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
