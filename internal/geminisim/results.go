package geminisim

import (
	"bytes"
	"cmp"
	"slices"
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
	due      due
	tags     []string
}

// toolResult is what a function response tells.
type toolResult struct {
	call  functionCall
	text  string // the output as it came
	fault string // not empty: the tool failed
	todos []todo
	// cut marks a list that is known to hold more than todos does.
	cut bool
}

// readResult reads a function response: {"output": …}, {"error": …} or {"result": …}.
func readResult(call functionCall, r *functionResponse, zone *time.Location) toolResult {
	res := toolResult{call: call}
	fields, _ := members(r.Response)
	if fault, ok := fields["error"]; ok && !absent(fault) {
		res.fault = cmp.Or(strings.TrimSpace(stringOf(fault)), "no reason given")
		return res
	}
	value := jsontext.Value(r.Response)
	for _, name := range []string{"output", "result", "content"} {
		if v, ok := fields[name]; ok {
			value = v
			break
		}
	}
	res.text = stringOf(value)
	reader := todoReader{zone: zone}
	reader.value(value)
	res.todos, res.cut = reader.found, reader.cut
	return res
}

// todoReader looks for todos in a result, however the server wrapped them:
// objects, arrays, {"todos": […]}, {"result": …}, and JSON inside of strings.
type todoReader struct {
	zone  *time.Location
	found []todo
	cut   bool
}

func (r *todoReader) value(v jsontext.Value) {
	switch v.Kind() {
	case '"':
		r.text(stringOf(v))
	case '[':
		r.array(v)
	case '{':
		r.object(v)
	}
}

// text reads JSON values, one after the other, out of a string.
func (r *todoReader) text(s string) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, "[") {
		return
	}
	dec := jsontext.NewDecoder(strings.NewReader(s), jsontext.AllowDuplicateNames(true))
	for {
		v, err := dec.ReadValue()
		if err != nil {
			r.salvage(s[dec.InputOffset():])
			return
		}
		r.value(v.Clone())
	}
}

// salvage reads the todos that are whole out of a list that was cut off.
func (r *todoReader) salvage(s string) {
	i := strings.IndexByte(s, '[')
	if i < 0 {
		return
	}
	r.cut = true
	dec := jsontext.NewDecoder(strings.NewReader(s[i:]), jsontext.AllowDuplicateNames(true))
	if _, err := dec.ReadToken(); err != nil {
		return
	}
	for {
		v, err := dec.ReadValue()
		if err != nil {
			return
		}
		r.value(v.Clone())
	}
}

func (r *todoReader) array(v jsontext.Value) {
	var list []jsontext.Value
	if json.Unmarshal(v, &list) != nil {
		return
	}
	for _, item := range list {
		r.value(item)
	}
}

func (r *todoReader) object(v jsontext.Value) {
	fields, ok := members(v)
	if !ok {
		return
	}
	if t, ok := readTodo(fields, r.zone); ok {
		r.found = append(r.found, t)
		return
	}
	if more, ok := fields["more"]; ok && string(more) == "true" {
		r.cut = true
	}
	for _, name := range []string{"todos", "todo", "tasks", "task", "items", "results", "result", "data", "text", "content", "structuredContent"} {
		if inner, ok := fields[name]; ok {
			r.value(inner)
			return
		}
	}
}

// readTodo reads an object that has an id and a title; other objects are none.
func readTodo(fields map[string]jsontext.Value, zone *time.Location) (todo, bool) {
	pick := func(names ...string) jsontext.Value {
		for _, name := range names {
			if v, ok := fields[name]; ok && !absent(v) {
				return v
			}
		}
		return nil
	}
	t := todo{
		id:       pick("id", "todo_id", "todoId", "task_id", "uuid", "_id"),
		title:    stringOf(pick("title", "name", "task", "text", "summary")),
		priority: strings.ToLower(stringOf(pick("priority"))),
		due:      readDue(stringOf(pick("due_date", "dueDate", "due", "due_at", "deadline")), zone),
	}
	if tags := pick("tags", "labels"); tags != nil && json.Unmarshal(tags, &t.tags) != nil {
		t.tags = nil // no list of strings
	}
	status := strings.ToLower(stringOf(pick("status", "state")))
	t.done = slices.Contains([]string{"completed", "complete", "done", "finished", "closed"}, status) ||
		bytes.Equal(pick("completed", "done", "is_completed"), []byte("true"))
	return t, t.id != nil && t.title != ""
}

// readDue reads a date as servers write it; one with an offset is brought into
// the visitor's zone.
func readDue(s string, zone *time.Location) due {
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return due{at: at.In(zone), timed: true}
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999", "2006-01-02T15:04", "2006-01-02 15:04:05"} {
		if at, err := time.ParseInLocation(layout, s, zone); err == nil {
			return due{at: at, timed: true}
		}
	}
	if at, err := time.ParseInLocation(time.DateOnly, s, zone); err == nil {
		return due{at: at}
	}
	return due{}
}
