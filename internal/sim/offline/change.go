// This file understands phrases that change a todo which exists. A change takes two steps over the
// tools: it looks for the todo that the visitor's words name, and then makes the call. If several
// todos fit, or none, it asks and changes nothing.

package offline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/offline/english"
)

// kind is the kind of change to a todo.
type kind string

const (
	complete   kind = "complete"
	remove     kind = "delete"
	rename     kind = "rename"
	reschedule kind = "move"
	prioritise kind = "change"
)

// change does one thing to one todo.
//
// It is made of one phrase and never changes. The results of the turn show the progress.
type change struct {
	kind     kind
	target   string       // the visitor's words for the todo
	title    string       // rename
	due      english.Date // reschedule
	priority string       // prioritise
}

// readChange returns a reader for phrases with a <todo>, or with a <did>: "I bought the eggs" is
// the end of "buy eggs".
//
// The reader returns nil where the words fit a pattern and mean something else, so that the
// next phrase is tried.
func readChange(kind kind) func(*english.Sentence, english.Found, time.Time) intent {
	return func(_ *english.Sentence, f english.Found, now time.Time) intent {
		c := change{kind: kind, target: targetOf(f.Texts["todo"] + f.Texts["did"]), title: tidyText(f.Texts["title"])}
		if verb := english.Read(f.Texts["did"]).At(0); verb != "" && !isPast(verb) {
			return nil
		}
		if how := f.Texts["how"]; how != "" {
			c.priority = priorityOf(how)
		}
		if kind == reschedule {
			rest, due := english.Read(f.Texts["date"]).CutDate(now)
			if tidyText(rest.Text()) != "" || due.At.IsZero() {
				return nil // change the sheets to blue
			}
			c.due = due
		}
		return c
	}
}

// isPast reports whether a verb reports that something is done.
func isPast(verb string) bool {
	return english.In("bought got did made went wrote sent paid took brought met fed", verb) ||
		strings.HasSuffix(verb, "ed") && !english.In("need wanted tried", verb)
}

// targetOf trims the visitor's words for a todo to those that say which.
func targetOf(words string) string {
	s := english.Read(words)
	for _, pattern := range []string{
		"from|off|on|in the|my [todo|to-do|shopping] list|todos|tasks $",
		"^ the|my|our|that|this|a|an",
		"^ todo|task|reminder [about|called|named|to]",
		"todo|task|reminder $",
		"yesterday|today|already $",
	} {
		if rest, _, ok := s.Cut(pattern); ok && len(s.Words) > 1 {
			s = rest
		}
	}
	return strings.TrimPrefix(tidyText(s.Text()), "#")
}

// refersBack reports whether the todo can only be known from earlier messages.
func (c change) refersBack() bool {
	return english.In("it that this one todo", strings.ToLower(c.target))
}

// nextAnswer finds the todo first, then changes it, and then reports.
func (c change) nextAnswer(t *turn) geminisim.Answer {
	list, worker := t.declaredTool("list_todos"), t.declaredTool("update_todo")
	if c.kind == remove {
		worker = t.declaredTool("delete_todo")
	}
	if worker == nil || list == nil {
		return t.answerUnavailable()
	}
	if c.refersBack() {
		c.target = t.antecedentTitle()
	}
	if c.target == "" {
		return text("Which todo do you mean? Say for example “mark buy eggs as done” or “delete buy eggs”.")
	}
	lists, word := t.resultsOf(list), longestKeyword(c.target)
	if len(lists) == 0 {
		return c.lookUp(t, list, word)
	}
	last := lists[len(lists)-1]
	if last.fault != "" {
		return text(faultReply("look for “"+c.target+"”", last.fault))
	}
	meant := c.pickBest(last.todos)
	switch {
	case len(meant) == 0 && len(lists) == 1 && word != "": // compare the words with the whole list
		return c.lookUp(t, list, "")
	case len(meant) != 1:
		return text(c.askWhich(meant, t.now))
	}
	return c.makeChange(t, worker, meant[0])
}

// lookUp asks for the list, narrowed down by query if there is one.
func (c change) lookUp(t *turn, list *tool, query string) geminisim.Answer {
	if !t.mayCall {
		return text(noCalls)
	}
	why := fmt.Sprintf("The user wants to %s a todo and calls it “%s”. I need its id, so I'll look for it with `%s`.", c.kind, c.target, list.name)
	return oneCall("Finding the Todo", why, filter{status: "all", query: query}.newPlan(list))
}

// pickBest returns the todos that fit best. Among equal fits it prefers pending todos, since the
// change would alter them. If these share one title, the first counts. A deletion is final, so
// there the visitor is asked.
func (c change) pickBest(todos []todo) []todo {
	found := bestFits(c.target, todos)
	useful := slices.DeleteFunc(slices.Clone(found), func(t todo) bool { return t.done })
	switch {
	case c.kind == remove || len(useful) == 0:
		return found
	case !slices.ContainsFunc(useful, func(t todo) bool { return t.title != useful[0].title }):
		return useful[:1]
	}
	return useful
}

// askWhich asks for the todo that is meant, if several fit or none.
func (c change) askWhich(doubt []todo, now time.Time) string {
	for i := range doubt { // nothing else may distinguish them
		doubt[i].title += " (" + doubt[i].id + ")"
	}
	if len(doubt) > 0 {
		return fmt.Sprintf("Several todos fit “%s”. Which one should I %s? You can name it by its id.\n\n%s", c.target, c.kind, bulletList(doubt, now))
	}
	return fmt.Sprintf("I found no todo that fits “%s”, so nothing was changed.", c.target)
}

// makeChange makes the call, or reports its result.
func (c change) makeChange(t *turn, worker *tool, m todo) geminisim.Answer {
	param, value, report := c.effectOn(m, t.now)
	switch done := t.resultsOf(worker); {
	case len(done) > 0 && done[0].fault != "":
		return text(faultReply(string(c.kind)+" "+bold(m.title), done[0].fault))
	case len(done) > 0:
		return text(report)
	case !t.mayCall:
		return text("I found " + bold(m.title) + ", but I may not use tools any more in this turn, so nothing was changed.")
	}
	why := fmt.Sprintf("“%s” is the todo that is meant; its id is %s. I'll call `%s`.", m.title, m.id, worker.name)
	return oneCall("Making the Change", why, plan{tool: worker}.withArgument("todo_id", m.id).withArgument(param, value))
}

// effectOn returns the effect of the change on a todo: the argument of the call, and the report for
// the visitor. A new day alone keeps the todo's hour.
func (c change) effectOn(m todo, now time.Time) (param string, value any, report string) {
	title := bold(m.title)
	switch c.kind {
	case remove:
		return "confirmation", true, "I've deleted " + title + "."
	case complete:
		return "status", "completed", "Done! I've marked " + title + " as completed."
	case rename:
		return "title", c.title, "I've renamed " + title + " to " + bold(c.title) + "."
	case reschedule:
		due := c.due
		if old := m.due; old.Timed && !due.Timed {
			due = english.Date{At: due.At.Add(old.At.Sub(english.Midnight(old.At))), Timed: true}
		}
		return "due_date", due.ISO(), "I've moved " + title + " to " + due.Spoken(now) + "."
	}
	return "priority", c.priority, title + " now has " + c.priority + " priority."
}
