package offline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/internal/geminisim"
)

// kind is what is done to todos that exist.
type kind string

const (
	complete   kind = "complete"
	reopen     kind = "reopen"
	remove     kind = "delete"
	rename     kind = "rename"
	reschedule kind = "move"
	prioritise kind = "change"
)

// change does one thing to one todo, or to all of a filter.
type change struct {
	kind      kind
	target    string  // the visitor's words for the todo
	many      *filter // nil: one todo is meant
	confirmed bool    // needed to delete all todos

	title    string // rename
	due      date   // reschedule
	priority string // prioritise
}

// readChange returns a reader for phrases with a <todo>.
func readChange(kind kind) func(found, time.Time) intent {
	return func(f found, now time.Time) intent {
		c := change{kind: kind, target: targetOf(f.texts["todo"]), title: tidy(f.texts["title"])}
		switch kind {
		case prioritise:
			c.priority = level(f.texts["how"])
		case reschedule:
			s := readWords(f.texts["date"])
			if c.due = readDate(s, 0, now); c.due.at.IsZero() || s.skipSigns(c.due.to) < len(s.words) {
				return nil // change the sheets to blue
			}
		case remove:
			if s := readWords(f.texts["work"]); len(s.words) > 0 {
				if _, d := takeDate(s, now); !d.at.IsZero() {
					return nil // cancel my gym membership by Friday
				}
				c.target = targetOf(s.text())
			}
		}
		if kind != rename {
			c.many = manyOf(readWords(f.texts["todo"]+f.texts["work"]), kind, now)
		}
		return c
	}
}

// readReport takes "I bought the eggs" for the end of "buy eggs".
func readReport(s *sentence, now time.Time) intent {
	f, _ := s.match("i|i've|we|we've|i_have [just|already|finally] <todo>")
	if verb := readWords(f.texts["todo"]).at(0); in(pastVerbs, verb) || strings.HasSuffix(verb, "ed") && !in("need wanted tried", verb) {
		return readChange(complete)(f, now)
	}
	return nil
}

// targetOf trims the visitor's words for a todo to those that say which.
func targetOf(words string) string {
	s := readWords(words)
	for _, pattern := range []string{
		"from|off|on|in the|my * list|todos|tasks|todo_list $",
		"^ the|my|our|that|this|a|an",
		"^ todo|task|reminder|item about|called|named|to",
		"^ todo|task|reminder|item|the",
		"todo|task|item|reminder $",
		"yesterday|today|already $",
	} {
		if rest, _, ok := s.cut(pattern); ok && len(s.words) > 1 {
			s = rest
		}
	}
	return strings.TrimPrefix(tidy(s.text()), "#")
}

// manyOf reads words for several todos; nil: they mean one. They may say nothing
// but restrictions, or "cancel all subscriptions" would delete the todos.
func manyOf(s *sentence, kind kind, now time.Time) *filter {
	const known = "all every everything of the my completed done finished overdue todo todos to-dos task tasks list that are due urgent " +
		"tagged with"
	f, rest := readFilter(s, now)
	if slices.ContainsFunc(rest.words, func(w word) bool { return !in(known, w.low) && !isSign(w.low) }) {
		return nil
	}
	_, all := s.find("all|every|everything|my_list|the_list|completed|overdue")
	if _, plural := s.find("todos|tasks"); !all && !(plural && f.restricted()) {
		return nil
	}
	switch {
	case kind == reopen:
		f.status = "completed"
	case kind != remove || f.overdue:
		f.status = "pending"
	case f.status == "pending":
		f.status = "all"
	}
	return &f
}

// refersBack says whether the todo can only be known from earlier messages.
func (c change) refersBack() bool {
	return c.many == nil && in("it that this one todo", strings.ToLower(c.target))
}

// next finds the todos first, then changes them, and then reports.
func (c change) next(t *turn) geminisim.Answer {
	worker := t.tools.update
	if c.kind == remove {
		worker = t.tools.remove
	}
	if worker == nil || t.tools.list == nil {
		return text(unavailable)
	}
	if c.refersBack() {
		it := t.antecedent()
		if it.id != nil {
			return c.work(t, worker, []todo{it}, result{})
		}
		c.target = it.title
	}
	lists := t.of(t.tools.list)
	switch {
	case c.target == "":
		return text("Which todo do you mean? Say for example “mark buy eggs as done” or “delete buy eggs”.")
	case len(lists) == 0:
		return c.lookUp(t, keyword(c.target))
	}
	list := lists[len(lists)-1]
	meant := c.meant(list.todos, t.now)
	switch {
	case list.fault != "":
		return text(faultReply("look for “"+c.target+"”", list.fault))
	case len(meant) == 0 && c.many == nil && members(list.args)["query"] != nil:
		return c.lookUp(t, "")
	case len(meant) == 0 && c.many != nil:
		return text("There is nothing to " + string(c.kind) + ": I found no " + c.many.describe() + "." + cutNote(list))
	case c.many == nil && len(meant) != 1:
		return text(c.which(meant, list.todos, t.now))
	case c.kind == remove && c.many != nil && !c.confirmed && !c.many.restricted() && c.many.status == "all":
		return text(fmt.Sprintf("That would delete %s, and it cannot be undone. If you mean it, say “yes, delete all todos”.", counted(len(meant))))
	}
	return c.work(t, worker, meant, list)
}

// lookUp asks for the list, narrowed down by query if there is one. What is not in
// the list cannot be found, so it asks for all that the tool gives in one go.
func (c change) lookUp(t *turn, query string) geminisim.Answer {
	if !t.mayCall {
		return text(noCalls)
	}
	tool := t.tools.list
	f := filter{status: "all", query: query}
	why := fmt.Sprintf("The user wants to %s a todo and calls it “%s”. I need its id, so I'll look for it with `%s`.", c.kind, c.target, tool.name)
	switch {
	case c.many != nil:
		f = *c.many
	case len(t.results) > 0:
		why = fmt.Sprintf("Searching for “%s” found nothing that fits. I'll read the whole list and compare the words.", c.target)
	}
	return geminisim.Answer{
		Thoughts: []string{thought("Finding the Todo", why)},
		Calls:    []geminisim.Call{f.plan(tool).with("limit", tool.maximum("limit")).call()},
	}
}

// meant returns the todos that fit best. Of equals those count that the change
// would change, and of those that nobody could tell apart the first. What is
// deleted is gone, so there the visitor is asked.
func (c change) meant(todos []todo, now time.Time) []todo {
	if c.many != nil {
		return c.many.apply(todos, now)
	}
	found := best(c.target, todos)
	useful := slices.DeleteFunc(slices.Clone(found), func(t todo) bool { return t.done != (c.kind == reopen) })
	if c.kind == remove || len(useful) == 0 {
		return found
	}
	if !slices.ContainsFunc(useful, func(t todo) bool { return t.describe(":", "", "", now) != useful[0].describe(":", "", "", now) }) {
		return useful[:1]
	}
	return useful
}

// which asks which todo is meant, when several fit or none does.
func (c change) which(doubt, all []todo, now time.Time) string {
	for i := range doubt { // nothing else may tell them apart
		doubt[i].title += " (" + stringOf(doubt[i].id) + ")"
	}
	open := filter{status: "pending"}.apply(all, now)
	switch {
	case len(doubt) > 0:
		return fmt.Sprintf("Several todos fit “%s”. Which one should I %s? You can name it by its id.\n\n%s", c.target, c.kind, bullets(doubt, now))
	case len(open) == 0:
		return fmt.Sprintf("I found no todo that fits “%s”, so nothing was changed. There are no open todos on your list.", c.target)
	}
	return fmt.Sprintf("I found no todo that fits “%s”, so nothing was changed. These are open:\n\n%s", c.target, bullets(open[:min(5, len(open))], now))
}

// work makes the calls that are left and reports.
func (c change) work(t *turn, worker *tool, meant []todo, list result) geminisim.Answer {
	var plans []plan
	for _, m := range meant {
		plans = append(plans, c.plan(worker, m))
	}
	done := t.of(worker)
	if calls := t.step(plans, len(done)); len(calls) > 0 {
		why := fmt.Sprintf("“%s” is the todo that is meant; its id is %s. I'll call `%s`.", meant[0].title, stringOf(meant[0].id), worker.name)
		if len(meant) > 1 {
			why = fmt.Sprintf("%s are meant. They do not depend on each other, so I'll change them in parallel with `%s`.", counted(len(meant)), worker.name)
		}
		return geminisim.Answer{Thoughts: []string{thought("Making the Change", why)}, Calls: calls}
	}
	if len(done) == 0 {
		return text("I found " + strings.Replace(counted(len(meant)), " ", " matching ", 1) + ", but I may not use tools any more in this turn, so nothing was changed.")
	}
	var changed, reports, faults []string
	for i, r := range done[:min(len(done), len(meant))] {
		if r.fault != "" {
			faults = append(faults, faultReply(string(c.kind)+" "+bold(meant[i].title), r.fault))
			continue
		}
		changed = append(changed, bold(meant[i].title))
		reports = append(reports, c.report(meant[i], t.now))
	}
	if len(changed) > 1 {
		past := strings.TrimSuffix(string(c.kind), "e") + "ed"
		reports = []string{"I've " + past + " " + counted(len(changed)) + ": " + strings.Join(changed, ", ") + "."}
	}
	return text(strings.Join(append(reports, faults...), "\n\n") + left(len(meant)-len(done)) + cutNote(list))
}

// plan is the change of one todo.
func (c change) plan(tool *tool, m todo) plan {
	p := plan{tool: tool}.with("todo_id", m.id)
	switch c.kind {
	case remove:
		return p.with("confirmation", true)
	case complete:
		return p.with("status", "completed")
	case reopen:
		return p.with("status", "pending")
	case rename:
		return p.with("title", c.title)
	case reschedule:
		return p.with("due_date", c.newDue(m.due).iso())
	}
	return p.with("priority", c.priority)
}

// newDue is the date after the change: a day alone keeps the todo's hour, an
// hour alone its day.
func (c change) newDue(old date) date {
	day, hour := c.due.at, c.due.at
	if old.timed && !c.due.timed {
		hour = old.at
	}
	if c.due.anyDay && !old.at.IsZero() {
		day = old.at
	}
	return date{at: midnight(day).Add(hour.Sub(midnight(hour))), timed: old.timed || c.due.timed}
}

// report is the sentence about one changed todo.
func (c change) report(m todo, now time.Time) string {
	title := bold(m.title)
	switch c.kind {
	case complete:
		return "Done! I've marked " + title + " as completed."
	case reopen:
		return title + " is open again."
	case remove:
		return "I've deleted " + title + "."
	case rename:
		return "I've renamed " + title + " to " + bold(c.title) + "."
	case reschedule:
		return "I've moved " + title + " to " + c.newDue(m.due).spoken(now) + "."
	}
	return title + " now has " + c.priority + " priority."
}
