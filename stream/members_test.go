package stream_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Rules of agents, nodes, calls for the client and turns that change hands: of each list exactly the
// last event is out of place, unless all of it is legal.
func TestGrammarOfMembers(t *testing.T) {
	t.Parallel()
	route := func() stream.Event { return &stream.Route{Decision: stream.Routed, AgentID: "a"} }
	agent := func(id string, status stream.AgentStatus) stream.Event {
		return &stream.AgentRun{AgentID: id, Role: stream.RolePrimary, Attempt: 1, Status: status}
	}
	delegate := func(session string, status stream.AgentStatus) stream.Event {
		return &stream.AgentRun{AgentID: "b", Role: stream.RoleDelegate, Attempt: 1, Status: status, SessionID: session, CallID: "c"}
	}
	node := func(status stream.NodeStatus, attempt int) stream.Event {
		return &stream.NodeRun{NodeID: "n", Type: "tool", Attempt: attempt, Status: status}
	}
	required := func(id string) stream.Event { return &stream.ToolRequired{Call: stream.Call{ID: id, Tool: "pick"}} }
	done := func(reason stream.FinishReason) stream.Event { return &stream.Done{Reason: reason} }
	phase := func(p stream.Phase) stream.Event { return &stream.Quality{Phase: p, Attempt: 1} }
	text, taken := &stream.Delta{Text: "d"}, &stream.Reset{Reason: stream.ResetTakenOver}
	for _, tt := range []struct {
		name   string
		events []stream.Event
		legal  bool
		over   int // behind so many events another process goes on; 0: none does
	}{
		{"a team", []stream.Event{route(), agent("a", stream.AgentStarted), agent("b", stream.AgentStarted), agent("a", stream.AgentRetrying), text,
			agent("a", stream.AgentCompleted), text, agent("b", stream.AgentFailed), text, done(stream.Stop)}, true, 0},
		{"two routes", []stream.Event{route(), route()}, false, 0},
		{"a route behind text", []stream.Event{text, route()}, false, 0},
		{"a route behind text that was taken back", []stream.Event{text, taken, route()}, false, 0},
		{"a route behind a delegate", []stream.Event{delegate("s", stream.AgentStarted), route()}, false, 0},
		{"an agent before the route", []stream.Event{agent("a", stream.AgentStarted)}, false, 0},
		{"an agent that begins twice", []stream.Event{route(), agent("a", stream.AgentStarted), agent("a", stream.AgentStarted)}, false, 0},
		{"an agent that begins again", []stream.Event{route(), agent("a", stream.AgentStarted), agent("a", stream.AgentStopped), agent("a", stream.AgentStarted)}, true, 0},
		{"an agent that ends without a beginning", []stream.Event{route(), agent("a", stream.AgentCompleted)}, false, 0},
		{"an agent that is tried again before it began", []stream.Event{route(), agent("a", stream.AgentRetrying)}, false, 0},
		{"an agent that is still at work", []stream.Event{route(), agent("a", stream.AgentStarted), done(stream.Stop)}, false, 0},
		{"an agent of an unknown status", []stream.Event{route(), agent("a", "asleep")}, false, 0},
		{"an agent with a session that is no delegate", []stream.Event{route(), &stream.AgentRun{AgentID: "a", Role: stream.RolePrimary, Status: stream.AgentStarted, SessionID: "s"}}, false, 0},
		{"a delegate without a call", []stream.Event{&stream.AgentRun{AgentID: "b", Role: stream.RoleDelegate, Status: stream.AgentStarted, SessionID: "s"}}, false, 0},
		{"two sessions of one delegate", []stream.Event{delegate("s", stream.AgentStarted), delegate("t", stream.AgentStarted), delegate("s", stream.AgentCompleted),
			delegate("t", stream.AgentFailed), done(stream.Stop)}, true, 0},
		{"a session that begins twice", []stream.Event{delegate("s", stream.AgentStarted), delegate("s", stream.AgentStarted)}, false, 0},

		{"nodes", []stream.Event{node(stream.NodeStarted, 1), node(stream.NodeStarted, 2), node(stream.NodeFailed, 1), node(stream.NodeCompleted, 2), node(stream.NodeSkipped, 3), done(stream.Stop)}, true, 0},
		{"a node that begins twice", []stream.Event{node(stream.NodeStarted, 1), node(stream.NodeStarted, 1)}, false, 0},
		{"a node that ends without a beginning", []stream.Event{node(stream.NodeWaiting, 1)}, false, 0},
		{"a node that is left out while it runs", []stream.Event{node(stream.NodeStarted, 1), node(stream.NodeSkipped, 1)}, false, 0},
		{"a node that is still at work", []stream.Event{node(stream.NodeStarted, 1), done(stream.Stop)}, false, 0},
		{"a node of no attempt", []stream.Event{node(stream.NodeStarted, 0)}, false, 0},
		{"a node of an unknown status", []stream.Event{node("asleep", 1)}, false, 0},

		{"calls for the client", []stream.Event{text, required("c"), required("d"), done(stream.ClientTools)}, true, 0},
		{"text behind a call for the client", []stream.Event{required("c"), text}, false, 0},
		{"a call for the client that comes twice", []stream.Event{required("c"), required("c")}, false, 0},
		{"a call for the client while another one runs", []stream.Event{&stream.ToolStarted{Call: stream.Call{ID: "x"}}, required("c")}, false, 0},
		{"another end behind a call for the client", []stream.Event{required("c"), done(stream.Stop)}, false, 0},
		{"calls for the client that are missing", []stream.Event{text, done(stream.ClientTools)}, false, 0},
		{"a question about no call", []stream.Event{&stream.Approval{ID: "q", Kind: chat.AskTools, ExpiresAt: "soon", Token: "t"}}, false, 0},

		{"phases that begin again", []stream.Event{phase(stream.Extracting), phase(stream.Sending), phase(stream.Extracting)}, false, 0},
		{"phases that begin again elsewhere", []stream.Event{phase(stream.Extracting), phase(stream.Sending), text, taken, phase(stream.Extracting), phase(stream.Composing), phase(stream.Sending), text, done(stream.Stop)}, true, 4},
		{"an attempt that begins again elsewhere", []stream.Event{&stream.InnerDelta{Delta: "d", Attempt: 2}, &stream.InnerDelta{Delta: "d", Attempt: 1}}, true, 1},
		{"text behind the messages of a channel, elsewhere", []stream.Event{text, &stream.ChannelMessage{Sequence: 1, Total: 1}, text}, false, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			guard := stream.NewGuard(&recorder{})
			_ = guard.Emit(&stream.Start{})
			for i, ev := range tt.events {
				if tt.over > 0 && i == tt.over {
					guard.TakenOver()
				}
				err := guard.Emit(ev)
				if want := tt.legal || i < len(tt.events)-1; (err == nil) != want {
					t.Fatalf("event %d, %T: %v", i, ev, err)
				}
				if err != nil && !errors.Is(err, stream.ErrGrammar) {
					t.Errorf("%v does not say that it is of the grammar", err)
				}
			}
		})
	}
}

// Calls whose process is gone are closed, each once, in order of their ids.
func TestLostCallsAreClosed(t *testing.T) {
	t.Parallel()
	sink := &recorder{}
	guard := stream.NewGuard(sink)
	call := func(id string) stream.Call { return stream.Call{ID: id, Tool: "t"} }
	for _, ev := range []stream.Event{&stream.Start{}, &stream.ToolStarted{Call: call("b")}, &stream.ToolStarted{Call: call("c")}, &stream.ToolStarted{Call: call("a")}, &stream.ToolCompleted{Call: call("c")}} {
		if err := guard.Emit(ev); err != nil {
			t.Fatal(err)
		}
	}
	guard.Lose()
	guard.Lose()
	var lost []string
	for _, ev := range sink.events[5:] {
		lost = append(lost, ev.(*stream.ToolUnknown).ID)
	}
	if diff := cmp.Diff([]string{"a", "b"}, lost); diff != "" {
		t.Errorf("closed (-want +got):\n%s", diff)
	}
}

// Each event that can say whose it is does so in a copy, and keeps what it says already; the others pass
// as they are.
func TestAttribution(t *testing.T) {
	t.Parallel()
	by, further := stream.Attribution{AgentID: "a"}, stream.Attribution{AgentID: "b", SessionID: "s"}
	own := func(a stream.Attribution) []stream.Event {
		call := stream.Call{Attribution: a, ID: "c"}
		return []stream.Event{
			&stream.Thinking{Attribution: a}, &stream.Delta{Attribution: a}, &stream.Error{Attribution: a}, &stream.InnerDelta{Attribution: a}, &stream.Reset{Attribution: a}, &stream.ModelChanged{Attribution: a},
			&stream.ToolStarted{Call: call}, &stream.ToolProgress{Call: call}, &stream.ToolCompleted{Call: call}, &stream.ToolFailed{Call: call}, &stream.ToolUnknown{Call: call},
		}
	}
	none, named, others := own(stream.Attribution{}), own(by), own(further)
	for i := range none {
		if got := stream.Attributed(none[i], by); !cmp.Equal(got, named[i]) || got == none[i] {
			t.Errorf("%T is %+v", none[i], got)
		}
		if got := stream.Attributed(others[i], by); !cmp.Equal(got, others[i]) {
			t.Errorf("%T of another one is %+v", others[i], got)
		}
	}
	if diff := cmp.Diff(own(stream.Attribution{}), none); diff != "" {
		t.Errorf("the events themselves have changed (-want +got):\n%s", diff)
	}
	for _, ev := range []stream.Event{&stream.Start{}, &stream.Done{}, &stream.Route{}, &stream.AgentRun{}, &stream.Quality{}, &stream.ChannelMessage{}, &stream.NodeRun{}, &stream.Approval{}} {
		if stream.Attributed(ev, by) != ev {
			t.Errorf("%T was copied", ev)
		}
	}
}

// What a call reports can be changed in place, also by the session that it has opened; and what comes from
// within a session is known by it.
func TestCallsOfEvents(t *testing.T) {
	t.Parallel()
	within := stream.Attribution{SessionID: "s"}
	for _, tt := range []struct {
		ev    stream.Event
		id    string // "-": it has none
		inner bool
	}{
		{&stream.Start{}, "-", false},
		{&stream.Delta{Attribution: within}, "-", false},
		{&stream.InnerDelta{}, "-", false},
		{&stream.InnerDelta{Attribution: within}, "-", true},
		{&stream.AgentRun{}, "-", false},
		{&stream.AgentRun{CallID: "c", SessionID: "s"}, "c", true},
		{&stream.ToolStarted{Call: stream.Call{ID: "c"}}, "c", false},
		{&stream.ToolFailed{Call: stream.Call{ID: "c", Attribution: within}}, "c", true},
		{&stream.ToolRequired{Call: stream.Call{ID: "c"}}, "c", false},
	} {
		id := stream.CallIDOf(tt.ev)
		if (id == nil) != (tt.id == "-") || id != nil && *id != tt.id {
			t.Errorf("%T: id %v", tt.ev, id)
		}
		if got := stream.Inner(tt.ev); got != tt.inner {
			t.Errorf("%+v is within: %t", tt.ev, got)
		}
		if id == nil {
			continue
		}
		if *id = "new"; *stream.CallIDOf(tt.ev) != "new" {
			t.Errorf("%T keeps its id", tt.ev)
		}
	}
}

// The runner's calls for the client come right before the end.
func TestFrameAsksTheClient(t *testing.T) {
	t.Parallel()
	sink := &recorder{}
	frame := &stream.Frame{Runner: answers(func(_ context.Context, sink stream.Sink) (stream.Result, error) {
		return stream.Result{Reason: stream.ClientTools, Required: &stream.Required{Calls: []stream.Call{{ID: "c"}, {ID: "d"}}}}, sink.Emit(&stream.Delta{Text: "I ask."})
	})}
	if err := frame.Run(t.Context(), new(chat.Request), sink); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, ev := range sink.events[2 : len(sink.events)-1] {
		ids = append(ids, ev.(*stream.ToolRequired).ID)
	}
	if diff := cmp.Diff([]string{"c", "d"}, ids); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}

// A fold says what the error that ends the turn says, and nothing of others.
func TestFailureOfAFold(t *testing.T) {
	t.Parallel()
	var f stream.Fold
	f.Add(&stream.Error{Type: fault.ToolFailed, Message: "a tool"})
	if f.Failure() != "" {
		t.Errorf("%q ends the turn", f.Failure())
	}
	f.Add(&stream.Error{Type: fault.Internal, Message: "all of it", Fatal: true})
	if f.Failure() != "all of it" {
		t.Errorf("the failure is %q", f.Failure())
	}
}
