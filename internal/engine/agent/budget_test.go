package agent_test

import (
	"testing"

	"sluice/internal/turn/chat"
)

// Once the budget is reached the tools of the step at hand still run, and one answer
// without tools ends the turn.
func TestBudgetEndsTheTurn(t *testing.T) {
	t.Parallel()
	cost := func(n int, parts ...chat.Part) answer {
		return chunks(chat.Chunk{Parts: parts, Usage: &chat.Usage{InputTokens: n}}, end(chat.FinishStop))
	}
	for name, tt := range map[string]struct {
		spent   int // of a budget of 100
		answers []answer
		calls   int
		reason  string
	}{
		"reached by a call":     {50, []answer{cost(60, reads("1", "", "")), cost(60, chat.Part{Text: "so"})}, 1, "max_tokens"},
		"reached by the answer": {50, []answer{cost(20, reads("1", "", "")), cost(60, chat.Part{Text: "so"})}, 1, "stop"},
		"not reached":           {0, []answer{cost(20, reads("1", "", "")), cost(20, chat.Part{Text: "so"})}, 1, "stop"},
		"reached before":        {100, []answer{cost(1, chat.Part{Text: "so"})}, 0, "max_tokens"},
		"calls in the last":     {50, []answer{cost(60, reads("1", "", "")), cost(60, chat.Part{Text: "so"}, reads("2", "", ""))}, 1, "max_tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := chat.NewTokenBudget(100)
			b.Spend(chat.Usage{InputTokens: tt.spent})
			got := play(t, scene{answers: tt.answers, turn: chat.Turn{Budget: b}})
			last := got.requests[len(got.requests)-1]
			spent := tt.reason == "max_tokens"
			if got.text() != "so" || len(got.calls) != tt.calls || string(got.done.Reason) != tt.reason {
				t.Errorf("%v, %d calls", got.events, len(got.calls))
			}
			if last.NoTools != spent || (last.MaxTokens == 1024) != spent || len(got.requests) != len(tt.answers) {
				t.Errorf("%d requests, the last with at most %d tokens, without tools: %v", len(got.requests), last.MaxTokens, last.NoTools)
			}
		})
	}
}
