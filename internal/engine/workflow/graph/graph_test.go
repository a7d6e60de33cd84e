package graph_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
)

func itoa(i int) string { return strconv.Itoa(i) }

// drawnName is a random graph, as the judge takes it.
type drawnName struct {
	Nodes int      `json:"nodes"`
	Edges [][2]int `json:"edges"`
	Entry int      `json:"entry"`
}

// verdict is what the judge says of a graph.
type verdict struct {
	Acyclic   bool  `json:"acyclic"`
	Reachable []int `json:"reachable"`
}

// randomGraph returns a graph of which about half are acyclic.
func randomGraph(r *rand.Rand) drawnName {
	g := drawnName{Nodes: 1 + r.IntN(12)}
	if r.IntN(50) == 0 {
		g.Nodes = 50 + r.IntN(100)
	}
	g.Entry = r.IntN(g.Nodes)
	upwards := r.IntN(2) == 0
	for range r.IntN(3 * g.Nodes) {
		a, b := r.IntN(g.Nodes), r.IntN(g.Nodes)
		if upwards && a > b {
			a, b = b, a
		}
		if a != b || !upwards {
			g.Edges = append(g.Edges, [2]int{a, b})
		}
	}
	return g
}

func (g drawnName) definition() graph.Definition {
	d := graph.Definition{Name: "g", Timeout: 1, Entry: name(g.Entry), MaxIterations: 50}
	for i := range g.Nodes {
		d.Nodes = append(d.Nodes, graph.Node{ID: name(i), Type: graph.AgentNode, Agent: "a"})
	}
	for _, e := range g.Edges {
		d.Edges = append(d.Edges, graph.Edge{From: name(e[0]), To: name(e[1])})
	}
	return d
}

func name(i int) string { return "n" + itoa(i) }

// checked is what our check says of a graph.
func checked(t *testing.T, g drawnName) verdict {
	_, problems := graph.Compile(g.definition(), engine.Kinds())
	v := verdict{Acyclic: true}
	lost := map[string]bool{}
	for _, p := range problems {
		switch {
		case strings.HasPrefix(p.Text, "closes a cycle: "):
			v.Acyclic = false
			g.walk(t, strings.Split(strings.TrimPrefix(p.Text, "closes a cycle: "), " → "))
		case strings.HasPrefix(p.Text, "is out of reach"):
			lost[strings.TrimPrefix(string(p.Pointer), "/nodes/")] = true
		default:
			t.Errorf("%+v: %v", g, p)
		}
	}
	for i := range g.Nodes {
		if !lost[name(i)] {
			v.Reachable = append(v.Reachable, i)
		}
	}
	return v
}

// walk wants the path of a cycle to be one.
func (g drawnName) walk(t *testing.T, path []string) {
	edges := map[string]bool{}
	for _, e := range g.Edges {
		edges[name(e[0])+name(e[1])] = true
	}
	for i := range path[1:] {
		if !edges[path[i]+path[i+1]] {
			t.Errorf("%+v: the cycle %v takes an edge that there is not", g, path)
		}
	}
	if path[0] != path[len(path)-1] || len(path) < 2 {
		t.Errorf("the path %v is no cycle", path)
	}
}

// The check agrees with networkx.
func TestCheckAgreesWithNetworkX(t *testing.T) {
	t.Parallel()
	const many = 10_000
	r := rand.New(rand.NewPCG(1, 2))
	graphs := make([]drawnName, many)
	var in bytes.Buffer
	for i := range graphs {
		graphs[i] = randomGraph(r)
		if graphs[i].Edges == nil {
			graphs[i].Edges = [][2]int{}
		}
		if err := json.NewEncoder(&in).Encode(graphs[i]); err != nil {
			t.Fatal(err)
		}
	}
	judged := askNetworkX(t, &in)
	acyclic := 0
	for i, g := range graphs {
		if judged[i].Acyclic {
			acyclic++
		}
		if diff := cmp.Diff(judged[i], checked(t, g)); diff != "" {
			t.Fatalf("%+v (-networkx +ours):\n%s", g, diff)
		}
	}
	if acyclic < many/4 || acyclic > many*3/4 {
		t.Errorf("%d of %d graphs are acyclic: they test one side only", acyclic, many)
	}
}

// askNetworkX returns the judge's verdicts. Where it is not installed it skips, or fails
// with SLUICE_REQUIRE_PEERS=1.
func askNetworkX(t *testing.T, in *bytes.Buffer) (list []verdict) {
	t.Helper()
	python := filepath.FromSlash("../../../../.venv/graphs/bin/python")
	if _, err := os.Stat(python); err != nil {
		if os.Getenv("SLUICE_REQUIRE_PEERS") == "1" {
			t.Fatalf("%v: scripts/peers-install.sh installs it", err)
		}
		t.Skipf("needs networkx, which scripts/peers-install.sh installs: %v", err)
	}
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(t.Context(), python, filepath.FromSlash("../../../../e2e/peers/testdata/graphs_judge.py"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("the judge: %v\n%s", err, &errOut)
	}
	for dec := json.NewDecoder(&out); dec.More(); {
		var v verdict
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// Two nodes are parallel exactly if some choice of edges lets both run, as trying all
// choices shows.
func TestParallelAgreesWithTryingAllChoices(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	met := map[bool]int{}
	for range 3000 {
		d, kinds := randomChoices(r)
		_, problems := graph.Compile(d, engine.Kinds())
		reported := false
		for _, p := range problems {
			if strings.Contains(p.Text, "can run at the same time") {
				reported = true
			} else {
				t.Fatalf("%+v: %v", d, p)
			}
		}
		want := bothRun(d, kinds)
		met[want]++
		if reported != want {
			t.Fatalf("told %v, want %v: %s", reported, want, text(d))
		}
	}
	if met[true] < 100 || met[false] < 100 {
		t.Errorf("the graphs test one side only: %v", met)
	}
}

func text(d graph.Definition) string {
	var b strings.Builder
	for _, n := range d.Nodes {
		fmt.Fprintf(&b, "%s %s %v; ", n.ID, n.Type, n.Output)
	}
	for _, e := range d.Edges {
		fmt.Fprintf(&b, "%s→%s ", e.From, e.To)
	}
	return b.String()
}

// randomChoices returns a graph, all of it in reach, in which two nodes put a value into
// the same field.
func randomChoices(r *rand.Rand) (graph.Definition, map[string]graph.NodeType) {
	n := 4 + r.IntN(5)
	d := graph.Definition{Name: "g", MaxIterations: 50}
	kinds := map[string]graph.NodeType{}
	for i := range n {
		node := graph.Node{ID: name(i), Type: graph.AgentNode, Agent: "a"}
		d.Nodes = append(d.Nodes, node)
	}
	for i := 1; i < n; i++ {
		for _, from := range r.Perm(i)[:1+r.IntN(min(2, i))] {
			d.Edges = append(d.Edges, graph.Edge{From: name(from), To: name(i), Condition: "input == '" + itoa(i) + "'"})
		}
	}
	for i := range d.Nodes {
		out := 0
		for _, e := range d.Edges {
			if e.From == d.Nodes[i].ID {
				out++
			}
		}
		if out > 0 && r.IntN(2) == 0 {
			d.Nodes[i].Type, d.Nodes[i].Agent = engine.ConditionNode, ""
		}
		kinds[d.Nodes[i].ID] = d.Nodes[i].Type
	}
	for _, i := range r.Perm(n)[:2] {
		d.Nodes[i].Output = []graph.Assignment{{Field: "routing_key", Expression: "'x'"}}
	}
	return d, kinds
}

// bothRun tries all choices: a condition takes one of its edges, other nodes any of
// theirs.
func bothRun(d graph.Definition, kinds map[string]graph.NodeType) bool {
	var a, b int = -1, -1
	for i, n := range d.Nodes {
		if len(n.Output) > 0 && a < 0 {
			a = i
		} else if len(n.Output) > 0 {
			b = i
		}
	}
	if leads(d, name(a), name(b)) {
		return false
	}
	out := map[string][]string{}
	for _, e := range d.Edges {
		out[e.From] = append(out[e.From], e.To)
	}
	var conditions []string
	for _, n := range d.Nodes {
		if n.Type == engine.ConditionNode {
			conditions = append(conditions, n.ID)
		}
	}
	choice := map[string]string{}
	var try func(k int) bool
	try = func(k int) bool {
		if k < len(conditions) {
			for _, to := range out[conditions[k]] {
				choice[conditions[k]] = to
				if try(k + 1) {
					return true
				}
			}
			return false
		}
		runs := map[string]bool{name(0): true}
		for _, n := range d.Nodes { // in order: edges lead upwards
			for _, to := range out[n.ID] {
				if runs[n.ID] && (kinds[n.ID] != engine.ConditionNode || choice[n.ID] == to) {
					runs[to] = true
				}
			}
		}
		return runs[name(a)] && runs[name(b)]
	}
	return try(0)
}

// leads says whether a way leads from a to b.
func leads(d graph.Definition, a, b string) bool {
	for _, e := range d.Edges {
		if e.From == a && (e.To == b || leads(d, e.To, b)) {
			return true
		}
	}
	return false
}
