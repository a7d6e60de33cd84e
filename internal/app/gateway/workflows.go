// This file connects package engine with agents, tools, models and the store. A workflow
// of the file becomes an answerer like the team; its agents are those of the same file,
// made once more with tools whose calls the records of a run know.

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
	"sluice/internal/engine/agent"
	"sluice/internal/engine/agent/delegate"
	"sluice/internal/engine/router"
	"sluice/internal/engine/run"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/state/task/record"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// workflows are those of one reading of the configuration file.
type workflows struct {
	byName    map[string]*answerer
	described []handlers.Workflow
	agents    *workAgents
}

// newWorkflows makes the workflows of a file, whose agents are those of the same file.
//
// Agents are made even without workflows where runs can wait: a run of an earlier file may
// continue with them.
func (g *Gateway) newWorkflows(list []*graph.Workflow, team []router.AgentSpec, timeout time.Duration) workflows {
	flows := workflows{byName: map[string]*answerer{}}
	if len(list) == 0 && !g.questions.canWait {
		return flows
	}
	flows.agents = g.newWorkAgents(team, timeout)
	for _, w := range list {
		pinned, err := pin(w, team, timeout)
		if err != nil { // plain values: cannot happen
			pinned = w
		}
		flows.byName[w.Definition().Name] = g.newFlow(pinned, flows.agents)
		flows.described = append(flows.described, describe(w))
	}
	return flows
}

// newFlow makes an answerer of a workflow and its agents.
func (g *Gateway) newFlow(w *graph.Workflow, agents *workAgents) *answerer {
	runner := g.flowRunner(w, agents)
	f := g.answerers.newShared(agents.delegates, g.questions.withWaiting, runner.Run)
	f.goingOn = func(run *engine.Run, before []stream.Event) *answerer {
		return g.answerers.newShared(agents.delegates, g.questions.withWaiting, func(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
			return runner.Continue(ctx, req, run, sink)
		}, before...)
	}
	_, f.sum = w.Stored()
	d := w.Definition()
	f.timeout, f.kind, f.days = d.Timeout, d.Kind, d.RetentionDays
	return f
}

// flowRunner makes the Runner. Without a store nothing keeps its runs.
func (g *Gateway) flowRunner(w *graph.Workflow, agents *workAgents) *engine.Runner {
	cfg := engine.Config{Workflow: w, Agents: agents, Tools: workTools{g.tools.toolsOf(toolsOfNodes, g.tools.client), g.tools}, Asker: agents, Hold: g.questions.hold, Metrics: g.metrics, Tracer: g.telemetry.tracer(), ReportLost: g.reportsUnknown}
	if g.state != nil {
		cfg.Records, cfg.Load, cfg.Enter = g.state.runs.Records, g.state.runs.Load, g.state.runs.Enter
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

// describe is what GET /workflows says about one.
func describe(w *graph.Workflow) handlers.Workflow {
	d := w.Definition()
	t := handlers.Workflow{Name: d.Name, Description: d.Description, Kind: d.Kind, Entry: d.Entry, Edges: []handlers.WorkflowEdge{}, Mermaid: w.Mermaid()}
	for _, n := range d.Nodes {
		t.Nodes = append(t.Nodes, handlers.WorkflowNode{ID: n.ID, Type: string(n.Type), Agent: n.Agent, Tool: n.Tool})
	}
	for i := range d.Edges {
		e := &d.Edges[i]
		t.Edges = append(t.Edges, handlers.WorkflowEdge{From: e.From, To: e.To, Condition: e.Condition, Match: e.Mapped()})
	}
	return t
}

// chooseRun returns the workflow of a run that waited.
//
// Without a store a run continues only with the definition that it began with.
func (g *Gateway) chooseRun(r *registry, req *chat.Request) (*answerer, error) {
	p, err := run.ReadPaused(chat.PausedWorkflow, req.Resumed.State)
	if err != nil {
		return nil, err
	}
	h, err := engine.ReadHeader(p)
	if err != nil {
		return nil, err
	}
	if g.questions.canWait && h.ID != "" {
		return g.flowFor(h.ID)
	}
	if f := r.flows.byName[h.Workflow]; f != nil && f.sum == h.Definition {
		return f, nil
	}
	return nil, &fault.Error{Type: fault.ApprovalConflict, Message: "The workflow that asked is not configured any more, or has changed"}
}

// workAgents are the agents of a file as nodes of workflows use them.
type workAgents struct {
	agents    map[string]*agent.Agent
	specs     map[string]router.AgentSpec
	asker     *providers.Asker
	delegates *delegate.Agents
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
