package quality_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/quality"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

const (
	backed  = "\n  criteria: [{id: numbers_backed, description: Numbers are told by tools., check: numbers_backed}]"
	judged  = "\n  criteria: [{id: kind, description: The answer is kind to the user.}]"
	enforce = "quality:\n  mode: enforce\n  plan: none"
)

func TestWhatIsOffIsNotThere(t *testing.T) {
	t.Parallel()
	c := quality.New(quality.Config{Spec: sectionsOf(t, "quality: {drafts: ask}")})
	for _, form := range []chat.ReplyForm{{}, {Channel: "web", UserName: "Ann"}} {
		if c.Applies(&chat.Request{ReplyForm: form}, "") {
			t.Errorf("something is done to the answer of %+v", form)
		}
	}
}

// What a client receives, in its order.
func TestOrderOfATurn(t *testing.T) {
	t.Parallel()
	tool := []string{"tool_call", "tool_call"}
	for name, tt := range map[string]struct {
		turn
		want []string
	}{
		"channel alone": {
			turn{inner: says("You have ", "32."), req: form("sms")},
			lines("start", tool, "composing 1", "formatting 1", "sending 1", `delta "YOU HAVE 32."`, `message 1/1 "YOU HAVE 32."`, "done stop"),
		},
		"several messages": {
			turn{inner: says("a|cut"), req: form("sms")},
			lines("start", tool, "composing 1", "formatting 1", "sending 1", "error content_truncated false", `delta "ACUT"`, `message 1/2 "A"`, `message 2/2 "CUT"`, "done stop"),
		},
		"passed": {
			turn{yaml: enforce + backed, inner: says("You have ", "32.")},
			lines("start", "extracting 1", tool, "composing 1", "formatting 1", "validating 1", "validating 1 failed=[]", "sending 1", `delta "You have "`, `delta "32."`, "done stop"),
		},
		"held, and begun again": { // of a text that was not sent nothing is taken back
			turn{yaml: enforce + backed, inner: again("You have 9", "You have ", "32."), req: chat.Request{Facts: chat.Facts{Retracts: true}}},
			lines("start", "extracting 1", "composing 1", tool, "formatting 1", "validating 1", "validating 1 failed=[]", "sending 1", `delta "You have "`, `delta "32."`, "done stop"),
		},
		"observed, and begun again": {
			turn{yaml: "quality:\n  mode: observe\n  plan: none" + backed, inner: again("You have 9", "I say 35."), req: chat.Request{Facts: chat.Facts{Retracts: true}}},
			lines("start", "extracting 1", "composing 1", `delta "You have 9"`, "response_reset", tool, `delta "I say 35."`, "formatting 1", "validating 1", "validating 1 failed=[numbers_backed]", "done stop"),
		},
		"refined, with drafts": {
			turn{yaml: enforce + "\n  drafts: always" + backed, inner: says("You have ", "35."), writer: writes("You have", " 32.")},
			lines("start", "extracting 1", tool, "composing 1", `draft 1 "You have "`, `draft 1 "35."`, "formatting 1", "validating 1", "validating 1 failed=[numbers_backed]",
				"refining 2", `draft 2 "You have"`, `draft 2 " 32."`, "formatting 2", "validating 2", "validating 2 failed=[]", "sending 2", `delta "You have 32."`, "done stop"),
		},
		"graceful": {
			turn{yaml: enforce + backed, inner: says("I say 35."), writer: writes("I say 36.")},
			lines("start", "extracting 1", tool, "composing 1", "formatting 1", "validating 1", "validating 1 failed=[numbers_backed]",
				"refining 2", "formatting 2", "validating 2", "validating 2 failed=[numbers_backed]", "failed 2", "error quality_failed false", `delta "I could not give a reliable answer. Please try again."`, "done stop"),
		},
		"observed": {
			turn{yaml: "quality:\n  mode: observe\n  plan: none" + backed, inner: says("I say 35."), writer: writes("never")},
			lines("start", "extracting 1", tool, "composing 1", `delta "I say 35."`, "formatting 1", "validating 1", "validating 1 failed=[numbers_backed]", "done stop"),
		},
		"observed on a channel": {
			turn{yaml: "quality:\n  mode: observe\n  plan: none" + backed, inner: says("I say 35."), req: form("sms")},
			lines("start", "extracting 1", tool, "composing 1", "formatting 1", "validating 1", "validating 1 failed=[numbers_backed]", "sending 1", `delta "I SAY 35."`, `message 1/1 "I SAY 35."`, "done stop"),
		},
		"planned": {
			turn{yaml: "quality: {mode: enforce}", inner: says("32."), asker: &asker{plan: replies(`{"criteria":[],"steps":[{"agent":"assistant","action":"get_hours"}]}`)}},
			lines("start", "planning 1", "extracting 1", tool, "composing 1", "formatting 1", "validating 1", "validating 1 failed=[]", "sending 1", `delta "32."`, "done stop"),
		},
		"guided": {
			turn{yaml: "quality: {mode: enforce, plan: guide}", inner: says("32."), asker: &asker{plan: replies(`{"criteria":[],"steps":[{"agent":"assistant","action":"get_hours"}]}`)}},
			lines("start", "planning 1", "planning 1 plan", "extracting 1", tool, "composing 1", "formatting 1", "validating 1", "validating 1 failed=[]", "sending 1", `delta "32."`, "done stop"),
		},
		"nothing said": {
			turn{yaml: enforce, inner: says()},
			lines("start", "extracting 1", tool, "formatting 1", "validating 1", "validating 1 failed=[not_empty]", "failed 1", "error quality_failed false", `delta "I could not give a reliable answer. Please try again."`, "done stop"),
		},
		"a question": {
			turn{yaml: enforce, inner: ends("Which one?", stream.InputRequired)},
			lines("start", "extracting 1", "composing 1", "formatting 1", "sending 1", `delta "Which one?"`, "done input_required"),
		},
		"a fatal error": {
			turn{yaml: enforce, inner: breaks("The begin", &fault.Error{Type: fault.ModelUnavailable, Message: "m"})},
			lines("start", "extracting 1", "composing 1", "failed 1", "error model_unavailable true", "done error"),
		},
		"a fatal error of an answer that is observed": {
			turn{yaml: "quality: {mode: observe, plan: none}", inner: breaks("The begin", &fault.Error{Type: fault.ModelUnavailable, Message: "m"})},
			lines("start", "extracting 1", "composing 1", `delta "The begin"`, "failed 1", "error model_unavailable true", "done error"),
		},
		"a fatal error on a channel alone": {
			turn{inner: breaks("The begin", &fault.Error{Type: fault.ModelUnavailable, Message: "m"}), req: form("sms")},
			lines("start", "composing 1", "error model_unavailable true", "done error"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.runInner(t).lines); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// lines joins lines and lists of them.
func lines(parts ...any) (all []string) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			all = append(all, p)
		case []string:
			all = append(all, p...)
		}
	}
	return all
}

func form(channel string) chat.Request {
	return chat.Request{ReplyForm: chat.ReplyForm{Channel: channel}}
}

func ends(text string, reason stream.FinishReason) inner {
	return func(_ context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
		return stream.Result{Reason: reason}, sink.Emit(&stream.Delta{Text: text})
	}
}

func breaks(text string, err error) inner {
	return func(_ context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
		_ = sink.Emit(&stream.Delta{Text: text})
		return stream.Result{}, err
	}
}

// Each outcome, with what is sent and reported of it.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	soft := "\n  criteria: [{id: kind, description: The answer is kind to the user., must: false}]"
	kind := func(first, second bool) *asker {
		n := 0
		return &asker{judge: func(ctx context.Context, q *quality.Question) (quality.Reply, error) {
			n++
			return replies(verdicts(map[string]bool{"kind": n == 1 && first || n == 2 && second, "other": true}))(ctx, q)
		}}
	}
	broken := func() *asker {
		return &asker{judge: func(context.Context, *quality.Question) (quality.Reply, error) {
			return quality.Reply{}, errors.New("refused")
		}}
	}
	for name, tt := range map[string]struct {
		turn
		outcome stream.Outcome
		passed  bool
		text    string
		errors  int
	}{
		"passed":               {turn{yaml: enforce + judged, asker: kind(true, false)}, stream.Passed, true, "You have 32.", 0},
		"refined":              {turn{yaml: enforce + judged, asker: kind(false, true)}, stream.Refined, true, "Better.", 0},
		"graceful":             {turn{yaml: enforce + judged, asker: kind(false, false)}, stream.GracefulFailure, false, "I could not give a reliable answer. Please try again.", 1},
		"both fail alike":      {turn{yaml: enforce + "\n  on_fail: send" + judged, asker: kind(false, false)}, stream.SentFailed, false, "Better.", 1},
		"only a wish failed":   {turn{yaml: enforce + soft, asker: kind(false, false)}, stream.SentFailed, false, "Better.", 0},
		"no verdict":           {turn{yaml: enforce + judged, asker: broken()}, stream.Unjudged, false, "You have 32.", 1},
		"no verdict, graceful": {turn{yaml: enforce + "\n  on_unjudged: graceful" + judged, asker: broken()}, stream.Unjudged, false, "I could not give a reliable answer. Please try again.", 1},
		"observed":             {turn{yaml: "quality:\n  mode: observe\n  plan: none" + judged, asker: kind(false, false)}, stream.Observed, false, "You have 32.", 0},
		"a wish failed, then a must": {turn{yaml: enforce + "\n  criteria: [{id: kind, description: The answer is kind to the user., must: false}, {id: hours, description: It tells the hours., check: contains, args: {all: [\"32\"]}}]",
			asker: kind(false, true)}, stream.SentFailed, false, "You have 32.", 0},
		"no tokens left": {turn{yaml: enforce + judged, asker: kind(false, true), spent: true}, stream.GracefulFailure, false, "I could not give a reliable answer. Please try again.", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.inner, tt.writer = says("You have ", "32."), writes("Better.")
			got := tt.runInner(t)
			q := got.done.Quality
			if q == nil || q.Outcome != tt.outcome || q.Passed != tt.passed || got.text != tt.text {
				t.Errorf("%+v, sent %q, want %s %v %q", q, got.text, tt.outcome, tt.passed, tt.text)
			}
			n := 0
			for _, line := range got.lines {
				if strings.HasPrefix(line, "error") {
					n++
				}
			}
			if n != tt.errors {
				t.Errorf("%d errors were told: %q", n, got.lines)
			}
		})
	}
}

// Whatever goes wrong with planner, judge or refinement: the turn ends with one done, in
// its time, and the receipt is true.
func TestFaultsOfTheModels(t *testing.T) {
	t.Parallel()
	refuse := func(context.Context, *quality.Question) (quality.Reply, error) {
		return quality.Reply{}, &fault.Error{Type: fault.ModelUnavailable, Message: "m"}
	}
	hang := func(ctx context.Context, _ *quality.Question) (quality.Reply, error) {
		<-ctx.Done()
		return quality.Reply{}, context.Cause(ctx)
	}
	crash := func(context.Context, *quality.Question) (quality.Reply, error) { panic("a bug") }
	limited := func(context.Context, *quality.Question) (quality.Reply, error) {
		return quality.Reply{}, &fault.Error{Type: fault.ModelRateLimited, Message: "429", RetryAfter: time.Hour}
	}
	rubbish := replies(`{"criteria":[{"id":"X Y","description":"No id of ours at all."},{"id":"short","description":"short"}],"steps":[{"agent":"nobody","action":"x"}],` +
		`"verdicts":[{"id":"other","passed":true,"feedback":""},{"id":"numbers_backed","passed":false,"feedback":""}]}`)
	wrong := func(text string, then error) writer {
		return func(ctx context.Context, _ *quality.Order, yield func(string) error) (quality.Written, error) {
			_ = yield(text)
			if then == nil {
				<-ctx.Done()
				then = context.Cause(ctx)
			}
			return quality.Written{}, then
		}
	}
	fine := replies(verdicts(map[string]bool{"kind": true}))
	for name, tt := range map[string]struct {
		plan, judge func(context.Context, *quality.Question) (quality.Reply, error)
		writer      quality.Writer
		text        string
		outcome     stream.Outcome
		within      time.Duration
	}{
		"planner refuses":     {refuse, fine, nil, "32.", stream.Passed, 0},
		"planner hangs":       {hang, fine, nil, "32.", stream.Passed, 6 * time.Second},
		"planner is limited":  {limited, fine, nil, "32.", stream.Passed, 0},
		"planner's rubbish":   {rubbish, fine, nil, "32.", stream.Passed, 0},
		"planner crashes":     {crash, fine, nil, "32.", stream.Passed, 0},
		"judge refuses":       {nil, refuse, nil, "32.", stream.Unjudged, 0},
		"judge hangs":         {nil, hang, nil, "32.", stream.Unjudged, 6 * time.Second},
		"judge is limited":    {nil, limited, nil, "32.", stream.Unjudged, 0},
		"judge's rubbish":     {nil, rubbish, nil, "32.", stream.Unjudged, 0},
		"both hang":           {hang, hang, nil, "32.", stream.Unjudged, 12 * time.Second},
		"refinement refuses":  {nil, fine, wrong("", errors.New("no")), "I say 35.", stream.GracefulFailure, 0},
		"refinement is cut":   {nil, fine, wrong("You", errors.New("cut")), "I say 35.", stream.GracefulFailure, 0},
		"refinement hangs":    {nil, fine, wrong("You have", nil), "I say 35.", stream.GracefulFailure, 29 * time.Second},
		"refinement is empty": {nil, fine, writes(), "I say 35.", stream.GracefulFailure, 0},
		"refinement is long":  {nil, fine, writes(strings.Repeat("x", 3<<20)), "I say 35.", stream.GracefulFailure, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				got := turn{
					yaml:  "quality:\n  mode: enforce\n  criteria: [{id: kind, description: The answer is kind to the user.}, {id: numbers_backed, description: Numbers are told by tools., check: numbers_backed}]",
					inner: says(tt.text), asker: &asker{plan: tt.plan, judge: tt.judge}, writer: tt.writer, timeout: 30 * time.Second,
				}.runInner(t)
				if elapsed := time.Since(began); elapsed != tt.within {
					t.Errorf("it took %s, want %s", elapsed, tt.within)
				}
				if got.done == nil || got.done.Reason != stream.Stop || got.done.Quality.Outcome != tt.outcome || got.text == "" {
					t.Fatalf("%q: %+v", got.lines, got.done)
				}
				if got.done.Quality.Passed != (tt.outcome == stream.Passed) {
					t.Errorf("%+v", got.done.Quality)
				}
			})
		})
	}
}

// A planner that is slower than a turn that fails is waited for, and a client that leaves
// ends it.
func TestNothingIsLeftRunning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := &asker{plan: func(ctx context.Context, _ *quality.Question) (quality.Reply, error) {
			<-ctx.Done()
			return quality.Reply{}, context.Cause(ctx)
		}}
		got := turn{yaml: "quality: {mode: enforce}", inner: breaks("x", &fault.Error{Type: fault.ModelBlocked, Message: "m"}), asker: hang}.runInner(t)
		if got.done.Reason != stream.Failed || got.done.Quality.Outcome != stream.NotEvaluated || got.text != "" {
			t.Errorf("%q %+v", got.lines, got.done.Quality)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		leaves := inner(func(ctx context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
			_ = sink.Emit(&stream.Delta{Text: "secret"})
			cancel(fault.ErrClientGone)
			return stream.Result{}, context.Cause(ctx)
		})
		if got := (turn{yaml: "quality: {mode: enforce}", inner: leaves, asker: hang}).runIn(t, ctx); got.done != nil || got.text != "" {
			t.Errorf("%q", got.lines)
		}
	})
}

// A refinement begins only if there is time for it, and the last second belongs to sending.
func TestTimeOfATurn(t *testing.T) {
	t.Parallel()
	slow := inner(func(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
		time.Sleep(23 * time.Second)
		return says("I say 35.")(ctx, req, sink)
	})
	synctest.Test(t, func(t *testing.T) {
		got := turn{yaml: enforce + backed, inner: slow, writer: writes("32."), timeout: 30 * time.Second}.runInner(t)
		if got.done.Quality.Outcome != stream.GracefulFailure || slices.Contains(got.lines, "refining 2") {
			t.Errorf("%q", got.lines)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context, _ *quality.Question) (quality.Reply, error) {
			<-ctx.Done()
			return quality.Reply{}, context.Cause(ctx)
		}
		got := turn{yaml: enforce + "\n  timeout: 1m" + judged, inner: slow, asker: &asker{judge: hang}, timeout: 30 * time.Second}.runInner(t)
		if got.done.Quality.Outcome != stream.Unjudged || got.text != "I say 35." {
			t.Errorf("%q", got.lines)
		}
		if at := got.done.Quality.Millis.Judge; at != 6000 {
			t.Errorf("the judge had %d ms", at)
		}
	})
}

// Wording and checking end with the turn: with its time, and with a client that leaves.
func TestWordingEndsWithTheTurn(t *testing.T) {
	t.Parallel()
	for name, yaml := range map[string]string{"unchecked": "", "checked": enforce + backed} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			got := turn{yaml: yaml, inner: says("32 forever."), req: form("sms"), timeout: 3 * time.Second}.runInner(t)
			if elapsed := time.Since(began); elapsed != 3*time.Second {
				t.Errorf("%s: a turn of three seconds took %v", name, elapsed)
			}
			if got.text != "" || got.done == nil || got.done.Reason != stream.TimedOut {
				t.Errorf("%s: %q, %q", name, got.text, got.lines)
			}
		})
		synctest.Test(t, func(t *testing.T) {
			ctx, leave := context.WithCancel(chat.WithRequestID(t.Context(), requestID))
			time.AfterFunc(time.Second, leave)
			began := time.Now()
			turn{yaml: yaml, inner: says("32 forever."), req: form("sms"), timeout: time.Minute}.runIn(t, ctx)
			if elapsed := time.Since(began); elapsed != time.Second {
				t.Errorf("%s: a turn whose client leaves after a second took %v", name, elapsed)
			}
		})
	}
}

// While a text is composed a client learns of it, once a second.
func TestComposingIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := inner(func(_ context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
			for range 25 {
				_ = sink.Emit(&stream.Delta{Text: "é"})
				time.Sleep(100 * time.Millisecond)
			}
			return stream.Result{Reason: stream.Stop}, nil
		})
		got := turn{inner: slow, req: form("sms")}.runInner(t)
		want := []string{"start", "composing 1", "composing 1 chars=11", "composing 1 chars=21", "formatting 1", "sending 1"}
		if diff := cmp.Diff(want, got.lines[:len(want)]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// What may be seen of thoughts and of others' inner texts.
func TestWhatPasses(t *testing.T) {
	t.Parallel()
	chatty := inner(func(_ context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
		_ = sink.Emit(&stream.Thinking{Content: "hm"})
		_ = sink.Emit(&stream.InnerDelta{Delta: "inside"})
		_ = sink.Emit(&stream.Delta{Text: "Yes."})
		return stream.Result{Reason: stream.Stop}, nil
	})
	for yaml, want := range map[string]string{
		"quality: {mode: enforce, plan: none}":                                 "thinking",
		"quality: {mode: enforce, plan: none, thinking: hide}":                 "",
		"quality: {mode: enforce, plan: none, drafts: always}":                 "thinking inner",
		"quality: {mode: observe, plan: none, thinking: hide}":                 "inner",
		"quality: {mode: enforce, plan: none, thinking: hide, drafts: always}": "inner",
	} {
		var got []string
		for _, line := range (turn{yaml: yaml, inner: chatty}).runInner(t).lines {
			switch line {
			case "thinking":
				got = append(got, line)
			case `draft 0 "inside"`:
				got = append(got, "inner")
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", yaml, got, want)
		}
	}
}

// A text that passed keeps its pieces and their agents.
func TestPiecesAreKept(t *testing.T) {
	t.Parallel()
	team := inner(func(_ context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
		d := new(stream.Delta) // one for all, as senders do
		for _, p := range []struct{ agent, text string }{{"a", "One "}, {"a", "two."}, {"", "\n\n"}, {"b", "Three."}} {
			d.AgentID, d.Text = p.agent, p.text
			_ = sink.Emit(d)
		}
		return stream.Result{Reason: stream.Stop}, nil
	})
	got := turn{yaml: enforce, inner: team}.runInner(t)
	want := []string{`delta "One " a`, `delta "two." a`, `delta "\n\n"`, `delta "Three." b`, "done stop"}
	if diff := cmp.Diff(want, got.lines[len(got.lines)-5:]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Long texts are sent in pieces of at most 16 KiB, which part no character.
func TestPiecesAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 20<<10)
	got := turn{yaml: enforce, inner: says(long)}.runInner(t)
	n := 0
	for _, line := range got.lines {
		if strings.HasPrefix(line, "delta") {
			n++
		}
	}
	if got.text != long || n != 3 {
		t.Errorf("%d pieces of %d bytes together", n, len(got.text))
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	c := quality.New(quality.Config{Spec: sectionsOf(t, "quality: {drafts: never}\nagents: {a: {quality: {drafts: ask}}}"), Formatters: map[string]quality.Formatter{"sms": phone{}}})
	for name, tt := range map[string]struct {
		form  chat.ReplyForm
		agent string
		want  map[string]string
	}{
		"nothing asked":      {},
		"known":              {form: chat.ReplyForm{Channel: "sms", Drafts: chat.No}},
		"web":                {form: chat.ReplyForm{Channel: "web"}},
		"unknown":            {form: chat.ReplyForm{Channel: "fax"}, want: map[string]string{"channel": chat.CodeUnknownValue}},
		"drafts":             {form: chat.ReplyForm{Drafts: chat.Yes}, want: map[string]string{"drafts": chat.CodeNotAllowed}},
		"drafts of an agent": {form: chat.ReplyForm{Drafts: chat.Yes}, agent: "a"},
		"all":                {form: chat.ReplyForm{Channel: "sms", Drafts: chat.Yes, Deliver: true}, want: map[string]string{"drafts": chat.CodeNotAllowed, "deliver": chat.CodeNotConfigured}},
	} {
		got := map[string]string{}
		for field, f := range c.Check(&chat.Request{ReplyForm: tt.form}, tt.agent) {
			got[field] = f.Code
		}
		if tt.want == nil {
			tt.want = map[string]string{}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An agent's own settings hold as soon as it is known who answers.
func TestSettingsOfAnAgent(t *testing.T) {
	t.Parallel()
	yaml := "quality: {mode: \"off\", plan: none}\nagents: {strict: {quality: {mode: enforce}}, free: {}}"
	routed := func(agent string) inner {
		return func(_ context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
			_ = sink.Emit(&stream.Route{Decision: stream.Routed, AgentID: agent, Additional: []string{}})
			_ = sink.Emit(&stream.Delta{Text: "Yes."})
			return stream.Result{Reason: stream.Stop}, nil
		}
	}
	got := turn{yaml: yaml, inner: routed("strict")}.runInner(t)
	want := []string{"start", "route", "extracting 1", "composing 1", "formatting 1", "validating 1", "validating 1 failed=[]", "sending 1", `delta "Yes."`, "done stop"}
	if diff := cmp.Diff(want, got.lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = turn{yaml: yaml, inner: routed("free")}.runInner(t)
	if diff := cmp.Diff([]string{"start", "route", `delta "Yes."`, "done stop"}, got.lines); diff != "" || got.done.Quality != nil {
		t.Errorf("%+v (-want +got):\n%s", got.done.Quality, diff)
	}
	got = turn{yaml: yaml, inner: says("Yes."), agent: "strict"}.runInner(t)
	if got.lines[1] != "extracting 1" {
		t.Errorf("%q", got.lines)
	}
}
