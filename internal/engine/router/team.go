// This file is the frame of a turn: decide, report the decision, carry it out. If no agent is to
// answer, the text (a question back, a fallback) is a template, or the task of a special agent.

package router

import (
	"context"
	"strings"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Run answers a request: it decides, runs the agents and joins their answers. See
// stream.Runner.
func (t *Team) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	if req.Resumed != nil {
		return t.resumeTeam(ctx, req, sink)
	}
	began := time.Now()
	d := t.decideTraced(ctx, req)
	d.elapsed = time.Since(began)
	r := newTurn(t, ctx, req, sink)
	r.result = stream.Result{Usage: d.reply.Usage, Route: max(d.elapsed, 1), Agents: []stream.AgentOutcome{}}
	if err := fault.Cause(ctx); err != nil {
		return r.result, err
	}
	ev := t.routeEvent(&d)
	t.logDecision(ctx, &d, ev)
	t.counts.countDecision(&d, ev)
	r.route = ev
	r.out.Emit(ev) // it is flushed with the next event, and that comes at once
	if r.out.Err != nil {
		return r.result, r.out.Err
	}
	err := r.carryOut(&d, req)
	return r.result, err
}

// Decided is a decision by itself, without the turn that follows.
type Decided struct {
	Route      *stream.Route
	Usage      chat.Usage
	Unreadable int           // answers of models that could not be read
	Elapsed    time.Duration // at least 1
	Err        error         // why routing failed; nil: it did not
}

// Decide returns the team's decision about a request. No agent runs, and nothing is logged or
// counted.
func (t *Team) Decide(ctx context.Context, req *chat.Request) Decided {
	began := time.Now()
	d := t.decideRoute(ctx, req)
	d.elapsed = time.Since(began)
	out := Decided{Route: t.routeEvent(&d), Usage: d.reply.Usage, Unreadable: d.reply.Unreadable, Elapsed: max(d.elapsed, 1)}
	if d.err != nil {
		out.Err = d.err
	}
	return out
}

// turn is one run of a team. All of it belongs to the goroutine that called Run.
type turn struct {
	team   *Team
	ctx    context.Context
	facts  *chat.Facts
	out    run.Out
	result stream.Result

	route   *stream.Route
	clarify bool      // the agent's text is a question
	several bool      // more than one agent answers
	chosen  int       // how many are to answer, where there are several
	planned []*member // all, in the order of the answers
	members []*member // those that began
	voice   run.Voice // has a line for each of planned
	ids     run.IDs   // by member, attempt and the agent's own
	// emitted has the agents of the calls that a previous process has emitted, by the calls' ids;
	// nil without such a process.
	emitted map[string]string
}

func newTurn(t *Team, ctx context.Context, req *chat.Request, sink stream.Sink) *turn {
	r := &turn{team: t, ctx: ctx, facts: &req.Facts, out: run.Out{Sink: sink}}
	r.voice = run.Voice{Out: &r.out, Natural: t.cfg.Aggregate.NaturalJoining}
	return r
}

// planMembers has members answer, in their order.
func (r *turn) planMembers(members ...*member) {
	for _, m := range members {
		m.turn, m.Owner, m.Max, m.Attribution = r, m, maxText, stream.Attribution{AgentID: m.agent.ID}
		r.planned, r.voice.Lines = append(r.planned, m), append(r.voice.Lines, run.Line{Attribution: m.Attribution})
	}
}

// carryOut carries out a decision.
func (r *turn) carryOut(d *decision, req *chat.Request) error {
	cfg := &r.team.cfg
	switch d.kind {
	case stream.Routed:
		return r.runAgents(d.agents, req)
	case stream.Clarified:
		text := r.fillTemplate(cfg.ClarificationTemplate, d, req)
		r.clarify = true
		return r.answerByTemplate(cfg.ClarificationAgent, stream.RoleClarification, text, req)
	}
	text := r.fillTemplate(cfg.FallbackTemplate, d, req)
	err := r.answerByTemplate(cfg.FallbackAgent, stream.RoleFallback, text, req)
	if err == nil && d.err != nil && len(r.members) == 0 { // no agent has answered
		return d.err
	}
	return err
}

// answerByTemplate has the special agent of that id carry out text as its task. If that agent is
// missing or unavailable, it emits text itself.
//
// A template's text belongs to no agent, and no agent is reported.
func (r *turn) answerByTemplate(id string, role stream.Role, text string, req *chat.Request) error {
	if a := r.team.byID[id]; a != nil && a.isAvailable() {
		task := *req
		task.Input = text
		r.planMembers(&member{agent: a, role: role, req: &task})
		return r.dispatchPlanned()
	}
	r.voice.EmitPlain(strings.TrimSpace(text))
	r.out.Flush()
	r.result.Reason = r.endReason(stream.Stop)
	return r.out.Err
}

// endReason returns why the turn has ended: one that says a question ends with that.
func (r *turn) endReason(reason stream.FinishReason) stream.FinishReason {
	if r.clarify && reason.Success() {
		return stream.InputRequired
	}
	return reason
}

// fillTemplate fills in a template. Values are never read as a template.
func (r *turn) fillTemplate(template string, d *decision, req *chat.Request) string {
	var names []string
	for _, a := range r.team.routableAgents() {
		names = append(names, singleLine(a.shownName()))
	}
	agent := ""
	if len(d.agents) > 0 {
		agent = singleLine(d.agents[0].shownName())
	}
	return strings.NewReplacer("{request}", req.FullInput(), "{agents}", strings.Join(names, ", "),
		"{agent}", agent, "{reason}", d.reasoning).Replace(template)
}
