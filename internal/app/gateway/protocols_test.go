package gateway_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
)

// twoToolTurn is a turn with a thought, two tools at once and a text, as each simulator
// is asked to play it.
func twoToolTurn(w wholetest.Protocol) string {
	if w.Path == "" {
		return `usage 20 6 3
thought **Two tools**
call add {"n":1}
call take {"n":2}
data {"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":20,"candidatesTokenCount":6,"thoughtsTokenCount":3,"cachedContentTokenCount":4,"totalTokenCount":29},"modelVersion":"gemini-3-test"}
---
usage 40 5 0
text "Both are done."
finish STOP`
	}
	// Of the APIs only Chat Completions reports thoughts in the member that it likes.
	begin := ""
	if w.Name == "chat" {
		begin = "reasoning content\n"
	}
	return begin + `thought **Two tools**
tokens 20 6 3 4
call add {"n":1}
call take {"n":2}
---
tokens 40 5 0 0
text "Both are done."`
}

// own are the values of an event that differ from turn to turn.
var own = regexp.MustCompile(`"(request_id|call_id|model|duration_ms|total_ms|first_event_ms|first_delta_ms|ms|model_ms)":("[^"]*"|\d+|\[[\d,]*\])`)

// What counts as output is the API's affair, so usage is looked at apart; and tools that
// run at once end in any order.
var apart = regexp.MustCompile(`"usage":\{[^}]*\},"timings":.*`)

// alike returns the events of a turn without ids, names, times and usage. The pieces that
// a text comes in are joined, and so are those of a thought.
func alike(frames []gatewaytest.Frame) (list []string) {
	joined := map[string]string{"thinking": "content", "response_delta": "delta"}
	last := ""
	var ended []string // calls that run at once end in any order
	for _, f := range frames {
		data := jsontext.Value(f.Raw)
		_ = data.Compact() // it was found to be JSON; an argument's white space is the model's
		line := f.Kind + " " + apart.ReplaceAllString(own.ReplaceAllString(string(data), `"$1":_`), "")
		if member := joined[f.Kind]; member != "" {
			if f.Kind == last {
				list[len(list)-1] += f.Str(member)
				continue
			}
			line = f.Kind + " " + f.Str(member)
		}
		last = f.Kind
		if f.Kind == "tool_call" && f.Str("status") != "in_progress" {
			ended = append(ended, line)
			continue
		}
		slices.Sort(ended)
		list = append(append(list, ended...), line)
		ended = nil
	}
	return list
}

// A turn with two tools looks the same to a client whichever protocol its model speaks,
// and is reported alike to the operator.
func TestTurnIsTheSameThroughEachProtocol(t *testing.T) {
	t.Parallel()
	all := wholetest.Protocols()
	if slices.Contains(drivers(), "sdk") {
		sdk := all[0]
		sdk.Name, sdk.Fields = "gemini_sdk", sdk.Fields+", driver: sdk"
		all = append(all, sdk)
	}
	turns := make([][]string, len(all))
	t.Run("each", func(t *testing.T) {
		for i, w := range all {
			t.Run(w.Name, func(t *testing.T) {
				t.Parallel()
				r := wholetest.StartFile(t, "models:\n"+w.Spec("default", w.Simulate(t, twoToolTurn(w)), ""))
				frames := r.Ask("go")
				gatewaytest.WantSuccess(t, frames, "stop")
				turns[i] = alike(frames)
				usage := fmt.Sprint(gatewaytest.Done(frames).Data["usage"])
				if want := fmt.Sprintf("map[cached_tokens:4 input_tokens:60 output_tokens:%d thinking_tokens:%d]", w.Output, 14-w.Output); usage != want {
					t.Errorf("usage %s, want %s", usage, want)
				}
				wantMetrics(w, t, r)
			})
		}
	})
	for i, w := range all {
		if diff := cmp.Diff(turns[0], turns[i]); diff != "" {
			t.Errorf("%s differs from %s (-want +got):\n%s", w.Name, all[0].Name, diff)
		}
	}
	if got := strings.Join(turns[0], "\n"); strings.Count(got, "tool_call ") != 4 || !strings.Contains(got, "Both are done.") {
		t.Errorf("the turn is\n%s", got)
	}
}

// wantMetrics checks what /readyz, the log and the metrics report of the turn.
func wantMetrics(w wholetest.Protocol, t *testing.T, r *gatewaytest.Running) {
	t.Helper()
	provider := regexp.MustCompile(`provider: (\w+)`).FindStringSubmatch(w.Fields)[1]
	name := regexp.MustCompile(`model: ([\w-]+)`).FindStringSubmatch(w.Fields)[1]
	_, ready := r.Ready()
	if diff := cmp.Diff([]gatewaytest.ReadyModel{{Key: "default", Provider: provider, Model: name, Breaker: "closed"}}, ready.Models); diff != "" {
		t.Errorf("/readyz (-want +got):\n%s", diff)
	}
	r.Log.Await(t, "request_completed", r.Ended) // all lines of the turn are there
	calls := r.Log.All(w.Called+"_called", "key", "default", "provider", provider, "model", name)
	results := r.Log.All(w.Called+"_result", "key", "default", "provider", provider, "answered_by", w.Answers, "outcome", "ok")
	if len(calls) != 2 || len(results) != 2 {
		t.Errorf("%d calls and %d results in the log:\n%s", len(calls), len(results), r.Log)
	}
	got := wholetest.MetricLines(r, "sluice_model_attempts_total", "sluice_tokens_total", "sluice_model_attempt_seconds_count", "sluice_model_fallbacks_total{", "sluice_structured_total{")
	want := []string{
		`sluice_model_attempt_seconds_count{model="default",outcome="ok"} 2`,
		`sluice_model_attempts_total{model="default",outcome="ok"} 2`,
		`sluice_tokens_total{kind="cache_written",model="default"} 0`,
		`sluice_tokens_total{kind="cached",model="default"} 4`,
		`sluice_tokens_total{kind="input",model="default"} 60`,
		fmt.Sprintf(`sluice_tokens_total{kind="output",model="default"} %d`, w.Output),
		fmt.Sprintf(`sluice_tokens_total{kind="thinking",model="default"} %d`, 14-w.Output),
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
