package otlp

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	oteltrace "go.opentelemetry.io/otel/trace"

	"sluice/internal/base/telemetry/trace"
)

// parentHeader names the span that a request belongs to (W3C Trace Context). Its companion,
// tracestate, is text of the sender's making: it is neither kept nor passed on.
const parentHeader = "Traceparent"

// tracer is a trace.Tracer.
type tracer struct{ spans oteltrace.Tracer }

// Begin implements trace.Tracer.
func (t *tracer) Begin(kind trace.Kind, operation, subject string, header http.Header) trace.Recorder {
	ctx := context.Background()
	if parents := header[parentHeader]; len(parents) == 1 {
		ctx = withParent(ctx, parents[0])
	}
	return t.beginSpan(ctx, kind, operation, subject)
}

// withParent returns a context with the span that a traceparent names; ctx, if it names none.
func withParent(ctx context.Context, parent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
}

// beginSpan begins a span below the one in ctx, if any. It is recorded when it
// ends.
func (t *tracer) beginSpan(ctx context.Context, kind trace.Kind, operation, subject string) *span {
	name := operation
	if subject != "" {
		name += " " + subject
	}
	ctx, s := t.spans.Start(ctx, name, oteltrace.WithSpanKind(kindOf(kind)))
	return &span{t, ctx, s}
}

// kindOf is OpenTelemetry's word for a kind.
func kindOf(kind trace.Kind) oteltrace.SpanKind {
	switch kind {
	case trace.Server:
		return oteltrace.SpanKindServer
	case trace.Client:
		return oteltrace.SpanKindClient
	}
	return oteltrace.SpanKindInternal
}

// span is a trace.Recorder.
type span struct {
	t    *tracer
	ctx  context.Context // holds it, and never ends
	span oteltrace.Span
}

// Begin begins a span below s. Spans below one another may end in any order.
func (s *span) Begin(kind trace.Kind, operation, subject string) trace.Recorder {
	return s.t.beginSpan(s.ctx, kind, operation, subject)
}

// String sets an attribute. The key is a name of the semantic conventions where
// there is one.
func (s *span) String(key, value string) { s.span.SetAttributes(attribute.String(key, value)) }

// Int sets an attribute.
func (s *span) Int(key string, value int) { s.span.SetAttributes(attribute.Int(key, value)) }

// Float sets an attribute.
func (s *span) Float(key string, value float64) { s.span.SetAttributes(attribute.Float64(key, value)) }

// Propagate adds traceparent, so that the other side's spans belong to the same
// trace.
func (s *span) Propagate(header http.Header) {
	propagation.TraceContext{}.Inject(s.ctx, propagation.HeaderCarrier(header))
}

// Link adds a link to the span that a traceparent names, whatever has become of it.
func (s *span) Link(name string) {
	if to := oteltrace.SpanContextFromContext(withParent(context.Background(), name)); to.IsValid() {
		s.span.AddLink(oteltrace.Link{SpanContext: to})
	}
}

// End ends the span; an empty failure is success. Attributes must be set before.
func (s *span) End(failure string) {
	if failure == "" {
		s.span.SetStatus(codes.Ok, "")
	} else {
		s.span.SetStatus(codes.Error, failure)
		s.span.SetAttributes(attribute.String("error.type", failure))
	}
	s.span.End()
}
