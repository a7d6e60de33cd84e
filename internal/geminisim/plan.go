package geminisim

import (
	"fmt"
	"slices"
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
	call := filter{status: "all", query: query}.call(tool, t.now).withLimit(tool)
	why := fmt.Sprintf("The user wants to %s a todo and calls it “%s”. I need its id, so I'll look for it with `%s`.", c.kind, c.target, tool.name)
	if len(t.results) > 0 {
		why = fmt.Sprintf("Searching for “%s” found nothing that fits. I'll read the whole list and compare the words.", c.target)
	}
	return output{thoughts: []string{thought("Finding the Todo", why)}, calls: []plannedCall{call}}
}

// idLike is a target that may be an id, which no title holds.
var idLike = rawPattern(`^\S*\d\S*$`)

// queryOf returns the word of a target that says most: servers look for the query
// as it stands, and the visitor's order of words need not be the title's.
func queryOf(target string) string {
	if idLike.MatchString(target) {
		return ""
	}
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
	if len(found) < 2 || c.kind == remove { // what is deleted is gone: ask
		return found
	}
	var useful []todo
	for _, t := range found {
		if t.done == (c.kind == reopen) {
			useful = append(useful, t)
		}
	}
	if len(useful) > 0 {
		found = useful
	}
	if interchangeable(found) {
		return found[:1]
	}
	return found
}

// interchangeable says whether nobody could tell the todos apart: then it does not
// matter which of them is completed or moved.
func interchangeable(todos []todo) bool {
	return !slices.ContainsFunc(todos, func(t todo) bool {
		return t.title != todos[0].title || t.due != todos[0].due || t.priority != todos[0].priority || t.done != todos[0].done
	})
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
