package stream_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/chat"
	"sluice/fault"
	"sluice/stream"
)

// answers is a Runner that is a function.
type answers func(context.Context, stream.Sink) (stream.Result, error)

func (f answers) Run(ctx context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
	return f(ctx, sink)
}

func says(text string) answers {
	return func(_ context.Context, sink stream.Sink) (stream.Result, error) {
		return stream.Result{Reason: stream.Stop}, sink.Emit(&stream.Delta{Text: text})
	}
}

// A runner within a runner tells no Start and no Done of its own.
func TestRunnersNest(t *testing.T) {
	t.Parallel()
	outer := answers(func(ctx context.Context, sink stream.Sink) (stream.Result, error) {
		var sum stream.Result
		for _, inner := range []answers{says("a"), says("b")} {
			r, err := inner.Run(ctx, nil, sink)
			if err != nil {
				return sum, err
			}
			sum.Reason = r.Reason
		}
		return sum, nil
	})
	sink := &recorder{}
	frame := stream.Frame{Runner: outer, Model: "m"}
	if err := frame.Run(t.Context(), &chat.Request{UserID: "ann"}, sink); err != nil {
		t.Fatal(err)
	}
	want := []stream.Event{
		&stream.Start{UserID: "ann", Model: "m"}, &stream.Delta{Text: "a"}, &stream.Delta{Text: "b"}, &stream.Done{Reason: stream.Stop},
	}
	if diff := cmp.Diff(want, sink.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// However a runner ends, the turn has one Done, which holds the figures that there
// are, and the operator hears of a failure once.
func TestFrameEndsEveryTurn(t *testing.T) {
	t.Parallel()
	figures := stream.Result{Usage: chat.Usage{InputTokens: 7}, Model: []time.Duration{1}}
	blocked := &fault.Error{Type: fault.ModelBlocked, Message: "blocked"}
	for _, tt := range []struct {
		name   string
		run    answers
		want   stream.FinishReason
		kind   fault.Type // of the fatal error
		logged int
	}{
		{"fails", func(context.Context, stream.Sink) (stream.Result, error) { return figures, blocked }, stream.Failed, fault.ModelBlocked, 1},
		{"panics", func(context.Context, stream.Sink) (stream.Result, error) { panic("SECRET") }, stream.Failed, fault.Internal, 1},
		{"is late", func(ctx context.Context, _ stream.Sink) (stream.Result, error) {
			<-ctx.Done()
			return figures, errors.New("whatever broke because of it")
		}, stream.TimedOut, fault.Timeout, 1},
		{"panics when late", func(ctx context.Context, _ stream.Sink) (stream.Result, error) {
			<-ctx.Done()
			panic("SECRET")
		}, stream.Failed, fault.Internal, 1},
		{"gives no reason", func(context.Context, stream.Sink) (stream.Result, error) { return figures, nil }, stream.Failed, fault.Internal, 1},
		{"gives a reason that is a failure", func(context.Context, stream.Sink) (stream.Result, error) {
			return stream.Result{Reason: stream.TimedOut}, nil
		}, stream.Failed, fault.Internal, 1},
		{"leaves a call open", func(_ context.Context, sink stream.Sink) (stream.Result, error) {
			return stream.Result{Reason: stream.Stop}, sink.Emit(&stream.ToolStarted{Call: stream.Call{ID: "a"}})
		}, stream.Failed, fault.Internal, 1},
		{"answers", says("a"), stream.Stop, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				logged := 0
				sink := &recorder{}
				frame := stream.Frame{Runner: tt.run, Timeout: time.Minute, OnError: func(context.Context, error) { logged++ }}
				if err := frame.Run(t.Context(), &chat.Request{}, sink); err != nil || logged != tt.logged {
					t.Errorf("Run = %v, %d errors logged, want %d", err, logged, tt.logged)
				}
				if !legal(sink.events, complete) {
					t.Fatalf("the turn is %q", letters(sink.events))
				}
				done := sink.events[len(sink.events)-1].(*stream.Done)
				if done.Reason != tt.want {
					t.Errorf("reason %q, want %q", done.Reason, tt.want)
				}
				if ev, ok := sink.events[len(sink.events)-2].(*stream.Error); ok != (tt.kind != "") || ok && ev.Type != tt.kind {
					t.Errorf("before Done comes %+v, want an error of type %q", sink.events[len(sink.events)-2], tt.kind)
				}
				if tt.name == "fails" && (done.Usage != figures.Usage || len(done.Model) != 1) {
					t.Errorf("the figures are lost: %+v", done)
				}
			})
		})
	}
}

// A client that left is told nothing; a runner that only says so is a bug.
func TestFrameOfAClientThatLeft(t *testing.T) {
	t.Parallel()
	gone := answers(func(context.Context, stream.Sink) (stream.Result, error) { return stream.Result{}, fault.ErrClientGone })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sink := &recorder{}
	if err := (&stream.Frame{Runner: gone}).Run(ctx, &chat.Request{}, sink); !errors.Is(err, fault.ErrClientGone) || letters(sink.events) != "S" {
		t.Errorf("the client left: %v, events %q", err, letters(sink.events))
	}
	sink = &recorder{}
	if err := (&stream.Frame{Runner: gone}).Run(t.Context(), &chat.Request{}, sink); err != nil || letters(sink.events) != "SEx" {
		t.Errorf("the client is there: %v, events %q", err, letters(sink.events))
	}
}

// The runner is not asked, and not blamed, when the sink fails before it.
func TestFrameOfASinkThatFails(t *testing.T) {
	t.Parallel()
	called := false
	frame := stream.Frame{Runner: answers(func(context.Context, stream.Sink) (stream.Result, error) {
		called = true
		return stream.Result{}, nil
	})}
	if err := frame.Run(t.Context(), &chat.Request{}, &recorder{failAt: 1}); err != errSink || called {
		t.Errorf("Run = %v, the runner was asked: %v", err, called)
	}
}
