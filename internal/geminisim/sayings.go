package geminisim

// Replies that need no tool.

func helloReply(*turn) string {
	return "Hello! I look after your todo list. Try “Remind me to buy eggs tomorrow at 3pm” or “What's due this week?”."
}

func thanksReply(*turn) string { return "You're welcome!" }

func wellReply(*turn) string {
	return "I'm fine, thank you; a set of rules seldom has a bad day. What would you like to get done?"
}

func byeReply(*turn) string { return "Goodbye! Your todos will be here." }

func neverMindReply(*turn) string { return "All right, nothing was changed." }

func selfReply(*turn) string {
	return "I'm the built-in offline demo model: a set of rules that understands phrases about a todo list, not a language model. " +
		"The tool calls and the stream you see are real. To talk to the real Gemini instead, set `GEMINI_API_KEY` and start again."
}

func switchReply(*turn) string {
	return "Set the environment variable `GEMINI_API_KEY` to a key from Google AI Studio and start again; then the real Gemini answers here. Nothing else has to change."
}

func helpReply(*turn) string {
	return `I look after your todo list. For example:

- “Remind me to buy eggs tomorrow at 3pm”
- “Add todos: milk, bread and eggs”
- “Finish the report by Friday, urgent #work”
- “What's due this week?” or “Show my high priority todos”
- “I finished the report” or “Mark buy eggs as done”
- “Move the dentist to Friday at 10”
- “Make buy eggs urgent” or “Rename buy eggs to buy milk”
- “Delete buy eggs” or “Delete all completed todos”

I'm the offline demo model, so I know no more than that; with ` + "`GEMINI_API_KEY`" + ` set the real Gemini answers.`
}

func dateReply(t *turn) string {
	return "It's " + t.now.Format("Monday, 2 January 2006, 15:04") + " (" + t.zone + ")."
}

func unknownReply(*turn) string {
	return "I'm the built-in offline demo model, and I only understand phrases about a todo list, such as “Remind me to buy eggs tomorrow at 3pm” or “What's due this week?”. " +
		"For anything else set `GEMINI_API_KEY` and start again: then the real Gemini answers here."
}

func whichOneReply(*turn) string {
	return "Which todo do you mean? Say for example “mark buy eggs as done” or “delete buy eggs”."
}

func whichPriorityReply(*turn) string {
	return "Which priority should it have? Say for example “set the priority of buy eggs to high”."
}

func oneThingReply(*turn) string {
	return "One thing at a time, please: I can only change one kind of thing in one message, so nothing was changed yet."
}

const (
	noTitleReply = "What should the todo say? For example “Remind me to call mom on Friday at noon”."
	detailReply  = "I can't take a single detail off a todo. I can rename it, move it to another date, change its priority, complete or delete it."
)

// awayReply is for a turn without the tools that it needs.
func awayReply(*turn) string {
	return "I can't reach your todo list right now: the service is temporarily unavailable. So I could neither look at it nor change anything. Please try again in a moment."
}

// noCallsReply is for a request that forbids function calls.
func noCallsReply(*turn) string {
	return "I was asked to answer without using any tools, so I could neither look at your todo list nor change anything."
}
