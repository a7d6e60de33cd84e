// This file decides what answers a request: the built-in agent, the team, a workflow, or
// what a paused turn continues with. It also puts around that what every answer goes through,
// in one order: questions to people outside, then the memory of conversations, then the checks,
// then the recorder, then what answers.

package gateway

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"sluice/handlers"
	"sluice/internal/base/fault"
	"sluice/internal/engine/agent/delegate"
	"sluice/internal/engine/router"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/model"
	"sluice/internal/quality/stop"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// answerer is something that answers: the built-in agent, the team, or a workflow, and
// what stands around it. Outside first: questions to people, who are asked whatever the
// answer then looks like; the memory of conversations, which keeps an answer as it was
// sent; the checks, if they apply to the request.
//
// It is made with a registry and never changes.
type answerer struct {
	bare    stream.Runner
	whole   stream.Runner // without checks
	timeout time.Duration // of a workflow's run; 0: that of a turn
	sum     string        // of a workflow's definition
	kind    string        // of a workflow's runs, and how long they are kept
	days    *int

	// goingOn returns the answerer that continues with a workflow's run in place of beginning
	// one; before are the events of its turn, which another process has emitted.
	goingOn func(run *engine.Run, before []stream.Event) *answerer
	before  []stream.Event

	memory *state // nil: nothing is remembered
	asking func(stream.Runner) stream.Runner
}

// answererMaker puts around a runner the parts that every answer passes.
type answererMaker struct {
	tape      *turnTape
	tools     *serverTools
	state     *state
	tokens    int  // of a turn of several agents
	countsAll bool // clients receive all figures of the usage
}

// newAnswerer makes an answerer of r. asking puts questions to people around it, and before are
// the events of its turn that another process has emitted.
func (m *answererMaker) newAnswerer(r stream.Runner, asking func(stream.Runner) stream.Runner, before ...stream.Event) *answerer {
	a := &answerer{bare: m.tape.withRecording(m.tools.withCaller(r)), memory: m.state, asking: asking, before: before}
	a.whole = a.around(a.bare)
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

// around puts questions to people and the memory of conversations around a runner.
func (a *answerer) around(r stream.Runner) stream.Runner {
	return a.asking(a.memory.remembering(r, a.before))
}

// forRequest returns what answers a request, and within which time; agent is who does, if that
// is certain.
//
// Most requests are not checked and share one runner, made once; a checked one gets a
// runner of its own.
func (a *answerer) forRequest(r *registry, req *chat.Request, agent string) (stream.Runner, time.Duration, error) {
	timeout := a.timeout
	if timeout == 0 {
		timeout = r.timeout(req)
	}
	if req.Answer != nil { // neither style nor checks touch it
		runner, err := r.structured(a.bare, req, agent)
		if err != nil {
			return nil, 0, err
		}
		return a.around(runner), timeout, nil
	}
	if !r.quality.Applies(req, agent) {
		return a.whole, timeout, nil
	}
	return a.around(r.checked(a.bare, agent)), timeout, nil
}

// choose returns what answers a request, and within which time.
//
// It is handlers.Config.Choose: it runs before anything of the turn is kept or reported, so an
// error here is a plain HTTP reply. A resumed request was checked when it was first sent.
func (g *Gateway) choose(req *chat.Request) (stream.Runner, time.Duration, error) {
	r := g.registry.Load().of(req.Principal.Tenant)
	agent := req.Agent
	if agent == "" && len(r.spec.Agents) == 1 && req.Workflow == "" {
		agent = r.spec.Agents[0].ID
	}
	by, err := g.answererOf(r, req)
	if err == nil && req.Resumed == nil {
		err = r.refuse(req, agent)
	}
	if err == nil {
		err = g.clientTools(r, req, agent)
	}
	if err == nil && by.sum != "" && g.state != nil {
		err = g.state.runs.Admit()
	}
	if err != nil {
		return nil, 0, err
	}
	runner, timeout, err := by.forRequest(r, req, agent)
	if err == nil && req.App != nil && len(req.App.Stop) > 0 {
		runner = stop.Around(runner, req.App.Stop)
	}
	return runner, timeout, err
}

// answererOf returns what a request names, or continues with.
func (g *Gateway) answererOf(r *registry, req *chat.Request) (*answerer, error) {
	switch {
	case req.Resumed != nil:
		return g.choosePaused(r, req)
	case req.Workflow != "":
		if f := r.flows.byName[req.Workflow]; f != nil {
			f.class(req)
			return f, nil
		}
		return nil, handlers.UnknownWorkflow()
	case r.team != nil:
		return r.runner, nil
	}
	return g.alone, nil
}

// choosePaused returns what continues with a turn that was paused.
//
// Who asked is in the state, which the service of approvals has verified.
func (g *Gateway) choosePaused(r *registry, req *chat.Request) (*answerer, error) {
	switch {
	case req.Resumed.By == chat.PausedAgent:
		return g.alone, nil
	case req.Resumed.By == chat.PausedWorkflow:
		return g.chooseRun(r, req)
	case r.team != nil:
		return r.runner, nil
	}
	return nil, &fault.Error{Type: fault.ApprovalConflict, Message: "What asked is not configured any more"}
}

// refuse returns why a request cannot be answered as it is; agent is whom it is for, if
// that is certain.
//
// Faults are listed in the order of the fields, as for a body that is wrong by itself.
func (r *registry) refuse(req *chat.Request, agent string) error {
	wrong := new(chat.ValidationError)
	if req.Agent != "" && (r.team == nil || !r.team.Knows(req.Agent)) {
		wrong.Add("/agent", chat.UnknownAgent())
	}
	if faults := r.quality.Check(req, agent); len(faults) > 0 {
		for _, name := range chat.FieldNames(false) {
			wrong.Add("/"+name, faults[name])
		}
	}
	if form := req.Answer; form != nil && (req.Channel != "" && req.Channel != "web" || r.quality.Enforces(agent)) {
		wrong.Add(form.At, &chat.FieldError{Code: chat.CodeUnsupported, Message: "is not served beside a channel, nor where answers must pass checks (quality.mode)"})
	}
	if len(wrong.Fields) == 0 {
		return nil
	}
	return wrong
}

// clientTools sees to it that the client's tools are for a turn that one agent answers from
// the start, and have names of their own; agent is who answers, if that is certain. The code of
// the protocol has its own copy of what the application says.
func (g *Gateway) clientTools(r *registry, req *chat.Request, agent string) error {
	if req.App == nil || len(req.App.Tools) == 0 {
		return nil
	}
	agent = r.only(agent)
	taken := g.names(r, agent)
	if taken == nil || req.Workflow != "" {
		req.App.Tools, req.App.Choice = nil, chat.ToolChoice{}
		req.App.Ignored = append(req.App.Ignored, "tools")
		return nil
	}
	wrong := new(chat.ValidationError)
	for _, t := range req.App.Tools {
		if taken(t.Name) {
			wrong.Add(t.At, chat.NameTaken())
		}
	}
	if len(wrong.Fields) == 0 {
		return nil
	}
	return wrong
}

// only returns the id of the agent that answers a request for no workflow, where that is certain;
// agent is whom the request is for, if it says so.
func (r *registry) only(agent string) string {
	if agent == "" && r.team != nil && r.spec.Config.Off {
		return r.spec.Agents[0].ID
	}
	return agent
}

// names says which names of tools an agent has; empty is the built-in one. nil: it can have no
// tools of a client, as it is somewhere else, or not known before the turn.
func (g *Gateway) names(r *registry, agent string) func(name string) bool {
	if r.team == nil {
		return func(name string) bool { return g.tools.client.Tools(context.Background()).Lookup(name) != nil }
	}
	for _, a := range r.spec.Agents {
		if a.ID == agent && a.Remote == nil {
			tools := g.tools.client.Select(a.Tools).Tools(context.Background())
			return func(name string) bool {
				id, delegates := strings.CutPrefix(name, router.DelegatePrefix)
				return tools.Lookup(name) != nil || delegates && slices.Contains(a.Delegates, id)
			}
		}
	}
	return nil
}

// timeout returns how long the turn of a request may take.
func (r *registry) timeout(req *chat.Request) time.Duration {
	if r.team == nil || req.Agent != "" || len(r.spec.Agents) == 1 {
		return r.single
	}
	return r.spec.TurnTimeout
}

// class says of a request for a run what the workflow does, where it says nothing itself.
//
// A request's own kind and retention win.
func (a *answerer) class(req *chat.Request) {
	req.Kind = cmp.Or(req.Kind, a.kind)
	if req.RetentionDays == nil {
		req.RetentionDays = a.days
	}
}
