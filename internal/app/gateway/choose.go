// This file chooses the answerer of a request: the built-in agent, the team, a workflow, or the
// continuation of a paused turn.

package gateway

import (
	"context"
	"time"

	"sluice/handlers"
	"sluice/internal/app/records"
	"sluice/internal/base/fault"
	"sluice/internal/engine/run"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/quality/stop"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// chooser chooses the answerer of a request.
type chooser struct {
	team  *liveTeam
	flows *flowMaker
	alone *answerer // of the built-in agent
}

// chooseRunner returns the runner and the timeout of a request.
//
// It is handlers.Config.Choose: it runs before the turn is stored or reported, so that an error
// here is a plain HTTP reply. A resumed request was checked when it was first sent.
func (c *chooser) chooseRunner(req *chat.Request) (stream.Runner, time.Duration, error) {
	r := c.team.registryOf(req.Principal.Tenant)
	agent := req.Agent
	if agent == "" && len(r.spec.Agents) == 1 && req.Workflow == "" {
		agent = r.spec.Agents[0].ID
	}
	by, err := c.answererOf(r, req)
	if err == nil && req.Resumed == nil {
		err = r.checkRequest(req, agent)
	}
	if err == nil {
		err = checkClientTools(r, req, c.flows.tools.client, agent)
	}
	if err == nil && by.sum != "" && c.flows.state != nil {
		err = c.flows.state.runs.Admit()
	}
	if err != nil {
		return nil, 0, err
	}
	runner, timeout, err := r.runnerFor(by, req, agent)
	if err == nil && req.App != nil && len(req.App.Stop) > 0 {
		runner = stop.Around(runner, req.App.Stop)
	}
	return runner, timeout, err
}

// answererOf returns the answerer that a request names, or continues with.
func (c *chooser) answererOf(r *registry, req *chat.Request) (*answerer, error) {
	switch {
	case req.Resumed != nil:
		return c.choosePaused(r, req)
	case req.Workflow != "":
		if f := r.flows.byName[req.Workflow]; f != nil {
			f.setDefaults(req)
			return f, nil
		}
		return nil, handlers.UnknownWorkflow()
	case r.team != nil:
		return r.runner, nil
	}
	return c.alone, nil
}

// choosePaused returns the answerer that continues a paused turn.
//
// The state of the turn names its answerer. The service of approvals has verified the state.
func (c *chooser) choosePaused(r *registry, req *chat.Request) (*answerer, error) {
	switch {
	case req.Resumed.By == chat.PausedAgent:
		return c.alone, nil
	case req.Resumed.By == chat.PausedWorkflow:
		return c.chooseRun(r, req)
	case r.team != nil:
		return r.runner, nil
	}
	return nil, &fault.Error{Type: fault.ApprovalConflict, Message: "What asked is not configured any more"}
}

// chooseRun returns the workflow of a run that waited.
//
// Without a store a run continues only with the definition that it began with.
func (c *chooser) chooseRun(r *registry, req *chat.Request) (*answerer, error) {
	p, err := run.ReadPaused(chat.PausedWorkflow, req.Resumed.State)
	if err != nil {
		return nil, err
	}
	h, err := engine.ReadHeader(p)
	if err != nil {
		return nil, err
	}
	if c.flows.questions.canWait && h.ID != "" {
		return c.flowFor(h.ID)
	}
	if f := r.flows.byName[h.Workflow]; f != nil && f.sum == h.Definition {
		return f, nil
	}
	return nil, &fault.Error{Type: fault.ApprovalConflict, Message: "The workflow that asked is not configured any more, or has changed"}
}

// flowFor returns the answerer that continues a waiting run. Its errors are faults for the caller.
func (c *chooser) flowFor(id string) (*answerer, error) {
	state, err := c.flows.state.runs.Waiting(context.Background(), id)
	if err != nil {
		return nil, err
	}
	f, err := c.flowOf(state.Workflow())
	if err != nil {
		return nil, records.CannotGoOn(err)
	}
	return f, nil
}

// flowOf returns the answerer that continues runs of a definition. See flowMaker.flowOf.
func (c *chooser) flowOf(w *graph.Workflow) (*answerer, error) {
	return c.flows.flowOf(w, c.team.registry.Load().flows)
}
