package stream_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
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

// A runner within a runner emits no Start and no Done of its own.
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
// are, and the operator learns of a failure once.
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
				var cause error
				sink := &recorder{}
				frame := stream.Frame{Runner: tt.run, Timeout: time.Minute, OnError: func(_ context.Context, err error) { logged, cause = logged+1, err }}
				if err := frame.Run(t.Context(), &chat.Request{}, sink); err != nil || logged != tt.logged {
					t.Errorf("Run = %v, %d errors logged, want %d", err, logged, tt.logged)
				}
				if !legal(sink.events, complete) {
					t.Fatalf("the turn is %q", letters(sink.events))
				}
				if sink.flushes != 2 {
					t.Errorf("%d flushes, want one behind Start and one behind Done", sink.flushes)
				}
				if tt.name == "gives no reason" && errors.Is(cause, stream.ErrGrammar) {
					t.Errorf("the operator is told of an event: %v", cause)
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

// Nothing is reported to a client that left; a runner that only says so is a bug.
func TestFrameOfAClientThatLeft(t *testing.T) {
	t.Parallel()
	gone := answers(func(context.Context, stream.Sink) (stream.Result, error) { return stream.Result{}, fault.ErrClientGone })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sink := &recorder{}
	asked := false
	late := answers(func(ctx context.Context, sink stream.Sink) (stream.Result, error) {
		asked = true
		return gone(ctx, sink)
	})
	if err := (&stream.Frame{Runner: late}).Run(ctx, &chat.Request{}, sink); !errors.Is(err, fault.ErrClientGone) || letters(sink.events) != "S" || asked {
		t.Errorf("the client left: %v, events %q, the runner was asked: %v", err, letters(sink.events), asked)
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
	frame = stream.Frame{Runner: says("a"), OnError: func(_ context.Context, err error) { t.Errorf("the operator is told of an error of the turn: %v", err) }}
	sink := &recorder{failAt: 3} // behind Start and its Flush
	if err := frame.Run(t.Context(), &chat.Request{}, sink); err != errSink || sink.calls != 3 {
		t.Errorf("Run = %v, after %d calls of the sink", err, sink.calls)
	}
}

// Late holds Start back until something follows it.
func TestFrameThatBeginsLate(t *testing.T) {
	t.Parallel()
	for late, want := range map[bool]int{false: 1, true: 0} {
		sink := &recorder{}
		before := -1
		frame := stream.Frame{Late: late, Runner: answers(func(context.Context, stream.Sink) (stream.Result, error) {
			before = sink.flushes
			return stream.Result{Reason: stream.Stop}, nil
		})}
		if err := frame.Run(t.Context(), &chat.Request{}, sink); err != nil || before != want {
			t.Errorf("late %v: %v, %d flushes before the runner, want %d", late, err, before, want)
		}
	}
}

// Done says all that a Result has in common with it, however the turn ends.
func TestDoneHoldsTheWholeResult(t *testing.T) {
	t.Parallel()
	result := stream.Result{
		Usage: chat.Usage{InputTokens: 1}, Model: []time.Duration{1}, Tools: []stream.ToolTiming{{Tool: "add"}}, Models: []string{"fast", "spare"}, Keyed: true,
		Agents: []stream.AgentOutcome{{AgentID: "light-agent"}}, Route: 1, Asker: "light-agent",
		Checks: &stream.Checks{Quality: &stream.Receipt{}, Channel: &stream.Formatted{}, Checked: []byte(`{}`)},
	}
	for reason, err := range map[stream.FinishReason]error{stream.Stop: nil, stream.Failed: errors.New("a bug")} {
		sink := &recorder{}
		frame := stream.Frame{Runner: answers(func(context.Context, stream.Sink) (stream.Result, error) {
			r := result
			r.Reason = reason
			return r, err
		})}
		if err := frame.Run(t.Context(), &chat.Request{}, sink); err != nil {
			t.Fatal(err)
		}
		done := sink.events[len(sink.events)-1].(*stream.Done)
		for v, i := reflect.ValueOf(*done), 0; i < v.NumField(); i++ {
			if name := v.Type().Field(i).Name; name != "Timings" && name != "Takeovers" && name != "Seams" && v.Field(i).IsZero() {
				t.Errorf("%s: %s is not told", reason, name)
			}
		}
	}
}

// A turn that another process began has a time limit too, and ends in the same words.
func TestFrameThatGoesOn(t *testing.T) {
	t.Parallel()
	slow := answers(func(ctx context.Context, _ stream.Sink) (stream.Result, error) {
		<-ctx.Done()
		return stream.Result{}, ctx.Err()
	})
	for name, run := range map[string]func(context.Context, *stream.Frame, stream.Sink) error{
		"begins": func(ctx context.Context, f *stream.Frame, sink stream.Sink) error {
			return f.Run(ctx, &chat.Request{}, sink)
		},
		"goes on": func(ctx context.Context, f *stream.Frame, sink stream.Sink) error {
			guard := stream.NewGuard(sink)
			_ = guard.Emit(&stream.Start{})
			return f.GoOn(ctx, &chat.Request{}, guard)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sink := &recorder{}
				began := time.Now()
				if err := run(t.Context(), &stream.Frame{Runner: slow, Timeout: time.Minute}, sink); err != nil || time.Since(began) != time.Minute {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				want := []stream.Event{
					&stream.Start{}, &stream.Error{Type: fault.Timeout, Message: "The request took too long and was stopped", Recoverable: true, Fatal: true},
					&stream.Done{Reason: stream.TimedOut},
				}
				if diff := cmp.Diff(want, sink.events); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		})
	}
}
