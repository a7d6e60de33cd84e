package operate

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/router"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

func TestReadRouterCases(t *testing.T) {
	t.Parallel()
	got, err := ReadRouterCases([]byte(`{"input": "a", "kind": "k", "agents": ["x", "y"], "history": [{"role": "user", "content": "b"}, {"role": "assistant", "content": "c"}]}

  {"input": "d", "decision": "clarify"}
`))
	want := []RouterCase{
		{Input: "a", Kind: "k", Agents: []string{"x", "y"}, History: []RouterSpoken{{"user", "b"}, {"assistant", "c"}}},
		{Input: "d", Want: "clarify"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for text, want := range map[string]string{
		"":                  "there is no case",
		"\n \n":             "there is no case",
		`{"input": "a"}`:    "line 1: needs an input, and either",
		`{"agents": ["x"]}`: "line 1: needs an input, and either",
		`{"input": "a", "agents": ["x"], "decision": "clarify"}`:                 "line 1: needs an input, and either",
		`{"input": "a", "decision": "route"}`:                                    "line 1: needs an input, and either",
		"\n" + `{"input": "a", "agent": "x"}`:                                    "line 2: is no case",
		`{"input": "a", "agents": ["x"]}` + "\n" + `{"input": "b", "agents": 1}`: "line 2: is no case",
		`{"input": "` + strings.Repeat("a", 1<<20) + `"}`:                        "too long",
	} {
		if got, err := ReadRouterCases([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("%.80q: %v, %v", text, got, err)
		}
	}
}

// A case is asked as a client would ask it.
func TestRequestOfACase(t *testing.T) {
	t.Parallel()
	c := RouterCase{Input: "a", History: []RouterSpoken{{"user", "b"}, {"assistant", "c"}}}
	want := &chat.Request{Input: "a", Past: chat.Past{
		History: []chat.Message{
			{Role: chat.RoleUser, Parts: []chat.Part{{Text: "b"}}}, {Role: chat.RoleModel, Parts: []chat.Part{{Text: "c"}}},
		},
	}}
	if diff := cmp.Diff(want, c.toRequest()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// decided is a decision as a router reports it.
func decided(d stream.Decision, method string, confidence float64, agent string, others ...string) router.Decided {
	return router.Decided{
		Route: &stream.Route{Decision: d, Method: method, Confidence: confidence, AgentID: agent, Additional: others, Attempts: 1},
		Usage: chat.Usage{InputTokens: 10, OutputTokens: 2, ThinkingTokens: 1}, Elapsed: 20 * time.Millisecond,
	}
}

// Shares are of what they are named after, and -1 where there is nothing to count.
func TestFiguresOfDecisions(t *testing.T) {
	t.Parallel()
	failed := decided(stream.FellBack, "model", 0, "fallback-agent")
	failed.Err, failed.Unreadable, failed.Elapsed = errors.New("no answer"), 1, time.Second
	failed.Route.Reasoning = "The model gave no answer"
	var e evaluation
	for i, tt := range []struct {
		c RouterCase
		d router.Decided
	}{
		{RouterCase{Input: "one", Kind: "single", Agents: []string{"a"}}, decided(stream.Routed, "model", 0.95, "a")},
		{RouterCase{Input: "two", Kind: "several", Agents: []string{"a", "b", "c"}}, decided(stream.Routed, "model", 0.8, "a", "c", "b")},
		{RouterCase{Input: "not all", Kind: "several", Agents: []string{"a", "b"}}, decided(stream.Routed, "model", 0.8, "a")},
		{RouterCase{Input: "another", Kind: "single", Agents: []string{"a"}}, decided(stream.Routed, "model", 0.6, "b")},
		{RouterCase{Input: "unclear", Kind: "vague", Want: "clarify"}, decided(stream.Clarified, "model", 0.3, "clarification-agent")},
		{RouterCase{Input: "too clear", Kind: "single", Agents: []string{"a"}}, decided(stream.Clarified, "rule", 1, "clarification-agent")},
		{RouterCase{Input: "nobody", Kind: "vague", Want: "fallback"}, failed},
	} {
		e.countDecision(&tt.c, &tt.d, i < 6)
	}
	got := e.makeReport()
	want := RouterReport{
		Decisions: 7, Accuracy: 0.571, Set: 0.429,
		Clarify: Precision{0.5, 1}, Fallback: Precision{-1, 0},
		Kinds: []RouterKind{{"single", 3, 0.333}, {"several", 2, 1}, {"vague", 2, 0.5}},
		Calibration: []RouterBucket{
			{"<0.5", 1, 0.3, 1}, {"0.5-0.7", 1, 0.6, 0}, {"0.7-0.9", 2, 0.8, 1}, {">=0.9", 1, 0.95, 1},
		},
		Error: 0.35, Malformed: 0.143, Failed: 1, P50: 20, P95: 1000, Input: 10, Output: 3,
		Wrong: []RouterMistake{{"another", "[a]", "[b]"}, {"too clear", "[a]", "clarify"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	e = evaluation{}
	e.countDecision(&RouterCase{Input: "nobody", Want: "fallback"}, &failed, true)
	got = e.makeReport()
	if got.Clarify != (Precision{-1, -1}) || len(got.Calibration) != 0 || got.Error != 0 || got.Wrong[0] != (RouterMistake{"nobody", "fallback", "The model gave no answer"}) {
		t.Errorf("with nothing to count: %+v", got)
	}
}

// The real router of a configuration is asked, so often as is asked for, and no agent runs.
func TestEvalRouter(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../examples/home/sluice.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cfg := configured(t, string(text))
	cases := []RouterCase{
		{Input: "Turn on the kitchen lights", Kind: "single", Agents: []string{"light-agent"}},
		{Input: "Make it cozy", Kind: "ambiguous", Want: "clarify"},
		{Input: "Play some jazz", Kind: "single", Agents: []string{"climate-agent"}},
	}
	got, err := EvalRouter(t.Context(), cfg, cases, 2)
	if err != nil {
		t.Fatal(err)
	}
	if got.Cases != 3 || got.Decisions != 6 || got.Accuracy != 0.667 || len(got.Wrong) != 1 || got.Wrong[0].Got != "[music-agent]" || got.Failed != 0 {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if _, err := EvalRouter(ctx, cfg, cases, 1); !errors.Is(err, gone) {
		t.Errorf("cancelled: %v", err)
	}
	cfg.Team.Agents = nil
	if _, err := EvalRouter(t.Context(), cfg, cases, 1); err == nil || !strings.Contains(err.Error(), "no agents") {
		t.Errorf("without agents: %v", err)
	}
}
