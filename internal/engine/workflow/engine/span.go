package engine

import (
	"context"
	"errors"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/trace"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/turn/tool"
)

// Spans of a run: one for each stream of the run, below it one for each attempt of a node that
// works, below that its agents and calls. Conditions and questions take no time and are without a
// span. Without a tracer nothing is allocated here.

// endSpan ends the span of a stream of the run.
//
// A run that another process continues with has not failed, and its status says so.
func (x *execution) endSpan(span trace.Span, err error) {
	if !span.On() {
		return
	}
	status := x.state.Progress.Status
	if err != nil && !continuesLater(err) {
		status = StatusFailed
	}
	span.String("sluice.workflow.status", status)
	span.Int("sluice.workflow.iterations", x.state.Progress.Iterations)
	span.End(err)
}

// nodeSpan begins the span of an attempt of a node.
func nodeSpan(ctx context.Context, n *graph.Vertex, o *Open) (context.Context, trace.Span) {
	ctx, span := trace.Start(ctx, trace.Internal, "node", n.ID)
	span.String("sluice.node.type", string(n.Type))
	span.Int("sluice.node.attempt", o.Attempt)
	return ctx, span
}

// endSpan ends it, on the goroutine of the run. A node that leaves a question has not
// failed.
func (k *worker) endSpan(err error) {
	if !k.span.On() {
		return
	}
	if k.n.Repeat != nil {
		k.span.Int("sluice.node.rounds", k.round)
	}
	if _, waits := errors.AsType[*waiting](err); waits {
		k.span.String("sluice.node.status", StatusWaiting)
		err = nil
	}
	k.span.End(err)
}

// agentSpan begins the span of a round of an agent.
func (k *worker) agentSpan() (context.Context, trace.Span) {
	ctx, span := trace.Start(k.ctx, trace.Internal, trace.InvokeAgent, k.n.Agent)
	span.String(trace.Operation, trace.InvokeAgent)
	span.String(trace.AgentID, k.n.Agent)
	return ctx, span
}

// endAgentSpan ends it.
func (k *worker) endAgentSpan(span trace.Span, err error) {
	if _, waits := errors.AsType[*waiting](err); waits {
		err = nil
	}
	span.End(err)
}

// callSpan begins the span of a call of a tool node.
func (k *worker) callSpan(name string) (context.Context, trace.Span) {
	ctx, span := trace.Start(k.ctx, trace.Internal, trace.ExecuteTool, name)
	span.String(trace.Operation, trace.ExecuteTool)
	span.String(trace.ToolName, name)
	return ctx, span
}

// endCallSpan ends it.
func endCallSpan(span trace.Span, result *tool.Result, err error) {
	if err == nil && result.IsError {
		span.Fail(string(fault.ToolFailed))
		return
	}
	span.End(err)
}
