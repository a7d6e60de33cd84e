// This file turns a workflow into the form of the exported layout. Nodes stand by name in an
// object, edges of a condition in one entry with an object, and times are in seconds.

package operate

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"sluice/internal/engine/workflow/graph"
	"sluice/internal/state/task"
)

// exportWorkflow is a workflow as it is exported: a map of nodes where ours has a list, and
// times in seconds.
type exportWorkflow struct {
	Name          string                `json:"name"`
	Description   string                `json:"description,omitempty"`
	Examples      []string              `json:"examples,omitempty"`
	Patterns      []string              `json:"patterns"` // of its agent nodes
	Nodes         map[string]exportNode `json:"nodes"`
	Edges         []exportEdge          `json:"edges"`
	Entry         string                `json:"entry_point"`
	Checkpoints   []string              `json:"checkpoints,omitempty"`
	MaxIterations int                   `json:"max_iterations"`
	Answer        string                `json:"answer,omitempty"`
	Kind          string                `json:"kind,omitempty"`
	RetentionDays *int                  `json:"retention_days,omitempty"`
	Timeout       float64               `json:"timeout_seconds,omitempty"`
}

// exportNode is a node. Members besides type, agent and tool are ours.
type exportNode struct {
	Type       graph.NodeType     `json:"type"`
	Agent      string             `json:"agent,omitempty"`
	Tool       string             `json:"tool,omitempty"`
	Pattern    string             `json:"pattern,omitempty"`
	Input      string             `json:"input,omitempty"`
	Expression string             `json:"expression,omitempty"`
	Prompt     string             `json:"prompt,omitempty"`
	Schema     json.RawMessage    `json:"schema,omitempty"`
	OnTimeout  string             `json:"on_timeout,omitempty"`
	Approvers  []string           `json:"approvers,omitempty"`
	Arguments  []graph.Argument   `json:"arguments,omitempty"`
	Output     []graph.Assignment `json:"output,omitempty"`
	Repeat     *graph.Repeat      `json:"repeat,omitempty"`
	Speak      bool               `json:"speak,omitempty"`
	Timeout    float64            `json:"timeout_seconds,omitempty"`
}

// exportEdge is an edge. To is the name of a node, or a map from the values of a condition
// to such names.
type exportEdge struct {
	From      string `json:"from"`
	To        any    `json:"to"`
	Condition string `json:"condition,omitempty"`
}

// exportedWorkflow returns a workflow under the names of the layout.
func exportedWorkflow(d *graph.Definition, w written) exportWorkflow {
	out := exportWorkflow{
		Name: d.Name, Description: w.textAt(d.Description, "workflows", d.Name, "description"), Patterns: []string{}, Nodes: map[string]exportNode{}, Edges: []exportEdge{},
		Entry: d.Entry, Checkpoints: d.Checkpoints, MaxIterations: d.MaxIterations, Answer: d.Answer, Kind: d.Kind,
		RetentionDays: d.RetentionDays, Timeout: d.Timeout.Seconds(),
	}
	for i, example := range d.Examples {
		out.Examples = append(out.Examples, w.textAt(example, "workflows", d.Name, "examples", strconv.Itoa(i)))
	}
	for _, n := range d.Nodes {
		of := func(value, key string) string { return w.textAt(value, "workflows", d.Name, "nodes", n.ID, key) }
		out.Nodes[n.ID] = exportNode{
			Type: n.Type, Agent: n.Agent, Tool: n.Tool, Pattern: n.Pattern, Input: of(n.Input, "input"), Expression: of(n.Expression, "expression"),
			Prompt: of(n.Prompt, "prompt"), Schema: json.RawMessage(n.Schema), OnTimeout: n.OnTimeout, Approvers: n.Approvers,
			Arguments: n.Arguments, Output: n.Output, Repeat: n.Repeat, Speak: n.Speak, Timeout: n.Timeout.Seconds(),
		}
		if n.Agent != "" {
			if p := cmp.Or(n.Pattern, graph.PatternReact); !slices.Contains(out.Patterns, p) {
				out.Patterns = append(out.Patterns, p)
			}
		}
	}
	for i := range d.Edges {
		out.addEdge(&d.Edges[i])
	}
	return out
}

// addEdge adds an edge; one of a map goes to the others of its node.
func (w *exportWorkflow) addEdge(e *graph.Edge) {
	value := e.Mapped()
	if value == nil && !e.Default {
		w.Edges = append(w.Edges, exportEdge{From: e.From, To: e.To, Condition: e.Condition})
		return
	}
	name := "default"
	if value != nil {
		name = *value
	}
	for i := range w.Edges {
		if to, ok := w.Edges[i].To.(map[string]string); ok && w.Edges[i].From == e.From {
			to[name] = e.To
			return
		}
	}
	w.Edges = append(w.Edges, exportEdge{From: e.From, To: map[string]string{name: e.To}})
}

// exportRetention is the policy as it is exported: what counts, also if no file says it.
type exportRetention struct {
	Days     int            `json:"default_days"`
	ByTask   map[string]int `json:"by_task"`
	ByStatus map[string]int `json:"by_status"`
}

// exportedRetention returns the policy with its defaults put in. Objects are never null.
func exportedRetention(r task.Retention) exportRetention {
	r = r.Settled()
	out := exportRetention{r.Days, r.ByTask, r.ByStatus}
	if out.ByTask == nil {
		out.ByTask = map[string]int{}
	}
	if out.ByStatus == nil {
		out.ByStatus = map[string]int{}
	}
	return out
}
