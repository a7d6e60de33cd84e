package task_test

import (
	"context"
	"testing"
	"time"

	"sluice/chat"
	"sluice/store/memory"
	"sluice/stream"
	"sluice/task"
)

// nowhere is a client that costs nothing.
type nowhere struct{}

func (nowhere) Write(stream.Stamp, stream.Event) error { return nil }
func (nowhere) Flush() error                           { return nil }
func (nowhere) Blocked() time.Duration                 { return 0 }

// BenchmarkTurn is what it costs to keep a turn of 40 pieces with four flushes, in a store
// that is full.
func BenchmarkTurn(b *testing.B) {
	s := task.New(task.Config{Store: memory.New(memory.Config{Tasks: 1000})})
	defer s.Close()
	ctx, cancel := context.WithCancelCause(b.Context())
	defer cancel(nil)
	delta := &stream.Delta{Text: "twelve bytes"}
	run := func() {
		t, err := s.Begin(ctx, task.Request{Chat: &chat.Request{Input: "hello"}, RequestID: "req_0123456789ab", Detached: true, Cancel: cancel})
		if err != nil {
			b.Fatal(err)
		}
		out := stream.NewStamper(t.Before(nowhere{}), time.Now())
		_ = out.Emit(&stream.Start{Model: "gemini-flash-latest"})
		_ = out.Flush()
		for i := range 40 {
			_ = out.Emit(delta)
			if i == 20 {
				_ = out.Flush()
			}
		}
		_ = out.Flush()
		_ = out.Emit(&stream.Done{Reason: stream.Stop, Usage: chat.Usage{InputTokens: 10, OutputTokens: 5}, Model: []time.Duration{time.Millisecond}})
		_ = out.Flush()
		t.End()
	}
	for range 1000 {
		run()
	}
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
}
