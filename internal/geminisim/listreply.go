package geminisim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// shown is how many todos a list shows before it says how many more there are.
const shown = 25

// describe names the todos of a filter: "high priority todos due this week".
func (f filter) describe(noun string) string {
	var before, after string
	switch f.status {
	case "completed":
		before = "completed "
	case "open":
		before = "open "
	}
	if f.overdue {
		before = "overdue "
	}
	if f.priority != "" {
		before += f.priority + " priority "
	}
	if len(f.tags) > 0 {
		after += " tagged " + hashed(f.tags)
	}
	if f.days.name != "" {
		after += " due " + f.days.name
	}
	if f.query != "" {
		after += " about “" + f.query + "”"
	}
	return before + noun + after
}

// listReply shows the todos of a result that the filter keeps.
func listReply(t *turn, f filter, r toolResult) string {
	if r.fault != "" {
		return faultReply("read your list", r.fault)
	}
	if len(r.todos) == 0 && r.text != "" && !strings.ContainsAny(r.text[:1], "{[") {
		return "The todo list says:\n\n" + r.text
	}
	kept := f.apply(r.todos, t.now)
	if len(kept) == 0 {
		return "You have no " + f.describe("todos") + "." + cutNote(r)
	}
	noun := "todos"
	if len(kept) == 1 {
		noun = "todo"
	}
	return fmt.Sprintf("You have %d %s:\n\n%s%s", len(kept), f.describe(noun), bullets(kept, t.now), cutNote(r))
}

func cutNote(r toolResult) string {
	if !r.cut {
		return ""
	}
	return "\n\nThe list was too long to be read as a whole, so there are more."
}

// bullets lists todos, those with the nearest date first.
func bullets(todos []todo, now time.Time) string {
	todos = slices.Clone(todos)
	slices.SortStableFunc(todos, func(a, b todo) int {
		if a.due.isZero() != b.due.isZero() {
			if a.due.isZero() {
				return 1
			}
			return -1
		}
		return a.due.at.Compare(b.due.at)
	})
	var lines []string
	for _, t := range todos[:min(shown, len(todos))] {
		lines = append(lines, "- "+t.line(now))
	}
	if more := len(todos) - shown; more > 0 {
		lines = append(lines, fmt.Sprintf("- … and %d more", more))
	}
	return strings.Join(lines, "\n")
}

func (t todo) line(now time.Time) string {
	var facts []string
	if !t.due.isZero() {
		when := t.due.spoken(now)
		if t.overdue(now) {
			when += " (overdue)"
		}
		facts = append(facts, when)
	}
	if t.priority != "" {
		facts = append(facts, t.priority+" priority")
	}
	if t.done {
		facts = append(facts, "completed")
	}
	if len(t.tags) > 0 {
		facts = append(facts, hashed(t.tags))
	}
	if len(facts) == 0 {
		return bold(t.title)
	}
	return bold(t.title) + ": " + strings.Join(facts, ", ")
}
