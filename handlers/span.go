package handlers

import (
	"sluice/internal/base/telemetry/trace"
	"sluice/stream"
)

// endSpan ends the span of the turn that was observed.
func (o *observer) endSpan(span trace.Span) {
	if !span.On() {
		return
	}
	reason := o.finishReason()
	span.String("sluice.finish_reason", string(reason))
	span.Fail(o.failureType(reason))
}

// failureType returns why the turn failed; empty: it did not.
func (o *observer) failureType(reason stream.FinishReason) string {
	if reason.Success() {
		return ""
	}
	if e := o.Fatal(); e != nil {
		return string(e.Type)
	}
	return string(reason)
}
