package graph_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"sluice/internal/base/config"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
)

// The schema knows each kind, and each key that one reads.
func TestSchemaKnowsKinds(t *testing.T) {
	t.Parallel()
	var s struct {
		Workflow struct {
			Properties struct {
				Nodes struct {
					Node struct {
						Properties map[string]struct {
							Enum []string `json:"enum"`
						} `json:"properties"`
					} `json:"additionalProperties"`
				} `json:"nodes"`
			} `json:"properties"`
		} `json:"additionalProperties"`
	}
	if err := json.Unmarshal([]byte(graph.Section(new([]*graph.Workflow), new(config.Config), engine.Kinds()).Schema), &s); err != nil {
		t.Fatal(err)
	}
	properties := s.Workflow.Properties.Nodes.Node.Properties
	for _, k := range engine.Kinds() {
		for _, key := range k.Keys() {
			if _, ok := properties[key]; !ok {
				t.Errorf("%s: the schema lacks the key %s", k.Name(), key)
			}
		}
		least, most := k.Bounds()
		from, err := config.ParseDuration(least)
		if to, wrong := config.ParseDuration(most); err != nil || wrong != nil || from <= 0 || to < from {
			t.Errorf("%s: a timeout from %s to %s", k.Name(), least, most)
		}
	}
	if got := properties["type"].Enum; !slices.Equal(got, names()) {
		t.Errorf("the schema has the types %q, want %q", got, names())
	}
}

// names are those of all kinds, in their order.
func names() (list []string) {
	for _, k := range engine.Kinds() {
		list = append(list, string(k.Name()))
	}
	return list
}

// kindOf returns the kind of that name.
func kindOf(name graph.NodeType) graph.Kind {
	return engine.Kinds()[slices.Index(names(), string(name))]
}

// What is published for clients lists the kinds as they are.
func TestPublishedKinds(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../web/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := "enum: [" + strings.Join(names(), ", ") + "]\n"
	if got := strings.Count(string(text), want); got != 2 {
		t.Errorf("web/openapi.yaml has %q %d times, want 2: of events, and of GET /workflows", want, got)
	}
}

func TestNoSuchKind(t *testing.T) {
	t.Parallel()
	_, problems := graph.Compile(graph.Definition{Name: "w", Nodes: []graph.Node{{ID: "a", Type: "wrong"}}}, engine.Kinds())
	if len(problems) != 1 || problems[0].Error() != "/nodes/a/type: there is no such type" {
		t.Errorf("got %v", problems)
	}
}

// A kind says what it needs before a run begins, and how it is drawn.
func TestKindsOfNodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		node                   graph.Node
		asks, chooses, results bool
		lacks, drawn           string
	}{
		{graph.Node{Type: graph.AgentNode}, false, false, false, "/nodes/n/agent: is required of a node of type agent", "[agent ]"},
		{graph.Node{Type: graph.AgentNode, Agent: "a", Pattern: graph.PatternReflection}, false, false, false, "/nodes/n/repeat: reflection needs a critic", "[agent a]"},
		{graph.Node{Type: graph.AgentNode, Agent: "a", Repeat: &graph.Repeat{Critic: "b", Until: "true", Max: 2}}, false, false, false, "", "[agent a, critic b]"},
		{graph.Node{Type: graph.AgentNode, Agent: "a", Input: "{{"}, false, false, false, "/nodes/n/input: {{ is not followed by }}", "[agent a]"},
		{graph.Node{Type: engine.ToolNode}, false, false, true, "/nodes/n/tool: is required of a node of type tool", "[[]]"},
		{graph.Node{Type: engine.ToolNode, Tool: `s/"`}, false, false, true, "", `[[s/"]]`},
		{graph.Node{Type: engine.ConditionNode}, false, true, false, "/nodes/n: a condition needs an edge that leads on", "{}"},
		{graph.Node{Type: "human"}, true, false, false, "/nodes/n/prompt: is required of a node of type human", "[/a person/]"},
		{graph.Node{Type: "human", Prompt: "Shall I?"}, true, false, false, "", "[/a person/]"},
	}
	for _, tt := range tests {
		tt.node.ID = "n"
		k := kindOf(tt.node.Type)
		if k.Asks() != tt.asks || k.Chooses() != tt.chooses || k.Results() != tt.results {
			t.Errorf("%s: asks %v, chooses %v, results %v", tt.node.Type, k.Asks(), k.Chooses(), k.Results())
		}
		left, label, right := k.Draw(&tt.node)
		if got := left + label + right; got != tt.drawn {
			t.Errorf("%s is drawn as %s, want %s", tt.node.Type, got, tt.drawn)
		}
		w, problems := graph.Compile(graph.Definition{Name: "w", Nodes: []graph.Node{tt.node}}, engine.Kinds())
		switch {
		case tt.lacks != "" && (len(problems) == 0 || problems[0].Error() != tt.lacks):
			t.Errorf("%+v: got %v, want %s", tt.node, problems, tt.lacks)
		case tt.lacks == "" && len(problems) > 0:
			t.Errorf("%+v: got %v", tt.node, problems)
		case tt.lacks == "" && w.NeedsStore() != tt.asks:
			t.Errorf("%s: needs a store: %v", tt.node.Type, w.NeedsStore())
		}
	}
}
