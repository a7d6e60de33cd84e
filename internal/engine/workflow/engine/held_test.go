package engine

import (
	"testing"

	"sluice/internal/engine/workflow/graph"
)

// While an answer is held back nothing of its end is kept; a text that other nodes continue
// from is. What was sent takes the place of what was held back, and nothing that may quote that
// stays.
func TestWithheldNodes(t *testing.T) {
	t.Parallel()
	w, err := graph.Read([]byte(`{"name":"p","entry_point":"first","max_iterations":9,"timeout":60000000000,`+
		`"nodes":[{"id":"first","type":"tool","tool":"s/echo"},{"id":"one","type":"tool","tool":"s/echo"},{"id":"two","type":"tool","tool":"s/echo"}],`+
		`"edges":[{"from":"first","to":"one"},{"from":"first","to":"two"}]}`), Kinds())
	if err != nil {
		t.Fatal(err)
	}
	first, one, two := w.Node("first"), w.Node("one"), w.Node("two")
	for sent, want := range map[string][3]string{"what was sent": {"a", "", "what was sent"}, "": {"a", "", ""}} {
		r := &Run{
			Header:   Header{Definition: w.Sum()},
			Messages: []Message{{Role: RoleUser, Content: "go"}, {Role: RoleAssistant, Node: "first", Content: "a"}, {Role: RoleAssistant, Node: "one", Content: "b"}, {Role: RoleAssistant, Node: "two", Content: "c"}},
		}
		for i, n := range []*graph.Vertex{first, one, two} {
			r.Ended = append(r.Ended, Ended{Node: n.ID, Outcome: outcomeCompleted, Result: i + 1, Wrote: []graph.Wrote{{}}, Critic: "it says b"})
		}
		if err := r.Join(w); err != nil {
			t.Fatal(err)
		}
		x := &execution{holding: holding{held: true}, w: w, state: r}
		for _, n := range []*graph.Vertex{first, one, two} {
			n.Speaks = true
			x.withholdNode(n)
		}
		if len(x.withheld) != 2 || x.withheld[0] != one || x.withheld[1] != two {
			t.Errorf("%d nodes are withheld", len(x.withheld))
		}
		x.replaceHeld(sent)
		if got := [3]string{r.Messages[1].Content, r.Messages[2].Content, r.Messages[3].Content}; got != want {
			t.Errorf("sent %q: kept are %q, want %q", sent, got, want)
		}
		for i, n := range []*graph.Vertex{first, one, two} {
			if e := r.endOf(n); (e.Critic == nil) != (i > 0) || (e.Wrote == nil) != (i > 0) {
				t.Errorf("sent %q: of %s is kept %+v", sent, n.ID, e)
			}
		}
	}
}
