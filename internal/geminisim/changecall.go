package geminisim

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// call is the change of one todo.
func (c change) call(tool *todoTool, m todo, now time.Time) plannedCall {
	call := plannedCall{name: tool.name}
	if p := tool.param("todo_id", "id", "todoId", "task_id", "item_id", "uuid"); p != "" {
		call = call.with(p, idFor(tool.props[p], m.id))
	}
	switch c.kind {
	case remove:
		if p := tool.param("confirmation", "confirm", "confirmed"); p != "" {
			call = call.with(p, true)
		}
	case complete, reopen:
		return c.callStatus(call, tool)
	case rename:
		call = call.with(tool.param("title", "name", "task", "text", "content", "summary"), c.title)
	case reschedule:
		call = call.with(tool.param("due_date", "dueDate", "due", "due_at", "deadline"), c.newDue(m, now).iso())
	case prioritise:
		p := tool.param("priority")
		call = call.with(p, tool.choose(p, c.priority))
	case label:
		call = call.with(tool.param("tags", "labels"), c.allTags(m))
	}
	return call
}

func (c change) callStatus(call plannedCall, tool *todoTool) plannedCall {
	done := c.kind == complete
	if status := tool.param("status", "state"); status != "" {
		value := tool.choose(status, "pending", "open", "active", "todo", "incomplete")
		if done {
			value = tool.choose(status, "completed", "complete", "done", "finished", "closed")
		}
		return call.with(status, value)
	}
	return call.with(tool.param("completed", "done", "is_completed"), done)
}

// idFor writes an id as the parameter wants it: some servers give numbers and
// take strings.
func idFor(p property, id jsontext.Value) any {
	if string(p.Type) == `"string"` || string(p.Type) == `"STRING"` {
		return stringOf(id)
	}
	return id
}

// newDue is the date after the change. A shift counts from the date that the todo
// has, or from now if it has none; a day alone keeps the todo's hour, an hour
// alone its day.
func (c change) newDue(m todo, now time.Time) due {
	if c.shift.n > 0 {
		from := m.due
		if from.isZero() {
			from = due{at: now, timed: c.shift.unit < days}
		}
		at, timed := c.shift.after(from.at)
		return due{at: at, timed: from.timed || timed}
	}
	old, hour := m.due.at, c.due.at.Sub(midnight(c.due.at))
	switch {
	case m.due.timed && !c.due.timed:
		return due{at: c.due.at.Add(old.Sub(midnight(old))), timed: true}
	case c.due.anyDay && !m.due.isZero() && !old.Before(midnight(now)):
		return due{at: midnight(old).Add(hour), timed: true}
	}
	return c.due
}

func (c change) allTags(m todo) []string {
	tags := slices.Clone(m.tags)
	for _, tag := range c.tags {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// afterChange reads the todo that a tool returned, or makes up for it with what
// was asked for.
func (c change) afterChange(m todo, r toolResult, now time.Time) todo {
	if len(r.todos) == 1 {
		return r.todos[0]
	}
	switch c.kind {
	case rename:
		m.title = c.title
	case reschedule:
		m.due = c.newDue(m, now)
	case prioritise:
		m.priority = c.priority
	case label:
		m.tags = c.allTags(m)
	}
	return m
}
