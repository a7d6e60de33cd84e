// This file goes on with turns whose process is gone: what answers is what this gateway's own
// configuration says, from where the turn stood.

package gateway

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"sluice/internal/engine/agent"
	"sluice/internal/engine/agent/delegate"
	"sluice/internal/engine/router"
	"sluice/internal/quality"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// takeover implements task.Turns once the gateway is there, and its tools are.
type takeover struct{ by atomic.Pointer[Gateway] }

// Continue implements task.Turns.
func (t *takeover) Continue(req *chat.Request, states map[string][][]byte, before []stream.Event) (*stream.Frame, error) {
	g := t.by.Load()
	if g == nil {
		return nil, task.ErrNotHere
	}
	return g.goOnWithTurn(req, states, before)
}

// openTakeover begins to go on with runs and turns of other processes, when the tools are there.
func (g *Gateway) openTakeover() {
	if g.state == nil {
		return
	}
	by := g.goOn
	if !g.cfg.HasFile() {
		by = nil
	}
	if by == nil && g.state.turns == nil {
		return
	}
	g.state.runs.Use(by, func() bool { return g.tools.client.Connected() && g.roster.Available() }, func() {
		if g.state.turns != nil {
			g.state.turns.by.Store(g)
		}
		g.state.tasks.Ready()
	})
}

// goOnWithTurn returns what runs the rest of a turn. Questions can come up whatever the settings
// say: what became of a call only a person may know.
func (g *Gateway) goOnWithTurn(req *chat.Request, states map[string][][]byte, before []stream.Event) (*stream.Frame, error) {
	r := g.registry.Load().of(req.Principal.Tenant)
	if err := g.resume(r, req, states, before); err != nil {
		return nil, err
	}
	by, err := g.answererOf(r, req)
	if err == nil {
		err = r.refuse(req, req.Agent)
	}
	if err != nil {
		return nil, fmt.Errorf("what answered is not configured here: %w", err)
	}
	own := *by
	own.before, own.asking = before, g.questions.alwaysWithQuestions
	own.whole = own.around(own.bare)
	runner, timeout, err := own.forRequest(r, req, req.Agent)
	if err != nil {
		return nil, err
	}
	frame := &stream.Frame{Runner: withCharge(runner, g.limiter), Model: g.Model(), Timeout: timeout}
	g.server.Report(frame)
	return frame, nil
}

// resume has a request continue from what was saved of its turn; without anything it begins again,
// unless it was emitted already who answers. Where the answer is out nobody makes another one.
func (g *Gateway) resume(r *registry, req *chat.Request, saved map[string][][]byte, before []stream.Event) (err error) {
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
		err = g.resumeAgent(r, to, states)
	} else {
		err = g.resumeTeam(r, to, states, before)
	}
	req.Resumed = to
	return err
}

// resumeAgent sets where the one agent of a turn stands.
func (g *Gateway) resumeAgent(r *registry, to *chat.Resumed, states map[string][][]byte) (err error) {
	to.By = chat.PausedAgent
	to.State, err = g.join(states[""])
	if err == nil && r.team != nil {
		err = errors.New("there are agents here, and there were none")
	}
	return err
}

// resumeTeam sets where the agents of a turn stand, and what was shown of them.
func (g *Gateway) resumeTeam(r *registry, to *chat.Resumed, states map[string][][]byte, before []stream.Event) (err error) {
	for id := range states {
		if id != router.SavedPart && (r.team == nil || !r.team.Knows(id)) {
			return fmt.Errorf("there is no agent %s here", id)
		}
	}
	to.By = chat.PausedTeam
	to.State, err = router.Join(states, g.join)
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

// join is agent.Join where the model that has answered must be one of those here.
func (g *Gateway) join(parts [][]byte) ([]byte, error) {
	state, err := agent.Join(parts)
	if err != nil {
		return nil, err
	}
	if key := agent.AnsweredBy(state); key != "" && g.models.Link(key) == nil {
		return nil, fmt.Errorf("there is no model %s here", key)
	}
	return state, nil
}
