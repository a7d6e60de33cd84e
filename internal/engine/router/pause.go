package router

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"sluice/internal/base/fault"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// A team pauses when each of its agents has ended or waits for a person, and then asks once for all
// of them. Reported events are not repeated: the text of an agent that waits follows in its place,
// in the next stream.

// saved is a team that waits, but for those of its agents that do.
type saved struct {
	Route   *stream.Route       `json:"route"`
	Clarify bool                `json:"clarify,omitempty"` // the text is a question
	Several bool                `json:"several,omitempty"`
	Chosen  int                 `json:"chosen,omitempty"`
	Speaker int                 `json:"speaker,omitempty"`
	Emitted run.Join            `json:"said"`
	Members []savedMember       `json:"members"` // in the order of the answers
	IDs     map[string]string   `json:"ids,omitempty"`
	Usage   chat.Usage          `json:"usage"` // of those that have ended
	Models  []string            `json:"models,omitempty"`
	Reason  stream.FinishReason `json:"reason,omitempty"`
	Asker   string              `json:"asker,omitempty"`   // the agent that asked the user; the next request goes there
	History []chat.Message      `json:"history,omitempty"` // for those that have not begun
}

// savedMember is an agent's part; one that has ended has an Outcome, one that waits is within
// the team by its id.
type savedMember struct {
	ID      string               `json:"id"`
	Role    stream.Role          `json:"role"`
	Attempt int                  `json:"attempt,omitempty"` // 0: it has not begun
	Input   string               `json:"input,omitempty"`
	Pending []string             `json:"pending,omitempty"`
	Text    []string             `json:"text,omitempty"`
	Size    int                  `json:"size,omitempty"`
	Spoke   bool                 `json:"spoke,omitempty"`
	Usage   chat.Usage           `json:"usage"`
	Ended   bool                 `json:"ended,omitempty"`
	Outcome *stream.AgentOutcome `json:"outcome,omitempty"`
	Failed  *savedFault          `json:"failed,omitempty"`
	Waits   bool                 `json:"waits,omitempty"`
	By      string               `json:"by,omitempty"` // with State: the waiting run, in the form before the tree
	State   json.RawMessage      `json:"state,omitempty"`
	Calls   []savedCall          `json:"calls,omitempty"` // that wait, by the ids of their events

	waiting *run.Paused // nil: it does not wait
}

// savedFault is why an agent failed, as far as callers may see it.
type savedFault struct {
	Type    fault.Type `json:"type"`
	Message string     `json:"message"`
	Service string     `json:"service,omitempty"`
}

// savedCall joins the id that clients know to the agent's own.
type savedCall struct {
	ID          string `json:"id"`
	AgentCallID string `json:"own"`
}

// hasWaiting reports whether an agent waits for a person.
func (r *turn) hasWaiting() bool {
	return slices.ContainsFunc(r.planned, func(m *member) bool { return m.paused != nil })
}

// pauseTeam ends a turn some of whose agents wait. It returns false if nobody can be asked:
// then their calls were refused, and they continue.
//
// true: the turn is over, with a question or an error.
func (r *turn) pauseTeam() (bool, error) {
	p, err := r.makePaused()
	if err != nil {
		return true, err
	}
	refusal := r.facts.Pause(p)
	if refusal != "" {
		for _, m := range r.planned {
			m.refuseCalls(refusal)
		}
		return false, nil
	}
	r.inOrder()
	for _, m := range r.members {
		if m.paused != nil {
			result := *m.result
			m.paused = nil
			r.endMember(m, result, nil)
		}
		r.result.Agents = append(r.result.Agents, m.outcome)
	}
	r.result.Reason, r.result.Paused = stream.ApprovalRequired, p
	r.out.Flush()
	return true, r.out.Err
}

// failWaiting ends those that wait in a turn that ends without a question.
func (r *turn) failWaiting() {
	for _, m := range r.planned {
		if m.paused != nil {
			result := *m.result
			m.paused, m.Stopped = nil, cmp.Or(r.out.Err, fault.Cause(r.ctx))
			r.endMember(m, result, m.Stopped)
		}
	}
}

// makePaused returns the question for all agents that wait, with the state of the team.
//
// It gives calls their ids before the ids are saved, so that they are the same when the
// team continues.
func (r *turn) makePaused() (*chat.Paused, error) {
	q := r.nextQuestion()
	usage := r.result.Usage
	var within []*run.Paused
	s := saved{
		Route: r.route, Clarify: r.clarify, Several: r.several, Chosen: r.chosen, Speaker: r.voice.Speaker,
		Emitted: r.voice.Emitted, Usage: r.result.Usage, Models: r.result.Models, Reason: r.result.Reason, Asker: r.result.Asker,
	}
	for _, m := range r.planned {
		stored := m.savedPart(r.lineOf(m))
		if m.paused != nil {
			p, err := run.ReadPaused(m.paused.By, m.paused.State)
			if err != nil {
				return nil, err
			}
			within = append(within, p.As(m.agent.ID))
			usage.Add(m.paused.Usage)
			m.addCalls(&stored, &q)
		}
		if m.attempt == 0 {
			s.History = m.req.History
		}
		s.Members = append(s.Members, stored)
	}
	s.IDs = r.ids.ByKey
	p, err := run.Pause(chat.PausedTeam, s, within...)
	if err != nil {
		return nil, err
	}
	return &chat.Paused{By: chat.PausedTeam, State: p.Encode(), Usage: usage, Questions: []chat.Question{q}}, nil
}

// addCalls adds the waiting calls of a member to its saved part, and to the question.
func (m *member) addCalls(stored *savedMember, q *chat.Question) {
	for _, asked := range m.paused.Questions {
		for _, c := range asked.Calls {
			own := c.ID
			c.ID, c.AgentID = m.CallID(own, false), cmp.Or(c.AgentID, m.agent.ID)
			stored.Calls = append(stored.Calls, savedCall{c.ID, own})
			if asked.Kind == q.Kind {
				q.Calls = append(q.Calls, c)
			}
		}
	}
}

// nextQuestion returns the question for the agents that wait, without its calls. The question about
// outcomes of calls comes first; the one about other calls follows in a later pause.
func (r *turn) nextQuestion() chat.Question {
	for _, m := range r.planned {
		if m.paused == nil {
			continue
		}
		for _, q := range m.paused.Questions {
			if q.Kind == chat.AskOutcome {
				return chat.Question{Kind: q.Kind, Prompt: q.Prompt}
			}
		}
	}
	return chat.Question{Kind: chat.AskTools}
}

// savedPart returns the part as it is stored. Input is kept only for a member that has not
// begun; others have it in their states.
func (m *member) savedPart(line *run.Line) savedMember {
	s := savedMember{
		ID: m.agent.ID, Role: m.role, Attempt: m.attempt, Pending: line.Pending, Text: m.text, Size: m.Size,
		Spoke: line.Spoke, Usage: m.usage, Ended: m.ended, Waits: m.paused != nil,
	}
	if m.attempt == 0 {
		s.Input = m.req.Input
	}
	if m.ended {
		s.Outcome = &m.outcome
	}
	if m.err != nil {
		s.Failed = &savedFault{m.err.Type, m.err.Message, m.err.Service}
	}
	return s
}

// refuseCalls has a member that waits continue without its calls.
func (m *member) refuseCalls(why string) {
	if m.paused == nil {
		return
	}
	again := *m.req
	again.Resumed = &chat.Resumed{By: m.paused.By, State: m.paused.State, Usage: m.paused.Usage}
	for _, q := range m.paused.Questions {
		for _, c := range q.Calls {
			again.Resumed.Decisions = append(again.Resumed.Decisions, chat.Decision{CallID: c.ID, Action: chat.Refuse, Message: why})
		}
	}
	m.req, m.paused, m.continues, m.changed = &again, nil, true, true
}

// Readable says why a team that waits cannot continue; nil: it can. agent says the same of one
// of its agents.
func Readable(team *run.Paused, agent func(*run.Paused) error) error {
	s, err := readSaved(team)
	if err != nil {
		return err
	}
	for _, m := range s.Members {
		if m.waiting == nil {
			continue
		}
		if err := agent(m.waiting); err != nil {
			return err
		}
	}
	return nil
}

// readSaved checks what would make resume panic. Its error wraps run.ErrPaused.
func readSaved(p *run.Paused) (*saved, error) {
	s := new(saved)
	if err := p.Into(s); err != nil {
		return nil, err
	}
	if !s.isWhole() {
		return nil, fmt.Errorf("%w: a team contradicts itself", run.ErrPaused)
	}
	for i := range s.Members {
		m := &s.Members[i]
		if !m.isWaiting() {
			continue
		}
		var err error
		if m.waiting, err = p.Child(m.By, m.ID, m.State); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// isWhole reports whether there is a route, and the speaker is one of the members.
func (s *saved) isWhole() bool {
	return s.Route != nil && s.Speaker >= 0 && s.Speaker < len(s.Members)
}

// isWaiting reports whether a member waits, in either of the saved forms.
func (s *savedMember) isWaiting() bool { return s.Waits || len(s.State) > 0 }

// resumeTeam continues with a team that was paused.
//
// The decision is reported again as it was and is not made again. Usage and reasons continue from
// the saved ones.
func (t *Team) resumeTeam(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	p, err := run.ReadPaused(chat.PausedTeam, req.Resumed.State)
	if err != nil {
		return stream.Result{}, err
	}
	s, err := readSaved(p)
	if err != nil {
		return stream.Result{}, err
	}
	if req.Resumed.TakenOver {
		return t.continueSaved(ctx, req, s, sink)
	}
	r := newTurn(t, ctx, req, sink)
	r.route, r.clarify, r.several, r.chosen, r.ids.ByKey = s.Route, s.Clarify, s.Several, s.Chosen, s.IDs
	r.voice.Speaker, r.voice.Emitted = s.Speaker, s.Emitted
	r.result = stream.Result{Usage: s.Usage, Models: s.Models, Reason: s.Reason, Asker: s.Asker, Agents: []stream.AgentOutcome{}}
	for i := range s.Members {
		stored := &s.Members[i]
		m := t.restoreMember(stored, i, req, s.History)
		r.planMembers(m)
		line := r.lineOf(m)
		line.Pending, line.Spoke = stored.Pending, stored.Spoke
		if m.ended {
			r.members = append(r.members, m)
		}
	}
	r.introduceOthers()
	if err := fault.Cause(ctx); err != nil {
		return r.result, err
	}
	r.out.Emit(r.route)
	r.out.Flush()
	err = r.dispatchPlanned()
	return r.result, err
}

// introduceOthers names the others to members that have not begun; those that have begun know them.
func (r *turn) introduceOthers() {
	if !r.several {
		return
	}
	agents := make([]*Agent, len(r.planned))
	for i, m := range r.planned {
		agents[i] = m.agent
	}
	for i, m := range r.planned {
		if m.attempt == 0 {
			m.req = amongOthers(m.req, agents, i)
		}
	}
}

// restoreMember returns a member as it was saved. A member that waited continues with the decisions
// about its calls.
//
// An agent that is gone by now is replaced by one that fails, so that the others can continue.
func (t *Team) restoreMember(s *savedMember, index int, req *chat.Request, history []chat.Message) *member {
	m := &member{
		agent: t.byID[s.ID], role: s.Role, index: index, attempt: s.Attempt, text: s.Text, Branch: run.Branch{Size: s.Size},
		usage: s.Usage, ending: ending{ended: s.Ended}, changed: s.waiting != nil,
	}
	if m.agent == nil {
		m.agent = &Agent{ID: s.ID, Runner: missingAgent{}}
	}
	own := *req
	own.History, own.Resumed, own.Facts.ShownText = nil, nil, ""
	switch {
	case s.waiting != nil:
		own.Resumed = s.resumedFor(req.Resumed)
	case s.Attempt == 0:
		own.Input, own.History = s.Input, history
	}
	m.req = &own
	if s.Outcome != nil {
		m.outcome = *s.Outcome
	}
	if s.Failed != nil {
		m.err = &fault.Error{Type: s.Failed.Type, Message: s.Failed.Message, Service: s.Failed.Service}
	}
	return m
}

// resumedFor returns the part of a Resumed that belongs to the member: its state, and the decisions
// about its calls.
func (s *savedMember) resumedFor(team *chat.Resumed) *chat.Resumed {
	own := &chat.Resumed{By: s.waiting.Kind, State: s.waiting.Encode(), Changed: team.Changed}
	for _, d := range team.Decisions {
		i := slices.IndexFunc(s.Calls, func(c savedCall) bool { return c.ID == d.CallID })
		if i >= 0 {
			d.CallID = s.Calls[i].AgentCallID
			own.Decisions = append(own.Decisions, d)
		}
	}
	return own
}

// missingAgent runs in place of an agent that is not configured any more.
type missingAgent struct{}

func (missingAgent) Run(context.Context, *chat.Request, stream.Sink) (stream.Result, error) {
	return stream.Result{}, &fault.Error{Type: fault.AgentUnavailable, Message: "The agent is not configured any more"}
}
