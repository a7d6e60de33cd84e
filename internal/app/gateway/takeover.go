// This file continues turns and runs whose process is gone. The answerer follows this gateway's own
// configuration, and continues from the saved states of the turn.

package gateway

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/handlers"
	"sluice/internal/edge/access/limit"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/agent/delegate"
	"sluice/internal/engine/router"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/model"
	"sluice/internal/quality"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// continuer continues runs and turns whose process is gone. It implements task.Turns.
type continuer struct {
	*chooser
	limiter *limit.Limiter
	server  *handlers.Server
}

// openTakeover begins to continue runs and turns of other processes, when the tools are there.
func (c *continuer) openTakeover() {
	s := c.flows.state
	if s == nil {
		return
	}
	by := c.continueRun
	if !c.flows.cfg.HasFile() {
		by = nil
	}
	if by == nil && s.turns == nil {
		return
	}
	s.runs.Use(by, func() bool { return c.flows.tools.client.Connected() && c.team.roster.Available() }, func() {
		if s.turns != nil {
			s.turns.setTurns(c)
		}
		s.tasks.Ready()
	})
}

// continueRun is records.Continue. The parts around the run are those that stood around it in the
// process that began it: questions, memory and checks.
//
// The registry is the current one: checks and memory follow the file, and the run its definition.
func (c *continuer) continueRun(r *engine.Run, req *chat.Request, emitted []stream.Event) (*stream.Frame, error) {
	flow, err := c.flowOf(r.Workflow())
	if err != nil {
		return nil, err
	}
	runner, _, err := c.team.registry.Load().runnerFor(flow.goingOn(r, emitted), req, "")
	if err != nil {
		return nil, err
	}
	if r.Progress.Retracts {
		req.Facts.CanRetract, req.Facts.Retracts = true, c.flows.canRetract()
	}
	if c.flows.canRetract() {
		req.Facts.Seams = new(chat.Seams)
	}
	said := stream.Fold{Only: stream.Answer}
	for _, ev := range emitted {
		said.Add(ev)
	}
	frame := &stream.Frame{Runner: withCharge(runner, c.limiter), Model: defaultModel(c.flows.models), Accumulated: said.Text()}
	c.server.Report(frame)
	return frame, nil
}

// Continue implements task.Turns. Questions can come up whatever the settings say: the outcome of a
// call may be known to a person alone.
func (c *continuer) Continue(req *chat.Request, states map[string][][]byte, before []stream.Event) (*stream.Frame, error) {
	r := c.team.registryOf(req.Principal.Tenant)
	if err := c.resumeRequest(r, req, states, before); err != nil {
		return nil, err
	}
	by, err := c.answererOf(r, req)
	if err == nil {
		err = r.checkRequest(req, req.Agent)
	}
	if err != nil {
		return nil, fmt.Errorf("what answered is not configured here: %w", err)
	}
	own := *by
	own.before, own.asking = before, c.flows.questions.alwaysWithQuestions
	own.unchecked = own.withLayers(own.bare)
	runner, timeout, err := r.runnerFor(&own, req, req.Agent)
	if err != nil {
		return nil, err
	}
	frame := &stream.Frame{Runner: withCharge(runner, c.limiter), Model: defaultModel(c.flows.models), Timeout: timeout}
	c.server.Report(frame)
	return frame, nil
}

// ContinuesText implements task.Turns. The first model of the agent's chain decides.
func (c *continuer) ContinuesText(req *chat.Request, agent string) bool {
	key := ""
	for _, a := range c.team.registryOf(req.Principal.Tenant).spec.Agents {
		if a.ID == agent {
			key = a.Model
		}
	}
	chain, ok := c.flows.models.Link(key).(*model.Chain)
	return ok && chain.AfterText().Word != ""
}

// resumeRequest has a request continue from the saved states of its turn. Without states the turn
// begins again, unless its route was emitted already. A turn whose answer was sent does not make
// another one.
func (c *continuer) resumeRequest(r *registry, req *chat.Request, saved map[string][][]byte, before []stream.Event) (err error) {
	req.Facts.Saving = &chat.Saving{Before: saved}
	if len(saved[chat.SavedDelivery]) > 0 {
		return nil
	}
	states := maps.Clone(saved)
	maps.DeleteFunc(states, func(part string, _ [][]byte) bool { return strings.HasPrefix(part, delegate.SavedCalls) })
	if len(states) == 0 {
		if slices.ContainsFunc(before, func(ev stream.Event) bool { _, ok := ev.(*stream.Route); return ok }) {
			return errors.New("what was decided is not saved")
		}
		return nil
	}
	to := &chat.Resumed{TakenOver: true}
	if r := req.Resumed; r != nil {
		to.Evidence = r.Evidence
	}
	to.Evidence = quality.Before(to.Evidence, before)
	if len(states[router.SavedPart]) == 0 {
		err = c.resumeAgent(r, to, states)
	} else {
		err = c.resumeTeam(r, to, states, before)
	}
	req.Resumed = to
	return err
}

// resumeAgent sets where the one agent of a turn stands.
func (c *continuer) resumeAgent(r *registry, to *chat.Resumed, states map[string][][]byte) (err error) {
	to.By = chat.PausedAgent
	to.State, err = c.joinAgent(states[""])
	if err == nil && r.team != nil {
		err = errors.New("there are agents here, and there were none")
	}
	return err
}

// resumeTeam sets the saved states of a turn's agents, and the calls and runs that were emitted.
func (c *continuer) resumeTeam(r *registry, to *chat.Resumed, states map[string][][]byte, before []stream.Event) (err error) {
	for id := range states {
		if id != router.SavedPart && (r.team == nil || !r.team.Knows(id)) {
			return fmt.Errorf("there is no agent %s here", id)
		}
	}
	to.By = chat.PausedTeam
	to.State, err = router.Join(states, c.joinAgent)
	said := stream.Fold{Only: stream.Answer}
	for _, ev := range before {
		said.Add(ev)
		switch e := ev.(type) {
		case *stream.ToolStarted:
			if e.SessionID == "" {
				to.Emitted = append(to.Emitted, chat.PendingCall{ID: e.ID, AgentID: e.AgentID})
			}
		case *stream.AgentRun:
			if e.Role != stream.RoleDelegate {
				to.Emitted = append(to.Emitted, chat.PendingCall{AgentID: e.AgentID})
			}
		}
	}
	to.Said = said.Text()
	return err
}

// joinAgent is agent.Join where the model that has answered must be one of those here.
func (c *continuer) joinAgent(parts [][]byte) ([]byte, error) {
	state, err := agent.Join(parts)
	if err != nil {
		return nil, err
	}
	if key := agent.AnsweredBy(state); key != "" && c.flows.models.Link(key) == nil {
		return nil, fmt.Errorf("there is no model %s here", key)
	}
	return state, nil
}
