package model_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
)

// Once a turn has used up its tokens the tools of the step at hand still run, and one
// short call without tools ends it.
func TestBudgetOfATurn(t *testing.T) {
	t.Parallel()
	short := map[string]string{ // 1,024 tokens, and 2,048 for thoughts
		"gemini": `"maxOutputTokens":3072`, "chat": `"max_tokens":3072`, "responses": `"max_output_tokens":3072`, "messages": `"max_tokens":3072`,
	}
	without := map[string]string{"gemini": `"mode":"NONE"`, "chat": `"tool_choice":"none"`, "responses": `"tool_choice":"none"`, "messages": `"tool_choice":{"type":"none"}`}
	for _, w := range wholetest.Protocols() {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			call, last := "tokens 90 10 0 0\ncall add {}\ncall take {}", "tokens 50 5 0 0\ntext \"That was it.\""
			if w.Path == "" {
				call, last = "usage 90 10\ncall add {}\ncall take {}\nfinish STOP", "usage 50 5\ntext \"That was it.\"\nfinish STOP"
			}
			var ran atomic.Int64
			url, bodies := w.Serve(t, call+"\n---\n"+last)
			r := wholetest.StartFile(t, "models:\n"+w.Spec("default", url, "")+"budget: {turn_tokens: 100}\n", "MCP_CONFIG", wholetest.TwoTools(t, &ran))
			frames := r.Ask("go")
			gatewaytest.WantSuccess(t, frames, "max_tokens")
			if d := gatewaytest.Done(frames); d.Str("final_output") != "That was it." || ran.Load() != 2 || d.Str("usage") != "map[cached_tokens:0 input_tokens:140 output_tokens:15 thinking_tokens:0]" {
				t.Errorf("%d tools ran, and the turn ended with %s", ran.Load(), d.Raw)
			}
			sent := bodies()
			if len(sent) != 2 || !strings.Contains(sent[1], without[w.Name]) || !strings.Contains(sent[1], short[w.Name]) || strings.Contains(sent[0], without[w.Name]) {
				t.Errorf("%d requests, the last is %s", len(sent), sent[len(sent)-1])
			}
		})
	}
}

// Answers of a model that failed count, and the budget is the turn's: the next one has
// all of it.
func TestBudgetCountsAllModelsOfATurn(t *testing.T) {
	t.Parallel()
	w := wholetest.Protocols()[3] // its answers report the input at once
	first := "tokens 95 5 0 0\nthought **Hm**\ncall add {}\ncut 5\n---\n"
	r := wholetest.StartFile(t, "models:\n"+
		w.Spec("default", w.Simulate(t, first+first+"loop\ntext Never."), "retries: 0, fallback: [spare]")+
		w.Spec("spare", w.Simulate(t, "loop\ntokens 10 1 0 0\ncall add {}"), "")+
		"budget: {turn_tokens: 100}\n")
	for range 2 {
		frames := r.Ask("go")
		gatewaytest.WantSuccess(t, frames, "max_tokens")
		if n := len(gatewaytest.Only(frames, "tool_call")); n != 2 || len(gatewaytest.Only(frames, "model")) != 1 {
			t.Errorf("%d events of tools, %s", n, fmt.Sprint(frames))
		}
	}
}
