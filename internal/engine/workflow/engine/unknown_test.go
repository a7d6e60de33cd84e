package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// paying is a server of one tool that pays, and must not be called twice for one payment. It
// answers after a minute, if it is not cut before.
type paying struct {
	*tools
	paid []string // the arguments of each payment
}

func newPaying() *paying {
	return &paying{tools: echoTools()}
}

// Call pays at once, and answers late.
func (p *paying) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	p.paid = append(p.paid, string(call.Arguments))
	select {
	case <-time.After(time.Minute):
		return tool.Result{Text: "paid"}, nil
	case <-ctx.Done():
		return tool.Result{}, &fault.Error{Type: fault.Timeout, Unknown: true, Message: "The turn ended before the tool did", Err: context.Cause(ctx)}
	}
}

const (
	payTwice = `
  w:
    nodes:
      one: {type: tool, tool: s/echo, timeout: 10s, arguments: {x: "1"}}
      two: {type: tool, tool: s/echo, timeout: 10m, arguments: {x: "1"}}
      sorry: {type: agent, agent: writer, input: "{{result.is_error}} {{result.unknown}}"}
    edges: [{from: one, to: two, condition: "result.is_error%s"}, {from: one, to: sorry, condition: "result.unknown"}, {from: two, to: sorry, condition: "result.is_error"}]
`
	payAgain = `
  w:
    nodes:
      one: {type: tool, tool: s/echo, timeout: 10s, arguments: {x: "1"}, repeat: {until: "!result.is_error", max: 3}}
      sorry: {type: agent, agent: writer, input: "{{result.is_error}} {{result.unknown}}"}
    edges: [{from: one, to: sorry, condition: "result.is_error"}]
`
)

// Without a store nobody can be asked what became of a call that a node's time has cut: edges
// learn that it is unknown, and no equal call is made, whatever edge or repeat asks for it.
func TestUnknownWithoutAStore(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"a retry": fmt.Sprintf(payTwice, ""), "none": fmt.Sprintf(payTwice, " && !result.unknown"), "repeat": payAgain,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPaying()
				l, err := turn(t.Context(), runOf(t, content, engine.Config{Agents: &agents{answer: echo}, Tools: p}), &chat.Request{Input: "hi"})
				if err != nil {
					t.Fatal(err)
				}
				if lines := strings.Join(l.lines(), "\n"); len(p.paid) != 1 || l.text() != "writer:true true" || strings.Contains(lines, "recoverable=true") {
					t.Errorf("paid %d times, said %q\n%s", len(p.paid), l.text(), lines)
				}
			})
		})
	}
}

// A run with a call of unknown outcome, from which no edge continues, must not be begun again.
func TestUnknownEndsTheRun(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"the node's time": "  w: {nodes: {one: {type: tool, tool: s/echo, timeout: 10s}}}\n",
		"the run's time":  "  w: {nodes: {one: {type: tool, tool: s/echo}}, timeout: 10s}\n",
		"what follows":    "  w: {nodes: {one: {type: tool, tool: s/echo}, two: {type: agent, agent: writer, input: x}}, edges: [{from: one, to: two}]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, err := turn(t.Context(), runOf(t, content, engine.Config{Agents: &agents{answer: failing}, Tools: newPaying()}), &chat.Request{Input: "hi"})
				if err != nil {
					t.Fatal(err)
				}
				e, ok := l.events[len(l.events)-2].(*stream.Error)
				if !ok || !e.Fatal || e.Recoverable {
					t.Errorf("%q", l.lines())
				}
			})
		})
	}
}

// asking runs a workflow whose calls are kept, and answers what it asks.
type asking struct {
	t      *testing.T
	runner *engine.Runner
	paused *chat.Paused
}

func (a *asking) run(req *chat.Request) ([]string, error) {
	a.t.Helper()
	a.paused = nil
	l := new(log)
	req.Facts.Ask = func(p *chat.Paused) string { a.paused = p; return "" }
	_, err := a.runner.Run(a.t.Context(), req, l)
	return l.lines(), err
}

// makeQuestion returns the only one that waits.
func (a *asking) makeQuestion() chat.Question {
	a.t.Helper()
	if a.paused == nil || len(a.paused.Questions) != 1 || a.paused.Questions[0].Kind != chat.AskOutcome || len(a.paused.Questions[0].Calls) != 1 {
		a.t.Fatalf("it asks %+v", a.paused)
	}
	return a.paused.Questions[0]
}

func (a *asking) answer(d chat.Decision) ([]string, error) {
	d.CallID = a.makeQuestion().Calls[0].ID
	return a.run(&chat.Request{Resumed: &chat.Resumed{By: chat.PausedWorkflow, State: a.paused.State, Decisions: []chat.Decision{d}}})
}

// With a store a person is asked what became of a call that a node's time has cut, and what
// they say is done.
func TestUnknownIsAsked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		say  chat.Decision
		paid int
		want string
	}{
		"it was done":     {chat.Decision{Action: chat.Modify, Result: "receipt 7"}, 1, "two skipped"},
		"it was not done": {chat.Decision{Action: chat.Reject}, 2, "two completed"}, // the edge on an error takes it up
		"call again":      {chat.Decision{Action: chat.Approve}, 2, "one waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPaying()
				kept := new(engine.Kept)
				a := &asking{t: t, runner: runOf(t, fmt.Sprintf(payTwice, ""), engine.Config{Agents: &agents{answer: echo}, Tools: p,
					Records: func(context.Context, *engine.Run) (engine.Records, error) { return kept, nil }})}
				lines, err := a.run(&chat.Request{Input: "hi"})
				if err != nil || len(p.paid) != 1 || lines[len(lines)-1] != "one waiting" || a.makeQuestion().Node != "one" {
					t.Fatalf("paid %d times, %q, %v", len(p.paid), lines, err)
				}
				lines, err = a.answer(tt.say)
				if err != nil || len(p.paid) != tt.paid || !slices.Contains(lines, tt.want) {
					t.Errorf("paid %d times, %q, %v", len(p.paid), lines, err)
				}
			})
		})
	}
}

// Of two branches that make equal calls, the second is not made while nobody knows what became
// of the first: its node asks as well.
func TestEqualCallsOfBranches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, kept := newPaying(), new(engine.Kept)
		a := &asking{t: t, runner: runOf(t, `
  w:
    entry_point: b
    nodes:
      b: {type: agent, agent: writer}
      one: {type: tool, tool: s/echo, timeout: 10s, arguments: {x: "1"}}
      slow: {type: agent, agent: support}
      two: {type: tool, tool: s/echo, timeout: 10s, arguments: {x: "1"}}
    edges: [{from: b, to: one}, {from: b, to: slow}, {from: slow, to: two}]
`, engine.Config{Tools: p, Agents: &agents{answer: echo, pace: func(agent string) time.Duration {
			if agent == "support" {
				return 20 * time.Second
			}
			return time.Millisecond
		}}, Records: func(context.Context, *engine.Run) (engine.Records, error) { return kept, nil }})}
		lines, err := a.run(&chat.Request{Input: "hi"})
		if err != nil || len(p.paid) != 1 || a.paused == nil || len(a.paused.Questions) != 2 {
			t.Errorf("paid %d times, %q, asks %+v, %v", len(p.paid), lines, a.paused, err)
		}
	})
}

// Where the policy says "tell" nobody is asked, and another process knows as well that the call
// is unknown.
func TestUnknownIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, kept := newPaying(), new(engine.Kept)
		cfg := engine.Config{Tools: p, Agents: &agents{answer: func(string, *chat.Request) string { panic(errors.New("gone")) }}, ReportLost: func(string) bool { return true },
			Records: func(context.Context, *engine.Run) (engine.Records, error) { return frozen{kept}, nil }}
		const content = `
  w:
    nodes:
      one: {type: tool, tool: s/echo, timeout: 10s, arguments: {x: "1"}}
      think: {type: agent, agent: writer, input: "{{result.unknown}}"}
      two: {type: tool, tool: s/echo, arguments: {x: "1"}}
    edges: [{from: one, to: think, condition: "result.unknown"}, {from: think, to: two}]
`
		if _, err := turn(t.Context(), runOf(t, content, cfg), &chat.Request{Input: "hi"}); err != nil {
			t.Fatal(err)
		}
		a := &agents{answer: echo}
		cfg.Agents = a
		r := runOf(t, content, cfg)
		run, err := kept.Run(r.Workflow())
		if err != nil {
			t.Fatal(err)
		}
		l := new(log)
		_, err = r.Continue(t.Context(), new(chat.Request), run, l)
		if f := fault.From(err); f == nil || f.Type != fault.WorkflowNodeFailed || f.Recoverable() || len(p.paid) != 1 || a.asked[0].Input != "true" {
			t.Errorf("paid %d times, %q, %v", len(p.paid), l.lines(), err)
		}
	})
}

// An agent whose call was cut asks as well, and its model is given what the person says.
func TestUnknownCallOfAnAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, kept := newPaying(), new(engine.Kept)
		own := &agents{answer: echo, calls: tool.Call{Name: "echo", Arguments: jsontext.Value(`{}`)}, tools: p}
		a := &asking{t: t, runner: runOf(t, "  w: {nodes: {x: {type: agent, agent: writer, timeout: 10s}}}\n", engine.Config{Agents: own, Tools: p,
			Records: func(context.Context, *engine.Run) (engine.Records, error) { return kept, nil }})}
		lines, err := a.run(&chat.Request{Input: "hi"})
		if err != nil || len(p.paid) != 1 || a.makeQuestion().Calls[0].AgentID != "writer" {
			t.Fatalf("paid %d times, %q, %v", len(p.paid), lines, err)
		}
		lines, err = a.answer(chat.Decision{Action: chat.Modify, Result: "receipt 7"})
		if err != nil || len(p.paid) != 1 || !slices.Contains(lines, "x got receipt 7") || !slices.Contains(lines, "x completed") {
			t.Errorf("paid %d times, %q, %v", len(p.paid), lines, err)
		}
	})
}

// failing is an agent whose model is unavailable.
func failing(string, *chat.Request) string { return "fail: unavailable" }

// A node that repeats itself is run again after an error, where that does no harm: an agent
// that has done nothing, and a tool that may be called again. The last round's error is the
// node's.
func TestRepeatAfterAnError(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		node  string
		fails int // how often, at first
		calls int
		want  string
	}{
		"a tool that may be called again": {`{type: tool, tool: s/look, repeat: {until: "!result.is_error", max: 3}}`, 2, 3, "x completed after 3"},
		"at most max times":               {`{type: tool, tool: s/look, repeat: {until: "!result.is_error", max: 3}}`, 9, 3, "x failed after 3 tool_execution_failed"},
		"a tool that must not be":         {`{type: tool, tool: s/echo, repeat: {until: "!result.is_error", max: 3}}`, 9, 1, "x failed after 1 tool_execution_failed"},
		"an agent":                        {`{type: agent, agent: writer, repeat: {until: "!result.is_error", max: 3}}`, 2, 3, "x completed after 3"},
		"an agent to the end":             {`{type: agent, agent: writer, repeat: {until: "!result.is_error", max: 3}}`, 9, 3, "x failed after 3 model_unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			fails := func() bool { calls++; return calls <= tt.fails }
			ts := echoTools()
			ts.answer = func(tool.Call) (tool.Result, error) { return tool.Result{Text: "said", IsError: fails()}, nil }
			a := &agents{answer: func(_ string, req *chat.Request) string {
				if req.Input == "after" {
					return "after"
				}
				if fails() {
					return "fail: unavailable"
				}
				return "said"
			}}
			r := runOf(t, "  w: {nodes: {x: "+tt.node+", y: {type: agent, agent: writer, input: after}}, edges: [{from: x, to: y, condition: \"result.is_error || true\"}]}\n", engine.Config{Agents: a, Tools: ts})
			l, err := turn(t.Context(), r, &chat.Request{Input: "hi"})
			if err != nil || calls != tt.calls || !slices.Contains(l.lines(), tt.want) {
				t.Errorf("%d calls, %q, %v", calls, l.lines(), err)
			}
		})
	}
}
