// This file reads what tools have answered. It knows no server: a todo is any object with
// an id and a title, however it is wrapped, so that other todo servers work with the demo
// as well.

package offline

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// todo is what the rules read of a todo in a tool's result.
type todo struct {
	id       string
	title    string
	done     bool
	priority string
	due      date
	tags     []string
}

// result is what a function response says.
type result struct {
	tool  string
	query bool   // the call searched for a word
	fault string // not empty: the tool failed
	text  string // the output as it came, if it is a text
	todos []todo
	cut   bool // the list is known to hold more than todos does
}

// read reads a function response: {"output": …}, {"error": …} or {"result": …}.
func (r *result) read(response jsontext.Value, zone *time.Location) {
	var fields map[string]any
	_ = json.Unmarshal(response, &fields) // the simulator has checked it
	if fault, ok := fields["error"].(string); ok {
		r.fault = cmp.Or(strings.TrimSpace(fault), "no reason given")
		return
	}
	r.text, _ = fields["output"].(string)
	r.walk(fields, zone)
}

// walk looks for todos, objects with an id and a title, however the server wrapped
// them: objects, arrays, and JSON inside of strings.
func (r *result) walk(v any, zone *time.Location) {
	switch v := v.(type) {
	case string:
		r.readText(v, zone)
	case []any:
		for _, item := range v {
			r.walk(item, zone)
		}
	case map[string]any:
		if t := readTodo(v, zone); t.id != "" && t.title != "" {
			r.todos = append(r.todos, t)
			return
		}
		r.cut = r.cut || v["more"] == true
		for _, name := range slices.Sorted(maps.Keys(v)) {
			r.walk(v[name], zone)
		}
	}
}

// readText reads JSON. Of a list that was cut off it reads the todos that are whole.
func (r *result) readText(s string, zone *time.Location) {
	if s = strings.TrimSpace(s); !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, "[") {
		return
	}
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		v, r.cut = nil, true
		_, s, _ = strings.Cut(s, "[")
		s = s[:strings.LastIndexByte(s, '}')+1]
		for s != "" && json.Unmarshal([]byte("["+s+"]"), &v) != nil {
			s = s[:strings.LastIndex(s, "},")+1]
		}
	}
	r.walk(v, zone)
}

// readTodo reads a todo of a tool's result. What is missing or has another type stays empty.
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
// A zero date: there is none, or one of another form.
func readDue(s string, zone *time.Location) date {
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return date{at: at.In(zone), timed: true}
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, s, zone); err == nil {
			return date{at: at, timed: layout != time.DateOnly}
		}
	}
	return date{}
}
