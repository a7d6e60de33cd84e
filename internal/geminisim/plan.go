package geminisim

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// next finds the todo first, then changes it, and then tells. Where the list was
// searched for the visitor's words in vain, it is read as a whole once more.
func (c change) next(t *turn) output {
	worker := toolFor(t, c.kind)
	if t.away(t.tools.list) || t.away(worker) {
		return output{text: awayReply(t)}
	}
	if out, ok := c.incomplete(); ok {
		return output{text: out}
	}
	lists := t.of(t.tools.list)
	if len(lists) == 0 {
		return c.search(t, c.target)
	}
	list := lists[len(lists)-1]
	if list.fault != "" {
		return output{text: faultReply("look for “"+c.target+"”", list.fault)}
	}
	meant, doubt := c.resolve(list.todos)
	if len(meant) == 0 && len(doubt) == 0 && asked(list.call, t.tools.list.param(queryParams...)) {
		return c.search(t, "")
	}
	if len(meant) == 0 {
		return output{text: whichReply(c, doubt, list.todos, t)}
	}
	return c.work(t, worker, meant)
}

// incomplete returns a question if the phrase lacks what the change needs.
func (c change) incomplete() (string, bool) {
	switch {
	case len(stems(c.target)) == 0:
		return whichOneReply(nil), true
	case c.kind == reschedule && c.due.isZero() && c.shift.n == 0:
		return fmt.Sprintf("When should %s be due? Say for example “move %s to Friday at 10”.", bold(c.target), c.target), true
	case c.kind == remove && detailsOf.MatchString(c.target):
		return detailReply, true
	}
	return "", false
}

// search asks for the list, narrowed down by query if there is one.
func (c change) search(t *turn, query string) output {
	if !t.mayCall {
		return output{text: noCallsReply(t)}
	}
	tool := t.tools.list
	call := filter{status: "all", query: query}.call(tool, t.now)
	why := fmt.Sprintf("The user wants to %s a todo and calls it “%s”. I need its id, so I'll look for it with `%s`.", c.kind, c.target, tool.name)
	if len(t.results) > 0 {
		why = fmt.Sprintf("Searching for “%s” found nothing that fits. I'll read the whole list and compare the words.", c.target)
	}
	return output{thoughts: []string{thought("Finding the Todo", why)}, calls: []plannedCall{call}}
}

// queryOf returns the word of a target that says most: servers look for the query
// as it stands, and the visitor's order of words need not be the title's.
func queryOf(target string) string {
	best, top := "", 0.0
	for _, w := range readWords(target).words {
		if isSign(w.low) || slices.Contains(fillers, w.low) || irregular[w.low] != "" {
			continue
		}
		if value := 100*weightOf(stem(w.low)) + float64(len(w.low)); value > top {
			best, top = target[w.from:w.to], value
		}
	}
	return best
}

// asked says whether the call used the given parameter.
func asked(c functionCall, param string) bool {
	args, _ := members(c.Args)
	_, ok := args[param]
	return param != "" && ok
}

// resolve finds the todos that are meant. Where the words fit several equally
// well, they come back as doubt.
func (c change) resolve(todos []todo) (meant, doubt []todo) {
	whole := c.pick(c.target, todos)
	if parts := splitItems(c.target); len(parts) > 1 && c.kind != rename {
		if several := c.pickEach(parts, todos); len(several) > 1 && (len(whole) != 1 || newLooksFor(c.target).score(whole[0]) < 1) {
			return several, nil
		}
	}
	if len(whole) > 1 {
		return nil, whole
	}
	return whole, nil
}

// pickEach returns one todo for each part, or nil if that does not work out.
func (c change) pickEach(parts []string, todos []todo) []todo {
	var found []todo
	for _, part := range parts {
		one := c.pick(targetOf(part), todos)
		if len(one) != 1 {
			return nil
		}
		if !slices.ContainsFunc(found, func(t todo) bool { return string(t.id) == string(one[0].id) }) {
			found = append(found, one[0])
		}
	}
	return found
}

// pick returns the todos that fit best. Of equals, those count that the change
// would change: an open one to complete, a completed one to reopen.
func (c change) pick(target string, todos []todo) []todo {
	found := newLooksFor(target).best(todos)
	if len(found) < 2 || c.kind == remove {
		return found
	}
	var useful []todo
	for _, t := range found {
		if t.done == (c.kind == reopen) {
			useful = append(useful, t)
		}
	}
	if len(useful) > 0 {
		return useful
	}
	return found
}

// work makes the calls that are left and tells about them.
func (c change) work(t *turn, worker *todoTool, meant []todo) output {
	var calls []plannedCall
	for _, m := range meant {
		calls = append(calls, c.call(worker, m, t.now))
	}
	done := t.of(worker)
	if todo := t.inBatches(calls, len(done)); len(todo) > 0 {
		why := fmt.Sprintf("“%s” is the todo that is meant; its id is %s. I'll call `%s`.", meant[0].title, stringOf(meant[0].id), worker.name)
		return output{thoughts: []string{thought("Making the Change", why)}, calls: todo}
	}
	if len(done) == 0 {
		return output{text: foundOnlyReply(meant)}
	}
	return output{text: changeReply(c, t, meant, done)}
}

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
