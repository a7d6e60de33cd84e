package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
)

// failing is a way in which the first model fails, and what must come of it.
type failing struct {
	name   string
	script string // of a simulator of Chat Completions
	fields string // of the model, besides its fallback
	reason string // of the change of model; empty: there is none
	fails  string // then the error_type
}

func failings() []failing {
	const loop = "loop\n"
	rows := []failing{
		{name: "503", script: "error 503", reason: "unavailable"},
		{name: "529", script: "error 529", reason: "unavailable"},
		{name: "in the stream", script: "inband object 2", reason: "unavailable"},
		{name: "neither text nor call", script: `text ""`, reason: "unavailable"},
		{name: "a call that cannot be read, twice", script: `call add {"n":`, reason: "unavailable"},
		{name: "silent before headers", script: "hang", fields: "timeout: 100ms", reason: "timeout"},
		{name: "silent after a thought", script: "reasoning content\nthought Hm\ntext Never.\nstall 3", fields: "timeout: 100ms", reason: "timeout"},
		{name: "429", script: "error 429 retry-after=30", reason: "rate_limited"},
		{name: "429 without fallback", script: "error 429 retry-after=30", fields: "fallback_on: [unavailable]", fails: "model_rate_limited"},
		{name: "no money", script: "error 429 type=insufficient_quota code=insufficient_quota", reason: "misconfigured"},
		{name: "misconfigured without fallback", script: "error 401", fields: "fallback_on: [unavailable]", fails: "model_error"},
		{name: "too long", script: "error 400 code=context_length_exceeded", fails: "model_error"},
		{name: "too long with fallback", script: "error 400 code=context_length_exceeded", fields: "fallback_on: [overflow]", reason: "overflow"},
		{name: "blocked", script: "text Hm.\nfinish content_filter", fails: "model_blocked"},
		{name: "blocked request", script: "error 400 code=content_filter", fails: "model_blocked"},
		{name: "blocked request with fallback", script: "error 400 code=content_filter", fields: "fallback_on: [blocked]", reason: "blocked"},
		{name: "a request that is wrong", script: "error 400 type=invalid_request_error", fails: "model_error"},
	}
	for _, status := range []int{401, 402, 403, 404} {
		rows = append(rows, failing{name: fmt.Sprint(status), script: fmt.Sprint("error ", status), reason: "misconfigured"})
	}
	for i := range rows {
		rows[i].script = loop + rows[i].script
	}
	return rows
}

// Which failures lead to the next model is configured; by default the prompt's own are
// not among them.
func TestFailuresThatLeadToAnotherModel(t *testing.T) {
	t.Parallel()
	w := wholetest.Protocols()[1]
	for _, row := range failings() {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := wholetest.StartFile(t, "models:\n"+
				w.Spec("default", w.Simulate(t, row.script), "fallback: [spare], retries: 0"+wholetest.Prefixed(", ", row.fields))+
				w.Spec("spare", w.Simulate(t, "loop\ntext Second."), ""))
			frames := r.Ask("go")
			changes := gatewaytest.Only(frames, "model")
			if row.reason == "" {
				gatewaytest.WantFailure(t, frames, row.fails, "error")
				if len(changes) > 0 {
					t.Errorf("changed to %s", changes[0].Raw)
				}
				return
			}
			gatewaytest.WantSuccess(t, frames, "stop")
			if len(changes) != 1 || changes[0].Str("reason") != row.reason || gatewaytest.Done(frames).Str("final_output") != "Second." {
				t.Errorf("want %s: %v, %s", row.reason, changes, gatewaytest.Done(frames).Raw)
			}
			r.Log.Await(t, "model_fallback", r.Ended, "from", "default", "to", "spare", "reason", row.reason, "step", "1")
		})
	}
}

// A redirect is not followed: the key would go along.
func TestRedirectLeadsToAnotherModel(t *testing.T) {
	t.Parallel()
	sink := gatewaytest.ServeHandler(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	moved := gatewaytest.ServeHandler(t, http.RedirectHandler(sink, http.StatusTemporaryRedirect))
	for _, w := range wholetest.Protocols() {
		t.Run(w.Name, func(t *testing.T) {
			spare := wholetest.Protocols()[1]
			r := wholetest.StartFile(t, "models:\n"+w.Spec("default", moved, "fallback: [spare]")+spare.Spec("spare", spare.Simulate(t, "loop\ntext Second."), ""))
			frames := r.Ask("go")
			changes := gatewaytest.Only(frames, "model")
			if len(changes) != 1 || changes[0].Str("reason") != "misconfigured" {
				t.Errorf("changes %v, %s", changes, gatewaytest.Done(frames).Raw)
			}
			wantBreakers(t, r, "model:default closed 1", "model:spare closed 0")
		})
	}
}

// A prompt beyond the window of the first model is not sent to it, if that leads to
// another one; otherwise its provider decides.
func TestPromptBeyondTheWindow(t *testing.T) {
	t.Parallel()
	w := wholetest.Protocols()[1]
	long := strings.Repeat("long ", 790)
	for _, tt := range []struct{ on, want string }{{"overflow", "Second."}, {"timeout", "First."}} {
		r := wholetest.StartFile(t, "models:\n"+
			w.Spec("default", w.Simulate(t, "loop\ntext First."), "context_tokens: 1024, fallback: [spare], fallback_on: ["+tt.on+"]")+
			w.Spec("spare", w.Simulate(t, "loop\ntext Second."), ""))
		if got := gatewaytest.Done(r.Ask(long)).Str("final_output"); got != tt.want {
			t.Errorf("with %s %q answers, want %q", tt.on, got, tt.want)
		}
		if got := gatewaytest.Done(r.Ask("short")).Str("final_output"); got != "First." {
			t.Errorf("with %s a short prompt is answered by %q", tt.on, got)
		}
	}
}

// The rest of a turn stays with the model that answered; the next turn begins with the
// first one again, unless its breaker is open: then nothing is sent to it.
func TestTurnStaysWithTheModelThatAnswered(t *testing.T) {
	t.Parallel()
	w := wholetest.Protocols()[2]
	r := wholetest.StartFile(t, "models:\n"+
		w.Spec("default", w.Simulate(t, "error 503\n---\ntext First.\n---\nerror 503\n---\nerror 503"), "retries: 0, fallback: [spare], breaker: \"2,60s,1\"")+
		w.Spec("spare", w.Simulate(t, "call add {}\n---\ntext Second.\n---\nloop\ntext Third."), ""))
	frames := r.Ask("one")
	if n := len(gatewaytest.Only(frames, "model")); n != 1 || gatewaytest.Done(frames).Str("final_output") != "Second." {
		t.Errorf("%d changes, %s", n, gatewaytest.Done(frames).Raw)
	}
	frames = r.Ask("two")
	if n := len(gatewaytest.Only(frames, "model")); n != 0 || gatewaytest.Done(frames).Str("final_output") != "First." {
		t.Errorf("%d changes, %s", n, gatewaytest.Done(frames).Raw)
	}
	for range 4 { // the last two find the breaker open; the script would be used up
		frames = r.Ask("more")
		if n := len(gatewaytest.Only(frames, "model")); n != 1 || gatewaytest.Done(frames).Str("final_output") != "Third." {
			t.Errorf("%d changes, %s", n, gatewaytest.Done(frames).Raw)
		}
	}
	wantBreakers(t, r, "model:default open 2", "model:spare closed 0")
}

// In a chain of three the event names the model that answers, and the last error counts
// if none does.
func TestChainOfThree(t *testing.T) {
	t.Parallel()
	w := wholetest.Protocols()[3]
	chain := func(last string) *gatewaytest.Running {
		return wholetest.StartFile(t, "models:\n"+
			w.Spec("default", w.Simulate(t, "loop\nerror 429 retry-after=30"), "retries: 0, fallback: [b, c]")+
			w.Spec("b", w.Simulate(t, "loop\nerror 503"), "retries: 0, fallback: [spare]")+
			w.Spec("c", w.Simulate(t, last), "retries: 0, breaker: \"1,60s,1\"")+
			w.Spec("spare", w.Simulate(t, "loop\ntext Never."), "")) // b's own fallback is not read
	}
	r := chain("loop\ntext Last.")
	frames := r.Ask("go")
	changes := gatewaytest.Only(frames, "model")
	if len(changes) != 1 || changes[0].Str("key") != "c" || changes[0].Str("previous") != "default" || changes[0].Str("reason") != "rate_limited" {
		t.Errorf("changes %v, %s", changes, gatewaytest.Done(frames).Raw)
	}
	r.Log.Await(t, "model_fallback", r.Ended, "from", "default", "to", "b", "reason", "rate_limited")
	r.Log.Await(t, "model_fallback", r.Ended, "from", "b", "to", "c", "reason", "unavailable")

	r = chain("loop\nerror 503")
	if e := gatewaytest.WantFailure(t, r.Ask("go"), "model_unavailable", "error"); e.Str("service") != "model:c" {
		t.Errorf("the last error counts: %s", e.Raw)
	}
	if e := gatewaytest.WantFailure(t, r.Ask("go"), "model_rate_limited", "error"); e.Str("service") != "model:default" {
		t.Errorf("the first error counts where the last model was not asked: %s", e.Raw)
	}
}
