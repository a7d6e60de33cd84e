// Package delegate lets agents give tasks to other agents, as calls of tools. A delegate is a tool
// named after its agent. A call of it is a session (session.go), that is, a branch of the turn. The
// bounds hold for a turn as a whole: how deep tasks are handed on, how many sessions there are, and
// how many at once. A call beyond a bound is refused with a hint for the model, and the turn
// continues.
package delegate

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

	"sluice/internal/base/fault"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// Limits. A turn is one of a team or a run of a workflow.
const (
	maxTask     = 5000           // code points
	maxContext  = 16 << 10       // bytes
	maxFacts    = 4 * maxContext // of the quote of a context
	maxSummary  = 4 << 10        // bytes of the summary for the caller
	maxText     = 2 << 20        // bytes of one session's text
	maxDepth    = 3
	maxRunning  = 8  // sessions at the same time
	maxSessions = 20 // of a turn
)

// server stands in events for the server of the tools that are agents.
const server = "agents"

const schema = `{"type":"object","additionalProperties":false,"required":["task"],"properties":{` +
	`"task":{"type":"string","minLength":1,"maxLength":5000,"description":"What is to be done. It sees nothing else of this conversation: say all that it must know"},` +
	`"context":{"type":"string","maxLength":16384,"description":"Facts and texts that the task needs"}}}`

// Config is what there is to set.
type Config struct {
	Agents  []Spec
	Timeout time.Duration // of the sessions of agents without a timeout of their own; above 0
	Prefix  string        // begins the name of the tool that calls an agent
	Records Records       // nil: nothing is stored of sessions
}

// Spec is an agent as its callers know it.
type Spec struct {
	ID, Name, Description string        // Name may be empty
	Timeout               time.Duration // of its sessions; 0: Config.Timeout
	Delegates             []string      // ids of agents that it may call
}

// Agents are the agents of a file as other agents may call them.
//
// They belong to one version of a file, or to one pinned definition. Add fills them in, and later
// they do not change, so that turns read them without a lock. They are nil if no agent calls
// another; the methods work on nil.
type Agents struct {
	cfg    Config
	specs  map[string]Spec
	agents map[string]*agent.Agent
	short  map[string]*agent.Agent // the same without tools, for summaries
	tools  map[string]agent.Tools  // the tools of each agent
}

// New returns the Agents of a configuration; nil if no agent calls another.
func New(cfg Config) *Agents {
	if !slices.ContainsFunc(cfg.Agents, func(a Spec) bool { return len(a.Delegates) > 0 }) {
		return nil
	}
	if cfg.Records == nil {
		cfg.Records = unrecorded{}
	}
	d := &Agents{cfg: cfg, specs: map[string]Spec{}, agents: map[string]*agent.Agent{}, short: map[string]*agent.Agent{}, tools: map[string]agent.Tools{}}
	for _, a := range cfg.Agents {
		d.specs[a.ID] = a
	}
	return d
}

// Add makes an agent: it may call others, and others it. Before the first turn all agents
// have been added.
//
// It works on nil and then makes a plain agent. The short form of each agent is made here
// as well, for summaries: the same model and prompt, one step, no tools.
func (d *Agents) Add(id string, cfg agent.Config) *agent.Agent {
	if d == nil {
		return agent.New(cfg)
	}
	short := cfg
	short.Tools, short.MaxSteps = noTools{}, 1
	d.short[id] = agent.New(short)
	if callees := d.specs[id].Delegates; len(callees) > 0 {
		cfg.Tools = &tools{ownTools: cfg.Tools, all: d, caller: id, callees: callees}
	}
	a := agent.New(cfg)
	d.agents[id], d.tools[id] = a, cfg.Tools
	return a
}

// noTools are the tools of an agent without tools.
type noTools struct{}

func (noTools) Tools(context.Context) *tool.Set { return new(tool.Set) }

func (noTools) Call(_ context.Context, call tool.Call) (tool.Result, error) {
	return tool.Result{}, notDone(call.Name, "there is no such tool")
}

// Request returns the request of a turn whose agents share their verdicts on calls and may call one
// another. The turn can pause if its own request can, and the paused state then includes the shared
// verdicts.
//
// req itself stays as it is: it is the caller's, and its memory keeps it. It works on nil: no
// agent calls another.
func (d *Agents) Request(req *chat.Request) (*chat.Request, error) {
	was := new(run.Paused)
	var err error
	if req.Resumed != nil {
		if was, err = run.ReadPaused(req.Resumed.By, req.Resumed.State); err != nil {
			return nil, err
		}
	}
	own := *req
	if own.Facts.Verdicts, err = chat.ReadVerdicts(was.Shared); err != nil {
		return nil, fmt.Errorf("%w: %w", run.ErrPaused, err)
	}
	own.Facts.Sessions = d.newSessions(was.Begun)
	if ask := req.Facts.Ask; ask != nil {
		own.Facts.Ask = func(p *chat.Paused) string {
			waiting, err := run.ReadPaused(p.By, p.State)
			if err != nil {
				return chat.NobodyToAsk
			}
			waiting.Shared, waiting.Begun = own.Facts.Verdicts.State(), begunBy(&own)
			p.State = waiting.Encode()
			return ask(p)
		}
	}
	return &own, nil
}

// newSessions returns the counter of sessions for a turn whose agents may call others. begun is how
// many the turn had begun before its pause: a pause must not give it new ones. It works on nil, and
// returns nil.
func (d *Agents) newSessions(begun int64) *chat.Sessions {
	if d == nil {
		return nil
	}
	s := new(chat.Sessions)
	s.Begun.Store(begun)
	return s
}

// begunBy returns how many sessions the turn of a request has begun, those before a pause
// included.
func begunBy(req *chat.Request) int64 {
	if s := req.Facts.Sessions; s != nil {
		return min(s.Begun.Load(), maxSessions)
	}
	return 0
}

// Finish says that the turn of a request has ended or waits.
func (d *Agents) Finish(ctx context.Context, req *chat.Request, waits bool) {
	if d != nil && !waits && begunBy(req) > 0 {
		d.cfg.Records.Finish(ctx, req.Task)
	}
}

// tools are those of an agent that may call others.
//
// last is a cache: a set of tools is made again only when the agent's own has changed.
type tools struct {
	ownTools agent.Tools
	all      *Agents
	caller   string
	callees  []string
	last     atomic.Pointer[set]
}

// set is a set of tools with the agents that may be called. Turns share it, as drivers cache by the
// pointer of a set.
type set struct{ of, with *tool.Set }

// Tools implements agent.Tools.
//
// A tool of a server that has the name of a delegate is left out: the delegate wins.
func (t *tools) Tools(ctx context.Context) *tool.Set {
	of := t.ownTools.Tools(ctx)
	if s := t.last.Load(); s != nil && s.of == of {
		return s.with
	}
	with := &tool.Set{Unavailable: of.Unavailable}
	for _, s := range of.Specs {
		if t.calleeOf(s.Name) == "" {
			with.Specs = append(with.Specs, s)
		}
	}
	for _, id := range t.callees {
		a := t.all.specs[id]
		with.Specs = append(with.Specs, tool.Spec{
			Name: t.all.cfg.Prefix + id, Server: server, InputSchema: jsontext.Value(schema),
			Description: "Gives a task to another agent, " + cmp.Or(a.Name, id) + ", and returns its answer. What that agent does: " + a.Description,
			// Whatever happens in the session is judged there, call by call.
			Annotations: tool.Annotations{ReadOnly: true, Idempotent: true},
			Confirm:     tool.ConfirmNever,
		})
	}
	t.last.Store(&set{of, with})
	return with
}

// Spec implements agent.Callees. The agent may be further within.
//
// name is a tool of the agent id. The tool may itself be a delegate.
func (t *tools) Spec(ctx context.Context, id, name string) *tool.Spec {
	if a := t.all.tools[id]; a != nil {
		return a.Tools(ctx).Lookup(name)
	}
	return nil
}

// calleeOf returns the agent that a tool stands for; empty: none.
func (t *tools) calleeOf(name string) string {
	if id, ok := strings.CutPrefix(name, t.all.cfg.Prefix); ok && slices.Contains(t.callees, id) {
		return id
	}
	return ""
}

// errOutside is the error of a call that the wiring rules out.
var errOutside = errors.New("an agent is called outside of a turn")

// Call implements agent.Tools, for the agent's own tools.
func (t *tools) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	if t.calleeOf(call.Name) != "" {
		return tool.Result{}, errOutside
	}
	return t.ownTools.Call(ctx, call)
}

// CallWithin implements agent.Callees.
//
// Any other name is one of the agent's own tools. A circle (an agent that waits for this
// very task) is refused, as it could never end. A session that continues after a pause does not
// count again.
func (t *tools) CallWithin(ctx context.Context, call tool.Call, inner *agent.Inner) (tool.Result, error) {
	id := t.calleeOf(call.Name)
	if id == "" {
		return t.ownTools.Call(ctx, call)
	}
	asked, err := readTask(call)
	if err != nil {
		return tool.Result{}, err
	}
	of := &inner.Request.Facts
	if of.Sessions == nil {
		return tool.Result{}, errOutside
	}
	callers := append(slices.Clip(of.Callers), t.caller)
	switch {
	case slices.Contains(callers, id):
		return tool.Result{}, notDone(call.Name, "this agent waits for the answer itself: it is among those who gave you the task")
	case len(callers) > maxDepth:
		return tool.Result{}, notDone(call.Name, fmt.Sprintf("tasks are handed on at most %d times", maxDepth))
	}
	defer of.Sessions.Running.Add(-1)
	if of.Sessions.Running.Add(1) > maxRunning {
		return tool.Result{}, notDone(call.Name, fmt.Sprintf("%d agents work on tasks of this turn already", maxRunning))
	}
	if inner.Continued == nil && of.Sessions.Begun.Add(1) > maxSessions {
		return tool.Result{}, notDone(call.Name, fmt.Sprintf("%d tasks were given to other agents in this turn, and no more are", maxSessions))
	}
	s, err := t.all.newSession(id, asked, callers, inner)
	if err != nil {
		return tool.Result{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(t.all.specs[id].Timeout, t.all.cfg.Timeout), &fault.Error{
		Type: fault.Timeout, Message: "The agent took too long and was stopped",
	})
	defer cancel()
	summary, err := s.runTraced(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{ID: call.ID, Name: call.Name, Text: summary}, nil
}

// notDone returns the fault of a call that began no session.
//
// It says that the call had no effect.
func notDone(name, why string) error {
	return &fault.Error{Type: fault.ToolFailed, NoEffect: true, Message: "The call of " + name + " was not executed: " + why,
		Hint: "Not executed: " + why + ". Do without it."}
}

// task is the input of a called agent: the task as its request, and the context as data.
type task struct {
	input    string
	data     []chat.Quote
	fullText string // both, as the session's record has them
}

// readTask reads the arguments of a call.
//
// The schema says the same bounds, but no model is obliged to keep to it.
func readTask(call tool.Call) (asked task, err error) {
	var args struct {
		Task    *string `json:"task"`
		Context string  `json:"context"`
	}
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return asked, notDone(call.Name, "its arguments are not {task, context}, two texts")
	}
	switch {
	case args.Task == nil || strings.TrimSpace(*args.Task) == "":
		return asked, notDone(call.Name, "task is missing or empty")
	case utf8.RuneCountInString(*args.Task) > maxTask:
		return asked, notDone(call.Name, "task is longer than 5,000 characters")
	case len(args.Context) > maxContext:
		return asked, notDone(call.Name, "context is longer than 16 KiB")
	}
	asked.input, asked.fullText = *args.Task, *args.Task
	if strings.TrimSpace(args.Context) != "" {
		asked.fullText += "\n\nContext:\n" + args.Context
		asked.data = []chat.Quote{{About: "Facts and texts from the agent that gives the task", Text: args.Context, Limit: maxFacts}}
	}
	return asked, nil
}
