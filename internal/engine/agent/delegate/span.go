// This file is the span of a delegate's session, apart from the session itself so that
// session.go has no word of traces.

package delegate

import (
	"context"
	"errors"

	"sluice/internal/base/telemetry/trace"
	"sluice/internal/engine/agent"
	"sluice/internal/state/task/record"
)

// runTraced is run within a span, which lies below that of the call. Who keeps no spans pays
// a look into the context.
func (s *session) runTraced(ctx context.Context) (string, error) {
	ctx, span := trace.Start(ctx, trace.Internal, trace.InvokeAgent, s.id)
	span.String(trace.Operation, trace.InvokeAgent)
	span.String(trace.AgentID, s.id)
	span.String("sluice.agent.role", "delegate")
	span.String(record.SpanSession, s.session)
	summary, err := s.runSession(ctx)
	failure := err
	if _, waits := errors.AsType[*agent.Suspended](err); waits { // for a person, which is not a failure
		failure = nil
	}
	span.End(failure)
	return summary, err
}
