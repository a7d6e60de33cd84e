package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// stepwise runs an agent's turn step by step. Between two steps the State is stored
// and read back, by another agent if there is a next one.
type stepwise struct {
	agents []*agent.Agent
	// decide answers the calls that wait.
	decide func(*agent.State)
}

func (s *stepwise) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	state, err := s.agents[0].Begin(ctx, req, sink)
	for n := 1; err == nil && !state.IsOver(); n++ {
		if len(state.Waiting()) > 0 {
			s.decide(&state)
		}
		if state, err = restored(state); err == nil {
			state, err = s.agents[n%len(s.agents)].Step(ctx, state, sink)
		}
	}
	return stream.Result{Reason: state.Reason, Usage: state.Usage, Model: state.Model, Tools: state.Tools}, err
}

func restored(s agent.State) (agent.State, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	var again agent.State
	err = json.Unmarshal(data, &again)
	return again, err
}

// A turn that is cut between any two steps, and continued elsewhere from its stored
// state, is the turn that was never cut: the same events, and the same requests.
func TestStoredTurnGoesOnAsIfItHadNeverPaused(t *testing.T) {
	t.Parallel()
	lost := &fault.Error{Type: fault.Timeout, Message: "late", Unknown: true}
	scenes := map[string]scene{
		"text alone": {answers: []answer{says("a", "b")}},
		"signatures, ids and odd arguments": {call: oneByOne, answers: []answer{
			chunks(chat.Chunk{Parts: []chat.Part{
				{Text: "so", Signature: "sig0"}, {Text: "", Signature: "sig1"},
				{Call: &tool.Call{ID: "fc 1", Name: "add", Arguments: []byte("{\"n\": 9007199254740993,\n\"x\":\"<&>\u2028\"}")}, Signature: "sig2"},
				{Call: &tool.Call{Name: "read", Arguments: []byte(`{}`)}},
			}}, end(chat.FinishStop)), says("done"),
		}},
		"the same call in three steps": {answers: []answer{
			wants(call("a", "add", "{}")), wants(call("a", "add", "{}")), wants(call("c", "add", "{ }")), says("done"),
		}},
		"an outcome that is unknown": {
			answers: []answer{wants(call("a", "add", "{}")), wants(call("b", "add", "{}")), says("done")},
			call:    func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, lost },
		},
		"more calls than are taken": {call: oneByOne, answers: []answer{chunks(manyCalls(130), end(chat.FinishStop)), says("done")}},
		"the last step":             {Config: agent.Config{MaxSteps: 2}, answers: []answer{wants(call("a", "add", "{}")), says("done")}},
	}
	for name, s := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := play(t, s)
			s.cut = true
			cut := play(t, s)
			if diff := cmp.Diff(whole.events, cut.events); diff != "" {
				t.Errorf("events (-whole +cut):\n%s", diff)
			}
			if diff := cmp.Diff(whole.requests, cut.requests, cmp.Comparer(sameSet), cmp.Comparer(sameConversation)); diff != "" {
				t.Errorf("requests (-whole +cut):\n%s", diff)
			}
			if whole.done.Usage != cut.done.Usage || len(whole.done.Model) != len(cut.done.Model) || len(whole.done.Tools) != len(cut.done.Tools) {
				t.Errorf("figures %+v, of the cut turn %+v", whole.done, cut.done)
			}
		})
	}
}

// oneByOne runs tools so that they end in the order of their names or numbers.
func oneByOne(ctx context.Context, c tool.Call) (tool.Result, error) {
	n := 0
	for _, b := range []byte(c.Name + string(c.Arguments)) {
		n = 31*n%9973 + int(b)
	}
	return result(c, "ok"), wait(ctx, time.Duration(n)*time.Microsecond)
}

func sameSet(a, b *tool.Set) bool { return (a == nil) == (b == nil) }

// sameConversation says whether a provider's cache is asked for the same.
func sameConversation(a, b *chat.Request) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Owner() == b.Owner() && a.ConversationID == b.ConversationID)
}

// Calls that must wait are neither reported nor run. The others of their step are. With the
// answers the model is sent the results in the order of its calls.
func TestCallsThatWait(t *testing.T) {
	t.Parallel()
	got := play(t, scene{
		Config: agent.Config{Hold: func(c tool.Call, _ *tool.Spec) bool { return c.Name == "add" }},
		cut:    true,
		decide: func(s *agent.State) {
			waiting := s.Waiting()
			if len(waiting) != 3 {
				t.Errorf("%d calls wait, want 3", len(waiting))
			}
			for i, err := range []error{s.Approve(waiting[0].ID), s.Reject(waiting[1].ID, "Too dear."), s.Supply(waiting[2].ID, "elsewhere", false)} {
				if err != nil {
					t.Errorf("answer %d: %v", i, err)
				}
			}
			if s.Approve(waiting[0].ID) == nil || s.Reject("nobody", "") == nil {
				t.Error("a call was answered twice, or one that does not wait")
			}
		},
		answers: []answer{
			wants(call("a", "add", `{"n":1}`), call("b", "read", "{}"), call("c", "add", `{"n":2}`), call("d", "add", `{"n":3}`)), says("done"),
		},
	})
	got.want(t, "start m", "call b read@todo {}", "completed b 0s ok", `call a add@todo {"n":1}`,
		`call c add@todo {"n":2}`, "failed c 0s The call of add was not executed: the user has not allowed it", "completed a 0s ok", "delta done", "done stop")
	var results []string
	for _, p := range got.requests[1].Messages[2].Parts {
		results = append(results, p.Result.ID+": "+p.Result.Text)
	}
	want := []string{"a: ok", "b: ok", "c: Not executed: the user has not allowed this call. Too dear.", "d: elsewhere"}
	if diff := cmp.Diff(want, results); diff != "" {
		t.Errorf("results that go back (-want +got):\n%s", diff)
	}
}

// Without an answer a turn does not continue step by step.
func TestTurnThatWaitsIsNotContinued(t *testing.T) {
	t.Parallel()
	hold := agent.Config{Hold: func(tool.Call, *tool.Spec) bool { return true }}
	got := play(t, scene{Config: hold, cut: true, decide: func(*agent.State) {}, answers: []answer{wants(call("a", "add", "{}"))}})
	got.want(t, "start m", "error fatal internal_error Something went wrong on our side", "done error")
}

// A stored State of another version, cut or altered, is refused.
func TestStoredStateThatCannotBeContinued(t *testing.T) {
	t.Parallel()
	var good agent.State
	_ = play(t, scene{
		Config: agent.Config{Hold: func(tool.Call, *tool.Spec) bool { return true }},
		cut:    true,
		decide: func(s *agent.State) {
			good, _ = restored(*s)
			_ = s.Approve("a")
		},
		answers: []answer{wants(call("a", "add", `{"n":1}`)), says("done")},
	})
	data, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := restored(good); err != nil || len(again.Waiting()) != 1 {
		t.Fatalf("the good one: %v, %d wait", err, len(again.Waiting()))
	}
	var refused int
	for n := range data { // cut at every byte, and a bit of every byte changed
		altered := slices.Clone(data)
		altered[n] ^= 1
		for _, bad := range [][]byte{data[:n], altered} {
			var s agent.State
			if err := json.Unmarshal(bad, &s); err != nil {
				refused++
				continue
			}
			if string(bad) != string(data) && !strings.Contains(string(bad), `"state"`) {
				t.Errorf("read from %s", bad)
			}
		}
	}
	if refused < 2*len(data)-8 {
		t.Errorf("%d of %d damaged states were refused", refused, 2*len(data))
	}
	newer := strings.Replace(string(data), `"schema":3`, `"schema":4`, 1)
	if err := new(agent.State).UnmarshalJSON([]byte(newer)); !errors.Is(err, run.ErrVersion) || !strings.Contains(err.Error(), "version 4") {
		t.Errorf("another version: %v", err)
	}
}

// A silent State has no words of its own turn: the calls, their signatures, what goes back to
// the model with them, and all that was said before the turn stay. The State that it is made of
// stays as it is, and the text after it begins without a gap.
func TestSilentState(t *testing.T) {
	t.Parallel()
	call := func(id string) chat.Part {
		return chat.Part{Call: &tool.Call{ID: id, Name: "a"}, Signature: "sig " + id}
	}
	result := func(id string) chat.Message {
		return chat.Message{Role: chat.RoleUser, Parts: []chat.Part{{Result: &tool.Result{ID: id, Name: "a", Text: "told"}}}}
	}
	said := func(parts ...chat.Part) chat.Message { return chat.Message{Role: chat.RoleModel, Parts: parts} }
	whole := agent.State{Tail: 'x', Steps: 2, Messages: []chat.Message{
		{Role: chat.RoleUser, Parts: []chat.Part{{Text: "before"}}}, said(chat.Part{Text: "an answer"}, call("0")), result("0"),
		{Role: chat.RoleUser, Parts: []chat.Part{{Text: "now"}}},
		said(chat.Part{Kept: "{}"}, chat.Part{Text: "secret"}, chat.Part{Text: "signed", Signature: "s"}, chat.Part{Signature: "alone"}, call("1"), chat.Part{Text: "more"}), result("1"),
		said(call("2")), result("2"),
	}}
	want := agent.State{Steps: 2, Messages: []chat.Message{
		whole.Messages[0], whole.Messages[1], whole.Messages[2], whole.Messages[3],
		said(chat.Part{Kept: "{}"}, chat.Part{Signature: "alone"}, call("1")), whole.Messages[5], whole.Messages[6], whole.Messages[7],
	}}
	before, silent := jsonOf(t, whole), whole.Silent()
	if got, want := jsonOf(t, silent), jsonOf(t, want); got != want {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
	if after := jsonOf(t, whole); after != before {
		t.Errorf("the whole one has become\n%s", after)
	}
	if _, err := restored(silent); err != nil {
		t.Error(err)
	}
}

func jsonOf(t *testing.T, s agent.State) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
