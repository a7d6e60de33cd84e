package router

import (
	"context"

	"sluice/internal/base/telemetry/trace"
	"sluice/internal/turn/chat"
)

// decideTraced is decideRoute within a span. The attributes' names are those of the contract.
func (t *Team) decideTraced(ctx context.Context, req *chat.Request) decision {
	ctx, span := trace.Start(ctx, trace.Internal, "RouterExecutor.Route", "")
	if !span.On() {
		return t.decideRoute(ctx, req)
	}
	d := t.decideRoute(ctx, req)
	ev := t.routeEvent(&d)
	span.String("messaging.operation", "route")
	span.String("messaging.message.type", "ChatMessage")
	span.Int("agent.available_count", len(t.routableAgents()))
	span.String("agent.selected", ev.AgentID)
	span.Float("agent.confidence", d.confidence)
	span.Int("agent.additional_count", len(ev.Additional))
	span.String("sluice.route.decision", string(d.kind))
	span.String("sluice.route.method", d.method)
	if d.err == nil { // a nil *fault.Error is not a nil error
		span.End(nil)
	} else {
		span.End(d.err)
	}
	return d
}

// beginSpan begins the span of the member's part, and returns it in a context.
func (m *member) beginSpan(ctx context.Context) context.Context {
	ctx, span := trace.Start(ctx, trace.Internal, trace.InvokeAgent, m.agent.ID)
	span.String(trace.Operation, trace.InvokeAgent)
	span.String(trace.AgentID, m.agent.ID)
	span.String("sluice.agent.role", string(m.role))
	return ctx
}

// endSpan ends it; usage is that of the last attempt.
func (m *member) endSpan(usage chat.Usage, err error) {
	span := trace.Of(m.ctx)
	span.Usage(usage.InputTokens, usage.OutputTokens, usage.ThinkingTokens)
	span.Int("sluice.attempts", m.attempt)
	span.End(err)
}
