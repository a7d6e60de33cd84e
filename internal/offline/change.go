// This file understands phrases that change todos which exist. A change takes two steps
// over the tools: it looks for the todo that the visitor's words name, and then makes the
// calls. Where several fit, or none does, it asks and changes nothing; to delete all of
// them it wants a second sentence.

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
//
// It is made of one phrase and never changes; what has been done is read from the results
// of the turn.
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
//
// The reader returns nil where the words fit a pattern and mean something else, so that the
// next phrase is tried.
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
func (c change) refersBack() bool { return in("it that this one todo", strings.ToLower(c.target)) }

// next finds the todos first, then changes them, and then reports.
func (c change) next(t *turn) geminisim.Answer {
	worker := t.tools.update
	if c.kind == remove {
		worker = t.tools.remove
	}
	if worker == nil || t.tools.list == nil {
		return text(unavailable)
	}
	if c.many == nil && c.refersBack() {
		it := t.antecedent()
		if it.id != "" {
			return c.work(t, worker, []todo{it})
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
	if list.fault != "" {
		return text(faultReply("look for “"+c.target+"”", list.fault))
	}
	if c.many != nil {
		return c.nextOfMany(t, worker, list)
	}
	meant := c.pick(list.todos)
	switch {
	case len(meant) == 0 && list.query: // compare the words with the whole list
		return c.lookUp(t, "")
	case len(meant) != 1:
		return text(c.which(meant, list.todos, t.now))
	}
	return c.work(t, worker, meant)
}

// nextOfMany changes all todos that a filter keeps. To delete every todo it wants a second sentence
// that confirms it.
//
// The note about a list that was cut is added to the last answer, since todos may have been
// missed.
func (c change) nextOfMany(t *turn, worker *tool, list result) geminisim.Answer {
	meant := c.many.apply(list.todos, t.now)
	switch {
	case len(meant) == 0:
		return text("There is nothing to " + string(c.kind) + ": I found no " + c.many.describe() + "." + cutNote(list))
	case c.kind == remove && !c.confirmed && !c.many.restricted() && c.many.status == "all":
		return text("That would delete " + counted(len(meant)) + ", and it cannot be undone. If you mean it, say “yes, delete all todos”.")
	}
	answer := c.work(t, worker, meant)
	if answer.Text != "" {
		answer.Text += cutNote(list)
	}
	return answer
}

// lookUp asks for the list, narrowed down by query if there is one.
func (c change) lookUp(t *turn, query string) geminisim.Answer {
	if !t.mayCall {
		return text(noCalls)
	}
	tool := t.tools.list
	f := filter{status: "all", query: query}
	if c.many != nil {
		f = *c.many
	}
	why := fmt.Sprintf("The user wants to %s a todo and calls it “%s”. I need its id, so I'll look for it with `%s`.", c.kind, c.target, tool.name)
	return geminisim.Answer{
		Thoughts: []string{thought("Finding the Todo", why)},
		Calls:    []geminisim.Call{f.plan(tool).call()},
	}
}

// pick returns the todos that fit best. Of equals those count that the change
// would change, and of those that nobody could tell apart the first. What is
// deleted is gone, so there the visitor is asked.
func (c change) pick(todos []todo) []todo {
	found := best(c.target, todos)
	useful := slices.DeleteFunc(slices.Clone(found), func(t todo) bool { return t.done != (c.kind == reopen) })
	if c.kind == remove || len(useful) == 0 {
		return found
	}
	differs := func(t todo) bool {
		return t.title != useful[0].title || t.due != useful[0].due || t.priority != useful[0].priority
	}
	if !slices.ContainsFunc(useful, differs) {
		return useful[:1]
	}
	return useful
}

// which asks which todo is meant, when several fit or none does.
func (c change) which(doubt, all []todo, now time.Time) string {
	for i := range doubt { // nothing else may tell them apart
		doubt[i].title += " (" + doubt[i].id + ")"
	}
	if len(doubt) > 0 {
		return fmt.Sprintf("Several todos fit “%s”. Which one should I %s? You can name it by its id.\n\n%s", c.target, c.kind, bullets(doubt, now))
	}
	said := fmt.Sprintf("I found no todo that fits “%s”, so nothing was changed.", c.target)
	if open := (filter{status: "pending"}).apply(all, now); len(open) > 0 {
		said += " These are open:\n\n" + bullets(open[:min(5, len(open))], now)
	}
	return said
}

// work makes the calls that are left and reports.
//
// meant are all todos that are to change; those beyond the calls of one step follow in the
// next one.
func (c change) work(t *turn, worker *tool, meant []todo) geminisim.Answer {
	var plans []plan
	for _, m := range meant {
		param, value, _ := c.effect(m, t.now)
		plans = append(plans, plan{tool: worker}.with("todo_id", m.id).with(param, value))
	}
	done := t.of(worker)
	if calls := t.step(plans, len(done)); len(calls) > 0 {
		why := fmt.Sprintf("“%s” is the todo that is meant; its id is %s. I'll call `%s`.", meant[0].title, meant[0].id, worker.name)
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
		_, _, report := c.effect(meant[i], t.now)
		changed, reports = append(changed, bold(meant[i].title)), append(reports, report)
	}
	if len(changed) > 1 {
		past := strings.TrimSuffix(string(c.kind), "e") + "ed"
		reports = []string{"I've " + past + " " + counted(len(changed)) + ": " + strings.Join(changed, ", ") + "."}
	}
	return text(strings.Join(append(reports, faults...), "\n\n") + left(len(meant)-len(done)))
}

// effect is what the change does to a todo: the argument of the call, and what the
// visitor reads when it is done.
func (c change) effect(m todo, now time.Time) (param string, value any, report string) {
	title := bold(m.title)
	switch c.kind {
	case remove:
		return "confirmation", true, "I've deleted " + title + "."
	case complete:
		return "status", "completed", "Done! I've marked " + title + " as completed."
	case reopen:
		return "status", "pending", title + " is open again."
	case rename:
		return "title", c.title, "I've renamed " + title + " to " + bold(c.title) + "."
	case reschedule:
		due := c.newDue(m.due)
		return "due_date", due.iso(), "I've moved " + title + " to " + due.spoken(now) + "."
	}
	return "priority", c.priority, title + " now has " + c.priority + " priority."
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
