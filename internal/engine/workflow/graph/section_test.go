package graph_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/state/store"
	"sluice/internal/turn/tool"
)

// head is what workflows of tests name things of.
const head = `mcpServers: {payments: {}}
agents: {support: {}, writer: {}, reviewer: {}, far: {card: "https://far.example"}}
workflows:
`

// read reads the workflows of a file whose lines after head are given.
func read(content string, kept store.Kind) (list []*graph.Workflow, faults, warnings []string) {
	return readWith(content, stored(kept))
}

// stored returns settings with a store.
func stored(kept store.Kind) *config.Config {
	cfg := new(config.Config)
	config.Bind[store.Config](cfg).At.Kind = kept
	return cfg
}

func readWith(content string, cfg *config.Config) (list []*graph.Workflow, faults, warnings []string) {
	any := `{"type":"object"}`
	table := file.Table{
		{Name: "mcpServers", Schema: any}, {Name: "agents", Schema: any},
		graph.Section(&list, cfg, engine.Kinds()),
	}
	r := table.Read("f", []byte(head+content), config.Sources{Lookup: func(name string) (string, bool) { return "secret)", name == "SECRET" }})
	for _, f := range r.Faults {
		_, place, _ := strings.Cut(f.Name, ":")
		faults = append(faults, place+" "+strings.TrimPrefix(f.Message, "/workflows"))
	}
	return list, faults, r.Warnings
}

// mustRead returns the only workflow of a file that is fine.
func mustRead(t testing.TB, content string) *graph.Workflow {
	t.Helper()
	list, faults, _ := read(content, "memory")
	if len(faults) > 0 || len(list) != 1 {
		t.Fatalf("%d workflows, faults:\n%s", len(list), strings.Join(faults, "\n"))
	}
	return list[0]
}

const refund = `
  refund:
    patterns: [react, reflection]
    nodes:
      triage: {type: agent, agent: support, output: {routing_key: result.json.kind, metadata.amount: result.json.amount}}
      route: {type: condition, expression: routing_key}
      ask: {type: human, prompt: "Refund {{metadata.amount}} EUR?", timeout: 3d}
      pay: {type: tool, tool: "payments/refund", arguments: {amount: metadata.amount, currency: "'EUR'", tries: 1}}
      answer: {type: agent, agent: writer, pattern: reflection, repeat: {critic: reviewer, until: "critic.json.score >= 8", max: 3}}
    edges: [{from: triage, to: route}, {from: route, to: {refund: ask, default: answer}}, {from: pay, to: answer},
      {from: ask, to: pay, condition: "decision.action != 'reject'"}, {from: ask, to: answer, condition: "decision.action == 'reject'"}]
`

func TestWorkflowOfAFile(t *testing.T) {
	t.Parallel()
	w := mustRead(t, refund)
	d := w.Definition()
	if d.Entry != "triage" || d.MaxIterations != 50 || d.Timeout != 10*time.Minute || len(d.Nodes) != 5 || len(d.Edges) != 6 {
		t.Errorf("got %+v", d)
	}
	ask, pay, answer := d.Nodes[2], d.Nodes[3], d.Nodes[4]
	if ask.Timeout != 72*time.Hour || ask.OnTimeout != "reject" || !cmp.Equal(ask.Approvers, []string{"owner"}) {
		t.Errorf("ask: %+v", ask)
	}
	if pay.Timeout != 300*time.Second || len(pay.Arguments) != 3 || string(pay.Arguments[2].Value) != "1" {
		t.Errorf("pay: %+v", pay)
	}
	if answer.Repeat == nil || answer.Repeat.Max != 3 || answer.Repeat.Critic != "reviewer" {
		t.Errorf("answer: %+v", answer)
	}
	if e := d.Edges[1]; e.Match != "refund" || e.To != "ask" || !d.Edges[2].Default {
		t.Errorf("edges: %+v", d.Edges)
	}
	if got := w.Agents(); !cmp.Equal(got, []string{"reviewer", "support", "writer"}) {
		t.Errorf("agents: %v", got)
	}
	if !w.NeedsStore() {
		t.Error("a human node needs no store")
	}
}

func TestPatternsAloneBecomeNodes(t *testing.T) {
	t.Parallel()
	d := mustRead(t, "  a: {patterns: [react, reflection], agent: writer, critic: reviewer}\n").Definition()
	if len(d.Nodes) != 2 || d.Nodes[1].Repeat.Until != "critic.json.passed" || len(d.Edges) != 1 || d.Entry != "react" {
		t.Errorf("got %+v", d)
	}
}

// The same definition is made of what is stored.
func TestStoredDefinitionIsReadBack(t *testing.T) {
	t.Parallel()
	text, sum := mustRead(t, refund).Stored()
	again, err := graph.Read(text, engine.Kinds())
	if err != nil {
		t.Fatal(err)
	}
	if text2, sum2 := again.Stored(); string(text2) != string(text) || sum2 != sum {
		t.Errorf("got %s, want %s", text2, text)
	}
	if _, err := graph.Read([]byte(`{"nodes":[{"id":"a","type":"agent"}],"entry_point":"a"}`), engine.Kinds()); err == nil {
		t.Error("a definition without an agent is read")
	}
}

// Examples are for people: runs stay pinned to the same definition when they change.
func TestExamplesAreNotStored(t *testing.T) {
	t.Parallel()
	plain, with := mustRead(t, refund), mustRead(t, strings.Replace(refund, "    nodes:", "    examples: [Refund 30 EUR, Pay me back]\n    nodes:", 1))
	if got := with.Definition().Examples; !cmp.Equal(got, []string{"Refund 30 EUR", "Pay me back"}) {
		t.Errorf("got %q", got)
	}
	_, sum := plain.Stored()
	if _, other := with.Stored(); other != sum {
		t.Error("examples change the stored definition")
	}
}

// Each line of a case that ends with "#" and texts has just the faults that they begin.
func TestFaults(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/faults.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, faults, _ := read(string(content), "memory")
	reported := map[string][]string{}
	for _, f := range faults {
		place, text, _ := strings.Cut(f, " ")
		line, _, _ := strings.Cut(place, ":")
		_, text, _ = strings.Cut(text, ": ")
		reported[line] = append(reported[line], text)
	}
	for i, line := range strings.Split(head+string(content), "\n") {
		_, comment, _ := strings.Cut(line, " # ")
		var want []string
		if comment != "" {
			want = strings.Split(comment, " | ")
		}
		got := reported[itoa(i+1)]
		ok := len(got) == len(want)
		for k := range min(len(got), len(want)) {
			ok = ok && strings.HasPrefix(got[k], want[k])
		}
		if !ok {
			t.Errorf("line %d: %s\ngot  %q\nwant %q", i+1, line, got, want)
		}
	}
}

// Where a server says "tell", an edge must not lead from a tool that failed to the same tool
// without a check whether the first call took effect.
func TestBlindRetries(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edges string
		fault bool
	}{
		"blind":                {`{from: a, to: b, condition: "result.is_error"}`, true},
		"looks":                {`{from: a, to: b, condition: "result.is_error && !result.unknown"}`, false},
		"another tool":         {`{from: a, to: c, condition: "result.is_error"}`, false},
		"through a condition":  {`{from: a, to: if, condition: "result.is_error"}, {from: if, to: b}`, true},
		"the condition looks":  {`{from: a, to: if, condition: "result.is_error"}, {from: if, to: b, condition: "!result.unknown"}, {from: if, to: c}`, false},
		"no look at the error": {`{from: a, to: b}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := "  w:\n    entry_point: a\n    nodes: {a: {type: tool, tool: payments/pay}, NODES}\n    edges: [" + tt.edges + "]\n"
			var nodes []string
			for id, node := range map[string]string{"b": "{type: tool, tool: payments/pay}", "c": "{type: tool, tool: payments/look}", "if": "{type: condition}"} {
				if strings.Contains(tt.edges, "to: "+id) {
					nodes = append(nodes, id+": "+node)
				}
			}
			content = strings.Replace(content, "NODES", strings.Join(nodes, ", "), 1)
			for _, reporting := range []bool{true, false} {
				cfg := stored(store.Memory)
				if reporting {
					*config.Bind[tool.Reporting](cfg) = tool.Reporting{"payments"}
				}
				_, faults, _ := readWith(content, cfg)
				if (len(faults) > 0) != (reporting && tt.fault) || len(faults) > 0 && !strings.Contains(faults[0], "result.unknown") {
					t.Errorf("tells %v: faults %q", reporting, faults)
				}
			}
		})
	}
}

// An agent and a workflow must not share a name: a request names either.
func TestNameOfAnAgent(t *testing.T) {
	t.Parallel()
	_, faults, _ := read("  support: {nodes: {x: {type: agent, agent: writer}}}\n", "memory")
	if len(faults) != 1 || !strings.HasPrefix(faults[0], "4:3 /support: is the name of an agent") {
		t.Errorf("faults %q", faults)
	}
}

func TestPeopleNeedAStore(t *testing.T) {
	t.Parallel()
	_, faults, _ := read("  a:\n    checkpoints: [x]\n    nodes:\n      x: {type: agent, agent: writer}\n      h: {type: human, prompt: q}\n    edges: [{from: x, to: h}]\n", "none")
	want := []string{
		"5:5 /a/checkpoints: needs a store, and there is none; try SLUICE_STORE=memory",
		"8:17 /a/nodes/h/type: needs a store, and there is none; try SLUICE_STORE=memory",
	}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownServerIsAWarning(t *testing.T) {
	t.Parallel()
	list, faults, warnings := read("  a: {nodes: {x: {type: tool, tool: elsewhere/x}}}\n", "none")
	if len(list) != 1 || len(faults) > 0 || len(warnings) != 1 || !strings.Contains(warnings[0], "/workflows/a/nodes/x/tool: names a server") {
		t.Errorf("%d workflows, faults %q, warnings %q", len(list), faults, warnings)
	}
}

// A list of patterns that are not those of the nodes is a warning, and a node that asks a person has
// a question of its own: documents of others are read as they are written.
func TestDocumentsOfOthers(t *testing.T) {
	t.Parallel()
	list, faults, warnings := read("  a: {patterns: [react, reflection], nodes: {x: {type: agent, agent: writer}, h: {type: human}}, edges: [{from: x, to: h}]}\n"+
		"  b: {patterns: [reflection], nodes: {x: {type: agent, agent: writer}}}\n", "memory")
	if len(list) != 2 || len(faults) > 0 {
		t.Fatalf("%d workflows, faults %q", len(list), faults)
	}
	if got := list[0].Node("h").Prompt; got != "Continue?" {
		t.Errorf("a person is asked %q", got)
	}
	for i, want := range []string{"/a/patterns/1: no node has this pattern", "/b/patterns: does not list react", "/b/patterns/0: no node has"} {
		if len(warnings) != 3 || !strings.Contains(warnings[i], want) {
			t.Errorf("warnings %q, want %s", warnings, want)
		}
	}
}

// What a variable holds is not quoted.
func TestFaultsQuoteNoVariable(t *testing.T) {
	t.Parallel()
	_, faults, _ := read(`  a: {nodes: {x: {type: condition, expression: "foo_${SECRET}"}}}`+"\n", "none")
	for _, f := range faults {
		if strings.Contains(f, "foo_") || strings.Contains(f, "secret") {
			t.Error(f)
		}
	}
	if len(faults) == 0 {
		t.Error("there is no fault")
	}
}

// 200 nodes are read, 201 are not; 1,000 edges, and not 1,001.
func TestSizes(t *testing.T) {
	t.Parallel()
	chain := func(nodes, extra int) string {
		var b strings.Builder
		b.WriteString("  a:\n    nodes:\n")
		for i := range nodes {
			b.WriteString("      n" + itoa(i) + ": {type: agent, agent: writer}\n")
		}
		b.WriteString("    edges:\n")
		for i := range nodes - 1 {
			b.WriteString("      - {from: n" + itoa(i) + ", to: n" + itoa(i+1) + "}\n")
		}
		for i := range extra {
			b.WriteString("      - {from: n0, to: n" + itoa(1+i%(nodes-1)) + "}\n")
		}
		return b.String()
	}
	for _, tt := range []struct {
		nodes, extra int
		fine         bool
	}{{200, 0, true}, {201, 0, false}, {200, 801, true}, {200, 802, false}} {
		_, faults, _ := read(chain(tt.nodes, tt.extra), "none")
		if fine := len(faults) == 0; fine != tt.fine {
			t.Errorf("%d nodes, %d edges: %v", tt.nodes, tt.nodes-1+tt.extra, faults)
		}
	}
}

// FuzzSection: a file is read or refused, with faults that have a place.
func FuzzSection(f *testing.F) {
	f.Add(refund)
	f.Add("  a: {nodes: {x: {type: agent, agent: support}}}\n")
	f.Add("  a: {patterns: [react], agent: writer}\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, faults, _ := read(text, "memory")
		for _, w := range list {
			stored, _ := w.Stored()
			if _, err := graph.Read(stored, engine.Kinds()); err != nil {
				t.Errorf("what was read cannot be read again: %v\n%s", err, stored)
			}
			_ = w.Mermaid()
		}
		for _, fault := range faults {
			if !strings.Contains(fault, ":") {
				t.Errorf("fault %q", fault)
			}
		}
	})
}
