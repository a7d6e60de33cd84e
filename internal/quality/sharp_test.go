package quality_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/quality"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// criteriaOf lists the criteria of a receipt: id, and whether it was planned.
func criteriaOf(got *clientView) (ids []string) {
	for _, c := range got.done.Quality.Criteria {
		ids = append(ids, strings.TrimSuffix(fmt.Sprintf("%s %v", c.ID, c.Planned), " false"))
	}
	return ids
}

// A planner cannot take the place of the criteria that are there by themselves, on any
// channel, nor have a step without an action. What it cannot have is counted.
func TestPlannerAcceptsNoStandard(t *testing.T) {
	t.Parallel()
	plan := `{"criteria":[{"id":"plain_text","description":"It is plain text.","expected":""},{"id":"not_empty","description":"It is not empty.","expected":""},{"id":"kind","description":"It is kind.","expected":""}],` +
		`"steps":[{"agent":"assistant","action":""},{"agent":"nobody","action":"get_hours"},{"agent":"assistant","action":"look"}]}`
	got := turn{yaml: "quality: {mode: enforce}", inner: says("32."), asker: &asker{plan: replies(plan), judge: replies(verdicts(map[string]bool{"kind": true, "plain_text": false, "not_empty": false}))}}.runInner(t)
	if ids := criteriaOf(got); !slices.Equal(ids, []string{"not_empty", "complete", "kind true"}) || got.done.Quality.Outcome != stream.Passed || got.done.Quality.Plan.Steps != 4 {
		t.Errorf("%q %+v", ids, got.done.Quality)
	}
}

// A criterion with the check of one that is there by itself takes its place, whatever its id.
func TestCriterionInPlaceOfAStandard(t *testing.T) {
	t.Parallel()
	got := turn{yaml: `quality: {mode: enforce, plan: none, criteria: [{id: short, description: It is not too long., check: max_length, args: {parts: 2}}]}`,
		inner: says("one|two"), req: chat.Request{ReplyForm: chat.ReplyForm{Channel: "sms"}}}.runInner(t)
	if ids := criteriaOf(got); !slices.Contains(ids, "short") || slices.Contains(ids, "max_length") || got.done.Quality.Outcome != stream.Passed {
		t.Errorf("%q %+v", ids, got.done.Quality)
	}
}

// Only a text that was written again has criteria that failed first.
func TestFailedFirst(t *testing.T) {
	t.Parallel()
	for _, w := range []quality.Writer{nil, writes("32.")} {
		got := turn{yaml: enforce + backed, inner: says("It is 77."), writer: w}.runInner(t)
		first := slices.ContainsFunc(got.done.Quality.Criteria, func(c stream.CriterionCheck) bool { return c.FailedFirst })
		if first != (w != nil) || got.done.Quality.Refined != first {
			t.Errorf("failed first: %v, %+v", first, got.done.Quality)
		}
	}
}

// A refinement that was cut by its model is not complete, whatever else it is.
func TestRefinementThatWasCut(t *testing.T) {
	t.Parallel()
	cut := writer(func(_ context.Context, _ *quality.Order, yield func(string) error) (quality.Written, error) {
		return quality.Written{Finish: chat.FinishMaxTokens}, yield("32 and")
	})
	if got := (turn{yaml: enforce + backed, inner: says("It is 77."), writer: cut}).runInner(t); got.done.Quality.Outcome != stream.GracefulFailure || strings.Contains(got.text, "32") {
		t.Errorf("%q %+v", got.lines, got.done.Quality)
	}
}

// A text without end is an error of the model: no more of it is held than there is room for.
func TestTextWithoutEnd(t *testing.T) {
	t.Parallel()
	pieces := slices.Repeat([]string{strings.Repeat("x", 1<<20)}, 5)
	got := turn{yaml: enforce, inner: says(pieces...)}.runInner(t)
	if got.done.Reason != stream.Failed || got.text != "" || got.done.Quality.Outcome != stream.NotEvaluated {
		t.Errorf("it ended with %s, %d bytes, %+v", got.done.Reason, len(got.text), got.done.Quality)
	}
}

// Of many large results the latest are shown whole, and of all no more than there is room for.
func TestResultsAreBounded(t *testing.T) {
	t.Parallel()
	many := inner(func(_ context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
		for i := range 8 {
			call := stream.Call{ID: fmt.Sprint("c", i), Tool: "get", Arguments: jsontext.Value(`{}`)}
			_ = sink.Emit(&stream.ToolStarted{Call: call})
			_ = sink.Emit(&stream.ToolCompleted{Call: call, Result: fmt.Sprint(i, strings.Repeat("z", 32<<10-1))})
		}
		return stream.Result{Reason: stream.Stop}, sink.Emit(&stream.Delta{Text: "Hi."})
	})
	a := &asker{judge: replies(verdicts(map[string]bool{"kind": true}))}
	turn{yaml: `quality: {mode: enforce, plan: none, criteria: [{id: kind, description: It is kind to all.}]}`, inner: many, asker: a}.runInner(t)
	if n := strings.Count(a.asked[0], "z"); n != 4*(32<<10-1) || !strings.Contains(a.asked[0], "7zzz") || strings.Contains(a.asked[0], "3zzz") {
		t.Errorf("%d bytes of results are shown", n)
	}
}

// early is a sender that looks at what the client has by then.
type early struct{ seen func() }

func (e early) Send(context.Context, *quality.Message) stream.Delivery {
	e.seen()
	return stream.Delivery{Status: "delivered", Attempts: 1, ID: "msg_1"}
}

// The client has its text before somebody waits for the receiver.
func TestTextBeforeDelivery(t *testing.T) {
	t.Parallel()
	out := &flushing{clientView: new(clientView)}
	flushed := ""
	c := quality.New(quality.Config{Formatters: map[string]quality.Formatter{"sms": phone{}}, Senders: map[string]quality.Sender{"sms": early{func() { flushed = out.flushed }}}})
	req := &chat.Request{Input: "hi", ReplyForm: chat.ReplyForm{Channel: "sms", Deliver: true}}
	frame := stream.Frame{Runner: c.Around(says("Hi."), ""), Model: "m"}
	if _ = frame.Run(chat.WithRequestID(t.Context(), requestID), req, out); flushed != "HI." {
		t.Errorf("the client has %q", flushed)
	}
}

// flushing is a clientView that notes what was flushed.
type flushing struct {
	*clientView
	flushed string
}

func (f *flushing) Flush() error {
	f.flushed = f.text
	return nil
}

// unavailable is a planner or judge that cannot be reached.
func unavailable(context.Context, *quality.Question) (quality.Reply, error) {
	return quality.Reply{}, errors.New("refused")
}

// That planner and judge cannot be reached is reported once; for a text that is only observed
// the receipt says so.
func TestUnavailableIsReportedOnce(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]int{"enforce": 1, "observe": 0} {
		got := turn{yaml: "quality:\n  mode: " + mode + judged, inner: says("Hi."), asker: &asker{plan: unavailable, judge: unavailable}}.runInner(t)
		if n := strings.Count(strings.Join(got.lines, "\n"), "error quality_unavailable false"); n != want || got.done.Quality.Passed || got.text != "Hi." {
			t.Errorf("%s: told %d times: %q", mode, n, got.lines)
		}
	}
}

// A turn whose answer was only to be formatted has no failed phase.
func TestFailureOfWhatIsFormatted(t *testing.T) {
	t.Parallel()
	fails := inner(func(_ context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
		_ = sink.Emit(&stream.Delta{Text: "half"})
		return stream.Result{}, &fault.Error{Type: fault.ModelUnavailable, Message: "no"}
	})
	for yaml, want := range map[string]string{"": "start composing 1 error model_unavailable true done error", enforce: "start extracting 1 composing 1 failed 1 error model_unavailable true done error"} {
		got := turn{yaml: yaml, inner: fails, req: chat.Request{ReplyForm: chat.ReplyForm{Channel: "sms"}}}.runInner(t)
		if lines := strings.Join(got.lines, " "); lines != want || got.text != "" || got.done.Channel == nil || got.done.Channel.Parts != 0 {
			t.Errorf("%q %+v", lines, got.done)
		}
	}
}
