package quality_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/quality"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// hanging is a sender whose receiver says nothing: it takes all the time that there is.
type hanging struct{}

func (hanging) Send(ctx context.Context, _ *quality.Message) stream.Delivery {
	end, _ := ctx.Deadline()
	time.Sleep(time.Until(end))
	return stream.Delivery{Status: "failed", Attempts: 1, ID: "msg_1"}
}

// A receiver that takes the rest of the turn's time costs it no more than that: the answer
// was sent, so the turn ends well, and says what became of the message.
func TestReceiverUsesTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		got := turn{yaml: enforce, inner: says("Hi."), sender: hanging{}, timeout: 5 * time.Second,
			req: chat.Request{ReplyForm: chat.ReplyForm{Channel: "sms", Deliver: true}}}.runInner(t)
		if elapsed := time.Since(began); elapsed != 5*time.Second {
			t.Errorf("it took %s", elapsed)
		}
		if got.done == nil || got.done.Reason != stream.Stop || got.done.Quality.Outcome != stream.Passed || got.done.Channel.Delivery.Status != "failed" ||
			got.text != "HI." || !slices.Contains(got.lines, "error delivery_failed false") {
			t.Errorf("%q %+v", got.lines, got.done)
		}
	})
}

// A planner that is asked first takes its time and no more, also where the turn has less
// than that; what it breaks is its plan alone.
func TestPlannerOfAGuideHangs(t *testing.T) {
	t.Parallel()
	for all, want := range map[time.Duration]time.Duration{30 * time.Second: 6 * time.Second, 4 * time.Second: 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			hang := func(ctx context.Context, _ *quality.Question) (quality.Reply, error) {
				<-ctx.Done()
				return quality.Reply{}, context.Cause(ctx)
			}
			got := turn{yaml: "quality: {mode: enforce, plan: guide}", inner: says("32."), asker: &asker{plan: hang}, timeout: all}.runInner(t)
			if elapsed := time.Since(began); elapsed != want {
				t.Errorf("it took %s, want %s", elapsed, want)
			}
			if q := got.done.Quality; q == nil || q.Outcome != stream.Passed || q.Millis.Plan != want.Milliseconds() || q.Plan.Steps != 3 || !slices.Contains(got.lines, "error quality_unavailable false") {
				t.Errorf("%q %+v", got.lines, q)
			}
		})
	}
}

// What a task keeps of its checks is true where nobody judged, where the failure text was sent,
// and where a refinement began and did not come.
func TestStateIsTrue(t *testing.T) {
	t.Parallel()
	refuses := &asker{judge: func(context.Context, *quality.Question) (quality.Reply, error) {
		return quality.Reply{}, errors.New("refused")
	}}
	for name, tt := range map[string]struct {
		turn
		status   string
		passed   bool
		failed   string
		feedback string
		refined  int
	}{
		"passed":             {turn{yaml: enforce}, "completed", true, "", "", 0},
		"unjudged, sent":     {turn{yaml: enforce + judged, asker: refuses}, "completed", false, "kind", "kind has no verdict: The answer is kind to the user.", 0},
		"unjudged, withheld": {turn{yaml: enforce + "\n  on_unjudged: graceful" + judged, asker: refuses}, "failed", false, "kind", "kind has no verdict: The answer is kind to the user.", 0},
		"not refined": {turn{yaml: enforce + backed, writer: writer(func(context.Context, *quality.Order, func(string) error) (quality.Written, error) {
			return quality.Written{}, errors.New("refused")
		})}, "failed", false, "numbers_backed", "numbers_backed: Numbers are told by tools.", 1},
		"refined": {turn{yaml: enforce + backed, writer: writes("I say 32.")}, "completed", true, "", "", 1},
	} {
		tt.inner = says("I say 35.")
		got := tt.runInner(t)
		var state struct {
			Status  string
			Refined int `json:"refinement_count"`
			Card    struct {
				Passed bool `json:"overall_passed"`
			} `json:"scorecard"`
			Plan   struct{ Status string } `json:"execution_plan"`
			Result struct {
				Passed   bool
				Failed   []string `json:"failed_criteria_ids"`
				Feedback string
			} `json:"validation_result"`
		}
		if err := json.Unmarshal(got.done.Checked, &state); err != nil {
			t.Fatal(err)
		}
		if state.Status != tt.status || state.Plan.Status != tt.status || state.Refined != tt.refined || state.Card.Passed != tt.passed ||
			state.Result.Passed != tt.passed || strings.Join(state.Result.Failed, " ") != tt.failed || state.Result.Feedback != tt.feedback {
			t.Errorf("%s: %s", name, got.done.Checked)
		}
	}
}

// A question that ends a turn is delivered like an answer. Only where answers are checked the
// receiver reads that this one was not.
func TestQuestionIsDelivered(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]stream.Outcome{"": "", enforce: stream.NotEvaluated} {
		got := new(receiver)
		turn{yaml: yaml, inner: ends("Which one?", stream.InputRequired), sender: got,
			req: chat.Request{ReplyForm: chat.ReplyForm{Channel: "sms", Deliver: true}}}.runInner(t)
		if got.got == nil || got.got.Outcome != want || got.got.Passed {
			t.Errorf("%q: %+v", yaml, got.got)
		}
	}
}

// A channel that extends web is one that may be asked for: its text streams.
func TestChannelLikeWeb(t *testing.T) {
	t.Parallel()
	c := quality.New(quality.Config{Formatters: map[string]quality.Formatter{"bot": nil}})
	req := chat.Request{ReplyForm: chat.ReplyForm{Channel: "bot"}}
	if faults := c.Check(&req, ""); len(faults) != 0 || c.Applies(&req, "") {
		t.Errorf("%v", faults)
	}
	req.Deliver = true
	if faults := c.Check(&req, ""); faults["deliver"] == nil {
		t.Errorf("%v", faults)
	}
}

// Of a judge that repeats itself the first verdict on a criterion counts, and what it says
// of others is no verdict on anything.
func TestJudgeSaysTooMuch(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]stream.Outcome{
		`{"verdicts":[{"id":"kind","passed":true,"feedback":""},{"id":"kind","passed":false,"feedback":"x"}]}`:                                         stream.Passed,
		`{"verdicts":[{"id":"kind","passed":false,"feedback":"x"},{"id":"kind","passed":true,"feedback":""}]}`:                                         stream.GracefulFailure,
		`{"verdicts":[` + strings.Repeat(`{"id":"other","passed":false,"feedback":"x"},`, 200) + `{"id":"kind","passed":true,"feedback":"all pass"}]}`: stream.Passed,
		`{"verdicts":[{"id":"KIND","passed":true,"feedback":""},{"id":"not_empty","passed":false,"feedback":""}]}`:                                     stream.Unjudged,
		`{"verdicts":null}`:              stream.Unjudged,
		`{"all criteria pass":true}`:     stream.Unjudged,
		`[{"id":"kind","passed":true}]`:  stream.Unjudged,
		`{"verdicts":[{"passed":true}]}`: stream.Unjudged,
		`{"verdicts":[{"id":"kind"}]}`:   stream.GracefulFailure, // it does not say that it passes
		`{"verdicts":{"kind":true}}`:     stream.Unjudged,
		`{"verdicts":["kind"]}`:          stream.Unjudged,
		`{"verdicts":[{"id":7}]}`:        stream.Unjudged,
		`"kind"`:                         stream.Unjudged,
		``:                               stream.Unjudged,
		`{"verdicts":[{"id":"kind","pas`: stream.Unjudged,
	} {
		got := turn{yaml: enforce + judged, inner: says("Hi."), asker: &asker{judge: replies(answer)}, writer: writes("Ho.")}.runInner(t)
		if q := got.done.Quality; q.Outcome != want || q.Passed != (want == stream.Passed) || len(q.Criteria) != 3 {
			t.Errorf("%.100s: %+v, want %s", answer, q, want)
		}
	}
}

// A text that is held back or watched has a bound, and one that passes has none.
func TestHeldTextIsBounded(t *testing.T) {
	t.Parallel()
	pieces := slices.Repeat([]string{strings.Repeat("x", 1<<20)}, 3)
	for _, yaml := range []string{enforce, "quality: {mode: observe, plan: none}"} {
		got := turn{yaml: yaml, inner: says(pieces...)}.runInner(t)
		if got.done == nil || got.done.Reason != stream.Failed || !slices.Contains(got.lines, "error model_unavailable true") {
			t.Errorf("%s: %.300q %+v", yaml, got.lines, got.done)
		}
	}
	got := turn{yaml: "quality: {mode: off}", inner: says(pieces...), style: plain{}}.runInner(t)
	if got.done == nil || got.done.Reason != stream.Stop || len(got.text) < 3<<20 {
		t.Errorf("a text that passes ends as %+v after %d bytes", got.done, len(got.text))
	}
}
