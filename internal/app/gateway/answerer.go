// This file decides which part answers a request: the built-in agent, the team, a workflow, or the
// continuation of a paused turn. It also puts the common layers around each answer, from the
// outside in: questions to people, the memory of conversations, the checks, the recorder.

package gateway

import (
	"cmp"
	"context"
	"time"

	"sluice/internal/engine/agent/delegate"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// answerer is a part that answers, such as the built-in agent, the team or a workflow, with the
// layers around it. The layers, from the outside in: questions to people, the memory of
// conversations, which stores the answer as sent, and the checks if they apply.
//
// It is made with a registry and never changes.
type answerer struct {
	bare      stream.Runner
	unchecked stream.Runner // without checks
	timeout   time.Duration // of a workflow's run; 0: that of a turn
	sum       string        // of a workflow's definition
	kind      string        // of a workflow's runs, and how long they are kept
	days      *int

	// goingOn returns the answerer that continues a workflow's run in place of beginning one.
	// before has the events that another process has emitted in its turn.
	goingOn func(run *engine.Run, before []stream.Event) *answerer
	before  []stream.Event

	memory *storedState // nil: nothing is remembered
	asking func(stream.Runner) stream.Runner
}

// answererMaker puts around a runner the parts that every answer passes.
type answererMaker struct {
	tape      *turnTape
	tools     *serverTools
	state     *storedState
	tokens    int  // of a turn of several agents
	countsAll bool // clients receive all figures of the usage
}

// newAnswerer makes an answerer of r. It calls asking to put questions to people around r. before
// has the events that another process has emitted in its turn.
func (m *answererMaker) newAnswerer(r stream.Runner, asking func(stream.Runner) stream.Runner, before ...stream.Event) *answerer {
	a := &answerer{bare: m.tape.withRecording(m.tools.withCaller(r)), memory: m.state, asking: asking, before: before}
	a.unchecked = a.withLayers(a.bare)
	return a
}

// newShared makes an answerer of several agents that may call others, such as a team or a workflow.
// The agents share a budget and the knowledge of each other's calls.
func (m *answererMaker) newShared(callees *delegate.Agents, asking func(stream.Runner) stream.Runner, run runFunc, before ...stream.Event) *answerer {
	countsAll := m.countsAll
	shared := func(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
		own, err := callees.Request(req)
		if err != nil {
			return stream.Result{}, err
		}
		result, err := run(ctx, own, sink)
		result.Keyed = countsAll
		return result, err
	}
	return m.newAnswerer(model.Budgeted{Runner: runFunc(shared), Tokens: m.tokens}, asking, before...)
}

// runFunc is a stream.Runner.
type runFunc func(context.Context, *chat.Request, stream.Sink) (stream.Result, error)

// Run implements stream.Runner.
func (f runFunc) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	return f(ctx, req, sink)
}

// withLayers puts questions to people and the memory of conversations around a runner.
func (a *answerer) withLayers(r stream.Runner) stream.Runner {
	return a.asking(a.memory.withMemory(r, a.before))
}

// setDefaults gives a request for a run the workflow's kind and retention, if the request lacks
// them.
//
// A request's own kind and retention win.
func (a *answerer) setDefaults(req *chat.Request) {
	req.Kind = cmp.Or(req.Kind, a.kind)
	if req.RetentionDays == nil {
		req.RetentionDays = a.days
	}
}
