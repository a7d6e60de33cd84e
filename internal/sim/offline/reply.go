package offline

import (
	"fmt"
	"strings"
	"time"
)

// Texts of the model: short, friendly, and never more than the tools have confirmed.
const (
	hello  = "Hello! I look after your todo list. Try “Remind me to buy eggs tomorrow at 3pm” or “What's due this week?”."
	thanks = "You're welcome!"
	self   = "I'm the built-in offline demo model: a set of rules that understands phrases about a todo list, not a language model. " +
		"The tool calls and the stream you see are real. To talk to the real Gemini instead, set `GEMINI_API_KEY` and start again."
	help = `I look after your todo list. For example:

- “Remind me to buy eggs tomorrow at 3pm”
- “Add todos: milk, bread and eggs”
- “Finish the report by Friday, urgent #work”
- “What's due this week?” or “Show my high priority todos”
- “I finished the report” or “Mark buy eggs as done”, and right after a todo was named “Mark it as done”
- “Move the dentist to Friday at 10”
- “Make buy eggs urgent” or “Rename buy eggs to buy milk”
- “Delete buy eggs”

I'm the offline demo model, so I know no more than that; with ` + "`GEMINI_API_KEY`" + ` set the real Gemini answers.`
	unknown = "I'm the built-in offline demo model, and I only understand phrases about a todo list, such as “Remind me to buy eggs tomorrow at 3pm” or “What's due this week?”. " +
		"For anything else set `GEMINI_API_KEY` and start again: then the real Gemini answers here."
	oneByOne = "I'm the built-in offline demo model, and I change one todo at a time. Say for example “Delete buy eggs”."
	// unavailable is for a turn whose tools are not declared.
	unavailable = "I can't reach your todo list right now: the service is temporarily unavailable. So I could neither look at it nor change anything. Please try again in a moment."
	// foreign is for a turn in which other tools are declared, and none of those that it knows.
	foreign = "I'm the built-in offline demo model, a simulator that knows only its own tools, and not the ones that are connected here: they may work well, but I can't use them. " +
		"Set `GEMINI_API_KEY`, or configure another model, and start again: then a real model uses them."
	// noCalls is for a request that forbids function calls.
	noCalls = "I was asked to answer without using any tools, so I could neither look at your todo list nor change anything."
)

// bold sets a title in bold; boldTexts reads it again.
func bold(title string) string {
	return "**" + strings.NewReplacer("*", `\*`, "`", "\\`", "[", `\[`, "<", `\<`, "\n", " ").Replace(title) + "**"
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

// cutNote returns the note that a list was cut, or "".
func cutNote(r result) string {
	if !r.cut {
		return ""
	}
	return "\n\nThe list was too long to be read as a whole, so there are more."
}

// describeFacts words the details of a todo besides its title.
func (t todo) describeFacts(now time.Time) string {
	var facts []string
	if !t.due.At.IsZero() {
		facts = append(facts, t.due.Spoken(now))
	}
	if t.priority != "" {
		facts = append(facts, t.priority+" priority")
	}
	if t.done {
		facts = append(facts, "completed")
	}
	for _, tag := range t.tags {
		facts = append(facts, "#"+tag)
	}
	return strings.Join(facts, ", ")
}

// bulletList lists todos in the given order.
func bulletList(todos []todo, now time.Time) string {
	var lines []string
	for _, t := range todos {
		lines = append(lines, strings.TrimSuffix("- "+bold(t.title)+": "+t.describeFacts(now), ": "))
	}
	return strings.Join(lines, "\n")
}
