package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// BenchmarkNextNode is the delay from a node's end to the next one's first event, with
// records in this process: 100 nodes in a row, each a condition or a tool that answers
// at once.
func BenchmarkNextNode(b *testing.B) {
	d := graph.Definition{Name: "w", Entry: name(0), MaxIterations: 1000, Timeout: time.Hour}
	for i := range 100 {
		d.Nodes = append(d.Nodes, graph.Node{ID: name(i), Type: engine.ToolNode, Tool: "s/look",
			Arguments: []graph.Argument{{Name: "x", Expression: "input"}}, Output: []graph.Assignment{{Field: "routing_key", Expression: "result.text.size() > 3 ? 'a' : 'b'"}}})
		if i > 0 {
			d.Edges = append(d.Edges, graph.Edge{From: name(i - 1), To: name(i), Condition: "routing_key == 'a'"})
		}
	}
	w, problems := graph.Compile(d, engine.Kinds())
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	r := engine.New(engine.Config{Workflow: w, Tools: lockedTools{echoTools()},
		Records: func(context.Context, *engine.Run) (engine.Records, error) { return new(engine.Kept), nil }})
	var slowest time.Duration
	b.ReportAllocs()
	for b.Loop() {
		s := &delays{}
		if _, err := r.Run(b.Context(), &chat.Request{Input: "the input"}, s); err != nil {
			b.Fatal(err)
		}
		slowest = max(slowest, s.slowest)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/node")
	b.ReportMetric(float64(slowest.Microseconds()), "slowest-µs")
}

// delays measures from the end of a tool to the beginning of the next node.
type delays struct {
	ended   time.Time
	slowest time.Duration
}

func (d *delays) Emit(ev stream.Event) error {
	switch e := ev.(type) {
	case *stream.ToolCompleted:
		d.ended = time.Now()
	case *stream.NodeRun:
		if e.Status == stream.NodeStarted && !d.ended.IsZero() {
			d.slowest = max(d.slowest, time.Since(d.ended))
		}
	}
	return nil
}

func (d *delays) Flush() error { return nil }

// BenchmarkSideBySide is a run of nodes that all follow the first one: many are open at a time.
// A node costs the same however many there are.
func BenchmarkSideBySide(b *testing.B) {
	for _, nodes := range []int{50, 100, 200} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			d := graph.Definition{Name: "w", Entry: name(0), MaxIterations: 1000, Timeout: time.Hour}
			for i := range nodes {
				d.Nodes = append(d.Nodes, graph.Node{ID: name(i), Type: engine.ToolNode, Tool: "s/look"})
				if i > 0 {
					d.Edges = append(d.Edges, graph.Edge{From: name(0), To: name(i)})
				}
			}
			w, problems := graph.Compile(d, engine.Kinds())
			if len(problems) > 0 {
				b.Fatal(problems)
			}
			r := engine.New(engine.Config{Workflow: w, Tools: lockedTools{echoTools()}})
			for b.Loop() {
				if _, err := r.Run(b.Context(), &chat.Request{Input: "the input"}, &delays{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
		})
	}
}
