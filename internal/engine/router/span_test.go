package router_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/trace"
	"sluice/internal/base/telemetry/trace/tracetest"
	"sluice/internal/engine/router"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// asked is an Asker that notes in the span at hand that it was asked.
type asked struct{ asker }

func (a *asked) Ask(ctx context.Context, q *router.Question) (router.Reply, error) {
	trace.Of(ctx).String("asked", "here")
	return a.asker.Ask(ctx, q)
}

// Whatever becomes of a turn, its spans say so, and each ends once.
func TestSpansOfATeam(t *testing.T) {
	t.Parallel()
	const route = "  RouterExecutor.Route agent.additional_count="
	const routed = " asked=here messaging.message.type=ChatMessage messaging.operation=route sluice.route.decision=route sluice.route.method=model\n"
	notes := func(ctx context.Context, _ *chat.Request, sink stream.Sink) error {
		trace.Of(ctx).String("answered", "here")
		return sink.Emit(&stream.Delta{Text: "CANARY"})
	}
	for name, tt := range map[string]struct {
		agents []router.Agent
		choice any
		want   string
	}{
		"one": {
			[]router.Agent{agentOf("lights", notes), agentOf("music", notes)}, choose("lights", 0.9),
			route + "0 agent.available_count=2 agent.confidence=0.9 agent.selected=lights" + routed +
				"  aggregate agent.count=1 agent.failed_count=0\n" +
				"  invoke_agent lights answered=here gen_ai.agent.id=lights gen_ai.operation.name=invoke_agent gen_ai.usage.input_tokens=1 gen_ai.usage.output_tokens=1 sluice.agent.role=primary sluice.attempts=1\n",
		},
		"two, of which one fails twice": {
			[]router.Agent{agentOf("lights", notes), agentOf("music", failing(fault.ModelUnavailable), failing(fault.ModelBlocked))}, choose("lights", 0.9, "music"),
			route + "1 agent.available_count=2 agent.confidence=0.9 agent.selected=lights" + routed +
				"  aggregate agent.count=2 agent.failed_count=1\n" +
				"  invoke_agent lights answered=here gen_ai.agent.id=lights gen_ai.operation.name=invoke_agent gen_ai.usage.input_tokens=1 gen_ai.usage.output_tokens=1 sluice.agent.role=primary sluice.attempts=1\n" +
				"  invoke_agent music gen_ai.agent.id=music gen_ai.operation.name=invoke_agent gen_ai.usage.input_tokens=1 gen_ai.usage.output_tokens=1 sluice.agent.role=additional sluice.attempts=2 failed: model_blocked\n",
		},
		"unsure": {
			[]router.Agent{agentOf("lights", notes), agentOf("music", notes)}, choose("lights", 0.5),
			route + "0 agent.available_count=2 agent.confidence=0.5 agent.selected=clarification-agent asked=here messaging.message.type=ChatMessage messaging.operation=route sluice.route.decision=clarify sluice.route.method=model\n",
		},
		"nonsense": {
			[]router.Agent{agentOf("lights", notes), agentOf("music", notes)}, choose("CANARY", 0.9),
			route + "0 agent.available_count=2 agent.confidence=0.9 agent.selected=fallback-agent asked=here messaging.message.type=ChatMessage messaging.operation=route sluice.route.decision=fallback sluice.route.method=model failed: routing_failed\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := router.Defaults()
				cfg.Agents, cfg.Asker = tt.agents, &asked{asker{tt.choice}}
				tree := new(tracetest.Tree)
				ctx, end := tree.Context(t.Context())
				frame := stream.Frame{Runner: router.New(cfg), Model: "m", Timeout: time.Minute}
				if err := frame.Run(ctx, &chat.Request{Input: "CANARY"}, new(record)); err != nil {
					t.Fatal(err)
				}
				end()
				if diff := cmp.Diff("root (server)\n"+tt.want, tree.String()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}
