package agent_test

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/agent"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// resuming continues with a turn, whatever the request is.
type resuming struct {
	*agent.Agent
	from *chat.Resumed
}

func (r resuming) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	again := *req
	again.Resumed = r.from
	return r.Agent.Run(ctx, &again, sink)
}

// A turn that waits continues from what the version before the tree has stored of it.
func TestTurnOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	state, err := os.ReadFile("../run/testdata/agent-1.json")
	if err != nil {
		t.Fatal(err)
	}
	from := &chat.Resumed{By: chat.PausedAgent, State: state, Decisions: []chat.Decision{{CallID: "a", Action: chat.Approve}, {CallID: "c", Action: chat.Reject}}}
	var ran []string
	got := play(t, scene{Config: held, answers: []answer{says("done")},
		call: func(_ context.Context, c tool.Call) (tool.Result, error) {
			ran = append(ran, c.Name+" "+string(c.Arguments))
			return result(c, "now"), nil
		},
		wrap: func(a *agent.Agent) stream.Runner { return resuming{a, from} },
	})
	if diff := cmp.Diff([]string{"now", "ok", "Not executed: the user has not allowed this call."}, results(got)); diff != "" {
		t.Errorf("what the model is given (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{`add {"n": 9007199254740993}`}, ran); diff != "" || got.events[len(got.events)-1] != "done stop" {
		t.Errorf("it ends with %q, ran (-want +got):\n%s", got.events, diff)
	}
}
