package quality_test

import (
	"context"
	"testing"

	"sluice/internal/quality"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// pour is an inner runner of a text in 40 pieces, 2 KB together.
func pour(_ context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
	d := stream.Delta{Text: "A piece of the answer, of fifty-one bytes as it is. "}
	for range 40 {
		if err := sink.Emit(&d); err != nil {
			return stream.Result{}, err
		}
	}
	return stream.Result{Reason: stream.Stop}, sink.Flush()
}

type nowhere struct{}

func (nowhere) Emit(stream.Event) error { return nil }
func (nowhere) Flush() error            { return nil }

// BenchmarkHeld is what it costs to hold an answer of 2 KB back, check it by code and send it,
// compared with letting it pass.
func BenchmarkHeld(b *testing.B) {
	for name, yaml := range map[string]string{"off": "", "observe": "quality: {mode: observe, plan: none}", "enforce": "quality: {mode: enforce, plan: none}"} {
		b.Run(name, func(b *testing.B) {
			c := quality.New(quality.Config{Spec: sectionsOf(b, yaml)})
			req := chat.Request{Input: "hello"}
			b.ReportAllocs()
			for b.Loop() {
				var run stream.Runner = inner(pour)
				if c.Applies(&req, "") {
					run = c.Around(run, "")
				}
				if _, err := run.Run(b.Context(), &req, nowhere{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
