package engine_test

import (
	"context"
	"os"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/run"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// allowing are agents that say a word, and wait for a person before they say the next.
type allowing struct{ resumed []*chat.Resumed }

func (a *allowing) Begin(_ context.Context, _ string, req *chat.Request, _ stream.Sink) (engine.Session, error) {
	a.resumed = append(a.resumed, req.Resumed)
	return &allowingSession{allowed: req.Resumed != nil}, nil
}

type allowingSession struct {
	allowed, over bool
	asks          *chat.Question
}

func (s *allowingSession) Step(_ context.Context, sink stream.Sink) error {
	if !s.allowed {
		s.asks = &chat.Question{Kind: chat.AskTools, Calls: []chat.PendingCall{{ID: "call_1", Tool: "echo", Server: "s"}}}
		return sink.Emit(&stream.Delta{Text: "one "})
	}
	s.over = true
	return sink.Emit(&stream.Delta{Text: "two"})
}

func (s *allowingSession) IsOver() bool          { return s.over }
func (s *allowingSession) Waits() *chat.Question { return s.asks }
func (s *allowingSession) State() (jsontext.Value, error) {
	p, err := run.Pause(chat.PausedAgent, 1)
	if err != nil {
		return nil, err
	}
	return p.Encode(), nil
}
func (s *allowingSession) Silent() (jsontext.Value, error) { return s.State() }
func (s *allowingSession) Result() stream.Result           { return stream.Result{Reason: stream.Stop} }

const allowed = `
  w:
    nodes:
      x: {type: agent, agent: writer}
      h: {type: human, prompt: "Well?"}
    edges: [{from: x, to: h}]
`

// A run that waits continues with the sessions of its nodes, as this version stores it and as
// the version before the tree did.
func TestRunOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	own := new(allowing)
	a := &asking{t: t, runner: runOf(t, allowed, engine.Config{Agents: own})}
	if _, err := a.run(&chat.Request{Input: "hi"}); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile("../../run/testdata/workflow-1.json")
	if err != nil {
		t.Fatal(err)
	}
	call := a.paused.Questions[0].Calls[0].ID
	for name, state := range map[string][]byte{"as it is": a.paused.State, "of the version before": before} {
		own.resumed = nil
		lines, err := a.run(&chat.Request{Resumed: &chat.Resumed{By: chat.PausedWorkflow, State: state, Decisions: []chat.Decision{{CallID: call, Action: chat.Approve}}}})
		if diff := cmp.Diff([]string{"x started", `x inner "two"`, "x completed", "h started", "h waiting"}, lines); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		if _, err := run.ReadPaused(chat.PausedAgent, own.resumed[0].State); err != nil || len(own.resumed) != 1 {
			t.Errorf("%s: the session: %v", name, err)
		}
		lines, err = a.run(&chat.Request{Resumed: &chat.Resumed{By: chat.PausedWorkflow, State: a.paused.State, Decisions: []chat.Decision{{CallID: "h", Action: chat.Approve}}}})
		if diff := cmp.Diff([]string{"h started", "h completed"}, lines); diff != "" || err != nil || a.paused != nil {
			t.Errorf("%s, at its end: %v (-want +got):\n%s", name, err, diff)
		}
	}
	p, err := run.ReadPaused(chat.PausedWorkflow, before)
	if err != nil {
		t.Fatal(err)
	}
	if h, err := engine.ReadHeader(p); err != nil || h.Workflow != "w" {
		t.Errorf("its header: %+v, %v", h, err)
	}
}
