package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/engine/agent"
	"sluice/internal/sim/geminisim"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// stepwise runs an agent's turn step by step, and stores its State and reads it back
// before each.
type stepwise struct{ agent *agent.Agent }

func (s stepwise) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	state, err := s.agent.Begin(ctx, req, sink)
	for err == nil && !state.IsOver() {
		if state, err = restored(state); err == nil {
			state, err = s.agent.Step(ctx, state, sink)
		}
	}
	return stream.Result{Reason: state.Reason, Usage: state.Usage, Model: state.Model, Tools: state.Tools}, err
}

func restored(s agent.State) (again agent.State, err error) {
	data, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(data, &again)
	}
	return again, err
}

// A turn whose State was stored and read back between any two steps is the turn that
// was never cut: the client gets the same bytes, and so does Gemini, signatures,
// arguments and all.
func TestStoredTurnIsTheSameOnTheWire(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../testdata/transcripts/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	several := 0
	for _, file := range files {
		tr := wholetest.ReadTranscript(t, file)
		if !tr.Has("gemini") || strings.HasPrefix(filepath.Base(file), "approval_") {
			continue // no turn is run, or one that the runner of this test cannot pause
		}
		if tr.Has("mcp") {
			several++
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			whole := sentWith(tr, t, gateway.Seams{})
			cut := sentWith(tr, t, gateway.Seams{Runner: func(a *agent.Agent) stream.Runner { return stepwise{a} }})
			if diff := cmp.Diff(whole, cut); diff != "" {
				t.Errorf("bodies that Gemini got (-whole +cut):\n%s", diff)
			}
		})
	}
	if several < 15 {
		t.Errorf("only %d transcripts have tools", several)
	}
}

// sentWith plays the transcript, compares the last reply with want.sse and returns the
// bodies that Gemini was sent.
func sentWith(tr wholetest.Transcript, t *testing.T, with gateway.Seams) (bodies []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim := tr.Gemini(t)
		replies := tr.PlayWith(t, sim, new(bytes.Buffer), with)
		tr.JudgeGemini(t, sim)
		if diff := cmp.Diff(tr.Get("want.sse"), wholetest.WithoutChance(replies[len(replies)-1].Text())); diff != "" {
			t.Errorf("want.sse (-want +got):\n%s", diff)
		}
		bodies = bodiesOf(sim.Requests())
	})
	return bodies
}

func bodiesOf(requests []geminisim.Request) (bodies []string) {
	for _, r := range requests {
		bodies = append(bodies, string(r.Body))
	}
	return bodies
}
