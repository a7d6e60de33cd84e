// This file turns a workflow of the layout into one of the configuration file: the way back of
// export_workflow.go.

package operate

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"sluice/internal/engine/workflow/graph"
)

// nodeKeys are the members of a node that have the same name in the layout.
var nodeKeys = []string{
	"type", "agent", "tool", "pattern", "input", "expression", "prompt", "schema", "on_timeout", "approvers", "arguments", "output", "repeat", "speak",
}

// importWorkflow puts a workflow into the file.
func (im *importing) importWorkflow(name string, doc members) {
	nodes := members{}
	for id, node := range membersOf(doc["nodes"]) {
		nodes[id] = im.nodeSection(name, id, membersOf(node))
	}
	known := []string{"description", "examples", "checkpoints", "entry_point", "answer", "kind", "retention_days", "max_iterations", "agent", "critic"}
	out := im.renameMembers(name, withoutMembers(doc, "name", "patterns", "nodes", "edges", "timeout_seconds"), nil, known...)
	if len(itemsOf(out["checkpoints"])) == 0 {
		delete(out, "checkpoints")
	}
	setTimeout(out, doc)
	leaveUsual(out, map[string]any{"max_iterations": json.Number("50"), "timeout": "600s"})
	if patterns := im.patternsOf(name, doc, nodes); len(patterns) > 0 {
		out["patterns"] = patterns
	}
	if len(nodes) > 0 {
		out["nodes"] = nodes
	}
	if edges := im.edgesOf(name, doc); len(edges) > 0 {
		out["edges"] = edges
	}
	im.sectionOf("workflows")[idOf(name, doc)] = out
}

// setTimeout puts the timeout of a document that has one into out.
func setTimeout(out, doc members) {
	if seconds, ok := doc["timeout_seconds"].(json.Number); ok {
		out["timeout"] = seconds.String() + "s"
	}
}

// leaveUsual removes the members that have the value of their default.
func leaveUsual(out members, usual map[string]any) {
	maps.DeleteFunc(out, func(key string, value any) bool { return reflect.DeepEqual(usual[key], value) })
}

// patternsOf returns the patterns of a workflow that the file needs: without nodes all of them, else
// none, as each node has its own. A pattern without a node costs a warning.
func (im *importing) patternsOf(name string, doc, nodes members) []any {
	patterns := itemsOf(doc["patterns"])
	if len(nodes) == 0 {
		return patterns
	}
	used := map[string]bool{}
	for _, node := range nodes {
		if kind := textOf(membersOf(node)["type"]); kind == string(graph.AgentNode) {
			used[cmp.Or(textOf(membersOf(node)["pattern"]), graph.PatternReact)] = true
		}
	}
	for _, pattern := range patterns {
		if !used[textOf(pattern)] {
			im.addWarning(name, "no node has the pattern %s, so it is left out", textOf(pattern))
		}
	}
	return nil
}

// nodeSection returns a node of the file.
func (im *importing) nodeSection(name, id string, doc members) members {
	out := im.renameMembers(name, withoutMembers(doc, "timeout_seconds"), nil, nodeKeys...)
	if tool := textOf(out["tool"]); tool != "" {
		found, err := im.qualifyTool(tool)
		if err != nil {
			im.addWarning(name, "the tool %s of the node %s: %v", tool, id, err)
			found = tool
		}
		out["tool"] = found
	}
	setTimeout(out, doc)
	for key, field := range map[string]string{"arguments": "name", "output": "field"} {
		if isList(out[key]) {
			out[key] = byName(itemsOf(out[key]), field)
		}
	}
	leaveUsual(out, map[string]any{"pattern": graph.PatternReact, "on_timeout": "reject", "speak": false})
	return out
}

// byName returns a list of values with names as an object: the expression of each, or its value.
func byName(all []any, field string) ordered {
	out := ordered{members: members{}}
	for _, item := range all {
		m := membersOf(item)
		value, ok := m["expression"]
		if !ok {
			value = m["value"]
		}
		name := textOf(m[field])
		out.members[name], out.names = value, append(out.names, name)
	}
	return out
}

// edgesOf returns the edges of the file.
func (im *importing) edgesOf(name string, doc members) (out []any) {
	for _, edge := range itemsOf(doc["edges"]) {
		out = append(out, im.renameMembers(name, membersOf(edge), nil, "from", "to", "condition"))
	}
	return slices.Clip(out)
}
