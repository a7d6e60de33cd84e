package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/engine/workflow/engine"
	"sluice/internal/turn/chat"
)

// An end node's agent that begins its answer again takes back the node's text, and not that of
// the node in front of it; what comes from further inside is never taken back, and an agent there
// does not try to.
func TestTextOfAnEndNodeIsTakenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &agents{answer: func(agent string, req *chat.Request) string {
			if !req.Facts.Retracts {
				return "inner"
			}
			return map[string]string{"support": "First half " + again + "The first.", "writer": "Second " + again + "The second one."}[agent]
		}, pace: func(agent string) time.Duration {
			return map[string]time.Duration{"support": time.Minute, "writer": 2 * time.Minute}[agent]
		}}
		r := runOf(t, `
  w:
    timeout: 1h
    nodes:
      a: {type: agent, agent: support}
      b: {type: agent, agent: support, input: "one"}
      c: {type: agent, agent: writer, input: "two"}
    edges: [{from: a, to: b}, {from: a, to: c}]
`, engine.Config{Agents: a})
		l, err := turn(t.Context(), r, &chat.Request{Input: "hi", Facts: chat.Facts{Retracts: true}})
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, l,
			"a started", `a inner "inner"`, "a completed", "b started", "c started",
			`b says "First "`, `b says "half "`, `b takes back to ""`, `b says "The "`, `b says "first."`, "b completed",
			` says " "`, `c says "The "`, `c says "second "`, `c says "one."`, "c completed", "done stop")
		if got := l.text(); got != "The first. The second one." {
			t.Errorf("%q", got)
		}
	})
}

// What a run keeps of a node that took text back, and shows to those behind it, is what stays.
func TestTheNextNodeSeesWhatStays(t *testing.T) {
	t.Parallel()
	a := &agents{answer: func(agent string, _ *chat.Request) string {
		return map[string]string{"support": "A lie. " + again + "The truth.", "writer": "Done."}[agent]
	}}
	r := runOf(t, `
  w:
    nodes:
      a: {type: agent, agent: support, speak: true, output: {metadata.said: result.text}}
      b: {type: agent, agent: writer, input: "{{metadata.said}}"}
    edges: [{from: a, to: b}]
`, engine.Config{Agents: a})
	l, err := turn(t.Context(), r, &chat.Request{Input: "hi", Facts: chat.Facts{Retracts: true}})
	if err != nil {
		t.Fatal(err)
	}
	next := a.asked[1]
	if l.text() != "The truth. Done." || next.Input != "The truth." || next.Data[len(next.Data)-1].Text != "The truth." {
		t.Errorf("%q; the next agent is asked %q and sees %+v", l.text(), next.Input, next.Data)
	}
}
