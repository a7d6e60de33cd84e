package offline

import (
	"cmp"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// todo is what the rules read of a todo in a tool's result.
type todo struct {
	id       jsontext.Value // as the server wrote it: a string or a number
	title    string
	done     bool
	priority string
	due      date
	tags     []string
}

// result is what a function response says.
type result struct {
	tool  string
	args  jsontext.Value // of the call
	fault string         // not empty: the tool failed
	text  string         // the output as it came
	todos []todo
	cut   bool // the list is known to hold more than todos does
}

// read reads a function response: {"output": …}, {"error": …} or {"result": …}.
func (r *result) read(response jsontext.Value, zone *time.Location) {
	fields := members(response)
	if fault, ok := fields["error"]; ok {
		r.fault = cmp.Or(strings.TrimSpace(stringOf(fault)), "no reason given")
		return
	}
	r.text = stringOf(pick(fields, "output", "result", "content"))
	r.value(response, zone)
}

// value looks for todos, however the server wrapped them: objects, arrays,
// {"todos": […]}, {"result": …}, and JSON inside of strings.
func (r *result) value(v jsontext.Value, zone *time.Location) {
	switch v.Kind() {
	case '"':
		r.embedded(strings.TrimSpace(stringOf(v)), zone)
	case '[':
		var list []jsontext.Value
		_ = json.Unmarshal(v, &list) // it was read as JSON before
		for _, item := range list {
			r.value(item, zone)
		}
	case '{':
		fields := members(v)
		if t := readTodo(fields, zone); t.id != nil && t.title != "" {
			r.todos = append(r.todos, t)
			return
		}
		r.cut = r.cut || string(fields["more"]) == "true"
		r.value(pick(fields, "output", "todos", "todo", "tasks", "items", "result", "data", "content", "text"), zone)
	}
}

// embedded reads JSON values, one after the other. Of a list that was cut off it
// reads the todos that are whole.
func (r *result) embedded(s string, zone *time.Location) {
	if !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, "[") {
		return
	}
	dec := jsontext.NewDecoder(strings.NewReader(s), jsontext.AllowDuplicateNames(true))
	for {
		v, err := dec.ReadValue()
		if err == nil {
			r.value(v.Clone(), zone)
			continue
		}
		i := strings.IndexByte(s[dec.InputOffset():], '[')
		if i < 0 || r.cut {
			return
		}
		r.cut = true
		dec = jsontext.NewDecoder(strings.NewReader(s[int(dec.InputOffset())+i:]), jsontext.AllowDuplicateNames(true))
		_, _ = dec.ReadToken() // the bracket
	}
}

func readTodo(fields map[string]jsontext.Value, zone *time.Location) todo {
	t := todo{
		id:       pick(fields, "id", "todo_id"),
		title:    stringOf(pick(fields, "title", "name", "task")),
		priority: strings.ToLower(stringOf(pick(fields, "priority"))),
		due:      readDue(stringOf(pick(fields, "due_date", "due")), zone),
		done:     in("completed done", stringOf(pick(fields, "status"))) || string(fields["completed"]) == "true",
	}
	_ = json.Unmarshal(fields["tags"], &t.tags) // none, or no list of strings
	return t
}

// readDue reads a date as servers write it; one with an offset is brought into
// the visitor's zone.
func readDue(s string, zone *time.Location) date {
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return date{at: at.In(zone), timed: true}
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999", "2006-01-02 15:04:05", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, s, zone); err == nil {
			return date{at: at, timed: layout != time.DateOnly}
		}
	}
	return date{}
}

// pick returns the first of the fields that is there and not null.
func pick(fields map[string]jsontext.Value, names ...string) jsontext.Value {
	for _, name := range names {
		if v, ok := fields[name]; ok && string(v) != "null" {
			return v
		}
	}
	return nil
}

// members returns the members of an object; nil: v is none.
func members(v jsontext.Value) (m map[string]jsontext.Value) {
	if v.Kind() == '{' && json.Unmarshal(v, &m) != nil {
		return nil
	}
	return m
}

// stringOf returns a JSON string's text, and any other value as it is written.
func stringOf(v jsontext.Value) (s string) {
	if v.Kind() == '"' && json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}
