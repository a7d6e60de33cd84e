package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// manyCalls returns n different calls, each a part with a signature of its own.
func manyCalls(n int) chat.Chunk {
	var c chat.Chunk
	for i := range n {
		call := call(fmt.Sprintf("fc-%d", i), "add", fmt.Sprintf(`{"n":%d}`, i))
		c.Parts = append(c.Parts, chat.Part{Call: &call, Signature: "sig-" + strconv.Itoa(i)})
	}
	return c
}

func count(events []string, prefix string) (n int) {
	for _, ev := range events {
		if strings.HasPrefix(ev, prefix) {
			n++
		}
	}
	return n
}

// Of one answer 128 calls are taken. The rest are neither reported nor sent back; their number
// is reported once, to the client and to the model.
func TestCallsBeyondTheCap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		calls int
		fault []string
		note  string
	}{
		{128, nil, ""},
		{129, []string{"error tool_execution_failed Tool calls not executed: 1. At most 128 of one answer are taken"},
			"\n[Calls after this one that were not executed: 1. At most 128 of one answer are taken.]"},
		{1000, []string{"error tool_execution_failed Tool calls not executed: 872. At most 128 of one answer are taken"},
			"\n[Calls after this one that were not executed: 872. At most 128 of one answer are taken.]"},
	} {
		got := play(t, scene{answers: []answer{chunks(manyCalls(tt.calls), text("and"), end(chat.FinishStop)), says(" done")}})
		if n := count(got.events, "call "); n != 128 {
			t.Errorf("%d calls: %d were told of, want 128", tt.calls, n)
		}
		if n := len(got.calls); n != 8 {
			t.Errorf("%d calls: %d ran, want 8", tt.calls, n)
		}
		var dropped []string
		for _, ev := range got.events {
			if strings.Contains(ev, "Tool calls not executed") {
				dropped = append(dropped, ev)
			}
		}
		if diff := cmp.Diff(tt.fault, dropped); diff != "" {
			t.Errorf("%d calls: what is told of those that were dropped (-want +got):\n%s", tt.calls, diff)
		}
		said, results := got.requests[1].Messages[1].Parts, got.requests[1].Messages[2].Parts
		if len(said) != 129 || len(results) != 128 {
			t.Fatalf("%d calls: %d parts and %d results go back, want 129 and 128", tt.calls, len(said), len(results))
		}
		if last := said[127]; last.Call.ID != "fc-127" || last.Signature != "sig-127" || said[128].Text != "and" {
			t.Errorf("%d calls: the last that goes back is %+v, and then %q", tt.calls, last, said[128].Text)
		}
		refused := "Not executed: at most 8 calls run in one step. Call it again if it is still needed."
		for i, want := range map[int]string{7: "ok", 126: refused, 127: refused + tt.note} {
			if r := results[i].Result; r.Text != want || r.ID != fmt.Sprintf("fc-%d", i) {
				t.Errorf("%d calls: result %d is %q of %s, want %q", tt.calls, i, r.Text, r.ID, want)
			}
		}
	}
}

// What was dropped of an answer that is asked for again does not count.
func TestDroppedCallsOfABotchedAnswer(t *testing.T) {
	t.Parallel()
	got := play(t, scene{answers: []answer{
		then(chunks(manyCalls(200)), fails(errMalformed)), wants(call("a", "add", "{}")), says("done"),
	}})
	got.want(t, "start m", "call a add@todo {}", "completed a 0s ok", "delta done", "done stop")
}

// A turn that ends while its calls are opened opens no more of them, nor does one
// that ends within a chunk show more of it.
func TestTurnEndsBetweenCalls(t *testing.T) {
	t.Parallel()
	late := &fault.Error{Type: fault.Timeout, Message: "Too late"}
	manyTexts := chat.Chunk{Finish: chat.FinishStop}
	for range 1000 {
		manyTexts.Parts = append(manyTexts.Parts, chat.Part{Text: "x"})
	}
	for name, tt := range map[string]struct {
		answer answer
		what   string
		cause  error
	}{
		"calls, late":        {chunks(manyCalls(100), end(chat.FinishStop)), "call ", late},
		"calls, client gone": {chunks(manyCalls(100), end(chat.FinishStop)), "call ", fault.ErrClientGone},
		"texts, late":        {chunks(manyTexts), "delta ", late},
		"texts, client gone": {chunks(manyTexts), "delta ", fault.ErrClientGone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cancel func()
			got := play(t, scene{
				answers: []answer{func(ctx context.Context, yield func(*chat.Chunk) error) error {
					cancel = func() { cancelTurn(ctx, tt.cause) }
					return tt.answer(ctx, yield)
				}},
				call: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
					return tool.Result{}, fault.Cause(ctx)
				},
				onEmit: func(n int) error {
					if n == 4 { // start and three
						cancel()
					}
					return nil
				},
			})
			if n := count(got.events, tt.what); n != 3 {
				t.Errorf("%d events after the turn's end: %q", n-3, got.events)
			}
			if gone := errors.Is(tt.cause, fault.ErrClientGone); gone != errors.Is(got.err, fault.ErrClientGone) || gone == (got.done.Reason == stream.TimedOut) {
				t.Errorf("Run = %v, reason %q", got.err, got.done.Reason)
			}
		})
	}
}
