// This file understands phrases about the list and what restricts them: status, priority,
// tags, days, words of the title. The same filter is sent to the tool, as far as the tool
// has parameters for it, and applied again to what comes back.

package offline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/internal/geminisim"
)

// filter says which todos a phrase speaks of.
//
// An empty field restricts nothing.
type filter struct {
	status   string // "pending", "completed" or "all"
	priority string
	tags     []string
	overdue  bool
	days     dayRange
	query    string // words of the title
}

// dayRange is a range of days, the last one included. The zero value is all days.
type dayRange struct {
	from, to time.Time
	name     string // as in "due this week"
	value    string // what the tool's filter calls it; "": nothing
}

// readFilter takes the restrictions out of a phrase such as "my open high priority
// todos tagged #work that are due this week".
func readFilter(s *sentence, now time.Time) (f filter, rest *sentence) {
	f.status = "all"
	if _, ok := s.find("all|everything|every"); !ok {
		f.status = "pending"
	}
	if _, ok := s.find("completed|done|finished|did_i"); ok {
		f.status = "completed"
	}
	s, f.tags = takeTags(s)
	s, f.priority = takePriority(s)
	if _, urgent := s.find("urgent|important"); urgent {
		f.priority = "high"
	}
	_, f.overdue = s.find("overdue|late")
	if s, f.days = takeDays(s, now); f.status == "completed" {
		f.days = dayRange{} // a server knows when a todo is due, not when it was done
	}
	if cut, about, ok := s.cut("about|for|with <query> $"); ok {
		s, f.query = cut, targetOf(about.texts["query"])
	}
	return f, s
}

// takeDays cuts a range of days: this week is a week here, not its end.
func takeDays(s *sentence, now time.Time) (*sentence, dayRange) {
	today := midnight(now)
	week := monday(today)
	for _, r := range []dayRange{
		{week, week.AddDate(0, 0, 6), "this week", "this_week"},
		{week.AddDate(0, 0, 7), week.AddDate(0, 0, 13), "next week", ""},
		{coming(today, week.AddDate(0, 0, 5), today), week.AddDate(0, 0, 6), "this weekend", ""},
	} {
		if rest, _, ok := s.cut("[for] " + strings.ReplaceAll(r.name, " ", "_")); ok {
			return rest, r
		}
	}
	s, d := takeDate(s, now)
	if d.at.IsZero() {
		return s, dayRange{}
	}
	day := midnight(d.at)
	switch day {
	case today:
		return s, dayRange{day, day, "today", "today"}
	case today.AddDate(0, 0, 1):
		return s, dayRange{day, day, "tomorrow", day.Format(time.DateOnly)}
	}
	return s, dayRange{day, day, "on " + day.Format("Monday, 2 January"), day.Format(time.DateOnly)}
}

// keep says whether a todo is among those that the phrase speaks of. Servers
// filter too, but not all of them by all of this.
func (f filter) keep(t todo, now time.Time) bool {
	switch {
	case f.status == "pending" && t.done, f.status == "completed" && !t.done,
		f.priority != "" && t.priority != "" && t.priority != f.priority,
		f.overdue && !t.overdue(now),
		f.days.name != "" && (t.due.at.Before(f.days.from) || !t.due.at.Before(f.days.to.AddDate(0, 0, 1))),
		f.query != "" && compare(f.query, t) == none:
		return false
	}
	return !slices.ContainsFunc(f.tags, func(tag string) bool { return !slices.Contains(t.tags, tag) })
}

// apply returns the todos that the filter keeps, in their order.
func (f filter) apply(todos []todo, now time.Time) []todo {
	return slices.DeleteFunc(slices.Clone(todos), func(t todo) bool { return !f.keep(t, now) })
}

// overdue says whether an open todo is late: one without a time of day is so from the next day on.
func (t todo) overdue(now time.Time) bool {
	if !t.due.timed {
		now = midnight(now)
	}
	return !t.done && !t.due.at.IsZero() && t.due.at.Before(now)
}

// restricted says whether f leaves anything out but by status.
func (f filter) restricted() bool {
	return f.priority != "" || len(f.tags) > 0 || f.overdue || f.days.name != "" || f.query != ""
}

// describe names the todos of the filter: "open high priority todos due this week".
func (f filter) describe() string {
	words := map[string]string{"pending": "open ", "completed": "completed "}[f.status]
	if f.overdue {
		words = "overdue "
	}
	if f.priority != "" {
		words += f.priority + " priority "
	}
	words += "todos"
	if len(f.tags) > 0 {
		words += " tagged #" + strings.Join(f.tags, " #")
	}
	if f.days.name != "" {
		words += " due " + f.days.name
	}
	if f.query != "" {
		words += " about “" + f.query + "”"
	}
	return words
}

// name is describe for n todos.
func (f filter) name(n int) string {
	if n == 1 {
		return strings.Replace(f.describe(), "todos", "todo", 1)
	}
	return f.describe()
}

// plan asks for the todos of the filter, as far as the tool can tell them apart.
func (f filter) plan(tool *tool) plan {
	return plan{tool: tool}.with("status", f.status).with("priority", f.priority).with("due_date_filter", f.days.value).
		with("tags", f.tags).with("query", keyword(f.query))
}

// listing shows todos.
type listing filter

// readListing reads questions about the list, and names of it: my todos.
//
// It returns nil for a text that only mentions a noun of the list, such as a new todo.
func readListing(s *sentence, now time.Time) intent {
	const (
		questions = "what|what's|whats|which|any|anything|are_there|is_there|do_i|did_i|have_i|how_many|give_me|tell_me"
		nouns     = "todo|todos|to-dos|task|tasks|reminders|list|agenda|due|overdue|plate|pending|completed|finished|tagged|" +
			"have_i|i_have|do_i|did_i|i_do|next"
		names = "my the all open pending completed overdue urgent todo todos to-dos task tasks list agenda due for on today tomorrow this week tagged"
	)
	_, noun := s.find(nouns)
	_, question := s.find("^ " + questions)
	_, you := s.find("^ what do|can|are you")
	other := slices.ContainsFunc(s.words, func(w word) bool { return !in(names, w.low) && !isSign(w.low) && w.low[0] != '#' })
	show, ok := s.match("show|list|display|search|find|when_is|when_are [me] [for|all|only] [the|my] <todos?>")
	f, _ := readFilter(s, now)
	noun = noun || f.days.name != "" && !other
	switch {
	case ok && !noun && !f.restricted() && f.status == "pending":
		f.query = targetOf(show.texts["todos"])
	case !ok && (you || !noun || !question && other):
		return nil
	}
	return listing(f)
}

// next asks for the list, and then shows it.
func (l listing) next(t *turn) geminisim.Answer {
	tool := t.tools.list
	if tool == nil {
		return text(unavailable)
	}
	results := t.of(tool)
	switch {
	case len(results) > 0:
		return text(l.report(results[len(results)-1], t.now))
	case !t.mayCall:
		return text(noCalls)
	}
	return geminisim.Answer{
		Thoughts: []string{thought("Looking up the List", "The user wants to see their "+filter(l).describe()+". I'll ask for them with `"+tool.name+"`.")},
		Calls:    []geminisim.Call{filter(l).plan(tool).call()},
	}
}

// report shows the todos of a result that the filter keeps.
func (l listing) report(r result, now time.Time) string {
	kept, what := filter(l).apply(r.todos, now), filter(l).describe()
	switch {
	case r.fault != "":
		return faultReply("read your list", r.fault)
	case len(r.todos) == 0 && r.text != "" && !strings.ContainsAny(r.text[:1], "{["):
		return "The todo list says:\n\n" + r.text
	case len(kept) == 0:
		return "You have no " + what + "." + cutNote(r)
	}
	return fmt.Sprintf("You have %d %s:\n\n%s%s", len(kept), filter(l).name(len(kept)), bullets(kept, now), cutNote(r))
}
