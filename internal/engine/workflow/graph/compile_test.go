package graph_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
)

// Each fault of a definition has its place, and all are found at once.
func TestProblems(t *testing.T) {
	t.Parallel()
	with := func(change func(n *graph.Node)) graph.Node {
		n := agent("a")
		change(&n)
		return n
	}
	to := func(names string) graph.Edge { return graph.Edge{From: names[:1], To: names[1:]} }
	output := func(fields ...string) graph.Node {
		return with(func(n *graph.Node) {
			for _, f := range fields {
				n.Output = append(n.Output, graph.Assignment{Field: f, Expression: "1"})
			}
		})
	}
	two := []graph.Node{agent("a"), agent("b")}
	condition := []graph.Node{{ID: "a", Type: engine.ConditionNode}, agent("b"), agent("c")}
	chosen := []graph.Node{{ID: "a", Type: engine.ConditionNode, Expression: "input"}, agent("b"), agent("c")}
	tests := map[string]struct {
		def  graph.Definition
		want []string
	}{
		"nothing is wrong":          {graph.Definition{Nodes: two, Edges: []graph.Edge{to("ab")}}, nil},
		"no entry of that name":     {graph.Definition{Entry: "x", Nodes: two}, []string{"/entry_point: there is no such node"}},
		"two could be the entry":    {graph.Definition{Nodes: two}, []string{"/entry_point: is required where several nodes have no incoming edge: a, b"}},
		"none can be":               {graph.Definition{Nodes: two, Edges: []graph.Edge{to("ab"), to("ba")}}, []string{"/edges/1/to: closes a cycle: a → b → a", "/entry_point: is required where each node has an incoming edge"}},
		"a node that leads to it":   {graph.Definition{Entry: "a", Nodes: two, Edges: []graph.Edge{to("ab"), to("bb")}}, []string{"/edges/1/to: closes a cycle: b → b"}},
		"out of reach":              {graph.Definition{Entry: "a", Nodes: two}, []string{"/nodes/b: is out of reach: no way leads here from a"}},
		"edges of nobody":           {graph.Definition{Nodes: two[:1], Edges: []graph.Edge{to("ax"), to("ya")}, Entry: "a"}, []string{"/edges/0/to: there is no such node", "/edges/1/from: there is no such node"}},
		"a field of nobody":         {graph.Definition{Nodes: []graph.Node{output("text")}}, []string{"/nodes/a/output/text: must be routing_key, next_action, metadata or metadata.KEY"}},
		"a key without a name":      {graph.Definition{Nodes: []graph.Node{output("metadata.")}}, []string{"/nodes/a/output/metadata.: must be routing_key, next_action, metadata or metadata.KEY"}},
		"a key of 129 bytes":        {graph.Definition{Nodes: []graph.Node{output("metadata." + strings.Repeat("k", 129))}}, []string{"/nodes/a/output/metadata." + strings.Repeat("k", 129) + ": must be routing_key, next_action, metadata or metadata.KEY"}},
		"a key of 128 bytes":        {graph.Definition{Nodes: []graph.Node{output("metadata."+strings.Repeat("k", 128), "routing_key", "next_action")}}, nil},
		"a field and a part of it":  {graph.Definition{Nodes: []graph.Node{output("metadata.x", "metadata")}}, []string{"/nodes/a/output/metadata: the node puts a value into this field already"}},
		"two keys of one object":    {graph.Definition{Nodes: []graph.Node{output("metadata.x", "metadata.y")}}, nil},
		"no round":                  {graph.Definition{Nodes: []graph.Node{with(func(n *graph.Node) { n.Repeat = &graph.Repeat{Until: "true"} })}}, []string{"/nodes/a/repeat/max: must be from 1 to 20"}},
		"21 rounds":                 {graph.Definition{Nodes: []graph.Node{with(func(n *graph.Node) { n.Repeat = &graph.Repeat{Until: "true", Max: 21} })}}, []string{"/nodes/a/repeat/max: must be from 1 to 20"}},
		"20 rounds":                 {graph.Definition{Nodes: []graph.Node{with(func(n *graph.Node) { n.Repeat = &graph.Repeat{Until: "true", Max: 20} })}}, nil},
		"a checkpoint at nobody":    {graph.Definition{Nodes: two[:1], Checkpoints: []string{"a", "x"}}, []string{"/checkpoints/1: there is no such node"}},
		"a checkpoint at a person":  {graph.Definition{Nodes: []graph.Node{{ID: "a", Type: "human", Prompt: "q"}}, Checkpoints: []string{"a"}}, []string{"/checkpoints/0: asks a person itself"}},
		"an answer of nobody":       {graph.Definition{Nodes: two[:1], Answer: "x"}, []string{"/answer: there is no such node"}},
		"a condition without edges": {graph.Definition{Nodes: condition[:1]}, []string{"/nodes/a: a condition needs an edge that leads on"}},
		"two defaults":              {graph.Definition{Nodes: condition, Edges: []graph.Edge{to("ab"), to("ac")}}, []string{"/edges/1/to: is never taken: another edge of this condition is taken where nothing else fits"}},
		"a value that leads twice":  {graph.Definition{Nodes: chosen, Edges: mapped(t, "b", "x", "c", "x")}, []string{"/edges/1: this value leads elsewhere already"}},
		"a map without a value":     {graph.Definition{Nodes: condition, Edges: mapped(t, "b", "x", "c", "default")}, []string{"/nodes/a/expression: is required, as the to of an edge is an object"}},
		"a value without a map":     {graph.Definition{Nodes: chosen, Edges: []graph.Edge{to("ab"), {From: "a", To: "c", Condition: "true"}}}, []string{"/nodes/a/expression: is never used: no to of its edges is an object"}},
		"a map of an agent":         {graph.Definition{Nodes: two, Edges: mapped(t, "b", "x")}, []string{"/edges/0/to: may be an object at a condition only"}},
		"too long": {graph.Definition{Nodes: []graph.Node{with(func(n *graph.Node) { n.Input = strings.Repeat("x", 256<<10) })}},
			[]string{": must not be longer than 256 KiB"}},
		"agents do not count": {graph.Definition{Nodes: two[:1], Agents: []byte(`"` + strings.Repeat("x", 256<<10) + `"`)}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, problems := graph.Compile(tt.def, engine.Kinds())
			var got []string
			for _, p := range problems {
				got = append(got, p.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (w == nil) != (len(tt.want) > 0) {
				t.Errorf("got a workflow: %v", w != nil)
			}
		})
	}
}

// What the keys of a workflow name is noted on the nodes.
func TestNodesThatAreNamed(t *testing.T) {
	t.Parallel()
	loud := agent("b")
	loud.Speak = true
	nodes := []graph.Node{agent("a"), loud, agent("c"), agent("d")}
	edges := []graph.Edge{{From: "a", To: "b", Condition: "!result.is_error"}, {From: "b", To: "c"}, {From: "b", To: "d", Condition: "result.unknown"}, {From: "a", To: "d", Condition: "true"}}
	for answer, want := range map[string]string{"": "bcd", "a": "ab", "c": "bc"} {
		w, problems := graph.Compile(graph.Definition{Name: "w", Nodes: nodes, Edges: edges, Answer: answer, Checkpoints: []string{"c"}}, engine.Kinds())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		speaks, forgiving, checkpoints := "", "", ""
		for _, n := range w.Nodes() {
			if n.Speaks {
				speaks += n.ID
			}
			if n.Forgiving {
				forgiving += n.ID
			}
			if n.Checkpoint {
				checkpoints += n.ID
			}
		}
		if speaks != want || forgiving != "ab" || checkpoints != "c" || !w.NeedsStore() {
			t.Errorf("answer %q: %s speak, %s forgive, %s are checkpoints", answer, speaks, forgiving, checkpoints)
		}
	}
}

// The stored form of a definition is what runs are pinned to: its bytes and their sum stay.
func TestStoredForm(t *testing.T) {
	t.Parallel()
	d := graph.Definition{Name: "w", Entry: "a", MaxIterations: 5, Timeout: time.Minute, Nodes: []graph.Node{
		{ID: "a", Type: engine.ConditionNode, Expression: "input"}, agent("b"), agent("c"), agent("d"),
	}, Edges: append(mapped(t, "b", "", "c", "default"), graph.Edge{From: "b", To: "d", Condition: "true"})}
	w, problems := graph.Compile(d, engine.Kinds())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	const want = `{"name":"w","entry_point":"a","max_iterations":5,"timeout":60000000000,"nodes":[{"id":"a","type":"condition","expression":"input"},` +
		`{"id":"b","type":"agent","agent":"writer"},{"id":"c","type":"agent","agent":"writer"},{"id":"d","type":"agent","agent":"writer"}],` +
		`"edges":[{"from":"a","to":"b","match":""},{"from":"a","to":"c","default":true},{"from":"b","to":"d","condition":"true"}]}`
	text, sum := w.Stored()
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if sum != w.Sum() || len(sum) != 64 {
		t.Errorf("the sum is %q, and %q", sum, w.Sum())
	}
	for i, want := range []string{`""`, "null", "null"} {
		if got, _ := json.Marshal(w.Definition().Edges[i].Mapped()); string(got) != want {
			t.Errorf("edge %d is mapped for %s, want %s", i, got, want)
		}
	}
	again, err := graph.Read(text, engine.Kinds())
	if err != nil || again.Sum() != sum {
		t.Errorf("read again: %v", err)
	}
	for _, broken := range []string{`{`, `{"edges":[1]}`, `{"name":"w","nodes":[{"id":"a","type":"nothing"}]}`} {
		if _, err := graph.Read([]byte(broken), engine.Kinds()); err == nil {
			t.Errorf("%s is read", broken)
		}
	}
}

// A workflow that is pinned to agents is another definition, and the first stays as it is.
func TestPinnedToAgents(t *testing.T) {
	t.Parallel()
	w := compiled(t, []graph.Node{agent("a")})
	before, sum := w.Stored()
	pinned, err := w.Pinned([]byte(`{"writer":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	text, other := pinned.Stored()
	if other == sum || !strings.HasSuffix(string(text), `,"agents":{"writer":{}}}`) || pinned.Node("a") != w.Node("a") {
		t.Errorf("pinned: %s", text)
	}
	if now, same := w.Stored(); string(now) != string(before) || same != sum {
		t.Errorf("the first is now %s", now)
	}
	if _, err := w.Pinned([]byte(`{`)); err == nil {
		t.Error("agents that are no JSON are accepted")
	}
}

// A drawing has each node in the shape of its kind, each edge with what it is taken for, and no
// text of the author as part of its own language.
func TestMermaid(t *testing.T) {
	t.Parallel()
	critic := agent("b")
	critic.Repeat = &graph.Repeat{Critic: "judge", Until: "true", Max: 2}
	edges := append(mapped(t, "b", "a \"b\"\n<c>", "end", "default"), graph.Edge{From: "b", To: "h", Condition: `input == "#"`}, graph.Edge{From: "h", To: "d"})
	w := compiled(t, []graph.Node{
		{ID: "a", Type: engine.ConditionNode, Expression: "input"}, critic, agent("end"),
		{ID: "h", Type: "human", Prompt: "q"}, {ID: "d", Type: engine.ToolNode, Tool: `s/<"t">`},
	}, edges...)
	const want = `flowchart TD
  n_a{"a"}
  n_b["b<br/>agent writer, critic judge"]
  n_end["end<br/>agent writer"]
  n_h[/"h<br/>a person"/]
  n_d[["d<br/>s/#lt;#quot;t#quot;#gt;"]]
  n_a -->|"a #quot;b#quot; #lt;c#gt;"| n_b
  n_a -->|"default"| n_end
  n_b -->|"input == #quot;#35;#quot;"| n_h
  n_h --> n_d
`
	if diff := cmp.Diff(want, w.Mermaid()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// nap is a kind that no other package knows.
type nap struct{ graph.Plain }

func (nap) Name() graph.NodeType     { return "nap" }
func (nap) Keys() []string           { return []string{"timeout", "prompt"} }
func (nap) Bounds() (string, string) { return "2s", "1h" }
func (nap) Default(n *graph.Node)    { n.Timeout = time.Minute }
func (nap) Asks() bool               { return true }
func (nap) Check(n *graph.Vertex) []graph.Problem {
	return graph.Require(n, "prompt", n.Prompt)
}
func (nap) Draw(*graph.Node) (left, label, right string) { return "(", "zzz", ")" }

// The reader, the compiler and the drawing know no kind by its name: one that is added to the
// list can be used.
func TestKindOfOnesOwn(t *testing.T) {
	t.Parallel()
	kinds := append(engine.Kinds(), nap{})
	w, problems := graph.Compile(graph.Definition{Name: "w", Nodes: []graph.Node{{ID: "a", Type: "nap", Prompt: "{{input}}"}}}, kinds)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if !strings.Contains(w.Mermaid(), `n_a("a<br/>zzz")`) || !w.NeedsStore() {
		t.Errorf("drawn as %s", w.Mermaid())
	}
	if got, err := w.Node("a").FillPrompt(t.Context(), seen{"input": "hi"}); got != "hi" || err != nil {
		t.Errorf("its prompt: %q, %v", got, err)
	}
	_, problems = graph.Compile(graph.Definition{Name: "w", Nodes: []graph.Node{{ID: "a", Type: "nap"}}}, kinds)
	if len(problems) != 1 || problems[0].Error() != "/nodes/a/prompt: is required of a node of type nap" {
		t.Errorf("got %v", problems)
	}
	if text, _ := w.Stored(); len(text) > 0 {
		if _, err := graph.Read(text, engine.Kinds()); err == nil {
			t.Error("a gateway without the kind reads it")
		}
	}
}
