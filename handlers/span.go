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
	reason := o.ending()
	span.String("sluice.finish_reason", string(reason))
	span.Fail(o.failure(reason))
}

// failure returns why the turn failed; empty: it did not.
func (o *observer) failure(reason stream.FinishReason) string {
	if reason.Success() {
		return ""
	}
	if e := o.Fatal(); e != nil {
		return string(e.Type)
	}
	return string(reason)
}
