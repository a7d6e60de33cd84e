package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// echo answers with its name and what it is asked.
func echo(agent string, req *chat.Request) string { return agent + ":" + req.Input }

func runOf(t *testing.T, content string, cfg engine.Config) *engine.Runner {
	t.Helper()
	cfg.Workflow = mustRead(t, content)
	return engine.New(cfg)
}

func wantLines(t *testing.T, l *log, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, l.lines()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestChain(t *testing.T) {
	t.Parallel()
	a := &agents{answer: echo}
	r := runOf(t, `
  w:
    nodes:
      a: {type: agent, agent: support, output: {metadata.said: result.text, routing_key: "'left'"}}
      b: {type: condition, expression: routing_key}
      c: {type: agent, agent: writer, input: "say {{metadata.said}} {{1 + 1}} {{[1, 'x']}}"}
      d: {type: agent, agent: writer}
    edges: [{from: a, to: b}, {from: b, to: {left: c, right: d}}]
`, engine.Config{Agents: a})
	l, err := turn(t.Context(), r, &chat.Request{Input: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, l,
		"a started", `a inner "support:hi"`, "a completed",
		"b started", "b completed", "d skipped",
		"c started", `c says "writer:say "`, `c says "support:hi "`, `c says "2 "`, `c says "[1,\"x\"]"`, "c completed",
		"done stop")
	got := a.asked[1]
	want := []chat.Quote{{About: "The request of the user", Text: "hi", Limit: 64 << 10}, {About: "Answer of step a", Text: "support:hi"}}
	if diff := cmp.Diff(want, got.Data); diff != "" || got.Input != `say support:hi 2 [1,"x"]` || len(got.History) > 0 {
		t.Errorf("the second agent is asked %q after %v, and shown (-want +got):\n%s", got.Input, got.History, diff)
	}
}

// Two branches run at the same time; their texts are reported one after the other, and neither
// agent sees the other's.
func TestBranches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &agents{answer: echo, pace: func(agent string) time.Duration {
			if agent == "support" {
				return 10 * time.Second
			}
			return time.Second
		}}
		r := runOf(t, `
  w:
    nodes:
      a: {type: condition, expression: "1"}
      s: {type: tool, tool: s/echo, arguments: {x: input}}
      b: {type: agent, agent: support, input: one two}
      c: {type: agent, agent: writer, input: three four}
    edges: [{from: a, to: {default: s}}, {from: s, to: b}, {from: s, to: c}]
`, engine.Config{Agents: a, Tools: echoTools()})
		began := time.Now()
		l, err := turn(t.Context(), r, &chat.Request{Input: "hi"})
		if err != nil || time.Since(began) != 20*time.Second {
			t.Errorf("%v after %s, want 20s", err, time.Since(began))
		}
		wantLines(t, l, "a started", "a completed", "s started", `s calls echo{"x":"hi"}`, `s got {"x":"hi"}`, `s inner "{\"x\":\"hi\"}"`, "s completed",
			"b started", "c started", "c completed", `b says "support:one "`, `b says "two"`, "b completed",
			` says ". "`, `c says "writer:three "`, `c says "four"`, "done stop")
		for _, req := range a.asked {
			if len(req.History) > 0 || len(req.Data) != 2 || req.Data[1].About != "Result of the tool echo in step s" {
				t.Errorf("an agent sees %v and %v", req.History, req.Data)
			}
		}
	})
}

func echoTools() *tools {
	return &tools{
		set: &tool.Set{Specs: []tool.Spec{
			{Name: "echo", Server: "s", Fallback: "other"}, {Name: "other", Server: "s"},
			{Name: "look", Server: "s", Annotations: tool.Annotations{ReadOnly: true}},
		}},
		answer: func(c tool.Call) (tool.Result, error) { return tool.Result{Text: string(c.Arguments)}, nil },
	}
}

func TestReflection(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		scores []float64
		want   []string
	}{
		"passes": {[]float64{3, 9}, []string{
			`x inner "draft 0"`, `x inner "draft 1"`, `x says "draft 1"`, "x completed after 2"}},
		"never": {[]float64{3, 4, 5}, []string{
			`x inner "draft 0"`, `x inner "draft 1"`, `x says "draft 2"`, "x completed after 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			c := &critic{scores: tt.scores}
			a := &agents{answer: func(_ string, req *chat.Request) string {
				if n > 0 && (len(req.Data) != 1 || req.Data[0].Text != "more" || req.History[len(req.History)-1].Role != chat.RoleModel) {
					t.Errorf("draft %d is asked for by %q after %v, with %v", n, req.Input, req.History, req.Data)
				}
				n++
				return "draft\u00a0" + itoa(n-1)
			}}
			r := runOf(t, "  w: {nodes: {x: {type: agent, agent: writer, pattern: reflection, repeat: {critic: reviewer, until: 'critic.json.score >= 8'}}}}\n",
				engine.Config{Agents: a, Asker: c})
			l, err := turn(t.Context(), r, &chat.Request{Input: "hi"})
			if err != nil {
				t.Fatal(err)
			}
			want := append(append([]string{"x started"}, tt.want...), "done stop")
			got := l.lines()
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], "\\u00a0", " ")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(c.texts[0], "reviewer: ") || !strings.Contains(c.texts[0], "hi") || !strings.Contains(c.texts[0], "draft\u00a00") {
				t.Errorf("the critic is asked %q", c.texts[0])
			}
		})
	}
}

func TestToolFails(t *testing.T) {
	t.Parallel()
	const content = `
  w:
    nodes:
      a: {type: tool, tool: s/echo, arguments: {x: "1"}}
      b: {type: agent, agent: writer, input: "it was {{result.is_error}}: {{result.text}}"}
    edges: [%s]
`
	for name, tt := range map[string]struct {
		edge string
		err  error
		res  tool.Result
		want []string
	}{
		"an edge goes on": {`{from: a, to: b, condition: "result.is_error"}`, nil, tool.Result{Text: "no", IsError: true}, []string{
			"a started", `a calls echo{"x":1}`, "a failed call The tool echo answered with an error",
			"a error workflow_node_failed fatal=false recoverable=true", "a failed tool_execution_failed",
			"b started", `b says "writer:it "`, `b says "was "`, `b says "true: "`, `b says "no"`, "b completed", "done stop"}},
		"none does": {`{from: a, to: b}`, nil, tool.Result{Text: "no", IsError: true}, []string{
			"a started", `a calls echo{"x":1}`, "a failed call The tool echo answered with an error", "a failed workflow_node_failed",
			" error workflow_node_failed fatal=true recoverable=true", "done error"}},
		"fallback": {`{from: a, to: b, condition: "false"}`, &fault.Error{Type: fault.MCPUnavailable, Message: "gone", NoEffect: true}, tool.Result{Text: "instead"}, []string{
			"a started", `a calls echo{"x":1}`, "a failed call gone", `a calls other{"x":1}`, "a got instead", `a inner "instead"`, "a completed", "b skipped", "done stop"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ts := echoTools()
			ts.answer = func(c tool.Call) (tool.Result, error) {
				if c.Name == "echo" && tt.err != nil {
					return tool.Result{}, tt.err
				}
				return tt.res, nil
			}
			r := runOf(t, strings.Replace(content, "%s", tt.edge, 1), engine.Config{Agents: &agents{answer: echo}, Tools: ts})
			l, err := turn(t.Context(), r, &chat.Request{Input: "hi"})
			if err != nil {
				t.Fatal(err)
			}
			wantLines(t, l, tt.want...)
		})
	}
}

func TestRunsThatFail(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		nodes string
		want  fault.Type
	}{
		"missing key":    {`{a: {type: condition, expression: metadata.x}, b: {type: agent, agent: writer}}, edges: [{from: a, to: {default: b}}]`, fault.WorkflowExpression},
		"no branch":      {`{a: {type: condition, expression: input}, b: {type: agent, agent: writer}}, edges: [{from: a, to: {x: b}}]`, fault.WorkflowNoBranch},
		"agent":          {`{a: {type: agent, agent: writer, input: "fail: x"}}`, fault.WorkflowNodeFailed},
		"rounds":         {`{a: {type: agent, agent: writer, repeat: {until: "false", max: 20}}}, max_iterations: 5`, fault.WorkflowLimit},
		"dear":           {`{a: {type: condition, expression: "[1,2,3,4,5,6,7,8,9,10].map(a, [1,2,3,4,5,6,7,8,9,10].map(b, [1,2,3,4,5,6,7,8,9,10].map(c, [1,2,3,4,5,6,7,8,9,10].map(d, [1,2,3,4,5,6,7,8,9,10].map(e, a*b*c*d*e))))).size()"}, b: {type: agent, agent: writer}}, edges: [{from: a, to: {default: b}}]`, fault.WorkflowExpression},
		"no text":        {`{a: {type: agent, agent: writer, output: {routing_key: "[1]"}}}`, fault.WorkflowExpression},
		"no such server": {`{a: {type: tool, tool: elsewhere/pay}, b: {type: agent, agent: writer}}, edges: [{from: a, to: b, condition: "result.is_error"}]`, fault.WorkflowRecovery},
		"nobody to ask":  {`{a: {type: human, prompt: x}, b: {type: agent, agent: writer}}, edges: [{from: a, to: b}]`, fault.ApprovalRejected},
		"takes too long": {`{a: {type: agent, agent: support, timeout: 1s}}`, fault.WorkflowNodeFailed},
		"run too long":   {`{a: {type: agent, agent: support}}, timeout: 1s`, fault.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := &agents{answer: func(_ string, req *chat.Request) string { return req.Input }, pace: func(agent string) time.Duration {
					if agent == "support" {
						return time.Minute
					}
					return time.Millisecond
				}}
				l, err := turn(t.Context(), runOf(t, "  w: {nodes: "+tt.nodes+"}\n", engine.Config{Agents: a, Tools: echoTools()}), &chat.Request{Input: "hi"})
				if err != nil {
					t.Fatal(err)
				}
				n := len(l.events)
				e, ok := l.events[n-2].(*stream.Error)
				if !ok || e.Type != tt.want || !e.Fatal {
					t.Errorf("got %v, want %s", l.lines(), tt.want)
				}
			})
		})
	}
}

// Integers and doubles compute and compare together, whether their types are known when the
// file is read or not; what a person has not filled in is an empty object.
func TestExpressionsOfJSON(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"metadata.a * 2": "14", "2 * metadata.a": "14", "metadata.a + 1": "8", "metadata.a - 1": "6", "metadata.a / 2": "3.5", "metadata.a % 2": "1",
		"iteration * 1.5": "1.5", "1.5 + iteration": "2.5", "metadata.a > 6": "true", "metadata.b + 'x'": "bx", "metadata.a / 0": "",
		"metadata.b * 2": "", "metadata.l + [3]": "[1,2,3]",
	} {
		t.Run(expression, func(t *testing.T) {
			t.Parallel()
			a := &agents{answer: func(_ string, req *chat.Request) string { return req.Input }}
			l, err := turn(t.Context(), runOf(t, `
  w:
    nodes:
      a: {type: agent, agent: writer, output: {metadata: result.json}}
      b: {type: agent, agent: writer, input: "{{`+expression+`}}"}
    edges: [{from: a, to: b}]
`, engine.Config{Agents: a}), &chat.Request{Input: `{"a":7,"b":"b","l":[1,2]}`})
			if err != nil || l.text() != want {
				t.Errorf("%q, %v, want %q: %q", l.text(), err, want, l.lines())
			}
		})
	}
}

// A run that waits is a value: stored, read back and continued, it does what it would
// have done.
func TestPersonDecides(t *testing.T) {
	t.Parallel()
	const content = `
  w:
    checkpoints: [c]
    nodes:
      a: {type: agent, agent: support}
      h: {type: human, prompt: "{{input}}?"}
      b: {type: agent, agent: writer, input: "{{decision.action}} {{decision.message}} {{decision.input.n}}"}
      c: {type: agent, agent: writer, input: checked}
    edges: [{from: a, to: h}, {from: h, to: b, condition: "decision.action != 'reject'"}, {from: h, to: c, condition: "decision.action == 'reject'"}, {from: b, to: c}]
`
	r := runOf(t, content, engine.Config{Agents: &agents{answer: echo}})
	var paused *chat.Paused
	run := func(req *chat.Request) []string {
		l := new(log)
		req.Facts.Ask = func(p *chat.Paused) string { paused = p; return "" }
		if _, err := r.Run(t.Context(), req, l); err != nil {
			t.Fatal(err)
		}
		return l.lines()
	}
	goOn := func(d chat.Decision) []string {
		return run(&chat.Request{Resumed: &chat.Resumed{By: chat.PausedWorkflow, State: paused.State, Decisions: []chat.Decision{d}}})
	}
	lines := run(&chat.Request{Input: "hi"})
	want := []string{"a started", `a inner "support:hi"`, "a completed", "h started", "h waiting"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	if q := paused.Questions; len(q) != 1 || q[0].Kind != chat.AskHuman || q[0].Prompt != "hi?" || q[0].Node != "h" {
		t.Errorf("asked %+v", q)
	}
	before := paused.State
	lines = goOn(chat.Decision{CallID: "h", Action: chat.Modify, Message: "ok", Input: jsontext.Value(`{"n":7}`)})
	want = []string{"h started", "h completed", "b started", `b inner "writer:modify "`, `b inner "ok "`, `b inner "7"`, "b completed", "c started", "c waiting"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	lines = goOn(chat.Decision{CallID: "c", Action: chat.Approve})
	if diff := cmp.Diff([]string{"c started", `c says "writer:checked"`, "c completed"}, lines); diff != "" {
		t.Error(diff)
	}
	paused.State = before
	lines = goOn(chat.Decision{CallID: "h", Action: chat.Reject})
	if diff := cmp.Diff([]string{"h started", "h completed", "b skipped", "c started", "c waiting"}, lines); diff != "" {
		t.Error(diff)
	}
	_, err := r.Run(t.Context(), &chat.Request{Resumed: &chat.Resumed{State: paused.State, Decisions: []chat.Decision{{CallID: "c", Action: chat.Reject}}}}, new(log))
	if f := fault.From(err); f == nil || f.Type != fault.ApprovalRejected {
		t.Errorf("a rejection that no edge takes: %v", err)
	}
	if _, err := r.Run(t.Context(), &chat.Request{Resumed: &chat.Resumed{State: before, Decisions: []chat.Decision{{CallID: "a", Action: chat.Reject}}}}, new(log)); err == nil {
		t.Error("a decision is taken for what does not wait")
	}
}

// A process that is gone in the middle of a node: another continues with the session, and the
// tool is not called again.
func TestAnotherProcessGoesOn(t *testing.T) {
	t.Parallel()
	kept, ts := new(engine.Kept), echoTools()
	crash := errors.New("gone")
	a := &agents{answer: echo, calls: tool.Call{Name: "echo", Arguments: jsontext.Value(`{}`)}, tools: ts}
	dies := &agents{answer: func(string, *chat.Request) string { panic(crash) }, calls: a.calls, tools: ts}
	content := "  w: {nodes: {x: {type: agent, agent: writer}, y: {type: tool, tool: s/echo, arguments: {a: '1'}}}, edges: [{from: y, to: x}]}\n"
	cfg := engine.Config{Agents: dies, Tools: ts, Records: func(context.Context, *engine.Run) (engine.Records, error) {
		return frozen{kept}, nil
	}}
	if _, err := turn(t.Context(), runOf(t, content, cfg), &chat.Request{Input: "hi"}); err != nil {
		t.Fatal(err)
	}
	made := len(ts.made)
	cfg.Agents = a
	r := runOf(t, content, cfg)
	run, err := kept.Run(r.Workflow())
	if err != nil {
		t.Fatal(err)
	}
	l := new(log)
	if _, err := r.Continue(t.Context(), new(chat.Request), run, l); err != nil {
		t.Fatal(err)
	}
	wantLines(t, l, "x started attempt 2", `x says "writer:"`, "x completed attempt 2")
	if len(ts.made) != made || made != 2 {
		t.Errorf("%d calls, then %d", made, len(ts.made))
	}
	for i, c := range kept.Checkpoints() {
		if c.Sequence != i {
			t.Errorf("checkpoint %d has the number %d", i, c.Sequence)
		}
	}
}

// frozen keeps no failure, as a process that is killed keeps none.
type frozen struct{ *engine.Kept }

func (f frozen) Save(ctx context.Context, c *engine.Checkpoint) error {
	if c.Progress.Status == engine.StatusFailed {
		return nil
	}
	return f.Kept.Save(ctx, c)
}

// Braces in what is filled into a text are a part of it: they are read once, in the file.
func TestBracesInTexts(t *testing.T) {
	t.Parallel()
	const content = `
  w:
    nodes:
      a: {type: agent, agent: support, input: "{{input}} {{ '{{' }} }} { }"}
      b: {type: agent, agent: writer, input: "{{result.text}}"}
    edges: [{from: a, to: b}]
`
	const odd = "{{metadata.secret}} {{ 1 + 1 }} }} {{"
	a := &agents{answer: func(_ string, req *chat.Request) string { return req.Input }}
	l, err := turn(t.Context(), runOf(t, content, engine.Config{Agents: a}), &chat.Request{Input: odd})
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, ev := range l.events {
		if d, ok := ev.(*stream.Delta); ok {
			said += d.Text
		}
	}
	if want := odd + " {{ }} { }"; said != want {
		t.Errorf("said %q, want %q", said, want)
	}
}
