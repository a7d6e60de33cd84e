package agent_test

import (
	"context"
	"slices"
	"testing"

	"sluice/internal/base/fault"
	"sluice/internal/engine/agent"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// caller is a model that calls one tool and then says something.
type caller struct{ call tool.Call }

func (caller) Name() string { return "m" }

func (c caller) Stream(_ context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	part := chat.Part{Text: "Done."}
	if req.Step == 1 {
		part = chat.Part{Call: &c.call}
	}
	return yield(&chat.Chunk{Parts: []chat.Part{part}, Finish: chat.FinishStop})
}

// losing are tools whose calls are lost.
type losing struct{ ran int }

func (*losing) Tools(context.Context) *tool.Set { return addAndRead }

func (l *losing) Call(context.Context, tool.Call) (tool.Result, error) {
	l.ran++
	return tool.Result{}, &fault.Error{Type: fault.ToolFailed, Message: "lost", Unknown: true}
}

type nobody struct{}

func (nobody) Emit(stream.Event) error { return nil }
func (nobody) Flush() error            { return nil }

// A call whose outcome one agent does not know is refused to the other agents of its
// turn, however its arguments are written; in another turn it may run.
func TestLostCallOfAnotherAgent(t *testing.T) {
	t.Parallel()
	tools := new(losing)
	turn := func(of *chat.Verdicts, args string) {
		t.Helper()
		a := agent.New(agent.Config{Model: caller{tool.Call{Name: "add", Arguments: []byte(args)}}, Tools: tools})
		if _, err := a.Run(t.Context(), &chat.Request{Input: "x", Facts: chat.Facts{Verdicts: of}}, nobody{}); err != nil {
			t.Fatal(err)
		}
	}
	one := new(chat.Verdicts)
	turn(one, `{"a":1,"b":2}`)
	turn(one, `{ "b": 2, "a": 1 }`)
	if tools.ran != 1 {
		t.Errorf("the call ran %d times in one turn", tools.ran)
	}
	turn(one, `{"a":2}`)
	turn(new(chat.Verdicts), `{"a":1,"b":2}`)
	if tools.ran != 3 {
		t.Errorf("%d calls ran, want one more of other arguments and one more of another turn", tools.ran)
	}
}

// Fallbacks are tried in their order, each only when the one before it could not run.
func TestListOfSubstitutes(t *testing.T) {
	t.Parallel()
	set := &tool.Set{Specs: []tool.Spec{
		{Name: "search", Server: "one", Fallback: "lookup", More: []string{"gone", "find"}},
		{Name: "lookup", Server: "two"}, {Name: "find", Server: "three"},
	}}
	for _, tt := range []struct {
		errs map[string]error
		want []string
	}{
		{map[string]error{"search": isUnavailable(true)}, []string{"search", "lookup"}},
		{map[string]error{"search": isUnavailable(true), "lookup": isUnavailable(true)}, []string{"search", "lookup", "find"}},
		{map[string]error{"search": isUnavailable(true), "lookup": isUnavailable(true), "find": isUnavailable(true)}, []string{"search", "lookup", "find"}},
		{map[string]error{"search": isUnavailable(true), "lookup": isUnavailable(false)}, []string{"search", "lookup"}},
	} {
		got := play(t, scene{answers: []answer{wants(call("a", "search", "{}")), says("x")}, tools: set, call: failing(tt.errs)})
		var ran []string
		for _, c := range got.calls {
			ran = append(ran, c.Name)
		}
		if !slices.Equal(ran, tt.want) {
			t.Errorf("%v: ran %v, want %v", tt.errs, ran, tt.want)
		}
	}
}

// What an agent asks of its model goes with each call; its role is the prompt's first
// line.
func TestRequestOfAnAgent(t *testing.T) {
	t.Parallel()
	warm := 0.7
	got := play(t, scene{Config: agent.Config{Temperature: &warm, MaxTokens: 100, Role: "You are one.", Prompt: "Be kind."}, answers: []answer{says("x")}})
	req := got.requests[0]
	if req.Temperature != &warm || req.MaxTokens != 100 || req.System[:len("You are one.\nBe kind.")] != "You are one.\nBe kind." {
		t.Errorf("got %v, %d, %q", req.Temperature, req.MaxTokens, req.System)
	}
}
