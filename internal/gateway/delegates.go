// This file lets agents give tasks to other agents of the file, as calls of tools. A
// delegate is a tool named after its agent; a call of it is a session (sessions.go). The
// bounds hold for a turn as a whole: how deep tasks are handed on, how many sessions there
// are, and how many at once. A call beyond a bound is refused with a hint for the model,
// and the turn goes on.

package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/agent"
	"sluice/chat"
	"sluice/fault"
	"sluice/router"
	"sluice/tool"
)

// Limits of delegates. A turn is one of a team or a run of a workflow.
const (
	maxDelegateTask    = 5000     // code points
	maxDelegateContext = 16 << 10 // bytes
	maxSummary         = 4 << 10  // bytes of what the caller is given
	maxDelegateText    = 2 << 20  // bytes of what one session may say
	maxDelegateDepth   = 3
	maxDelegates       = 8  // sessions at the same time
	maxDelegations     = 20 // sessions of a turn
)

// delegateServer stands in events for the server of the tools that are agents.
const delegateServer = "agents"

const delegateSchema = `{"type":"object","additionalProperties":false,"required":["task"],"properties":{` +
	`"task":{"type":"string","minLength":1,"maxLength":5000,"description":"What is to be done. It sees nothing else of this conversation: say all that it must know"},` +
	`"context":{"type":"string","maxLength":16384,"description":"Facts and texts that the task needs"}}}`

// delegation is the agents of a file as other agents may call them.
//
// It belongs to one registry, or to one pinned definition. It is filled in by add and does
// not change after that, so that turns read it without a lock. nil: no agent calls another;
// the methods that say so work on that.
type delegation struct {
	specs   map[string]router.AgentSpec
	agents  map[string]*agent.Agent
	short   map[string]*agent.Agent // the same without tools, for summaries
	tools   map[string]agent.Tools  // what each may call
	timeout time.Duration           // of those that have none of their own
	records *sessionRecords
}

// newDelegation returns what calls agents; nil if none calls another.
func newDelegation(specs []router.AgentSpec, timeout time.Duration) *delegation {
	if !slices.ContainsFunc(specs, func(a router.AgentSpec) bool { return len(a.Delegates) > 0 }) {
		return nil
	}
	return &delegation{
		specs: map[string]router.AgentSpec{}, agents: map[string]*agent.Agent{}, short: map[string]*agent.Agent{},
		tools: map[string]agent.Tools{}, timeout: timeout,
	}
}

// add makes an agent: it may call others, and others it. Before the first turn all agents
// have been added.
//
// It works on nil and then makes a plain agent. The short form of each agent is made here
// as well, for summaries: the same model and prompt, one step, no tools.
func (d *delegation) add(spec router.AgentSpec, cfg agent.Config) *agent.Agent {
	if d == nil {
		return agent.New(cfg)
	}
	short := cfg
	short.Tools, short.MaxSteps = noTools{}, 1
	d.specs[spec.ID], d.short[spec.ID] = spec, agent.New(short)
	if len(spec.Delegates) > 0 {
		cfg.Tools, cfg.Inner = &delegates{own: cfg.Tools, all: d, caller: spec.ID, callees: spec.Delegates}, true
	}
	a := agent.New(cfg)
	d.agents[spec.ID], d.tools[spec.ID] = a, cfg.Tools
	return a
}

// noTools are the tools of an agent that has none.
type noTools struct{}

func (noTools) Tools(context.Context) *tool.Set { return new(tool.Set) }

func (noTools) Call(_ context.Context, call tool.Call) (tool.Result, error) {
	return tool.Result{}, notDone(call.Name, "there is no such tool")
}

// delegatedTurn is what the sessions of a turn have in common.
//
// Its counters are shared by all agents of the turn, which run at the same time.
type delegatedTurn struct {
	req     *chat.Request
	begun   atomic.Int64
	running atomic.Int64
}

type (
	delegatedTurnKey struct{}
	delegateChainKey struct{}
)

// within returns a context for a turn whose agents may call others.
//
// The number of sessions that a paused turn had begun is taken over from its state, so that
// a pause gives no new ones. It works on nil.
func (d *delegation) within(ctx context.Context, req *chat.Request) context.Context {
	if d == nil {
		return ctx
	}
	turn := &delegatedTurn{req: req}
	if req.Resumed != nil {
		var s teamState
		if json.Unmarshal(req.Resumed.State, &s) == nil { // else the turn itself says so
			turn.begun.Store(s.Begun)
		}
	}
	return context.WithValue(ctx, delegatedTurnKey{}, turn)
}

// begunIn returns how many sessions the turn of ctx has begun, those before a pause
// included.
func begunIn(ctx context.Context) int64 {
	if turn, ok := ctx.Value(delegatedTurnKey{}).(*delegatedTurn); ok {
		return min(turn.begun.Load(), maxDelegations)
	}
	return 0
}

// delegates are the tools of an agent that may call others.
//
// last is a cache: a set of tools is made again only when the agent's own has changed.
type delegates struct {
	own     agent.Tools
	all     *delegation
	caller  string
	callees []string
	last    atomic.Pointer[delegatingSet]
}

// delegatingSet is a set of tools with the agents that may be called. Turns share it, as
// what is made of a set is kept by its pointer.
type delegatingSet struct{ of, with *tool.Set }

// Tools implements agent.Tools.
//
// A tool of a server that has the name of a delegate is left out: the delegate wins.
func (d *delegates) Tools(ctx context.Context) *tool.Set {
	of := d.own.Tools(ctx)
	if s := d.last.Load(); s != nil && s.of == of {
		return s.with
	}
	with := &tool.Set{Unavailable: of.Unavailable}
	for _, s := range of.Specs {
		if d.callee(s.Name) == "" {
			with.Specs = append(with.Specs, s)
		}
	}
	for _, id := range d.callees {
		a := d.all.specs[id]
		with.Specs = append(with.Specs, tool.Spec{
			Name: router.DelegatePrefix + id, Server: delegateServer, InputSchema: jsontext.Value(delegateSchema),
			Description: "Gives a task to another agent, " + cmp.Or(a.Name, id) + ", and returns its answer. What that agent does: " + a.Description,
			// Whatever happens in the session is judged there, call by call.
			Annotations: tool.Annotations{ReadOnly: true, Idempotent: true},
			Confirm:     tool.ConfirmNever,
		})
	}
	d.last.Store(&delegatingSet{of, with})
	return with
}

// Spec implements agent.Callees. The agent may be further within.
//
// name is a tool of the agent id, which may itself be a delegate.
func (d *delegates) Spec(ctx context.Context, id, name string) *tool.Spec {
	if a := d.all.tools[id]; a != nil {
		return a.Tools(ctx).Lookup(name)
	}
	return nil
}

// callee returns the agent that a tool stands for; empty: none.
func (d *delegates) callee(name string) string {
	if id, ok := strings.CutPrefix(name, router.DelegatePrefix); ok && slices.Contains(d.callees, id) {
		return id
	}
	return ""
}

// Call implements agent.Tools.
//
// Any other name is one of the agent's own tools. A circle (an agent that waits for this
// very task) is refused, as it could never end. A session that goes on after a pause does
// not count again.
func (d *delegates) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	id := d.callee(call.Name)
	if id == "" {
		return d.own.Call(ctx, call)
	}
	input, err := delegateInput(call)
	if err != nil {
		return tool.Result{}, err
	}
	inner := agent.InnerOf(ctx)
	turn, _ := ctx.Value(delegatedTurnKey{}).(*delegatedTurn)
	if inner == nil || turn == nil { // the wiring gives both
		return tool.Result{}, errors.New("an agent is called outside of a turn")
	}
	chain, _ := ctx.Value(delegateChainKey{}).([]string)
	callers := append(slices.Clip(chain), d.caller)
	switch {
	case slices.Contains(callers, id):
		return tool.Result{}, notDone(call.Name, "this agent waits for the answer itself: it is among those who gave you the task")
	case len(callers) > maxDelegateDepth:
		return tool.Result{}, notDone(call.Name, fmt.Sprintf("tasks are handed on at most %d times", maxDelegateDepth))
	}
	defer turn.running.Add(-1)
	if turn.running.Add(1) > maxDelegates {
		return tool.Result{}, notDone(call.Name, fmt.Sprintf("%d agents work on tasks of this turn already", maxDelegates))
	}
	if inner.Continued == nil && turn.begun.Add(1) > maxDelegations {
		return tool.Result{}, notDone(call.Name, fmt.Sprintf("%d tasks were given to other agents in this turn, and no more are", maxDelegations))
	}
	spec := d.all.specs[id]
	s := &delegateSession{
		all: d.all, id: id, inner: inner, session: newSessionID(), ids: map[string]string{}, kept: d.all.records.of(turn.req.Task),
		req: &chat.Request{
			Input: input, UserID: turn.req.UserID, Principal: turn.req.Principal, Location: turn.req.Location, Tools: turn.req.Tools, Hops: turn.req.Hops,
		},
	}
	if inner.Continued != nil {
		if err := s.resume(inner.Continued); err != nil {
			return tool.Result{}, err
		}
	}
	ctx = context.WithValue(ctx, delegateChainKey{}, callers)
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(spec.Timeout, d.all.timeout), &fault.Error{
		Type: fault.Timeout, Message: "The agent took too long and was stopped",
	})
	defer cancel()
	summary, err := s.traced(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{ID: call.ID, Name: call.Name, Text: summary}, nil
}

// notDone says why no session was begun.
//
// Nothing has happened by then, so the fault says that the call had no effect.
func notDone(name, why string) error {
	return &fault.Error{Type: fault.ToolFailed, NoEffect: true, Message: "The call of " + name + " was not executed: " + why,
		Hint: "Not executed: " + why + ". Do without it."}
}

// delegateInput returns what the agent is asked.
//
// The schema says the same bounds, but no model is obliged to keep to it.
func delegateInput(call tool.Call) (string, error) {
	var args struct {
		Task    *string `json:"task"`
		Context string  `json:"context"`
	}
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return "", notDone(call.Name, "its arguments are not {task, context}, two texts")
	}
	switch {
	case args.Task == nil || strings.TrimSpace(*args.Task) == "":
		return "", notDone(call.Name, "task is missing or empty")
	case utf8.RuneCountInString(*args.Task) > maxDelegateTask:
		return "", notDone(call.Name, "task is longer than 5,000 characters")
	case len(args.Context) > maxDelegateContext:
		return "", notDone(call.Name, "context is longer than 16 KiB")
	case strings.TrimSpace(args.Context) == "":
		return *args.Task, nil
	}
	return *args.Task + "\n\nContext:\n" + args.Context, nil
}
