package delegate

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"sluice/agent"
	"sluice/chat"
)

// A session that waits and is of another version, has lost something, or is another agent's,
// is refused before anything goes on.
func TestSavedSessionThatCannotGoOn(t *testing.T) {
	t.Parallel()
	state, err := json.Marshal(agent.State{Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "go"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	good := saved{Schema: savedSchema, Agent: "a", Session: newSessionID(), Text: "so far", IDs: map[string]string{"own": "shown"}, State: state}
	for name, tt := range map[string]struct {
		change func(s *saved)
		bad    bool
	}{
		"good":            {func(*saved) {}, false},
		"another version": {func(s *saved) { s.Schema++ }, true},
		"no session":      {func(s *saved) { s.Session = "" }, true},
		"no agent":        {func(s *saved) { s.Agent = "" }, true},
		"another agent's": {func(s *saved) { s.Agent = "b" }, true},
		"an altered step": {func(s *saved) { s.State = bytes.Replace(state, []byte("go"), []byte("no"), 1) }, true},
	} {
		was := good
		tt.change(&was)
		text, err := json.Marshal(was)
		if err != nil {
			t.Fatal(err)
		}
		s := &session{id: "a", req: new(chat.Request)}
		err = s.resume(&agent.Continued{State: text, Decisions: []chat.Decision{{CallID: "shown", Action: chat.Approve}, {CallID: "within", Action: chat.Reject}}})
		if errors.Is(err, agent.ErrState) != tt.bad || err != nil && !tt.bad {
			t.Errorf("%s: %v", name, err)
		}
		if tt.bad {
			continue
		}
		if d := s.req.Resumed.Decisions; len(d) != 2 || d[0].CallID != "own" || d[1].CallID != "within" || s.CallID("own", false) != "shown" || s.said.Text() != "so far" || s.session != good.Session {
			t.Errorf("%s: %+v, %+v", name, d, s)
		}
	}
}
