package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// randomWorkflow returns a definition of random nodes, edges and conditions, all of it in
// reach.
func randomWorkflow(r *rand.Rand) graph.Definition {
	n := 1 + r.IntN(14)
	d := graph.Definition{Name: "w", Entry: name(0), MaxIterations: 200, Timeout: time.Hour}
	conditions := []string{"", "", "true", "false", "metadata.size() > 1", "input.size() % 2 == 0", "messages.size() > 3", "result.is_error"}
	for i := range n {
		node := graph.Node{ID: name(i), Type: graph.AgentNode, Agent: "a" + itoa(r.IntN(4))}
		if r.IntN(4) == 0 {
			node.Type, node.Agent, node.Tool = engine.ToolNode, "", "s/echo"
			node.Arguments = []graph.Argument{{Name: "x", Expression: "input + routing_key"}}
		}
		switch r.IntN(4) {
		case 0:
			node.Output = []graph.Assignment{{Field: "metadata.k" + itoa(i), Expression: "messages.size()"}}
		case 1:
			node.Repeat = &graph.Repeat{Until: "iteration >= " + itoa(1+r.IntN(4)), Max: 3}
		case 2:
			node.Speak = true
		}
		d.Nodes = append(d.Nodes, node)
	}
	for i := 1; i < n; i++ {
		for _, from := range r.Perm(i)[:1+r.IntN(min(3, i))] {
			d.Edges = append(d.Edges, graph.Edge{From: name(from), To: name(i), Condition: conditions[r.IntN(len(conditions))]})
		}
	}
	for i := range d.Nodes {
		var out []int
		for e := range d.Edges {
			if d.Edges[e].From == d.Nodes[i].ID {
				out = append(out, e)
			}
		}
		if len(out) > 0 && r.IntN(3) == 0 {
			for _, e := range out[:len(out)-1] {
				if d.Edges[e].Condition == "" {
					d.Edges[e].Condition = "false"
				}
			}
			d.Edges[out[len(out)-1]].Condition = ""
			d.Nodes[i] = graph.Node{ID: d.Nodes[i].ID, Type: engine.ConditionNode}
		}
	}
	return d
}

// outcome is what must not depend on the order in which parallel nodes end.
type outcome struct {
	State  string
	Text   string
	Ended  []string
	Reason stream.FinishReason
}

// play runs a workflow once; seed decides how long its nodes take.
func play(t *testing.T, w *graph.Workflow, seed uint64) (outcome, *engine.Kept, *log) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	paces := map[string]time.Duration{}
	for i := range 4 {
		paces["a"+itoa(i)] = time.Duration(r.IntN(5000)) * time.Microsecond
	}
	ts := echoTools()
	ts.set = &tool.Set{Specs: []tool.Spec{{Name: "echo", Server: "s", Annotations: tool.Annotations{ReadOnly: true}}}}
	kept := new(engine.Kept)
	var last *engine.Run
	runner := engine.New(engine.Config{
		Workflow: w, Tools: lockedTools{ts},
		Agents: &agents{answer: func(agent string, req *chat.Request) string { return agent + " of " + itoa(len(req.History)) }, pace: func(agent string) time.Duration { return paces[agent] }},
		Records: func(_ context.Context, run *engine.Run) (engine.Records, error) {
			last = run
			return kept, nil
		},
	})
	l, err := turn(t.Context(), runner, &chat.Request{Input: "the input"})
	if err != nil {
		t.Fatal(err)
	}
	o := outcome{Text: l.text()}
	state := last.State()
	for i := range state.Messages {
		state.Messages[i].Timestamp = time.Time{}
		for c := range state.Messages[i].ToolCalls {
			state.Messages[i].ToolCalls[c].ID = "" // it holds the run's id
		}
	}
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	o.State = string(text)
	for _, e := range last.Ended {
		o.Ended = append(o.Ended, e.Node+" "+e.Outcome)
	}
	slices.Sort(o.Ended)
	o.Reason = l.events[len(l.events)-1].(*stream.Done).Reason
	return o, kept, l
}

// lockedTools answers without keeping what was asked.
type lockedTools struct{ *tools }

func (l lockedTools) Call(_ context.Context, c tool.Call) (tool.Result, error) { return l.answer(c) }

// Each run ends; each node is reported once per attempt; checkpoints are numbered without a
// gap, and what was saved makes the run again; the order in which parallel nodes end changes
// nothing.
func TestRandomRuns(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 7))
	reasons := map[stream.FinishReason]int{}
	for i := range 400 {
		d := randomWorkflow(r)
		w, problems := graph.Compile(d, engine.Kinds())
		if len(problems) > 0 {
			t.Fatalf("%v: %s", problems, text(t, d))
		}
		synctest.Test(t, func(t *testing.T) {
			first, kept, l := play(t, w, uint64(2*i))
			reasons[first.Reason]++
			checkRun(t, d, kept, l, first)
			second, _, _ := play(t, w, uint64(2*i+1))
			if first.Reason == stream.Stop {
				if diff := cmp.Diff(first, second); diff != "" {
					t.Fatalf("%s\n(-first +second):\n%s", text(t, d), diff)
				}
			}
		})
	}
	if reasons[stream.Stop] < 200 {
		t.Errorf("too few runs succeed to show anything: %v", reasons)
	}
}

func checkRun(t *testing.T, d graph.Definition, kept *engine.Kept, l *log, o outcome) {
	t.Helper()
	reported := map[string][]string{}
	for _, ev := range l.events {
		if e, ok := ev.(*stream.NodeRun); ok {
			reported[e.NodeID] = append(reported[e.NodeID], string(e.Status))
		}
	}
	for _, n := range d.Nodes {
		switch got := strings.Join(reported[n.ID], " "); got {
		case "started completed", "skipped", "started failed":
		case "":
			if o.Reason == stream.Stop {
				t.Errorf("%s: node %s is not told", text(t, d), n.ID)
			}
		default:
			t.Errorf("%s: node %s is told as %s", text(t, d), n.ID, got)
		}
	}
	ended, messages := 0, 0
	for i, c := range kept.Checkpoints() {
		ended, messages = ended+len(c.Ended), messages+len(c.Messages)
		if c.Sequence != i || c.EndedCount != ended || c.MessageCount != messages {
			t.Errorf("%s: checkpoint %d is number %d with %d and %d, want %d and %d", text(t, d), i, c.Sequence, c.EndedCount, c.MessageCount, ended, messages)
		}
	}
	if o.Reason != stream.Stop {
		return
	}
	w, _ := graph.Compile(d, engine.Kinds())
	again, err := kept.Run(w)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(len(again.Ended)); got != itoa(len(d.Nodes)) {
		t.Errorf("%s nodes have ended of %d", got, len(d.Nodes))
	}
}

// FuzzExpression: no expression, however odd, does more than fail.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{"input", "metadata.x", `metadata[?"x"].orValue(1) > 2`, "messages.filter(m, m.role == 'user').size()", "result.json.a.b", "1/0", "[1].map(x, x)", "{'a': 1}", "input.matches('(a+)+$')", "timestamp('2026-01-01T00:00:00Z')", "b'x'", "type(1)", "critic", "decision.input", "double('NaN')"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := graph.Definition{Name: "w", MaxIterations: 10, Timeout: time.Minute, Nodes: []graph.Node{
			{ID: "a", Type: graph.AgentNode, Agent: "a", Input: "x {{" + text + "}}", Output: []graph.Assignment{{Field: "metadata.x", Expression: text}}},
			{ID: "c", Type: engine.ConditionNode, Expression: text}, {ID: "b", Type: graph.AgentNode, Agent: "b"},
		}, Edges: []graph.Edge{{From: "a", To: "c"}, {From: "c", To: "b"}}}
		w, problems := graph.Compile(d, engine.Kinds())
		if len(problems) > 0 {
			return
		}
		r := engine.New(engine.Config{Workflow: w, Agents: &agents{answer: func(string, *chat.Request) string { return `{"a":{"b":[1]}}` }}})
		if _, err := turn(t.Context(), r, &chat.Request{Input: "the input"}); err != nil {
			t.Fatal(err)
		}
	})
}
