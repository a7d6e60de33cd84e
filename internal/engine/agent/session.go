package agent

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Session is a turn that is run step by step, and may be stored between two steps. It implements
// engine.Session. Use Open.
//
// ctx is that of all its steps; the question about calls that wait is asked with it.
type Session struct {
	agent    *Agent
	ctx      context.Context
	state    State
	question *chat.Question
	before   chat.Usage // of a session that continues
	calls    int        // of models, and tools, before
	tools    int
}

// Open begins the turn of a request, or continues with the one that req.Resumed has.
func (a *Agent) Open(ctx context.Context, req *chat.Request, sink stream.Sink) (*Session, error) {
	s := &Session{agent: a, ctx: ctx}
	var err error
	if s.state, err = a.Begin(ctx, req, sink); err != nil {
		return nil, err
	}
	if req.Resumed != nil {
		s.before, s.calls, s.tools = s.state.Usage, len(s.state.Model), len(s.state.Tools)
	}
	return s, s.findQuestion()
}

// Step continues to the next State that is worth storing; see Agent.Step.
func (s *Session) Step(ctx context.Context, sink stream.Sink) (err error) {
	if s.state, err = s.agent.Step(ctx, s.state, sink); err != nil {
		return err
	}
	return s.findQuestion()
}

// findQuestion sets the question about the waiting calls, if any.
func (s *Session) findQuestion() (err error) {
	s.question = nil
	if len(s.state.Open) > 0 {
		s.question, err = s.agent.Waits(s.ctx, s.state)
	}
	return err
}

// IsOver reports whether the agent has answered.
func (s *Session) IsOver() bool { return s.state.IsOver() }

// Waits returns the question that a person must answer before the next Step, or nil.
func (s *Session) Waits() *chat.Question { return s.question }

// State returns the session as one JSON value, for Request.Resumed.
func (s *Session) State() (jsontext.Value, error) {
	text, err := json.Marshal(s.state)
	return text, err
}

// Silent is State without the agent's texts next to its calls.
func (s *Session) Silent() (jsontext.Value, error) {
	text, err := json.Marshal(s.state.Silent())
	return text, err
}

// Result returns the usage and timings of the session since Open.
//
// For a continued session, earlier usage was counted before the pause.
func (s *Session) Result() stream.Result {
	return stream.Result{Reason: s.state.Reason, Usage: s.state.Usage.Since(s.before), Model: s.state.Model[s.calls:], Tools: s.state.Tools[s.tools:],
		Models: slices.Clone(s.state.Models)}
}
