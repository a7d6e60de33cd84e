// This file knows the tools, the form of their calls and their results. It does not know a server:
// a todo is any object with an id and a title, however it is wrapped, so that other todo servers
// work with the demo too.

package offline

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/offline/english"
)

// tool is a declared function with its parameters; none at all: not known.
type tool struct {
	name   string
	params map[string]jsontext.Value
}

// findTool returns the function of that name. A server's name may stand before it.
func findTool(declared []geminisim.Function, name string) *tool {
	i := slices.IndexFunc(declared, func(f geminisim.Function) bool {
		return f.Name == name || strings.HasSuffix(f.Name, "_"+name)
	})
	if i < 0 {
		return nil
	}
	var schema struct {
		Properties map[string]jsontext.Value `json:"properties"`
	}
	_ = json.Unmarshal(declared[i].Parameters, &schema) // what cannot be read is not known
	return &tool{declared[i].Name, schema.Properties}
}

// declaredTool returns the declared function for todos of that name; nil: it is not declared.
func (t *turn) declaredTool(name string) *tool { return findTool(t.declared, name) }

// plan is a call in the making. Arguments are written in the order of the calls of withArgument.
type plan struct {
	tool *tool
	args []byte
}

// withArgument adds an argument, unless the tool lacks that parameter or the value is empty. value
// is a string, a list of strings or true.
func (p plan) withArgument(param string, value any) plan {
	v, err := json.Marshal(value, jsontext.AllowInvalidUTF8(true))
	if _, known := p.tool.params[param]; len(p.tool.params) > 0 && !known || err != nil || string(v) == `""` || string(v) == "[]" {
		return p
	}
	p.args = slices.Clip(p.args)
	if len(p.args) > 0 {
		p.args = append(p.args, ',')
	}
	p.args = append(append(p.args, `"`+param+`":`...), v...)
	return p
}

// call is the plan as a call of its tool.
func (p plan) call() geminisim.Call {
	return geminisim.Call{Name: p.tool.name, Args: jsontext.Value("{" + string(p.args) + "}")}
}

// todo is a todo in a tool's result, as the rules read it.
type todo struct {
	id          string
	title       string
	description string
	done        bool
	priority    string
	due         english.Date
	tags        []string
}

// result is the content of a function response.
type result struct {
	tool  string
	fault string // not empty: the tool failed
	text  string // the output as it came, if it is a text
	todos []todo
	cut   bool // the list is known to hold more than todos does
}

// readResult reads a function response: {"output": …}, {"error": …} or {"result": …}.
func readResult(response geminisim.Result, zone *time.Location) result {
	r := result{tool: response.Name}
	var fields map[string]any
	_ = json.Unmarshal(response.Response, &fields) // the simulator has checked it
	if fault, ok := fields["error"].(string); ok {
		r.fault = cmp.Or(strings.TrimSpace(fault), "no reason given")
		return r
	}
	r.text, _ = fields["output"].(string)
	r.findTodos(fields, zone)
	return r
}

// withoutRemarks returns a result without the gateway's remarks on the lines behind it.
func withoutRemarks(s string) string {
	for strings.HasSuffix(s, "]") && !jsontext.Value(s).IsValid() {
		at := strings.LastIndex(s, "\n[")
		if at < 0 {
			return s
		}
		s = s[:at]
	}
	return s
}

// findTodos looks for todos, objects with an id and a title, however the server wrapped
// them: objects, arrays, and JSON inside of strings.
func (r *result) findTodos(v any, zone *time.Location) {
	switch v := v.(type) {
	case string:
		var inner any
		switch s := withoutRemarks(strings.TrimSpace(v)); {
		case !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, "["):
		case json.UnmarshalDecode(jsontext.NewDecoder(strings.NewReader(s)), &inner) != nil: // behind it may stand a note for the model
			r.fault = "the result was cut off, or is not JSON"
		default:
			r.findTodos(inner, zone)
		}
	case []any:
		for _, item := range v {
			r.findTodos(item, zone)
		}
	case map[string]any:
		if t := readTodo(v, zone); t.id != "" && t.title != "" {
			r.todos = append(r.todos, t)
			return
		}
		r.cut = r.cut || v["more"] == true
		for _, name := range slices.Sorted(maps.Keys(v)) {
			r.findTodos(v[name], zone)
		}
	}
}

// readTodo reads a todo of a tool's result. A field that is missing or has another type stays
// empty.
func readTodo(fields map[string]any, zone *time.Location) todo {
	get := func(name string) string { s, _ := fields[name].(string); return s }
	t := todo{id: get("id"), title: get("title"), priority: get("priority"), due: readDue(get("due_date"), zone), done: get("status") == "completed"}
	tags, _ := fields["tags"].([]any)
	for _, tag := range tags {
		if tag, ok := tag.(string); ok {
			t.tags = append(t.tags, tag)
		}
	}
	return t
}

// readDue reads a date as servers write it; one with an offset is brought into
// the visitor's zone.
//
// It returns a zero date for other forms.
func readDue(s string, zone *time.Location) english.Date {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, s, zone); err == nil {
			return english.Date{At: at.In(zone), Timed: layout != time.DateOnly}
		}
	}
	return english.Date{}
}
