package agent

import (
	"context"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/trace"
)

// beginSpan begins the span of a tool call. The span of an unknown tool lacks a name, as the model
// made that up.
func (j *job) beginSpan(ctx context.Context) (context.Context, trace.Span) {
	name := ""
	if j.spec != nil {
		name = j.spec.Name
	}
	ctx, span := trace.Start(ctx, trace.Internal, trace.ExecuteTool, name)
	span.String(trace.Operation, trace.ExecuteTool)
	if name != "" {
		span.String(trace.ToolName, name)
	}
	return ctx, span
}

// endSpan ends the span of a call that has ended.
func (j *job) endSpan(span trace.Span) {
	if j.err == nil && j.result.IsError {
		span.Fail(string(fault.ToolFailed))
		return
	}
	span.End(j.err)
}
