package agent_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/trace"
	"sluice/internal/base/telemetry/trace/tracetest"
	"sluice/internal/engine/agent"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// callsOnce is a model that makes some calls, and then answers.
type callsOnce []string

func (callsOnce) Name() string { return "m" }

func (names callsOnce) Stream(_ context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	c := chat.Chunk{Finish: chat.FinishStop}
	if req.Step == 1 {
		for _, name := range names {
			c.Parts = append(c.Parts, chat.Part{Call: &tool.Call{ID: name, Name: name, Arguments: []byte(`{"x":"` + name + `"}`)}})
		}
	} else {
		c.Parts = []chat.Part{{Text: "x"}}
	}
	return yield(&c)
}

// behaves runs each tool as its name says.
type behaves struct{}

func (behaves) Tools(context.Context) *tool.Set {
	return &tool.Set{Specs: []tool.Spec{
		{Name: "works", Server: "s"}, {Name: "says no", Server: "s"}, {Name: "lost", Server: "s", Fallback: "works"}, {Name: "panics", Server: "s"},
	}}
}

func (behaves) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	trace.Of(ctx).String("seen", "by the tool")
	switch c.Name {
	case "works":
		return tool.Result{Text: "CANARY"}, nil
	case "says no":
		return tool.Result{Text: "CANARY", IsError: true}, nil
	case "lost":
		return tool.Result{}, &fault.Error{Type: fault.MCPUnavailable, NoEffect: true, Message: "CANARY"}
	case "panics":
		panic("CANARY")
	}
	return tool.Result{}, &fault.Error{Type: fault.ToolFailed, Message: "CANARY"}
}

// Each call that is made has a span, substitutes too. A name that the model made up
// is not in it.
func TestSpansOfToolCalls(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		calls callsOnce
		want  string
	}{
		"as they end": {callsOnce{"works", "says no", "CANARY"}, `root (server)
  execute_tool gen_ai.operation.name=execute_tool seen=by the tool failed: tool_execution_failed
  execute_tool says no gen_ai.operation.name=execute_tool gen_ai.tool.name=says no seen=by the tool failed: tool_execution_failed
  execute_tool works gen_ai.operation.name=execute_tool gen_ai.tool.name=works seen=by the tool
`},
		"a substitute": {callsOnce{"lost"}, `root (server)
  execute_tool lost gen_ai.operation.name=execute_tool gen_ai.tool.name=lost seen=by the tool failed: mcp_unavailable
  execute_tool works gen_ai.operation.name=execute_tool gen_ai.tool.name=works seen=by the tool
`},
		"a panic": {callsOnce{"panics"}, `root (server)
  execute_tool panics gen_ai.operation.name=execute_tool gen_ai.tool.name=panics seen=by the tool failed: internal_error
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := new(tracetest.Tree)
			ctx, end := tree.Context(t.Context())
			_, _ = agent.New(agent.Config{Model: tt.calls, Tools: behaves{}}).Run(ctx, &chat.Request{Input: "CANARY"}, nothing{})
			end()
			if diff := cmp.Diff(tt.want, tree.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
