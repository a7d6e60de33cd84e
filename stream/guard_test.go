package stream_test

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/stream"
)

// However far a sender got, Fail makes a whole turn of it.
func TestFailCompletesAnyTurn(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	causes := []error{
		errors.New("bug"), nil, &fault.Error{Type: fault.Timeout, Message: "late"}, &fault.Error{Type: fault.ShuttingDown, Message: "bye"},
	}
	for range 2_500 {
		sink := &recorder{}
		guard := stream.NewGuard(sink)
		for range r.IntN(16) {
			_ = guard.Emit(anyEvent(r))
		}
		before := letters(sink.events)
		cause := causes[r.IntN(len(causes))]
		if err := guard.Fail(cause); err != nil {
			t.Fatalf("Fail(%v) after %q: %v", cause, before, err)
		}
		if !legal(sink.events, complete) || !guard.Ended() {
			t.Fatalf("Fail(%v) made %q of %q", cause, letters(sink.events), before)
		}
		n := len(sink.events)
		if err := guard.Fail(cause); err != nil || len(sink.events) != n {
			t.Fatalf("Fail the second time: %v, %d more events", err, len(sink.events)-n)
		}
	}
}

func TestFailSaysWhy(t *testing.T) {
	t.Parallel()
	call := func(id string) stream.Call { return stream.Call{ID: id, Tool: "t", Server: "s"} }
	lost := func(id string) stream.Event {
		return &stream.ToolUnknown{Call: call(id), Message: "The outcome of this call is not known"}
	}
	acted := &stream.Error{Type: fault.Timeout, Message: "Too late", Fatal: true} // not to be sent again
	safe := stream.ToolStarted{Call: call("a"), Repeatable: true}
	late := &fault.Error{Type: fault.Timeout, Message: "Too late"}
	internal := &stream.Error{Type: fault.Internal, Message: "Something went wrong on our side", Fatal: true}
	for _, tt := range []struct {
		name string
		sent []stream.Event
		err  error
		want []stream.Event // after what was sent
	}{
		{"before Start", nil, late, []stream.Event{&stream.Start{}, stream.NewError(late, true), &stream.Done{Reason: stream.TimedOut}}},
		{"tool calls under way", []stream.Event{&stream.Start{}, &stream.ToolStarted{Call: call("b")}, &stream.ToolStarted{Call: call("a")},
			&stream.ToolStarted{Call: call("c")}, &stream.ToolFailed{Call: call("c")}}, late,
			[]stream.Event{lost("a"), lost("b"), acted, &stream.Done{Reason: stream.TimedOut}}},
		{"a call that may be made again", []stream.Event{&stream.Start{}, &safe}, late, []stream.Event{lost("a"), stream.NewError(late, true), &stream.Done{Reason: stream.TimedOut}}},
		{"a call that was made", []stream.Event{&stream.Start{}, &stream.ToolStarted{Call: call("a")}, &stream.ToolCompleted{Call: call("a")}}, late, []stream.Event{acted, &stream.Done{Reason: stream.TimedOut}}},
		{"a call that failed", []stream.Event{&stream.Start{}, &stream.ToolStarted{Call: call("a")}, &stream.ToolFailed{Call: call("a")}}, late,
			[]stream.Event{stream.NewError(late, true), &stream.Done{Reason: stream.TimedOut}}},
		{"after a fatal Error", []stream.Event{&stream.Start{}, &stream.Error{Fatal: true}}, late, []stream.Event{&stream.Done{Reason: stream.TimedOut}}},
		{"without an error", []stream.Event{&stream.Start{}}, nil, []stream.Event{internal, &stream.Done{Reason: stream.Failed}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sink := &recorder{}
			guard := stream.NewGuard(sink)
			for _, ev := range tt.sent {
				if err := guard.Emit(ev); err != nil {
					t.Fatal(err)
				}
			}
			if err := guard.Fail(tt.err); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append(tt.sent, tt.want...), sink.events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if sink.flushes != 1 {
				t.Errorf("flushed %d times, want once", sink.flushes)
			}
		})
	}
}

// Nothing is reported to a client that left, and it is no internal_error of ours.
func TestFailWhenTheClientIsGone(t *testing.T) {
	t.Parallel()
	sink := &recorder{}
	guard := stream.NewGuard(sink)
	if err := guard.Emit(&stream.Start{}); err != nil {
		t.Fatal(err)
	}
	if err := guard.Fail(fault.ErrClientGone); err != fault.ErrClientGone {
		t.Errorf("Fail = %v, want the cause", err)
	}
	if err := guard.Emit(&stream.Delta{Text: "d"}); err != fault.ErrClientGone {
		t.Errorf("Emit afterwards = %v, want the cause", err)
	}
	if got := letters(sink.events); got != "S" || guard.Ended() {
		t.Errorf("the sink got %q, ended: %v", got, guard.Ended())
	}
}

// After its first error the sink is not called again, by whatever method.
func TestFailingSinkStopsEverything(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for range 2_000 {
		sink := &recorder{failAt: 1 + r.IntN(12)}
		guard := stream.NewGuard(sink)
		failed := false
		for range 30 {
			var err error
			switch op := r.IntN(12); {
			case op == 0:
				err = guard.Fail(errors.New("bug"))
			case op < 4:
				err = guard.Flush()
			default:
				err = guard.Emit(anyEvent(r))
			}
			if failed = failed || sink.calls == sink.failAt; !failed {
				continue
			}
			if err != errSink || sink.calls != sink.failAt {
				t.Fatalf("call %d failed; the guard said %v and the sink was called %d times", sink.failAt, err, sink.calls)
			}
		}
		if failed && guard.Ended() != legal(sink.events, complete) {
			t.Fatalf("the sink took %q; Ended() = %v", letters(sink.events), guard.Ended())
		}
	}
}

// The grammar holds for the calls of a long turn as for the first ones, and costs a
// call no more: ten times the calls may take forty times as long on a busy machine, where
// looking through all of them would take a hundred times.
func TestGuardOfManyCalls(t *testing.T) {
	const few, many = 10_000, 100_000
	short := guardedCalls(t, few)
	for range 2 {
		short = min(short, guardedCalls(t, few))
	}
	var long time.Duration
	for range 5 { // the machine may be busy with something else
		if long = guardedCalls(t, many); long <= 40*short {
			return
		}
	}
	t.Errorf("%d calls took %v, %d took %v", few, short, many, long)
}

// guardedCalls sends a turn with so many calls, right and wrong ones, and returns how long
// that took.
func guardedCalls(t *testing.T, calls int) time.Duration {
	t.Helper()
	guard := stream.NewGuard(discard{})
	emit := func(ev stream.Event, want error) {
		t.Helper()
		if err := guard.Emit(ev); !errors.Is(err, want) {
			t.Fatalf("Emit(%T) = %v, want %v", ev, err, want)
		}
	}
	began := time.Now()
	emit(&stream.Start{}, nil)
	for i := range calls {
		call := stream.Call{ID: strconv.Itoa(i)}
		emit(&stream.ToolFailed{Call: call}, stream.ErrGrammar)
		emit(&stream.ToolStarted{Call: call}, nil)
		emit(&stream.ToolStarted{Call: call}, stream.ErrGrammar)
		emit(&stream.ToolFailed{Call: call}, nil)
		emit(&stream.ToolFailed{Call: stream.Call{ID: strconv.Itoa(i / 2)}}, stream.ErrGrammar)
	}
	emit(&stream.Done{Reason: stream.Stop}, nil)
	return time.Since(began)
}

func TestGuardCostsNoAllocationForADelta(t *testing.T) {
	guard := stream.NewGuard(discard{})
	if err := guard.Emit(&stream.Start{}); err != nil {
		t.Fatal(err)
	}
	delta := &stream.Delta{Text: "piece"}
	if n := testing.AllocsPerRun(100, func() { _ = guard.Emit(delta) }); n != 0 {
		t.Errorf("%v allocations a delta", n)
	}
}

type discard struct{}

func (discard) Emit(stream.Event) error { return nil }
func (discard) Flush() error            { return nil }
