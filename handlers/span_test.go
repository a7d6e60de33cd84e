package handlers_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/handlers"
	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/trace"
	"sluice/internal/base/telemetry/trace/tracetest"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Each turn has a span of the name of its route; a request that is refused has none.
func TestSpans(t *testing.T) {
	t.Parallel()
	const head = " http.request.method=POST http.route=/chat/stream parent=theirs sluice.finish_reason="
	for name, tt := range map[string]struct {
		body   string
		runner stream.Runner
		want   string
	}{
		"success": {`{"input":"CANARY"}`, begins(func(ctx context.Context, _ chat.Request, sink stream.Sink) error {
			_, span := trace.Start(ctx, trace.Internal, "below", "")
			span.End(nil)
			return sends(&stream.Delta{Text: "CANARY"}, &stream.Done{Reason: stream.Stop})(ctx, chat.Request{}, sink)
		}), "POST /chat/stream (server)" + head + "stop sluice.request_id=r\n  below\n"},
		"failure": {`{"input":"CANARY"}`, begins(func(context.Context, chat.Request, stream.Sink) error {
			return &fault.Error{Type: fault.ModelBlocked, Message: "CANARY"}
		}), "POST /chat/stream (server)" + head + "error sluice.request_id=r failed: model_blocked\n"},
		"panic": {`{"input":"CANARY"}`, begins(func(context.Context, chat.Request, stream.Sink) error { panic("CANARY") }),
			"POST /chat/stream (server)" + head + "error sluice.request_id=r failed: internal_error\n"},
		"refused": {`{"input":""}`, hello, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := new(tracetest.Tree)
			g := serve(t, handlers.Config{Runner: tt.runner, Tracer: tree})
			g.do(t, "POST", "/chat/stream", tt.body, jsonType, "X-Request-ID: r", "Traceparent: theirs")
			if diff := cmp.Diff(tt.want, tree.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The span of a turn whose client leaves says that it was cancelled.
func TestSpanOfAClientThatLeaves(t *testing.T) {
	t.Parallel()
	tree, began, ended := new(tracetest.Tree), make(chan struct{}), make(chan struct{})
	g := serve(t, handlers.Config{Tracer: tree, Runner: begins(func(ctx context.Context, _ chat.Request, _ stream.Sink) error {
		defer close(ended)
		close(began)
		<-ctx.Done()
		return fault.Cause(ctx)
	})})
	ctx, leave := context.WithCancel(t.Context())
	resp, err := g.send(ctx, "POST", "/chat/stream", strings.NewReader(`{"input":"hi"}`), jsonType)
	if err != nil {
		t.Fatal(err)
	}
	<-began // a client that leaves before has no turn to cancel
	leave()
	_ = resp.Body.Close()
	<-ended
	g.Drain()
	if err := g.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := tree.String(); !strings.Contains(got, "sluice.finish_reason=cancelled") || !strings.Contains(got, "failed: cancelled") || strings.Contains(got, "ENDED") {
		t.Error(got)
	}
}
