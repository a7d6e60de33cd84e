package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// enterTurn makes the first State of a request's turn, or continues with the one that was paused.
func (t *turn) enterTurn(req *chat.Request) error {
	t.req, t.state.request, t.shownText = req, req, req.Facts.ShownText
	if req.Resumed == nil {
		return t.beginTurn(req)
	}
	var s State
	if err := s.UnmarshalJSON(req.Resumed.State); err != nil {
		return err
	}
	if err := s.applyDecisions(req.Resumed.Decisions); err != nil {
		return err
	}
	s.request = req
	t.state = s
	if err := t.stopCause(); err != nil {
		return err
	}
	t.tools = t.availableTools()
	if req.Resumed.TakenOver {
		t.continueStream()
	}
	return t.stopCause()
}

// continueStream continues in the stream of the previous process.
func (t *turn) continueStream() {
	t.state.saved = len(t.state.Messages)
	for i := range t.state.Messages {
		if t.state.Messages[i].Spoken() {
			t.inputCount = i + 1
		}
	}
	t.emitClosedCalls()
}

// applyDecisions answers the calls that wait.
func (s *State) applyDecisions(decisions []chat.Decision) error {
	for _, d := range decisions {
		if c := s.askedWithin(d.CallID); c != nil {
			if err := c.decideWithin(d); err != nil {
				return err
			}
			continue
		}
		if i := slices.IndexFunc(s.Open, func(c OpenCall) bool { return c.ID == d.CallID && c.Outcome }); i >= 0 {
			if err := s.applyOutcome(&s.Open[i], d); err != nil {
				return err
			}
			continue
		}
		var err error
		switch d.Action {
		case chat.Approve:
			err = s.Approve(d.CallID)
		case chat.Modify:
			err = s.modifyCall(d.CallID, d.Arguments)
		case chat.Reject:
			err = s.Reject(d.CallID, d.Message)
		case chat.Refuse:
			err = s.refuseCall(d.CallID, d.Message)
		default:
			err = fmt.Errorf("action %q of a decision", d.Action)
		}
		if err != nil {
			return err
		}
		i := slices.IndexFunc(s.Open, func(c OpenCall) bool { return c.ID == d.CallID })
		s.Open[i].sent = d.Key
		if s.Open[i].print = d.Fingerprint; d.Action == chat.Approve || d.Action == chat.Modify {
			s.Open[i].Message = d.Message
		}
	}
	return nil
}

// applyOutcome accepts a person's answer about a call that was made.
func (s *State) applyOutcome(c *OpenCall, d chat.Decision) error {
	switch d.Action {
	case chat.Approve:
		return s.answerCall(d.CallID, func(c *OpenCall) { c.Answer, c.sent = answerApproved, d.Key })
	case chat.Modify:
		return s.Supply(c.ID, d.Result, false)
	case chat.Reject:
		return s.Supply(c.ID, "A person says that this call was not carried out.", true)
	case chat.Refuse:
		return s.refuseCall(d.CallID, d.Message)
	}
	return fmt.Errorf("action %q of a decision", d.Action)
}

// runUntilPaused runs the loop until the turn is over or paused. Calls that nobody can be asked
// about are refused, and the model continues without them.
func (t *turn) runUntilPaused() (*chat.Paused, error) {
	for {
		if err := t.runLoop(); err != nil || t.state.IsOver() {
			return nil, err
		}
		if p, err := t.pauseOrRefuse(); p != nil || err != nil {
			return p, err
		}
	}
}

// pauseOrRefuse asks about the calls that wait. It returns nil if nobody can be asked: then they are
// refused.
//
// It is not inlined, as its frame would lie on the stack of every open stream.
//
//go:noinline
func (t *turn) pauseOrRefuse() (*chat.Paused, error) {
	p, err := t.pausedState()
	if err != nil {
		return nil, err
	}
	refusal := t.req.Facts.Pause(p)
	if refusal == "" {
		return p, nil
	}
	t.state.RefuseAll(refusal)
	return nil, nil
}

// pausedState returns the question about the waiting calls, with the State.
func (t *turn) pausedState() (*chat.Paused, error) {
	state, err := json.Marshal(t.state)
	if err != nil {
		return nil, err
	}
	q := chat.Question{Kind: chat.AskTools}
	waiting := t.state.Waiting()
	if lost := slices.DeleteFunc(slices.Clone(waiting), func(c OpenCall) bool { return !c.Outcome }); len(lost) > 0 {
		q.Kind, q.Prompt, waiting = chat.AskOutcome, chat.OutcomePrompt, lost // the others are asked about after that
	}
	for i := range waiting {
		q.Calls = append(q.Calls, t.asksOf(&waiting[i])...)
	}
	return &chat.Paused{By: chat.PausedAgent, State: state, Usage: t.state.Usage, Questions: []chat.Question{q}}, nil
}

// recheckApproved returns why an approved call may not run any more, or nil.
func (t *turn) recheckApproved(j *job, c *OpenCall) error {
	if c.print != "" && j.spec == nil {
		return refusalFault(j.call, "the tool is not available at the moment", "Tell the user so.")
	}
	if c.print != "" && j.spec.Fingerprint() != c.print {
		return refusalFault(j.call, "the tool is not the one that was asked about any more", "Call it again if it is still needed.")
	}
	if c.Changed == nil {
		return t.checkForbidden(j.call)
	}
	key, err := t.admitCall(j.call, 0)
	j.key = key
	return err
}

// checkForbidden returns why nobody in the turn may make a call: its outcome is unknown, or a
// person has not allowed it.
func (t *turn) checkForbidden(c tool.Call) error {
	if err := t.sharedRefusal(c); err != nil {
		return err
	}
	return t.state.calls.checkRefused(c, callKey(c))
}

// forbidCall records for all agents of the turn that a person has not allowed a call.
func (t *turn) forbidCall(c *OpenCall) {
	key := c.key
	if key == "" {
		key = callKey(c.Call)
	}
	t.state.calls.recordOf(key).rejected = true
	t.shareVerdict(key, chat.CallRejected)
}

// withNewArguments adds a remark for the model to the result of a call whose arguments a person has
// changed: the arguments with which it ran.
func withNewArguments(r *tool.Result, args jsontext.Value) *tool.Result {
	return withRemark(r, fmt.Sprintf("The user changed the arguments; the call was made with %s", args))
}

// withUserNote returns a result with the words of the person who allowed the call.
func withUserNote(r *tool.Result, note string) *tool.Result {
	if note != "" {
		return withRemark(r, "The user says: "+note)
	}
	return r
}

// withRemark returns a result with a remark of ours behind it, on a line of its own.
func withRemark(r *tool.Result, remark string) *tool.Result {
	r.Text = strings.TrimSuffix(r.Text, "\n") + "\n[" + chat.Line(remark, len(remark)) + "]"
	return r
}
