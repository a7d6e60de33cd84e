package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/agent"
	"sluice/chat"
	"sluice/fault"
	"sluice/router"
	"sluice/stream"
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

// delegateRefusal is what a model is told of a call that a person must allow.
const delegateRefusal = "A person must confirm this call, and an agent that was called by another one cannot ask for that. " +
	"Do not call it again; say in your answer what should be done and that it was not."

const delegateSchema = `{"type":"object","additionalProperties":false,"required":["task"],"properties":{` +
	`"task":{"type":"string","minLength":1,"maxLength":5000,"description":"What is to be done. It sees nothing else of this conversation: say all that it must know"},` +
	`"context":{"type":"string","maxLength":16384,"description":"Facts and texts that the task needs"}}}`

// delegation is the agents of a file as other agents may call them.
type delegation struct {
	specs   map[string]router.AgentSpec
	agents  map[string]*agent.Agent
	short   map[string]*agent.Agent // the same without tools, for summaries
	timeout time.Duration           // of those that have none of their own
}

// newDelegation returns what calls agents; nil if none calls another.
func newDelegation(specs []router.AgentSpec, timeout time.Duration) *delegation {
	if !slices.ContainsFunc(specs, func(a router.AgentSpec) bool { return len(a.Delegates) > 0 }) {
		return nil
	}
	return &delegation{
		specs: map[string]router.AgentSpec{}, agents: map[string]*agent.Agent{}, short: map[string]*agent.Agent{},
		timeout: timeout,
	}
}

// add makes an agent: it may call others, and others it. Before the first turn all agents
// have been added.
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
	d.agents[spec.ID] = a
	return a
}

// noTools are the tools of an agent that has none.
type noTools struct{}

func (noTools) Tools(context.Context) *tool.Set { return new(tool.Set) }

func (noTools) Call(_ context.Context, call tool.Call) (tool.Result, error) {
	return tool.Result{}, notDone(call.Name, "there is no such tool")
}

// delegatedTurn is what the sessions of a turn have in common.
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
func (d *delegation) within(ctx context.Context, req *chat.Request) context.Context {
	if d == nil {
		return ctx
	}
	return context.WithValue(ctx, delegatedTurnKey{}, &delegatedTurn{req: req})
}

// delegates are the tools of an agent that may call others.
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

// callee returns the agent that a tool stands for; empty: none.
func (d *delegates) callee(name string) string {
	if id, ok := strings.CutPrefix(name, router.DelegatePrefix); ok && slices.Contains(d.callees, id) {
		return id
	}
	return ""
}

// Call implements agent.Tools.
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
	if turn.begun.Add(1) > maxDelegations {
		return tool.Result{}, notDone(call.Name, fmt.Sprintf("%d tasks were given to other agents in this turn, and no more are", maxDelegations))
	}
	spec := d.all.specs[id]
	s := &delegateSession{
		all: d.all, id: id, inner: inner, session: newSessionID(), ids: map[string]string{},
		req: &chat.Request{
			Input: input, UserID: turn.req.UserID, Principal: turn.req.Principal, Location: turn.req.Location, Tools: turn.req.Tools,
		},
	}
	ctx = context.WithValue(ctx, delegateChainKey{}, callers)
	ctx = stream.WithPauses(ctx, func(*chat.Paused) string { return delegateRefusal })
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(spec.Timeout, d.all.timeout), &fault.Error{
		Type: fault.Timeout, Message: "The agent took too long and was stopped",
	})
	defer cancel()
	summary, err := s.run(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{ID: call.ID, Name: call.Name, Text: summary}, nil
}

// notDone says why no session was begun.
func notDone(name, why string) error {
	return &fault.Error{Type: fault.ToolFailed, NoEffect: true, Message: "The call of " + name + " was not executed: " + why,
		Hint: "Not executed: " + why + ". Do without it."}
}

// delegateInput returns what the agent is asked.
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

// delegateSession is one task of a delegate. Its events come from one goroutine.
type delegateSession struct {
	all     *delegation
	id      string
	session string
	inner   *agent.Inner
	req     *chat.Request

	text []string
	size int
	ids  map[string]string // of calls: the agent's own, and that of events
}

func (s *delegateSession) run(ctx context.Context) (summary string, err error) {
	began := time.Now()
	s.tell(&stream.AgentRun{Status: stream.AgentStarted})
	result, err := s.ask(ctx, s.all.agents[s.id], s.req, s)
	usage := result.Usage
	if err == nil {
		var more chat.Usage
		summary, more, err = s.summary(ctx)
		usage.Add(more)
	}
	s.inner.Spend(usage)
	took := time.Since(began).Milliseconds()
	ok := err == nil
	ev := &stream.AgentRun{Status: stream.AgentCompleted, Success: &ok, Millis: &took}
	if usage != (chat.Usage{}) {
		ev.Usage = &stream.TokenUsage{Input: usage.InputTokens, Output: usage.OutputTokens, Thinking: usage.ThinkingTokens}
	}
	if err != nil {
		f := fault.From(cmp.Or(fault.Cause(ctx), err))
		ev.Status, ev.ErrorType, ev.ErrorMessage = stream.AgentFailed, f.Type, f.Message
		if f.Type == fault.Cancelled || errors.Is(f, fault.ErrClientGone) {
			ev.Status = stream.AgentStopped
		}
		err = s.failed(f)
	}
	s.tell(ev)
	return summary, err
}

// failed returns how the call fails because of f. Bugs and shortages of the gateway's own
// end the turn, as they do elsewhere.
func (s *delegateSession) failed(f *fault.Error) error {
	if f.Type == fault.Internal || f.Type == fault.Overloaded {
		return f
	}
	return &fault.Error{Type: fault.ToolFailed, Err: f,
		Message: "The agent " + s.id + " could not do its task: " + f.Message,
		Hint:    "The agent could not do the task: " + f.Message + ". What it has done before that is not known."}
}

// tell tells of the session itself.
func (s *delegateSession) tell(ev *stream.AgentRun) {
	ev.AgentID, ev.Role, ev.Attempt, ev.SessionID, ev.CallID = s.id, stream.RoleDelegate, 1, s.session, s.inner.CallID
	s.inner.Emit(ev)
}

// ask runs an agent. A panic is its failure alone, so that its end is told.
func (s *delegateSession) ask(ctx context.Context, a *agent.Agent, req *chat.Request, sink stream.Sink) (result stream.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = stream.NewPanic(p)
		}
	}()
	result, err = a.Run(ctx, req, sink)
	if err == nil && !result.Reason.Success() {
		err = errors.New("the agent returned before its answer was complete")
	}
	return result, err
}

// summary returns what the caller is given: the answer, or what the agent makes of one
// that is too long.
func (s *delegateSession) summary(ctx context.Context) (string, chat.Usage, error) {
	answer := strings.TrimSpace(strings.Join(s.text, ""))
	if answer == "" {
		return "", chat.Usage{}, &fault.Error{Type: fault.ModelError, Message: "It has given no answer"}
	}
	if len(answer) <= maxSummary {
		return answer, chat.Usage{}, nil
	}
	req := *s.req
	req.Input = "Summarise the answer below for who gave the task, in at most 3,000 characters. Keep results, numbers, names and what is open; " +
		"add nothing.\n\nTask:\n" + s.req.Input + "\n\nAnswer:\n" + answer
	var short heardText
	result, err := s.ask(ctx, s.all.short[s.id], &req, &short)
	if text := strings.TrimSpace(strings.Join(short.text, "")); err == nil && text != "" && len(text) <= maxSummary {
		return text, result.Usage, nil
	}
	if cause := fault.Cause(ctx); cause != nil {
		return "", result.Usage, cause
	}
	const room = 100 // for the note
	head, _ := chat.Truncate(answer, maxSummary-room)
	return fmt.Sprintf("%s\n[cut here: the first %d of %d bytes of the answer are shown]", head, len(head), len(answer)), result.Usage, nil
}

// heardText is a sink that keeps the text alone.
type heardText struct {
	text []string
	size int
}

func (h *heardText) Emit(ev stream.Event) error {
	if d, ok := ev.(*stream.Delta); ok {
		if h.size += len(d.Text); h.size > maxSummary {
			return errors.New("the summary is too long")
		}
		h.text = append(h.text, d.Text)
	}
	return nil
}

func (*heardText) Flush() error { return nil }

// Emit implements stream.Sink for the agent. Its text is told as inner text, and all else
// with the session that it belongs to.
func (s *delegateSession) Emit(ev stream.Event) error {
	own := stream.Attribution{AgentID: s.id, SessionID: s.session}
	switch e := ev.(type) {
	case *stream.Delta:
		if s.size += len(e.Text); s.size > maxDelegateText {
			return &fault.Error{Type: fault.ModelUnavailable, Message: fault.ModelUnavailableMessage, Err: errors.New("the agent's text is too long")}
		}
		s.text = append(s.text, e.Text)
		ev = &stream.InnerDelta{Attribution: own, Delta: e.Text}
	default:
		direct := !stream.Inner(ev)
		ev = stream.Attributed(ev, own)
		if run, ok := ev.(*stream.AgentRun); ok {
			run.CallID = cmp.Or(s.ids[run.CallID], run.CallID)
		} else if c := stream.CallOf(ev); c != nil && direct {
			c.ID = s.callID(c.ID)
		}
	}
	s.inner.Emit(ev)
	return nil
}

// Flush implements stream.Sink: the turn of the caller flushes whatever comes.
func (*delegateSession) Flush() error { return nil }

// callID returns the id that the events of a call carry, as the agent's own is not unique
// in the turn.
func (s *delegateSession) callID(own string) string {
	id, ok := s.ids[own]
	if !ok {
		id = "d" + s.session[:8] + "_" + strconv.Itoa(len(s.ids)+1)
		s.ids[own] = id
	}
	return id
}

// newSessionID returns a random UUID (version 4).
func newSessionID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
