package trace_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/fault"
	"sluice/telemetry/trace"
	"sluice/telemetry/trace/tracetest"
)

// work is what a package does with spans, once for each kind of call.
func work(ctx context.Context, header http.Header, err error) {
	ctx, span := trace.Start(ctx, trace.Client, trace.Chat, "m")
	span.String(trace.RequestModel, "m")
	span.Int("n", 7)
	span.Float("f", 0.5)
	span.Usage(1, 2, 3)
	trace.Propagate(ctx, header)
	span.End(err)
}

func TestSpansMakeATree(t *testing.T) {
	t.Parallel()
	tree, header := new(tracetest.Tree), http.Header{}
	ctx, root := trace.Request(t.Context(), tree, http.Header{"Traceparent": {"given"}}, "POST", "/chat/stream")
	work(ctx, header, nil)
	work(ctx, header, &fault.Error{Type: fault.ModelBlocked, Err: errors.New("what the model said")})
	work(ctx, header, fmt.Errorf("cut: %w", fault.ErrClientGone))
	work(ctx, header, errors.New("a bug"))
	root.Fail("why")
	const chat = "  chat m (client) f=0.5 gen_ai.request.model=m gen_ai.usage.input_tokens=1 gen_ai.usage.output_tokens=5 n=7"
	want := "POST /chat/stream (server) parent=given failed: why\n" +
		chat + "\n" + chat + " failed: model_blocked\n" + chat + " failed: cancelled\n" + chat + " failed: internal_error\n"
	if diff := cmp.Diff(want, tree.String()); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if got := header.Get("traceparent"); got == "" {
		t.Error("nothing was propagated")
	}
}

// Without a Tracer nothing happens, and nothing is allocated.
func TestOff(t *testing.T) {
	type other struct{}
	given := context.WithValue(t.Context(), other{}, 1)
	ctx, root := trace.Request(given, nil, nil, "POST", "/")
	if root.On() || ctx != given {
		t.Error("there is a span")
	}
	header, err := http.Header{"Traceparent": {"the caller's own"}}, errors.New("x")
	if n := testing.AllocsPerRun(1000, func() { work(ctx, header, err) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if got := header.Get("traceparent"); got != "the caller's own" {
		t.Errorf("the header is now %q", got)
	}
}

// BenchmarkOff is what a span costs that nobody asked for, ten contexts deep.
func BenchmarkOff(b *testing.B) {
	type k int
	ctx := b.Context()
	for i := range 10 {
		ctx = context.WithValue(ctx, k(i), i)
	}
	header := http.Header{}
	b.ReportAllocs()
	for b.Loop() {
		work(ctx, header, nil)
	}
}
