package agent_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/engine/agent"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

var readOnly = tool.Annotations{ReadOnly: true}

// names returns the tools on offer, with their fallbacks.
func names(set *tool.Set) (list []string) {
	for _, spec := range set.Specs {
		name := spec.Name
		if spec.Fallback != "" {
			name += ", else " + spec.Fallback
		}
		list = append(list, name)
	}
	return list
}

// What a turn may not call its model does not learn of, and does not run either way.
func TestToolAccess(t *testing.T) {
	t.Parallel()
	const not = " was not executed: no such tool is available in this turn"
	ran := []string{"call a add@todo {}", "call b read@todo {}", "completed a 0s ok", "completed b 0s ok"}
	for _, tt := range []struct {
		name    string
		access  chat.ToolAccess
		offered []string
		events  []string
		results []string
	}{
		{"all", chat.ToolsAll, []string{"add", "read"}, ran, []string{"ok", "ok"}},
		{"read-only", chat.ToolsReadOnly, []string{"read"},
			[]string{"call a add@ {}", "call b read@todo {}", "failed a 0s The call of add" + not, "error tool_execution_failed The call of add" + not, "completed b 0s ok"},
			[]string{"! Not executed: no such tool is available in this turn. Do without it.", "ok"}},
		{"off", chat.ToolsOff, nil, refusedBoth(not), []string{hidden, hidden}},
		{"a value of nobody's", 99, nil, refusedBoth(not), []string{hidden, hidden}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := play(t, scene{
				request: chat.Request{Input: "hi", Tools: tt.access},
				answers: []answer{wants(call("a", "add", "{}"), call("b", "read", "{}")), says("x")},
			})
			sortEnds(got.events)
			got.want(t, append(append([]string{"start m"}, tt.events...), "delta x", "done stop")...)
			if diff := cmp.Diff(tt.offered, names(got.requests[0].Tools)); diff != "" {
				t.Errorf("tools on offer (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.results, got.results(2)); diff != "" {
				t.Errorf("what the model is told (-want +got):\n%s", diff)
			}
			for _, c := range got.calls {
				if c.Name == "add" && tt.access != chat.ToolsAll {
					t.Errorf("%s ran", c.Name)
				}
			}
		})
	}
}

const hidden = "! Not executed: no such tool is available in this turn. Do without it."

func refusedBoth(not string) (events []string) {
	events = []string{"call a add@ {}", "call b read@ {}"}
	for _, c := range []struct{ id, name string }{{"a", "add"}, {"b", "read"}} {
		events = append(events, "failed "+c.id+" 0s The call of "+c.name+not, "error tool_execution_failed The call of "+c.name+not)
	}
	return events
}

// sortEnds puts the ends of two calls that ran at the same time in order.
func sortEnds(events []string) {
	for i := 1; i < len(events); i++ {
		if events[i-1] == "completed b 0s ok" && events[i] == "completed a 0s ok" {
			events[i-1], events[i] = events[i], events[i-1]
		}
	}
}

// A turn without tools does not wait for them, and no server is missed in it.
func TestToolsOffAsksNobody(t *testing.T) {
	t.Parallel()
	got := play(t, scene{
		request: chat.Request{Input: "hi", Tools: chat.ToolsOff}, answers: []answer{says("x")}, listing: time.Second,
		tools: &tool.Set{Unavailable: []tool.UnavailableServer{{Server: "todo", Err: isUnavailable(true)}}},
	})
	got.want(t, "start m", "delta x", "done stop")
	if got.elapsed != 0 {
		t.Errorf("the turn took %v", got.elapsed)
	}
}

// A fallback that does more than read is none for a turn that may only read.
func TestFallbackOfAReadOnlyTurn(t *testing.T) {
	t.Parallel()
	set := func(lookup tool.Annotations, servers ...string) *tool.Set {
		s := &tool.Set{Specs: []tool.Spec{
			{Name: "search", Server: "one", Fallback: "lookup", Annotations: readOnly},
			{Name: "lookup", Server: "two", Annotations: lookup},
		}}
		for _, name := range servers {
			s.Unavailable = append(s.Unavailable, tool.UnavailableServer{Server: name, Err: isUnavailable(true)})
		}
		return s
	}
	for _, tt := range []struct {
		name    string
		tools   *tool.Set
		offered []string
		ran     []string
	}{
		{"reads", set(readOnly), []string{"search, else lookup", "lookup"}, []string{"search", "lookup"}},
		{"reads, and the server is unavailable", set(readOnly, "one"), []string{"search, else lookup", "lookup"}, []string{"search", "lookup"}},
		{"writes", set(tool.Annotations{}), []string{"search"}, []string{"search"}},
		{"writes, and the server is unavailable", set(tool.Annotations{}, "one"), nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := play(t, scene{
				request: chat.Request{Input: "hi", Tools: chat.ToolsReadOnly}, tools: tt.tools,
				answers: []answer{wants(call("a", "search", "{}")), says("x")}, call: failing(map[string]error{"search": isUnavailable(true)}),
			})
			var ran []string
			for _, c := range got.calls {
				ran = append(ran, c.Name)
			}
			if diff := cmp.Diff(tt.ran, ran); diff != "" {
				t.Errorf("tools that ran (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.offered, names(got.requests[0].Tools)); diff != "" {
				t.Errorf("tools on offer (-want +got):\n%s", diff)
			}
		})
	}
}

// offersTool notes the tools that the model is offered.
type offersTool struct{ sets []*tool.Set }

func (*offersTool) Name() string { return "m" }

func (o *offersTool) Stream(_ context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	o.sets = append(o.sets, req.Tools)
	return yield(&chat.Chunk{Parts: []chat.Part{{Text: "x"}}, Finish: chat.FinishStop})
}

// lists offers a set that can be exchanged.
type lists struct{ set *tool.Set }

func (l *lists) Tools(context.Context) *tool.Set { return l.set }

func (*lists) Call(context.Context, tool.Call) (tool.Result, error) {
	return tool.Result{}, &fault.Error{Type: fault.Internal}
}

// Turns of one access share their set, since a driver renders each new set; a new
// set of the servers is seen at once.
func TestNarrowedSetIsShared(t *testing.T) {
	t.Parallel()
	model, tools := new(offersTool), &lists{set: addAndRead}
	a := agent.New(agent.Config{Model: model, Tools: tools})
	run := func(access chat.ToolAccess) *tool.Set {
		if _, err := a.Run(t.Context(), &chat.Request{Input: "hi", Tools: access}, nothing{}); err != nil {
			t.Fatal(err)
		}
		return model.sets[len(model.sets)-1]
	}
	first := run(chat.ToolsReadOnly)
	if all := run(chat.ToolsAll); all != addAndRead {
		t.Error("a turn that may call everything is given another set than there is")
	}
	if again := run(chat.ToolsReadOnly); again != first {
		t.Error("the second turn is given a set of its own")
	}
	tools.set = &tool.Set{Specs: []tool.Spec{{Name: "look", Server: "todo", Annotations: readOnly}}}
	if diff := cmp.Diff([]string{"look"}, names(run(chat.ToolsReadOnly))); diff != "" {
		t.Errorf("after a change of the tools (-want +got):\n%s", diff)
	}
}
