package handlers

import (
	"context"
	"net/http"

	"sluice/internal/base/telemetry/trace"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// span begins the span of a turn. One that continues with what waited links to where that began
// to wait.
func (s *Server) span(ctx context.Context, r *http.Request, t *turn) (context.Context, trace.Span) {
	path := t.route.Path
	ctx, span := trace.Request(ctx, s.cfg.Tracer, r.Header, r.Method, path)
	if span.On() {
		span.String("http.request.method", r.Method)
		span.String("http.route", path)
		span.String("sluice.request_id", chat.RequestID(ctx))
		if t.Request.Resumed != nil {
			span.Link(t.Request.Resumed.Trace)
		}
	}
	return ctx, span
}

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
