// This file understands phrases about the list and their restrictions: status, priority, tags,
// days, words of the title. The same filter is sent to the tool, as far as the tool has parameters
// for it, and applied to its result.

package offline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/offline/english"
)

// filter says which todos a phrase speaks of.
//
// An empty field restricts nothing.
type filter struct {
	status   string // "pending", "completed" or "all"
	priority string
	tags     []string
	days     dayRange
	query    string // words of the title
}

// dayRange is a range of days, the last one included. The zero value is all days.
type dayRange struct {
	from, to time.Time
	name     string // as in "due this week"
	value    string // what the tool's filter calls it; "": nothing
}

// readFilter reads the restrictions in a phrase such as "my open high priority
// todos that are due this week".
func readFilter(s *english.Sentence, now time.Time) (f filter) {
	f.status = "pending"
	for _, status := range []struct{ name, words string }{{"all", "all|everything|every"}, {"completed", "completed|done|finished|did_i"}} {
		if _, ok := s.Find(status.words); ok {
			f.status = status.name
		}
	}
	s, f.tags = cutTags(s)
	s, f.priority = cutPriority(s)
	if f.status != "completed" { // a server knows when a todo is due, not when it was done
		f.days = readDays(s, now)
	}
	if about, ok := s.Find("about|with <query> $"); ok {
		f.query = targetOf(about.Texts["query"])
	}
	return f
}

// readDays reads a range of days.
func readDays(s *english.Sentence, now time.Time) dayRange {
	today, week := english.Midnight(now), english.Monday(now)
	for _, r := range []dayRange{
		{week, week.AddDate(0, 0, 6), "this week", "this_week"},
		{week.AddDate(0, 0, 7), week.AddDate(0, 0, 13), "next week", ""},
		{today, today, "today", "today"},
		{today.AddDate(0, 0, 1), today.AddDate(0, 0, 1), "tomorrow", today.AddDate(0, 0, 1).Format(time.DateOnly)},
		{today.AddDate(-100, 0, 0), today.AddDate(0, 0, -1), "overdue", "overdue"},
	} {
		if _, ok := s.Find(strings.ReplaceAll(r.name, " ", "_")); ok {
			return r
		}
	}
	_, d := s.CutDate(now)
	if d.At.IsZero() {
		return dayRange{}
	}
	day := english.Midnight(d.At)
	return dayRange{day, day, "on " + day.Format("Monday, 2 January"), day.Format(time.DateOnly)}
}

// matches reports whether a todo is among those that the phrase speaks of. Servers
// filter too, but not all of them by all of this.
func (f filter) matches(t todo) bool {
	switch {
	case f.status == "pending" && t.done, f.status == "completed" && !t.done,
		f.priority != "" && t.priority != "" && t.priority != f.priority,
		f.days.name != "" && (t.due.At.Before(f.days.from) || !t.due.At.Before(f.days.to.AddDate(0, 0, 1))),
		f.query != "" && fitOf(f.query, t) == none:
		return false
	}
	return !slices.ContainsFunc(f.tags, func(tag string) bool { return !slices.Contains(t.tags, tag) })
}

// matchingTodos returns the todos that the filter keeps, in their order.
func (f filter) matchingTodos(todos []todo) []todo {
	return slices.DeleteFunc(slices.Clone(todos), func(t todo) bool { return !f.matches(t) })
}

// describeTodos names the todos of the filter, of which there are n: "open high priority todos due this week".
func (f filter) describeTodos(n int) string {
	words := map[string]string{"pending": "open ", "completed": "completed "}[f.status]
	if f.priority != "" {
		words += f.priority + " priority "
	}
	if words += "todos"; n == 1 {
		words = strings.TrimSuffix(words, "s")
	}
	for _, tag := range f.tags {
		words += " tagged #" + tag
	}
	if f.days.name != "" {
		words += " due " + f.days.name
	}
	if f.query != "" {
		words += " about “" + f.query + "”"
	}
	return strings.Replace(words, "due overdue", "that are overdue", 1)
}

// newPlan asks for the todos of the filter, as far as the tool can distinguish them.
func (f filter) newPlan(tool *tool) plan {
	return plan{tool: tool}.withArgument("status", f.status).withArgument("priority", f.priority).withArgument("due_date_filter", f.days.value).
		withArgument("tags", f.tags).withArgument("query", longestKeyword(f.query))
}

// listing shows todos.
type listing filter

// readListing reads a question for the list. Words behind "show" that do not name the list are
// searched for.
func readListing(s *english.Sentence, f english.Found, now time.Time) intent {
	wanted := readFilter(s, now)
	what := f.Texts["todos"]
	_, list := english.Read(what).Find("todo|todos|to-dos|task|tasks|list|agenda|completed|everything|overdue")
	if what != "" && !list && wanted.describeTodos(0) == "open todos" {
		wanted.query = targetOf(what)
	}
	return listing(wanted)
}

// nextAnswer asks for the list, and then shows it.
func (l listing) nextAnswer(t *turn) geminisim.Answer { return l.showList(t, l.reportTodos) }

// showList asks for the list, and then answers with report's text.
func (l listing) showList(t *turn, report func(r result, now time.Time) string) geminisim.Answer {
	tool := t.declaredTool("list_todos")
	results := t.resultsOf(tool)
	switch {
	case tool == nil:
		return t.answerUnavailable()
	case len(results) > 0 && results[0].fault != "":
		return text(faultReply("read your list", results[0].fault))
	case len(results) > 0:
		return text(report(results[0], t.now))
	case !t.mayCall:
		return text(noCalls)
	}
	return oneCall("Looking up the List", "The user wants to see their "+filter(l).describeTodos(0)+". I'll ask for them with `"+tool.name+"`.", filter(l).newPlan(tool))
}

// reportTodos shows the todos of a result that the filter keeps.
func (l listing) reportTodos(r result, now time.Time) string {
	kept := filter(l).matchingTodos(r.todos)
	switch {
	case len(kept) == 0:
		return "You have no " + filter(l).describeTodos(0) + "." + cutNote(r)
	}
	return fmt.Sprintf("You have %d %s:\n\n%s%s", len(kept), filter(l).describeTodos(len(kept)), bulletList(kept, now), cutNote(r))
}
