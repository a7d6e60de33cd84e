package task_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/state/store/memory"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// nowhere is a client that costs nothing.
type nowhere struct{}

func (nowhere) Write(stream.Stamp, stream.Event) error { return nil }
func (nowhere) Flush() error                           { return nil }
func (nowhere) Blocked() time.Duration                 { return 0 }

// BenchmarkTurn is what it costs to keep a turn with a tool and an answer of so many pieces,
// ten to a flush, in a store that is full.
func BenchmarkTurn(b *testing.B) {
	for _, pieces := range []int{40, 2000} {
		b.Run(fmt.Sprint(pieces), func(b *testing.B) {
			s := task.New(task.Config{Store: memory.New(memory.Config{Tasks: 1000})})
			defer s.Close()
			for range 1000 {
				keepTurn(b, s, pieces)
			}
			b.ReportAllocs()
			for b.Loop() {
				keepTurn(b, s, pieces)
			}
		})
	}
}

// keepTurn keeps a turn that is over at once.
func keepTurn(b *testing.B, s *task.Service, pieces int) {
	ctx, cancel := context.WithCancelCause(b.Context())
	defer cancel(nil)
	t, err := s.Begin(ctx, task.Request{Chat: &chat.Request{Input: "Add a todo to review the report"}, RequestID: "req_0123456789ab", Detached: true, Cancel: cancel})
	if err != nil {
		b.Fatal(err)
	}
	out := stream.NewStamper(t.Before(nowhere{}), time.Now())
	call := stream.Call{ID: "call_1", Tool: "add_todo", Server: "todo", Arguments: jsontext.Value(`{"title":"review the report","priority":"high"}`)}
	for _, ev := range []stream.Event{
		&stream.Start{Model: "gemini-flash-latest"}, &stream.ToolStarted{Call: call}, &stream.ToolCompleted{Call: call, Duration: time.Millisecond, Result: `{"id":1}`},
	} {
		_ = out.Emit(ev)
		_ = out.Flush()
	}
	delta := &stream.Delta{Text: "twenty-four bytes of it "}
	for i := range pieces {
		_ = out.Emit(delta)
		if i%10 == 9 {
			_ = out.Flush()
		}
	}
	_ = out.Emit(&stream.Done{Reason: stream.Stop, Usage: chat.Usage{InputTokens: 10, OutputTokens: 5}, Model: []time.Duration{time.Millisecond}})
	_ = out.Flush()
	t.End()
}
