package agent

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// suspended is a turn with a call within which two others wait.
func suspended() State {
	call := tool.Call{ID: "a", Name: "delegate", Arguments: []byte(`{}`)}
	return State{
		Messages: []chat.Message{{Role: chat.RoleModel, Parts: []chat.Part{{Call: &call}}}},
		Open: []OpenCall{{ID: "a", Call: call, Within: &Within{
			State: &run.Paused{Kind: run.KindSession, Name: "a", State: []byte(`{"of":"the agent within"}`)},
			Asks:  []chat.PendingCall{{ID: "in_1", AgentID: "x", Tool: "pay", Arguments: []byte(`{"n":1}`)}, {ID: "in_2", AgentID: "x", Tool: "pay", Arguments: []byte(`{"n":2}`)}},
		}}},
	}
}

// A suspended call is stored with what waits in it. One of which something is missing, or
// that contradicts itself, is refused.
func TestSuspendedCallIsStored(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(c *OpenCall)
		bad    bool
	}{
		"it waits": {func(*OpenCall) {}, false},
		"one is decided": {func(c *OpenCall) {
			c.Within.Decided = []chat.Decision{{CallID: "in_1", Action: chat.Modify, Arguments: []byte(`{}`), Input: []byte(`1`), State: []byte(`{}`)}}
		}, false},
		"no state":             {func(c *OpenCall) { c.Within.State = nil }, true},
		"nothing is asked":     {func(c *OpenCall) { c.Within.Asks = nil }, true},
		"it is rejected":       {func(c *OpenCall) { c.Answer = answerRejected }, true},
		"decided, but for one": {func(c *OpenCall) { c.Answer, c.Within.Decided = answerDecided, make([]chat.Decision, 1) }, true},
	} {
		s := suspended()
		tt.change(&s.Open[0])
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var again State
		err = again.UnmarshalJSON(text)
		if errors.Is(err, run.ErrPaused) != tt.bad || err != nil && !tt.bad {
			t.Errorf("%s: %v", name, err)
		}
		if !tt.bad {
			if diff := cmp.Diff(s.Open[0].Within, again.Open[0].Within); diff != "" {
				t.Errorf("%s (-stored +read):\n%s", name, diff)
			}
		}
	}
}

// A suspended call continues when each of those within it is decided, once.
func TestDecisionsWithinACall(t *testing.T) {
	t.Parallel()
	s := suspended()
	yes := func(id string) []chat.Decision { return []chat.Decision{{CallID: id, Action: chat.Approve}} }
	if err := s.applyDecisions(yes("in_1")); err != nil || s.Open[0].Answer != answerWaiting {
		t.Errorf("after one of two: %v, %q", err, s.Open[0].Answer)
	}
	if err := s.applyDecisions(yes("in_1")); err == nil {
		t.Error("a call is decided twice")
	}
	if err := s.applyDecisions(yes("a")); err == nil {
		t.Error("the call itself is approved, which asks nothing")
	}
	if err := s.applyDecisions(yes("in_2")); err != nil || s.Open[0].Answer != answerDecided || len(s.Open[0].Within.Decided) != 2 {
		t.Errorf("after both: %v, %+v", err, s.Open[0])
	}
}

// Where nobody can be asked all that waits is refused, and the agent within reads the refusal;
// nothing is left of earlier decisions.
func TestAllWithinIsRefused(t *testing.T) {
	t.Parallel()
	s := suspended()
	if err := s.applyDecisions([]chat.Decision{{CallID: "in_1", Action: chat.Approve}}); err != nil {
		t.Fatal(err)
	}
	s.RefuseAll("nobody is there")
	want := []chat.Decision{{CallID: "in_1", Action: chat.Refuse, Message: "nobody is there"}, {CallID: "in_2", Action: chat.Refuse, Message: "nobody is there"}}
	if diff := cmp.Diff(want, s.Open[0].Within.Decided); diff != "" || s.Open[0].Answer != answerDecided {
		t.Errorf("%q (-want +got):\n%s", s.Open[0].Answer, diff)
	}
}

// Of calls that were made together those that have run do so no more when another one waits
// again.
func TestOthersHaveRunWhenOneWaitsAgain(t *testing.T) {
	t.Parallel()
	s := suspended()
	s.Open = append(s.Open, OpenCall{ID: "b", Call: tool.Call{ID: "b"}, Answer: answerApproved})
	if s.suspendedAgain([]*job{{}, {}}) || s.Open[1].Answer != answerApproved {
		t.Error("none waits, and the step is changed")
	}
	more := &Within{State: &run.Paused{State: []byte(`{"later":1}`)}}
	if !s.suspendedAgain([]*job{{waits: true, within: more}, {}}) || s.Open[0].Within != more || s.Open[0].Answer != answerWaiting || s.Open[1].Answer != answerRan {
		t.Errorf("%+v", s.Open)
	}
}
