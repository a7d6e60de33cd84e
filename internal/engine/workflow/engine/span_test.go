package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/telemetry/trace/tracetest"
	core "sluice/internal/engine/run"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// A run is a tree of spans: its nodes, and below them agents and calls. What follows a
// wait, and what follows the end of a process, is a trace of its own with a link to the
// one before. No span has a text.
func TestSpans(t *testing.T) {
	t.Parallel()
	const content = `
  w:
    nodes:
      q: {type: condition, expression: "'x'"}
      e: {type: agent, agent: support}
      a: {type: agent, agent: support, repeat: {critic: writer, until: "critic.json.score >= 8"}}
      b: {type: tool, tool: s/echo, arguments: {a: "'CANARY'"}}
      h: {type: human, prompt: "CANARY?"}
      c: {type: agent, agent: writer, input: "CANARY"}
    edges: [{from: q, to: {default: e}}, {from: e, to: a}, {from: e, to: b}, {from: a, to: h}, {from: b, to: h}, {from: h, to: c}]
`
	tree := new(tracetest.Tree)
	ts := echoTools()
	ts.answer = func(tool.Call) (tool.Result, error) { return tool.Result{Text: "CANARY"}, nil }
	r := runOf(t, content, engine.Config{Agents: &agents{answer: echo}, Tools: ts, Asker: &critic{scores: []float64{3, 9}}, Tracer: tree})
	ctx, end := tree.Context(t.Context())
	var paused *chat.Paused
	if _, err := r.Run(ctx, &chat.Request{Input: "CANARY", Facts: chat.Facts{Ask: func(p *chat.Paused) string { paused = p; return "" }}}, new(log)); err != nil {
		t.Fatal(err)
	}
	end()
	waits, err := core.ReadPaused(chat.PausedWorkflow, paused.State)
	if err != nil {
		t.Fatal(err)
	}
	run, err := engine.Restore(r.Workflow(), waits)
	if err != nil {
		t.Fatal(err)
	}
	asked := &chat.Resumed{By: chat.PausedWorkflow, State: paused.State, Decisions: []chat.Decision{{CallID: "h", Action: chat.Approve, Message: "CANARY"}}}
	ctx, end = tree.Context(t.Context())
	if _, err := r.Run(ctx, &chat.Request{Resumed: asked}, new(log)); err != nil {
		t.Fatal(err)
	}
	end()
	run.TimeOut(run.Progress.Frontier[0].Asks.Expires.AddDate(1, 0, 0)) // nobody has answered, and there is no request
	if _, err := r.Continue(t.Context(), new(chat.Request), run, new(log)); err == nil {
		t.Error("a rejection that no edge takes went on")
	}
	const (
		workflow = "invoke_workflow w gen_ai.operation.name=invoke_workflow gen_ai.workflow.name=w"
		usage    = "gen_ai.usage.input_tokens=1 gen_ai.usage.output_tokens=2"
		support  = "      invoke_agent support gen_ai.agent.id=support gen_ai.operation.name=invoke_agent " + usage + "\n"
		link     = " link=00-00000000000000000000000000000001-0000000000000002-01 "
	)
	want := "root (server)\n" +
		"  " + workflow + " sluice.workflow.iterations=6 sluice.workflow.status=waiting\n" +
		"    node a sluice.node.attempt=1 sluice.node.rounds=2 sluice.node.type=agent\n" + support + support +
		"    node b sluice.node.attempt=1 sluice.node.type=tool\n" +
		"      execute_tool echo gen_ai.operation.name=execute_tool gen_ai.tool.name=echo\n" +
		"    node e sluice.node.attempt=1 sluice.node.type=agent\n" + support +
		"root (server)\n" +
		"  " + workflow + link + "sluice.workflow.iterations=7 sluice.workflow.status=completed\n" +
		"    node c sluice.node.attempt=1 sluice.node.type=agent\n" +
		"      invoke_agent writer gen_ai.agent.id=writer gen_ai.operation.name=invoke_agent " + usage + "\n" +
		workflow + link + "sluice.workflow.iterations=6 sluice.workflow.status=failed failed: approval_rejected\n"
	if diff := cmp.Diff(want, tree.String()); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// A node whose call waits for a person has not failed; one that fails says how.
func TestSpansOfNodesThatDoNotComplete(t *testing.T) {
	t.Parallel()
	tree := new(tracetest.Tree)
	ctx, end := tree.Context(t.Context())
	hold := func(tool.Call, *tool.Spec) bool { return true }
	r := runOf(t, "  w: {nodes: {x: {type: tool, tool: s/echo, arguments: {}}}}\n", engine.Config{Tools: echoTools(), Hold: hold})
	if _, err := r.Run(ctx, &chat.Request{Input: "hi", Facts: askable()}, new(log)); err != nil {
		t.Fatal(err)
	}
	r = runOf(t, "  v: {nodes: {y: {type: agent, agent: writer, input: 'fail: CANARY'}}}\n", engine.Config{Agents: &agents{answer: func(_ string, req *chat.Request) string { return req.Input }}})
	if _, err := r.Run(ctx, &chat.Request{Input: "hi"}, new(log)); err == nil {
		t.Error("it did not fail")
	}
	end()
	want := "root (server)\n" +
		"  invoke_workflow v gen_ai.operation.name=invoke_workflow gen_ai.workflow.name=v sluice.workflow.iterations=1 sluice.workflow.status=failed failed: workflow_node_failed\n" +
		"    node y sluice.node.attempt=1 sluice.node.type=agent failed: model_unavailable\n" +
		"      invoke_agent writer gen_ai.agent.id=writer gen_ai.operation.name=invoke_agent gen_ai.usage.input_tokens=1 gen_ai.usage.output_tokens=2 failed: model_unavailable\n" +
		"  invoke_workflow w gen_ai.operation.name=invoke_workflow gen_ai.workflow.name=w sluice.workflow.iterations=1 sluice.workflow.status=waiting\n" +
		"    node x sluice.node.attempt=1 sluice.node.status=waiting sluice.node.type=tool\n"
	if diff := cmp.Diff(want, tree.String()); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}
