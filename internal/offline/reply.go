package offline

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// What the model says: short, friendly, and never more than the tools have confirmed.
const (
	hello   = "Hello! I look after your todo list. Try “Remind me to buy eggs tomorrow at 3pm” or “What's due this week?”."
	thanks  = "You're welcome!"
	bye     = "Goodbye! Your todos will be here."
	nothing = "All right, nothing was changed."
	self    = "I'm the built-in offline demo model: a set of rules that understands phrases about a todo list, not a language model. " +
		"The tool calls and the stream you see are real. To talk to the real Gemini instead, set `GEMINI_API_KEY` and start again."
	help = `I look after your todo list. For example:

- “Remind me to buy eggs tomorrow at 3pm”
- “Add todos: milk, bread and eggs”
- “Finish the report by Friday, urgent #work”
- “What's due this week?” or “Show my high priority todos”
- “I finished the report” or “Mark buy eggs as done”, and right after a todo was named “Mark it as done”
- “Move the dentist to Friday at 10”
- “Make buy eggs urgent” or “Rename buy eggs to buy milk”
- “Delete buy eggs” or “Delete all completed todos”

I'm the offline demo model, so I know no more than that; with ` + "`GEMINI_API_KEY`" + ` set the real Gemini answers.`
	unknown = "I'm the built-in offline demo model, and I only understand phrases about a todo list, such as “Remind me to buy eggs tomorrow at 3pm” or “What's due this week?”. " +
		"For anything else set `GEMINI_API_KEY` and start again: then the real Gemini answers here."
	// unavailable is for a turn in which the tools that it needs are not declared.
	unavailable = "I can't reach your todo list right now: the service is temporarily unavailable. So I could neither look at it nor change anything. Please try again in a moment."
	// noCalls is for a request that forbids function calls.
	noCalls = "I was asked to answer without using any tools, so I could neither look at your todo list nor change anything."
)

// bold sets a title in bold; boldTexts reads it again.
func bold(title string) string {
	return "**" + strings.NewReplacer("*", `\*`, "`", "\\`", "[", `\[`, "<", `\<`, "\n", " ").Replace(title) + "**"
}

// counted: 1 todo, 2 todos.
func counted(n int) string {
	if n == 1 {
		return "1 todo"
	}
	return fmt.Sprintf("%d todos", n)
}

// left says how many todos no call was made for; nothing if there are none.
func left(n int) string {
	if n <= 0 {
		return ""
	}
	return "\n\n" + counted(n) + " did not get a turn; please ask again for the rest."
}

// faultReply explains that a tool failed, in the words that it gave.
//
// tried is a verb with its object, as in "add milk".
func faultReply(tried, fault string) string {
	text := fmt.Sprintf("I couldn't %s. The todo list answered: “%s”.", tried, strings.TrimRight(fault, "."))
	if low := strings.ToLower(fault); strings.Contains(low, "unavailable") || strings.Contains(low, "timed out") {
		text += " Please try again in a moment."
	}
	return text
}

// cutNote tells that a list was cut; empty: it was not.
func cutNote(r result) string {
	if !r.cut {
		return ""
	}
	return "\n\nThe list was too long to be read as a whole, so there are more."
}

// describe writes a todo with what stands before its date, its other facts and its tags.
func (t todo) describe(due, fact, tags string, now time.Time) string {
	text := bold(t.title)
	add := func(before, what string) {
		text += before + what
	}
	if !t.due.at.IsZero() {
		add(due, t.due.spoken(now))
		if t.overdue(now) {
			add("", " (overdue)")
		}
	}
	if t.priority != "" {
		add(fact, t.priority+" priority")
	}
	if t.done {
		add(fact, "completed")
	}
	if len(t.tags) > 0 {
		add(tags, "#"+strings.Join(t.tags, " #"))
	}
	return text
}

// bullets lists at most 25 todos, those with the nearest date first.
//
// todos itself stays as it is.
func bullets(todos []todo, now time.Time) string {
	todos = slices.Clone(todos)
	slices.SortStableFunc(todos, func(a, b todo) int {
		if a.due.at.IsZero() != b.due.at.IsZero() { // those without one last
			return b.due.at.Compare(a.due.at)
		}
		return a.due.at.Compare(b.due.at)
	})
	var lines []string
	for _, t := range todos[:min(25, len(todos))] {
		lines = append(lines, "- "+strings.Replace(t.describe(", ", ", ", ", ", now), "**, ", "**: ", 1))
	}
	if more := len(todos) - 25; more > 0 {
		lines = append(lines, fmt.Sprintf("- … and %d more", more))
	}
	return strings.Join(lines, "\n")
}
