// This file connects package engine with agents, tools, models and the store. A workflow of the
// file becomes an answerer like the team. Its agents are those of the same file, made a second
// time: the records of a run know the calls of their tools.

package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/handlers"
	"sluice/internal/app/providers"
	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/trace"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/agent/delegate"
	"sluice/internal/engine/router"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/state/task/record"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// teamFlows are those of one reading of the configuration file.
type teamFlows struct {
	byName    map[string]*answerer
	described []handlers.Workflow
	agents    *workAgents
}

// flowMaker makes workflows and the agents of their nodes.
type flowMaker struct {
	*agentMaker
	answerers *answererMaker
	tracer    trace.Tracer
}

// newWorkflows makes the workflows of a file, whose agents are the agents of the same file.
//
// If runs can wait, it makes agents even without workflows: a run of an earlier file may continue
// with them.
func (m *flowMaker) newWorkflows(list []*graph.Workflow, team []router.AgentSpec, timeout time.Duration) teamFlows {
	flows := teamFlows{byName: map[string]*answerer{}}
	if len(list) == 0 && !m.questions.canWait {
		return flows
	}
	flows.agents = m.newWorkAgents(team, timeout)
	for _, w := range list {
		pinned, err := pinFlow(w, team, timeout)
		if err != nil { // plain values: cannot happen
			pinned = w
		}
		flows.byName[w.Definition().Name] = m.newFlow(pinned, flows.agents)
		flows.described = append(flows.described, describeFlow(w))
	}
	return flows
}

// describeFlow returns the reply of GET /workflows about a workflow.
func describeFlow(w *graph.Workflow) handlers.Workflow {
	d := w.Definition()
	t := handlers.Workflow{Name: d.Name, Description: d.Description, Examples: notNull(d.Examples), Kind: d.Kind, Entry: d.Entry, Edges: []handlers.WorkflowEdge{}, Mermaid: w.Mermaid()}
	for _, n := range d.Nodes {
		t.Nodes = append(t.Nodes, handlers.WorkflowNode{ID: n.ID, Type: string(n.Type), Agent: n.Agent, Tool: n.Tool})
	}
	for i := range d.Edges {
		e := &d.Edges[i]
		t.Edges = append(t.Edges, handlers.WorkflowEdge{From: e.From, To: e.To, Condition: e.Condition, Match: e.Mapped()})
	}
	return t
}

// flowOf returns the answerer that continues runs of a definition: a workflow of the file if it is
// unchanged, or else a workflow with the pinned agents. The error wraps engine.ErrGone.
//
// Agents of an old definition are made for each run that needs them; such runs are few.
func (m *flowMaker) flowOf(w *graph.Workflow, flows teamFlows) (*answerer, error) {
	_, sum := w.Stored()
	if f := flows.byName[w.Definition().Name]; f != nil && f.sum == sum {
		return f, nil
	}
	agents, err := m.agentsOf(w, flows)
	if err != nil {
		return nil, err
	}
	return m.newFlow(w, agents), nil
}

// agentsOf makes the pinned agents of a definition. Without pinned agents it returns the agents of
// the file.
func (m *flowMaker) agentsOf(w *graph.Workflow, flows teamFlows) (*workAgents, error) {
	p, err := readPinned(w)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return flows.agents, nil
	}
	return m.newWorkAgents(p.Agents, p.Timeout), nil
}

// newFlow makes an answerer of a workflow and its agents.
func (m *flowMaker) newFlow(w *graph.Workflow, agents *workAgents) *answerer {
	runner := m.flowRunner(w, agents)
	f := m.answerers.newShared(agents.delegates, m.questions.withWaiting, runner.Run)
	f.goingOn = func(run *engine.Run, before []stream.Event) *answerer {
		return m.answerers.newShared(agents.delegates, m.questions.withWaiting, func(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
			return runner.Continue(ctx, req, run, sink)
		}, before...)
	}
	_, f.sum = w.Stored()
	d := w.Definition()
	f.timeout, f.kind, f.days = d.Timeout, d.Kind, d.RetentionDays
	return f
}

// flowRunner makes the Runner. Without a store its runs are not stored.
func (m *flowMaker) flowRunner(w *graph.Workflow, agents *workAgents) *engine.Runner {
	cfg := engine.Config{
		Workflow: w, Agents: agents, Tools: workTools{m.tools.toolsOf(toolsOfNodes, m.tools.client), m.tools}, Asker: agents,
		Hold: m.questions.hold, Metrics: m.metrics, Tracer: m.tracer, ReportLost: m.reportsUnknown,
	}
	if m.state != nil {
		cfg.Records, cfg.Load, cfg.Enter = m.state.runs.Records, m.state.runs.Load, m.state.runs.Enter
	}
	return engine.New(cfg)
}

// workTools are the tools of tool nodes: those of all servers, with the cache.
type workTools struct {
	cachedTools
	tools *serverTools
}

// cachedTools has a name that its methods do not have.
type cachedTools = interface {
	Tools(ctx context.Context) *tool.Set
	Call(ctx context.Context, call tool.Call) (tool.Result, error)
}

// Named implements engine.Tools.
func (t workTools) Named(ctx context.Context, server, name string) string {
	return t.tools.nameOf(ctx, server, name)
}

// workAgents are the agents of a file as nodes of workflows use them.
type workAgents struct {
	agents    map[string]*agent.Agent
	specs     map[string]router.AgentSpec
	asker     *providers.Asker
	delegates *delegate.Agents
}

// newWorkAgents makes the agents of nodes. It serves a file and a pinned definition alike, so that a
// run continues with agents that are made in the same way. It omits agents elsewhere: a run
// cannot store their steps.
func (m *flowMaker) newWorkAgents(team []router.AgentSpec, timeout time.Duration) *workAgents {
	agents := &workAgents{agents: map[string]*agent.Agent{}, specs: map[string]router.AgentSpec{}, asker: providers.NewAsker(m.models)}
	agents.delegates = newDelegates(m.state, team, timeout, true)
	for _, a := range team {
		if a.Remote == nil {
			agents.agents[a.ID], agents.specs[a.ID] = agents.delegates.Add(a.ID, m.memberConfig(a)), a
		}
	}
	return agents
}

// Begin implements engine.Agents.
func (w *workAgents) Begin(ctx context.Context, id string, req *chat.Request, sink stream.Sink) (engine.Session, error) {
	a := w.agents[id]
	if a == nil {
		return nil, fmt.Errorf("agent %s: %w", id, engine.ErrGone)
	}
	return a.Open(ctx, req, sink)
}

// Ask implements engine.Asker.
func (w *workAgents) Ask(ctx context.Context, id, text string, schema jsontext.Value) (engine.Reply, error) {
	spec, ok := w.specs[id]
	if !ok {
		return engine.Reply{}, fmt.Errorf("agent %s: %w", id, engine.ErrGone)
	}
	got, err := w.asker.Ask(record.For(ctx, record.Critic), &router.Question{
		Model: spec.Model, System: strings.TrimSpace(spec.Role + "\n" + spec.Prompt), User: text, Schema: schema,
		Temperature: spec.Temperature, MaxTokens: spec.MaxTokens, MaxAttempts: 3,
	})
	if errors.Is(err, router.ErrUnreadable) {
		err = &fault.Error{Type: fault.ModelError, Message: "The critic's answer could not be read", Err: err}
	}
	return engine.Reply{JSON: got.JSON, Usage: got.Usage, Model: got.Model}, err
}
