// This file saves the state of a running team (chat.Saver), and continues a team whose process is
// gone. A resumed team keeps its decision, and a member that has ended does not run again. Each of
// the others continues from its own last state.

package router

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"sluice/internal/base/fault"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// SavedPart names the part of a turn with the team's own state; the parts of its agents have their
// ids.
const SavedPart = "team:"

// saving is how the text of a member is saved.
type saving struct {
	allText     []string // all of it, if the turn saves anything
	storedCount int      // how many of the pieces the store has
}

// memberPart is the saved state of a member, with that of its agent.
type memberPart struct {
	From  int             `json:"from,omitempty"` // how many pieces of the text stand before Texts
	Texts []string        `json:"said,omitempty"`
	State json.RawMessage `json:"state"`
}

// memberSaver is the chat.Saver of a member's agent.
type memberSaver struct {
	chat.Saver
	of *member
}

// Save implements chat.Saver. The goroutine of the member's run calls it.
func (s memberSaver) Save(part string, state []byte) {
	if part != s.of.agent.ID { // of something within
		s.Saver.Save(part, state)
		return
	}
	k := &s.of.saving
	own := memberPart{From: k.storedCount, State: state}
	if !s.of.turn.holdsBack() {
		own.Texts = k.allText[k.storedCount:]
	}
	text, err := json.Marshal(own)
	if err != nil { // a state is JSON
		return
	}
	k.storedCount += len(own.Texts)
	s.Saver.Save(part, text)
}

// holdsBack reports whether the answer is held: then it is not stored before its verdict. If
// another process continues, an agent that has ended continues from its last call again.
func (r *turn) holdsBack() bool { return r.facts.Held != nil && r.facts.Held() }

// saveTeam saves the decision, and the members that have ended.
func (r *turn) saveTeam() {
	if r.facts.Saving == nil {
		return
	}
	s := saved{Route: r.route, Clarify: r.clarify, Several: r.several, Chosen: r.chosen, Usage: r.result.Usage, Models: r.result.Models, Reason: r.result.Reason, Asker: r.result.Asker}
	for _, m := range r.planned {
		stored := savedMember{ID: m.agent.ID, Role: m.role, Input: m.req.Input}
		if m.ended && !r.holdsBack() {
			stored = m.savedPart(r.lineOf(m))
			stored.Text, stored.Pending = m.allText, nil
		}
		s.Members = append(s.Members, stored)
	}
	if p, err := run.Pause(chat.PausedTeam, s); err == nil {
		r.facts.Saving.Save(SavedPart, p.Encode())
	}
}

// Join returns the state of a team from its saved parts. states has them by SavedPart and by agent,
// in their order. agent joins those of one agent.
func Join(states map[string][][]byte, agent func([][]byte) ([]byte, error)) ([]byte, error) {
	own := states[SavedPart]
	if len(own) == 0 {
		return nil, fmt.Errorf("%w: what was decided is missing", run.ErrPaused)
	}
	p, err := run.ReadPaused(chat.PausedTeam, own[len(own)-1])
	if err != nil {
		return nil, err
	}
	s := new(saved)
	if err := p.Into(s); err != nil {
		return nil, err
	}
	within, err := s.joinMembers(states, agent)
	if err != nil {
		return nil, err
	}
	if p, err = run.Pause(chat.PausedTeam, s, within...); err != nil {
		return nil, err
	}
	if _, err := readSaved(p); err != nil {
		return nil, err
	}
	return p.Encode(), nil
}

// joinMembers joins the states of the members that have not ended.
func (s *saved) joinMembers(states map[string][][]byte, agent func([][]byte) ([]byte, error)) (within []*run.Paused, err error) {
	for i := range s.Members {
		m := &s.Members[i]
		if len(states[m.ID]) == 0 || m.Ended {
			continue
		}
		waiting, err := m.joinParts(states[m.ID], agent)
		if err != nil {
			return nil, err
		}
		within = append(within, waiting)
	}
	return within, nil
}

// joinParts fills in the state of a member's agent. For a remote agent the task is known, and the
// task has the whole text.
func (m *savedMember) joinParts(parts [][]byte, agent func([][]byte) ([]byte, error)) (*run.Paused, error) {
	var states [][]byte
	for _, text := range parts {
		var part memberPart
		if err := json.Unmarshal(text, &part); err != nil {
			return nil, fmt.Errorf("%w: %w", run.ErrPaused, err)
		}
		if part.From < 0 || part.From > len(m.Text) {
			return nil, fmt.Errorf("%w: a part of the text of %s is missing", run.ErrPaused, m.ID)
		}
		m.Text, states = append(m.Text[:part.From:part.From], part.Texts...), append(states, part.State)
	}
	m.Waits, m.Attempt = true, 1
	if p, err := run.ReadPaused(chat.PausedRemote, states[len(states)-1]); err == nil {
		m.Text = nil
		return p.As(m.ID), nil
	}
	state, err := agent(states)
	if err != nil {
		return nil, err
	}
	p, err := run.ReadPaused(chat.PausedAgent, state)
	return p.As(m.ID), err
}

// continueSaved goes on with a team whose process is gone.
func (t *Team) continueSaved(ctx context.Context, req *chat.Request, s *saved, sink stream.Sink) (stream.Result, error) {
	r := newTurn(t, ctx, req, sink)
	r.route, r.clarify, r.several, r.chosen, r.emitted = s.Route, s.Clarify, s.Several, s.Chosen, map[string]string{}
	r.result = stream.Result{Usage: s.Usage, Models: s.Models, Reason: s.Reason, Asker: s.Asker, Agents: []stream.AgentOutcome{},
		Route: max(1, time.Duration(s.Route.Millis)*time.Millisecond)}
	r.planAgain(s, req)
	r.introduceOthers()
	if err := fault.Cause(ctx); err != nil {
		return r.result, err
	}
	r.out.Emit(r.route)
	for _, m := range r.members {
		m.emitAgain()
	}
	err := r.speakAgain(req.Resumed.Said)
	r.out.Flush()
	if err = cmp.Or(r.out.Err, err); err == nil {
		err = r.dispatchPlanned()
	}
	return r.result, err
}

// planAgain plans the members as they were saved. A member that had begun and cannot continue is
// lost.
func (r *turn) planAgain(s *saved, req *chat.Request) {
	begun := r.noteEmitted(req.Resumed)
	for i := range s.Members {
		m := r.team.restoreSaved(&s.Members[i], i, req)
		if begun[m.agent.ID] && !m.ended && !m.canContinue(s.Members[i].waiting) {
			m.replaceByLost()
		}
		r.planMembers(m)
		if m.ended {
			r.members = append(r.members, m)
		}
	}
}

// noteEmitted notes the calls that were emitted, and returns which agents had begun.
func (r *turn) noteEmitted(of *chat.Resumed) (begun map[string]bool) {
	begun = map[string]bool{}
	for _, c := range of.Emitted {
		begun[c.AgentID] = true
		if c.ID != "" {
			r.emitted[c.ID] = c.AgentID
			r.ids.Use("emitted "+c.ID, c.ID)
		}
	}
	return begun
}

// replaceByLost puts in place of the agent one whose outcome nobody knows.
func (m *member) replaceByLost() {
	lost := *m.agent
	lost.Runner = lostAgent{}
	m.agent = &lost
}

// restoreSaved returns a member as it was saved.
func (t *Team) restoreSaved(s *savedMember, index int, req *chat.Request) *member {
	m := t.restoreMember(s, index, req, req.History)
	m.allText, m.storedCount, m.Size = s.Text, len(s.Text), 0
	for _, piece := range s.Text {
		m.Size += len(piece)
	}
	if s.waiting != nil {
		m.req.Resumed.TakenOver, m.req.Resumed.Decisions = true, nil
	}
	if !s.Ended && s.waiting == nil {
		m.req.Input, m.req.History = s.Input, req.History
	}
	return m
}

// canContinue reports whether an agent that has begun can continue. Without a saved state (nil)
// only a local agent can. A remote agent cannot continue a local state, nor a local agent a remote
// one.
func (m *member) canContinue(waiting *run.Paused) bool {
	if waiting == nil {
		return !m.agent.Remote
	}
	return m.agent.Remote == (waiting.Kind == chat.PausedRemote)
}

// emitAgain emits the begin and the end of a member that has ended. Code further outside drops
// events that a client has.
func (m *member) emitAgain() {
	ev := &stream.AgentRun{AgentID: m.agent.ID, Role: m.role, Attempt: max(1, m.attempt), Status: stream.AgentStarted, Remote: m.agent.Remote}
	m.turn.out.Emit(ev)
	end, ok, millis := *ev, m.outcome.Success, m.outcome.Millis
	end.Status, end.Success, end.Millis, end.ErrorMessage = stream.AgentCompleted, &ok, &millis, m.outcome.ErrorMessage
	if !ok {
		end.Status = stream.AgentFailed
		if m.err != nil {
			end.ErrorType = m.err.Type
		}
	}
	if u := m.usage; u != (chat.Usage{}) {
		end.Usage = &stream.TokenUsage{Input: u.InputTokens, Output: u.OutputTokens, Thinking: u.ThinkingTokens}
	}
	m.turn.out.Emit(&end)
}

// speakAgain brings the answer to the state of the members. out is the emitted text: its end is
// continued by the agent that speaks, or taken back from the first difference on.
func (r *turn) speakAgain(out string) error {
	var pieces deltas
	voice := r.voice
	voice.Out = &run.Out{Sink: &pieces}
	for i, m := range r.planned {
		for _, piece := range m.allText {
			voice.Text(i, piece)
		}
		voice.Advance(func(line int) bool { return line <= i && r.planned[line].ended })
	}
	voice.Out = &r.out
	r.voice = voice
	stays := pieces.commonLength(out)
	switch back := out[stays:]; {
	case back == "":
	case r.facts.ShownText != "":
		return r.continueText(back)
	default:
		r.out.Emit(&stream.Reset{Reason: stream.ResetTakenOver, Back: len(back), Runes: utf8.RuneCountInString(back)})
	}
	for _, d := range pieces {
		skip := min(stays, len(d.Text))
		if stays -= skip; skip < len(d.Text) {
			d.Text = d.Text[skip:]
			r.out.Emit(&d)
		}
	}
	return nil
}

// continueText has the agent that speaks continue its text behind the end that its state lacks.
func (r *turn) continueText(shown string) error {
	if r.voice.Speaker == len(r.planned) {
		return &fault.Error{Type: fault.TurnLost, Message: fault.TurnLostMessage, Err: errors.New("the agent that has spoken has ended")}
	}
	m := r.planned[r.voice.Speaker]
	m.req.Facts.ShownText = shown
	m.text, m.allText, m.Size = append(slices.Clip(m.text), shown), append(slices.Clip(m.allText), shown), m.Size+len(shown)
	r.lineOf(m).Spoke = true
	r.voice.Emitted.Add(shown)
	return nil
}

// deltas is a sink that keeps pieces of an answer.
type deltas []stream.Delta

// Emit implements stream.Sink.
func (d *deltas) Emit(ev stream.Event) error {
	if piece, ok := ev.(*stream.Delta); ok {
		*d = append(*d, *piece)
	}
	return nil
}

// Flush implements stream.Sink.
func (*deltas) Flush() error { return nil }

// commonLength returns how many bytes of a text are where the pieces joined begin, in whole characters.
func (d deltas) commonLength(text string) (n int) {
	for _, piece := range d {
		for i := range len(piece.Text) {
			if n == len(text) || text[n] != piece.Text[i] {
				for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
					n--
				}
				return n
			}
			n++
		}
	}
	return n
}

// lostAgent runs in place of an agent somewhere else that had begun, and whose task is not known: it
// is not asked again.
type lostAgent struct{}

// Run implements stream.Runner.
func (lostAgent) Run(context.Context, *chat.Request, stream.Sink) (stream.Result, error) {
	return stream.Result{}, &fault.Error{Type: fault.AgentFailed, Unknown: true, Message: "The gateway stopped while the agent was at work: what it has done is not known",
		Err: errors.New("its task is not known")}
}

// recallID has a call of a member keep the id that it had before.
func (r *turn) recallID(m *member, key string, form func(n int) string) {
	for n := 1; n <= len(r.emitted)+1; n++ {
		switch by := r.emitted[form(n)]; by {
		case m.agent.ID:
			r.ids.Use(key, form(n))
			return
		case "":
			return
		}
	}
}
