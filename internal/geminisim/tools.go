package geminisim

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// todoTool is a declared function that does something with todos.
type todoTool struct {
	name string
	// props are the declared parameters; none at all: not known, anything goes.
	props map[string]property
}

// property is what the rules need to know of a parameter's schema.
type property struct {
	Type        jsontext.Value `json:"type"`
	Description string         `json:"description"`
	Enum        []any          `json:"enum"`
	Maximum     jsontext.Value `json:"maximum"`
}

// toolbox holds the todo tools among the declared ones; nil: there is none.
type toolbox struct {
	create, list, update, complete, remove *todoTool
}

// role describes a tool by the words of its name.
type role struct {
	exact string
	verbs []string
	many  bool // the noun should be a plural
}

var (
	createRole   = role{"create_todo", []string{"create", "add", "new", "insert"}, false}
	listRole     = role{"list_todos", []string{"list", "search", "find", "query", "show", "get", "fetch", "read"}, true}
	updateRole   = role{"update_todo", []string{"update", "edit", "modify", "change"}, false}
	completeRole = role{"complete_todo", []string{"complete", "finish", "done"}, false}
	removeRole   = role{"delete_todo", []string{"delete", "remove"}, false}
)

func readToolbox(tools []tool) toolbox {
	var declared []declaration
	for _, t := range tools {
		declared = append(declared, t.FunctionDeclarations...)
	}
	return toolbox{
		create:   createRole.find(declared),
		list:     listRole.find(declared),
		update:   updateRole.find(declared),
		complete: completeRole.find(declared),
		remove:   removeRole.find(declared),
	}
}

// find returns the declared function that fits best.
func (r role) find(declared []declaration) *todoTool {
	best, bestScore := -1, 0
	for i := range declared {
		if declared[i].Name == r.exact {
			return newTodoTool(&declared[i])
		}
		if score := r.score(declared[i].Name); score > bestScore {
			best, bestScore = i, score
		}
	}
	if best < 0 {
		return nil
	}
	return newTodoTool(&declared[best])
}

var nameBreak = rawPattern(`[_.:-]+|([a-z])([A-Z])`)

// score says how well a function's name fits the role; 0: not at all. Names may
// have a server's name before them, and any spelling of several words.
func (r role) score(name string) int {
	words := strings.Fields(strings.ToLower(nameBreak.ReplaceAllString(name, "$1 $2")))
	noun, plural := false, false
	for _, w := range words {
		if slices.Contains([]string{"todo", "task", "reminder"}, strings.TrimSuffix(w, "s")) {
			noun, plural = true, strings.HasSuffix(w, "s")
		}
	}
	if !noun {
		return 0
	}
	for i, verb := range r.verbs {
		if slices.Contains(words, verb) {
			score := 2 * (len(r.verbs) - i)
			if plural == r.many {
				score += 20
			}
			return score
		}
	}
	return 0
}

func newTodoTool(d *declaration) *todoTool {
	t := &todoTool{name: d.Name}
	schema := d.ParametersJSONSchema
	if absent(schema) {
		schema = d.Parameters
	}
	var node struct {
		Properties map[string]jsontext.Value `json:"properties"`
	}
	if absent(schema) || json.Unmarshal(schema, &node) != nil {
		return t
	}
	t.props = make(map[string]property)
	for name, v := range node.Properties {
		var p property
		_ = json.Unmarshal(v, &p) // what cannot be read is not known
		t.props[name] = p
	}
	return t
}

// param returns the first of the names that the tool declares, or the first of
// all where nothing is known of its parameters. "" means that it has none such.
func (t *todoTool) param(names ...string) string {
	if t == nil {
		return ""
	}
	for _, name := range names {
		if _, ok := t.props[name]; ok {
			return name
		}
	}
	if len(t.props) == 0 {
		return names[0]
	}
	return ""
}

// choose returns the first of the values that the parameter's enum allows, or the
// first of all where it has no enum.
func (t *todoTool) choose(param string, values ...string) string {
	for _, v := range values {
		for _, allowed := range t.props[param].Enum {
			if s, ok := allowed.(string); ok && strings.EqualFold(s, v) {
				return s
			}
		}
	}
	return values[0]
}

// mentions says whether the parameter's schema speaks of the value.
func (t *todoTool) mentions(param, value string) bool {
	p := t.props[param]
	return strings.Contains(strings.ToLower(p.Description), value) || slices.Contains(p.Enum, any(value))
}

// plannedCall is a function call that the offline model makes.
type plannedCall struct {
	name string
	args []argument
}

// argument keeps its place: arguments are written in the order of the phrase.
type argument struct {
	name  string
	value any
}

// with adds an argument, unless the tool has no such parameter or there is
// nothing to say.
func (c plannedCall) with(param string, value any) plannedCall {
	if param == "" || value == "" || value == nil {
		return c
	}
	c.args = append(slices.Clip(c.args), argument{param, value})
	return c
}

// withLimit asks for as many todos as the tool gives in one go, where it says how
// many that is: what is not in the list cannot be found.
func (c plannedCall) withLimit(tool *todoTool) plannedCall {
	limit := tool.props["limit"].Maximum
	if absent(limit) {
		return c
	}
	return c.with("limit", limit)
}

// object returns the arguments as a JSON object.
func (c plannedCall) object() jsontext.Value {
	b := []byte{'{'}
	for i, a := range c.args {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, mustJSON(a.name)...), ':'), mustJSON(a.value)...)
	}
	return append(b, '}')
}

// mustJSON encodes strings, booleans, lists of strings and JSON values.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err) // nothing else is ever given
	}
	return b
}
