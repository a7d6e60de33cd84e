package engine

import (
	"testing"

	"sluice/internal/base/telemetry/trace"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/turn/tool"
)

// Where nobody keeps spans, a run allocates nothing for them and keeps no name of one.
func TestSpansOff(t *testing.T) {
	w, problems := graph.Compile(graph.Definition{Name: "w", Nodes: []graph.Node{{ID: "a", Type: graph.AgentNode, Agent: "writer"}}}, Kinds())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	n := w.Node("a")
	r, run, ctx := New(Config{Workflow: w}), new(Run), t.Context()
	x := &execution{runner: r, w: w, state: run}
	k := &worker{x: x, n: n}
	o, result := &Open{Attempt: 1}, new(tool.Result)
	if count := testing.AllocsPerRun(1000, func() {
		var span trace.Span
		ctx, span := r.beginSpan(ctx, run)
		k.ctx, k.span = nodeSpan(ctx, n, o)
		_, agent := k.agentSpan()
		k.endAgentSpan(agent, nil)
		_, call := k.callSpan("t")
		endCallSpan(call, result, nil)
		k.endSpan(nil)
		x.endSpan(span, nil)
	}); count != 0 {
		t.Errorf("%v allocations", count)
	}
	if run.Progress.Trace != "" {
		t.Errorf("the run keeps %q", run.Progress.Trace)
	}
}
