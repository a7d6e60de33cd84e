package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sluice/internal/app/providers"
	"sluice/internal/app/records"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/router"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// A run is pinned to its definition and to the settings of its agents: what a file says
// later is for later runs. Models and servers are not pinned, as their keys are no part of
// what is stored; a run that needs one which is gone says so when it comes to that.

// pinnedAgents is graph.Definition.Agents: the settings of the agents that the nodes
// name, and of those that these may call.
type pinnedAgents struct {
	Agents []router.AgentSpec `json:"agents"`
	// Timeout is that of the sessions of agents without one of their own.
	Timeout time.Duration `json:"timeout"`
}

// pin returns a workflow of the file with the settings of its agents.
//
// The pinned text is part of the workflow's SHA-256: a file with another prompt is another
// definition.
func pin(w *graph.Workflow, team []router.AgentSpec, timeout time.Duration) (*graph.Workflow, error) {
	named := w.Agents()
	for i := 0; i < len(named); i++ { // grows with what the agents may call
		for _, a := range team {
			if a.ID != named[i] {
				continue
			}
			for _, id := range a.Delegates {
				if !slices.Contains(named, id) {
					named = append(named, id)
				}
			}
		}
	}
	p := pinnedAgents{Timeout: timeout}
	for _, a := range team { // those elsewhere have no steps to continue from, and their headers may hold keys
		if a.Remote == nil && slices.Contains(named, a.ID) {
			p.Agents = append(p.Agents, a)
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return w.Pinned(text)
}

// newWorkAgents makes agents as nodes of workflows use them.
//
// The same function serves a file and a pinned definition, so that a run continues with agents
// made in the same way.
func (g *Gateway) newWorkAgents(team []router.AgentSpec, timeout time.Duration) *workAgents {
	agents := &workAgents{agents: map[string]*agent.Agent{}, specs: map[string]router.AgentSpec{}, asker: providers.NewAsker(g.models)}
	agents.delegates = newDelegates(g.state, team, timeout, true)
	for _, a := range team {
		if a.Remote != nil {
			continue // it has no steps that could be kept
		}
		agents.agents[a.ID], agents.specs[a.ID] = agents.delegates.Add(a.ID, g.agents.memberConfig(a)), a
	}
	return agents
}

// flowOf returns what continues with runs of a definition: the file's own workflow, if that has
// not changed since, else one that is made of what the run is pinned to.
//
// The error wraps engine.ErrGone. Agents of an old definition are made for each run that
// needs them; such runs are few.
func (g *Gateway) flowOf(w *graph.Workflow) (*answerer, error) {
	r := g.registry.Load()
	_, sum := w.Stored()
	if f := r.flows.byName[w.Definition().Name]; f != nil && f.sum == sum {
		return f, nil
	}
	agents, err := g.agentsOf(w, r)
	if err != nil {
		return nil, err
	}
	return g.newFlow(w, agents), nil
}

// agentsOf makes the agents to which a definition is pinned; those of the file, if it is
// pinned to none.
func (g *Gateway) agentsOf(w *graph.Workflow, r *registry) (*workAgents, error) {
	text := w.Definition().Agents
	if text == nil {
		return r.flows.agents, nil
	}
	var p pinnedAgents
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("agents of a definition: %w: %w", engine.ErrGone, err)
	}
	return g.newWorkAgents(p.Agents, p.Timeout), nil
}

// flowFor returns what continues with a run that waits.
//
// The errors are faults that the caller of the answer is shown.
func (g *Gateway) flowFor(id string) (*answerer, error) {
	state, err := g.state.runs.Waiting(context.Background(), id)
	if err != nil {
		return nil, err
	}
	f, err := g.flowOf(state.Workflow())
	if err != nil {
		return nil, records.CannotGoOn(err)
	}
	return f, nil
}

// goOn is records.Continue. What stands around the run is what stood around it in the
// process that began it: questions, memory and checks.
//
// The registry is that of now: checks and memory follow the file, and the run its
// definition.
func (g *Gateway) goOn(r *engine.Run, req *chat.Request, emitted []stream.Event) (*stream.Frame, error) {
	flow, err := g.flowOf(r.Workflow())
	if err != nil {
		return nil, err
	}
	runner, _, err := flow.goingOn(r, emitted).forRequest(g.registry.Load(), req, "")
	if err != nil {
		return nil, err
	}
	if r.Progress.Retracts {
		req.Facts.CanRetract, req.Facts.Retracts = true, g.canRetract()
	}
	said := stream.Fold{Only: stream.Answer}
	for _, ev := range emitted {
		said.Add(ev)
	}
	frame := &stream.Frame{Runner: withCharge(runner, g.limiter), Model: g.Model(), Said: said.Text()}
	g.server.Report(frame)
	return frame, nil
}
