package agent_test

import (
	"context"
	"testing"

	"sluice/internal/engine/agent"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

type nothing struct{}

func (nothing) Emit(stream.Event) error { return nil }
func (nothing) Flush() error            { return nil }

type oneCall struct{}

func (oneCall) Name() string { return "m" }

func (oneCall) Stream(_ context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	c := chat.Chunk{Parts: []chat.Part{{Text: "x"}}, Finish: chat.FinishStop}
	if req.Step == 1 {
		c.Parts = []chat.Part{{Call: &tool.Call{ID: "a", Name: "add", Arguments: []byte("{}")}}}
	}
	return yield(&c)
}

type sayOK struct{}

func (sayOK) Tools(context.Context) *tool.Set { return addAndRead }

func (sayOK) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	return result(c, "ok"), nil
}

// BenchmarkTurnWithOneCall is a turn with one tool call, without the model's and
// the tool's own time.
func BenchmarkTurnWithOneCall(b *testing.B) {
	a := agent.New(agent.Config{Model: oneCall{}, Tools: sayOK{}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Run(context.Background(), &chat.Request{Input: "hi"}, nothing{}); err != nil {
			b.Fatal(err)
		}
	}
}
