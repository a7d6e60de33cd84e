package agent_test

import (
	"context"
	"fmt"

	"sluice/internal/engine/agent"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// clerk is a Model that asks for the tool "add" once, and then says its result.
type clerk struct{}

func (clerk) Name() string { return "clerk" }

func (clerk) Stream(_ context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	last := req.Messages[len(req.Messages)-1].Parts[0]
	part := chat.Part{Call: &tool.Call{Name: "add", Arguments: []byte(`{"a":2,"b":3}`)}}
	if last.Result != nil {
		part = chat.Part{Text: "The sum is " + last.Result.Text + "."}
	}
	return yield(&chat.Chunk{Parts: []chat.Part{part}, Finish: chat.FinishStop})
}

// calculator is a Tools with one tool.
type calculator struct{}

func (calculator) Tools(context.Context) *tool.Set {
	return &tool.Set{Specs: []tool.Spec{{Name: "add", Server: "calculator", InputSchema: []byte(`{"type":"object"}`)}}}
}

func (calculator) Call(_ context.Context, call tool.Call) (tool.Result, error) {
	return tool.Result{ID: call.ID, Name: call.Name, Text: "5"}, nil
}

// calls is a Sink that prints calls and text.
type calls struct{}

func (calls) Emit(ev stream.Event) error {
	switch e := ev.(type) {
	case *stream.ToolCompleted:
		fmt.Println(e.Tool, string(e.Arguments), "returned", e.Result)
	case *stream.Delta:
		fmt.Println(e.Text)
	}
	return nil
}

func (calls) Flush() error { return nil }

// An Agent asks its Model, runs the calls of the answer, and asks again.
func ExampleModel() {
	a := agent.New(agent.Config{Model: clerk{}, Tools: calculator{}})
	result, err := a.Run(context.Background(), &chat.Request{Input: "What is 2 + 3?"}, calls{})
	fmt.Println(result.Reason, err)
	// Output:
	// add {"a":2,"b":3} returned 5
	// The sum is 5.
	// stop <nil>
}
