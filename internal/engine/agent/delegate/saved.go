package delegate

import (
	"cmp"
	"encoding/json"
	"fmt"

	"sluice/internal/engine/agent"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
)

// saved is a session that waits, without the state of its agent: that has the messages and calls.
// The ids of its calls stay, as their events must not be emitted twice.
type saved struct {
	Agent   string            `json:"agent"`
	Session string            `json:"session"`
	Text    string            `json:"text,omitempty"`
	IDs     map[string]string `json:"ids,omitempty"`
	Spent   chat.Usage        `json:"spent"`
	State   json.RawMessage   `json:"state,omitempty"` // the agent, in the form before the tree
}

// readSaved reads a session that waits, and its agent, and makes sure that all within it can be
// read too. So a person who decides learns at once if it cannot continue.
//
// The error wraps run.ErrPaused.
func readSaved(p *run.Paused) (s saved, within *run.Paused, err error) {
	if err = p.Into(&s); err != nil {
		return s, nil, err
	}
	if s.Session == "" || s.Agent == "" {
		return s, nil, fmt.Errorf("%w: something of a session is missing", run.ErrPaused)
	}
	if within, err = p.Child(chat.PausedAgent, "", s.State); err == nil {
		err = Readable(within)
	}
	return s, within, err
}

// Readable says why an agent that waits, and those within it, cannot continue.
//
// It goes down through all sessions that wait within each other; a tree bounds their depth.
func Readable(p *run.Paused) error {
	state, err := agent.ReadState(p)
	for _, c := range state.Open {
		if c.Within != nil && err == nil {
			_, _, err = readSaved(c.Within.State)
		}
	}
	return err
}

// resumeSession makes s the session that was saved.
//
// Decisions come with the ids that clients know; the agent gets its own back.
func (s *session) resumeSession(how *agent.Continued) error {
	was, within, err := readSaved(how.State)
	if err != nil {
		return err
	}
	if was.Agent != s.id {
		return fmt.Errorf("%w: a session in it is another agent's", run.ErrPaused)
	}
	s.session, s.spent, s.ids.ByKey = was.Session, was.Spent, was.IDs
	own := map[string]string{}
	for of, id := range was.IDs {
		own[id] = of
	}
	if was.Text != "" {
		s.answer.Pieces, s.Size = []string{was.Text}, len(was.Text)
	}
	s.req.Resumed = &chat.Resumed{By: chat.PausedAgent, State: within.Encode(), Usage: was.Spent}
	for _, d := range how.Decisions {
		d.CallID = cmp.Or(own[d.CallID], d.CallID) // else it is about a call further within
		s.req.Resumed.Decisions = append(s.req.Resumed.Decisions, d)
	}
	return nil
}

// suspendSession returns the *agent.Suspended of a session whose agent waits. Questions of those
// further within have their ids already.
//
// The agent is within it, and within that the sessions that wait in its calls.
func (s *session) suspendSession(q *chat.Question, state agent.State) error {
	for i := range q.Calls {
		if c := &q.Calls[i]; c.AgentID == "" {
			c.ID, c.AgentID = s.CallID(c.ID, false), s.id
		}
	}
	within, err := state.Paused()
	if err != nil {
		return err
	}
	p, err := run.Pause(run.KindSession, saved{
		Agent: s.id, Session: s.session, Text: s.answer.Text(), IDs: s.ids.ByKey, Spent: state.Usage,
	}, within)
	if err != nil {
		return err
	}
	return &agent.Suspended{State: p, Calls: q.Calls}
}
