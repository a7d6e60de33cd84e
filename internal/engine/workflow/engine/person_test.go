package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// What a person writes is the result of the node that asked, and part of the prompts of what
// follows, whatever they have decided.
func TestWhatAPersonWrites(t *testing.T) {
	t.Parallel()
	for _, action := range []chat.Action{chat.Approve, chat.Reject} {
		t.Run(string(action), func(t *testing.T) {
			t.Parallel()
			own := &agents{answer: echo}
			a := &asking{t: t, runner: runOf(t, `
  w:
    nodes:
      h: {type: human, prompt: "Well?"}
      c: {type: condition, expression: decision.action}
      b: {type: agent, agent: writer, input: "{{result.text}} {{has(decision.input.n)}}"}
    edges: [{from: h, to: c}, {from: c, to: {default: b}}]
`, engine.Config{Agents: own})}
			if _, err := a.run(&chat.Request{Input: "hi"}); err != nil {
				t.Fatal(err)
			}
			lines, err := a.run(&chat.Request{Resumed: &chat.Resumed{State: a.paused.State, Decisions: []chat.Decision{{CallID: "h", Action: action, Message: "because"}}}})
			if err != nil || !slices.Contains(lines, `b says "writer:because "`) || !slices.Contains(lines, `b says "false"`) {
				t.Fatalf("%q, %v", lines, err)
			}
			if !shown(own.asked[0].Data, "because") {
				t.Errorf("the agent was shown %+v", own.asked[0].Data)
			}
		})
	}
}

// A person who allows a node of checkpoints may write something for it, too.
func TestWhatAPersonWritesAtACheckpoint(t *testing.T) {
	t.Parallel()
	own := &agents{answer: echo}
	a := &asking{t: t, runner: runOf(t, `
  w:
    checkpoints: [b]
    nodes:
      a: {type: agent, agent: support}
      b: {type: agent, agent: writer, input: "{{metadata.n}} {{decision.message}}"}
    edges: [{from: a, to: b}]
`, engine.Config{Agents: own})}
	if _, err := a.run(&chat.Request{Input: "hi"}); err != nil {
		t.Fatal(err)
	}
	lines, err := a.run(&chat.Request{Resumed: &chat.Resumed{State: a.paused.State, Decisions: []chat.Decision{
		{CallID: "b", Action: chat.Approve, Message: "in short", State: jsontext.Value(`{"metadata":{"n":7}}`)}}}})
	if err != nil || !slices.Contains(lines, `b says "writer:7 "`) {
		t.Fatalf("%q, %v", lines, err)
	}
	if !shown(own.asked[1].Data, "in short") {
		t.Errorf("the agent was shown %+v", own.asked[1].Data)
	}
}

// A tool node that a person has not allowed is no node that failed: an edge on the decision
// continues, one on an error does not.
func TestRejectedToolNode(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ edge, want string }{
		"an edge on the decision": {`, condition: "decision.action == 'reject'"`, `b says "writer:no "`},
		"an edge on an error":     {`, condition: "result.is_error"`, "a failed approval_rejected"},
		"an edge":                 {``, "a failed approval_rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ts := echoTools()
			a := &asking{t: t, runner: runOf(t, `
  w:
    nodes:
      a: {type: tool, tool: s/echo}
      b: {type: agent, agent: writer, input: "{{decision.message}} {{result.text}}"}
    edges: [{from: a, to: b`+tt.edge+`}]
`, engine.Config{Agents: &agents{answer: echo}, Tools: ts, Hold: func(tool.Call, *tool.Spec) bool { return true }})}
			if _, err := a.run(&chat.Request{Input: "hi"}); err != nil || a.paused == nil {
				t.Fatal(err)
			}
			d := chat.Decision{CallID: a.paused.Questions[0].Calls[0].ID, Action: chat.Reject, Message: "no"}
			lines, err := a.run(&chat.Request{Resumed: &chat.Resumed{State: a.paused.State, Decisions: []chat.Decision{d}}})
			if f := fault.From(err); f != nil && (f.Type != fault.ApprovalRejected || f.Recoverable()) || !slices.Contains(lines, tt.want) || len(ts.made) != 0 {
				t.Errorf("%q, %v", lines, err)
			}
		})
	}
}

// shown reports whether a text of a person is among what an agent is given to read.
func shown(data []chat.Quote, text string) bool {
	return slices.ContainsFunc(data, func(q chat.Quote) bool { return strings.HasPrefix(q.About, "What a person has said") && q.Text == text })
}
