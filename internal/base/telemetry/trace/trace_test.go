package trace_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/trace"
	"sluice/internal/base/telemetry/trace/tracetest"
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

// noted is a Recorder that keeps what telemetry has no attribute for.
type noted struct {
	trace.Recorder
	firsts int
	reply  string
}

func (n *noted) First() { n.firsts++ }

func (n *noted) Replied(cached, thinking int, finish string) {
	n.reply = fmt.Sprint(cached, " ", thinking, " ", finish)
}

// Work without a request is a trace of its own, and follows another one by that one's name.
func TestRootsAreLinked(t *testing.T) {
	t.Parallel()
	tree := new(tracetest.Tree)
	_, before := trace.Root(t.Context(), tree, "run", "a")
	name := before.Name()
	before.End(nil)
	_, after := trace.Root(t.Context(), tree, "run", "b")
	after.Link("") // it follows none
	after.Link(name)
	after.End(nil)
	if want := "run a\nrun b link=" + name + "\n"; name == "" || tree.String() != want {
		t.Errorf("got %q, want %q", tree, want)
	}
	ctx, none := trace.Root(t.Context(), nil, "run", "c")
	none.Link(name)
	if none.On() || none.Name() != "" || ctx != t.Context() {
		t.Error("there is a span without a Tracer")
	}
}

// A turn's own Recorder stands before that of telemetry, and gets what only it keeps.
func TestRecorderOfATurn(t *testing.T) {
	t.Parallel()
	tree := new(tracetest.Tree)
	outer, span := trace.Root(t.Context(), tree, "run", "")
	span.First() // telemetry keeps neither
	span.Replied(1, 2, "stop")
	var own *noted
	ctx := trace.Within(outer, func(below trace.Recorder) trace.Recorder {
		own = &noted{Recorder: below}
		return own
	})
	inner := trace.Of(ctx)
	inner.First()
	inner.Replied(7, 3, "stop")
	inner.Int("n", 1)
	inner.End(nil)
	if own.firsts != 1 || own.reply != "7 3 stop" || tree.String() != "run n=1\n" {
		t.Errorf("%+v, %q", own, tree)
	}
	trace.Within(t.Context(), func(below trace.Recorder) trace.Recorder {
		if below != nil {
			t.Error("there is a Recorder where none was")
		}
		return own
	})
}
