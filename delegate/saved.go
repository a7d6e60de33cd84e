package delegate

import (
	"cmp"
	"encoding/json"
	"fmt"

	"sluice/agent"
	"sluice/chat"
)

// savedSchema is the version of saved sessions. One of another version is not read.
const savedSchema = 1

// saved is a session that waits. What its agent has said and called is in State; what was
// emitted of it must not be emitted again, so the ids of its calls stay.
type saved struct {
	Schema  int               `json:"schema"`
	Agent   string            `json:"agent"`
	Session string            `json:"session"`
	Text    string            `json:"text,omitempty"`
	IDs     map[string]string `json:"ids,omitempty"`
	Spent   chat.Usage        `json:"spent"`
	State   json.RawMessage   `json:"state"` // an agent.State
}

// readSaved reads a session that waits, and makes sure that all within it can be read too:
// somebody who decides learns at once if it cannot go on.
//
// The error wraps agent.ErrState for a text of another form.
func readSaved(text []byte) (*saved, error) {
	s := new(saved)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, err
	}
	if s.Schema != savedSchema || s.Session == "" || s.Agent == "" {
		return nil, fmt.Errorf("%w: a session in it has another form", agent.ErrState)
	}
	return s, Readable(s.State)
}

// Readable says why the State of an agent, and of those within it, cannot go on.
//
// It goes down through all sessions that wait within each other; their depth is bounded by
// maxDepth.
func Readable(text []byte) error {
	var state agent.State
	if err := state.UnmarshalJSON(text); err != nil {
		return err
	}
	for _, c := range state.Open {
		if c.Within == nil {
			continue
		}
		if _, err := readSaved(c.Within.State); err != nil {
			return err
		}
	}
	return nil
}

// resume makes s the session that was saved.
//
// Decisions come with the ids that clients know; the agent gets its own back.
func (s *session) resume(how *agent.Continued) error {
	was, err := readSaved(how.State)
	if err != nil {
		return err
	}
	if was.Agent != s.id {
		return fmt.Errorf("%w: a session in it is another agent's", agent.ErrState)
	}
	s.session, s.spent, s.ids.Known = was.Session, was.Spent, was.IDs
	own := map[string]string{}
	for of, id := range was.IDs {
		own[id] = of
	}
	if was.Text != "" {
		s.said.Pieces, s.Size = []string{was.Text}, len(was.Text)
	}
	s.req.Resumed = &chat.Resumed{By: chat.PausedAgent, State: was.State, Usage: was.Spent}
	for _, d := range how.Decisions {
		d.CallID = cmp.Or(own[d.CallID], d.CallID) // else it is about a call further within
		s.req.Resumed.Decisions = append(s.req.Resumed.Decisions, d)
	}
	return nil
}

// suspend returns the *agent.Suspended of a session whose agent waits. Questions of those
// further within have their ids already.
//
// The state holds that of the agent, which holds those of sessions within it.
func (s *session) suspend(q *chat.Question, state agent.State) (err error) {
	for i := range q.Calls {
		if c := &q.Calls[i]; c.AgentID == "" {
			c.ID, c.AgentID = s.CallID(c.ID, false), s.id
		}
	}
	waiting := saved{
		Schema: savedSchema, Agent: s.id, Session: s.session, Text: s.said.Text(), IDs: s.ids.Known, Spent: state.Usage,
	}
	if waiting.State, err = json.Marshal(state); err != nil {
		return err
	}
	text, err := json.Marshal(waiting)
	if err != nil {
		return err
	}
	return &agent.Suspended{State: text, Calls: q.Calls}
}
