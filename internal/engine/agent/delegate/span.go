// This file has the span of a delegate's session, so that session.go is free of traces.

package delegate

import (
	"context"
	"errors"

	"sluice/internal/base/telemetry/trace"
	"sluice/internal/engine/agent"
	"sluice/internal/state/task/record"
)

// runTraced is runSession within a span. The span lies below that of the call. Without spans it
// costs a look into the context.
func (s *session) runTraced(ctx context.Context) (string, error) {
	ctx, span := trace.Start(ctx, trace.Internal, trace.InvokeAgent, s.id)
	span.String(trace.Operation, trace.InvokeAgent)
	span.String(trace.AgentID, s.id)
	span.String("sluice.agent.role", "delegate")
	span.String(record.SpanSession, s.session)
	summary, err := s.runSession(ctx)
	failure := err
	if _, waits := errors.AsType[*agent.Suspended](err); waits { // for a person; this is not a failure
		failure = nil
	}
	span.End(failure)
	return summary, err
}
