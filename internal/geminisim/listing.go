package geminisim

import (
	"slices"
	"time"
)

// listing shows todos.
type listing struct {
	filter filter
}

var (
	listNouns    = phrasePattern(`\b(?:todos?|to-?dos?|to do list|tasks?|reminders?|lists?|agenda|items?|overdue|deadlines?|plate)\b`)
	listVerb     = phrasePattern(`^(?:show|list|display|view)\b`)
	listVerbNoun = phrasePattern(`^(?:see|get|give|tell|read|print|fetch|find|check|review|look|open|pull|go|search)\b.*\b(?:todos?|to-?dos?|to do list|tasks?|reminders?|my list|the list|agenda|what's due|is due|overdue|on my plate)\b`)
	searchVerb   = phrasePattern(`^search(?: for)? (.+)$`)
	newNoun      = phrasePattern(`\b(?:a|an|another|new) (?:new )?(?:todo|task|reminder|item)\b`)
	question     = phrasePattern(`^(?:what|what's|whats|which|any|anything|are there|is there|is anything|do i|did i|have i|am i|how many|how much|how's|how does|when|who)\b`)
	questionNoun = phrasePattern(`\b(?:todos?|to-?dos?|to do|tasks?|reminders?|my list|the list|agenda|schedule|due|overdue|late|plate|deadlines?|pending|completed|finished|outstanding|errands|i have|have i|do i need|i need to|should i do|must i do|do next|next up|tagged|planned|priorit(?:y|ies)|plans?|coming up|my day|on today|up today|on tomorrow|left|accomplished|did i (?:do|finish|complete|get done|accomplish)|i do today|i do this week)\b|#\p{L}`)
	whenIs       = phrasePattern(`^when(?:'s| is| was| do i (?:have|need) to| should i| must i) (.+?)(?: due)?[\s?!.]*$`)
	bareList     = phrasePattern(`^(?:(?:my|all|the|open|pending|current|completed|finished|done|overdue|today's|tomorrow's|this week's|urgent|important|high[- ]priority|low[- ]priority|medium[- ]priority|due|todo|to-do|task|everything|on) )*(?:todos?|to-?dos?|tasks?|list|agenda|reminders|overdue|(?:due )?(?:today|tomorrow|this week|next week|this weekend))(?: (?:for )?(?:today|tomorrow|this week|next week))?[\s?!.]*$`)
	bareListOf   = phrasePattern(`^(?:(?:my|all|the|open|pending|completed|urgent|important|overdue) )*(?:todos|to-dos|tasks|reminders) (?:tagged|labell?ed|with|due|about|for|in|that|which|on|at|this|next|today|tomorrow|#\S+)\b.*$|^(?:my |the )?(?:todos|to-dos|tasks) #\S+$`)
	getRid       = phrasePattern(`^(?:get rid|give me (?:a|an)|tell me (?:a|an))\b`)
	askedTalk    = phrasePattern(`^what (?:do|can|are|did) you\b`)
)

// readListing reads questions about the list.
func readListing(text string, now time.Time) intent {
	switch {
	case newNoun.MatchString(text) && !question.MatchString(text), askedTalk.MatchString(text), getRid.MatchString(text):
		return nil
	case searchVerb.MatchString(text):
		m := searchVerb.FindStringSubmatch(text)
		return listing{searchFilter(m[1], now)}
	case whenIs.MatchString(text):
		m := whenIs.FindStringSubmatch(text)
		return listing{filter{status: "open", query: targetOf(m[1])}}
	case listVerb.MatchString(text):
		return listing{showFilter(text, now)}
	case listVerbNoun.MatchString(text), bareList.MatchString(text), bareListOf.MatchString(text),
		question.MatchString(text) && questionNoun.MatchString(text):
		return listing{readFilter(text, now)}
	}
	return nil
}

// searchFilter is the filter of "search for eggs": without a restriction of
// another kind, all words are the query.
func searchFilter(text string, now time.Time) filter {
	f := readFilter(text, now)
	if !f.restricted() && !listNouns.MatchString(text) {
		f.query = targetOf(text)
	}
	return f
}

var showRest = phrasePattern(`^(?:show|list|display|view)(?: me| us)?(?: all| only| just)?(?: of)?(?: the| my)?(.*)$`)

// showFilter is the filter of "show …": what names neither the list nor a
// restriction is looked for.
func showFilter(text string, now time.Time) filter {
	f := readFilter(text, now)
	rest := targetOf(showRest.FindStringSubmatch(text)[1])
	if !f.restricted() && f.status == "open" && rest != "" && !listNouns.MatchString(text) && len(stems(rest)) > 0 &&
		!wordsOpen.MatchString(text) && !everythingWord.MatchString(rest) {
		f.query = rest
	}
	return f
}

var everythingWord = phrasePattern(`^(?:everything|all|it all|them|it|that|what i have.*|what.*)$`)

// next asks for the list, and then shows it.
func (l listing) next(t *turn) output {
	tool := t.tools.list
	if t.away(tool) {
		return output{text: awayReply(t)}
	}
	results := t.of(tool)
	if len(results) == 0 {
		if !t.mayCall {
			return output{text: noCallsReply(t)}
		}
		return output{
			thoughts: []string{thought("Looking up the List", "The user wants to see their "+l.filter.describe("todos")+". I'll ask for them with `"+tool.name+"`.")},
			calls:    []plannedCall{l.filter.call(tool, t.now)},
		}
	}
	return output{text: listReply(t, l.filter, results[len(results)-1])}
}

// call asks for the todos of the filter, as far as the tool can tell them apart.
func (f filter) call(tool *todoTool, now time.Time) plannedCall {
	c := plannedCall{name: tool.name}
	c = f.withStatus(c, tool)
	c = c.with(tool.param("priority"), f.priority)
	if p := tool.param("due_date_filter", "due_filter", "due", "due_date"); p != "" {
		c = c.with(p, f.dueValue(tool, p, now))
	}
	if len(f.tags) > 0 {
		c = c.with(tool.param("tags", "labels"), f.tags)
		if tool.param("tags", "labels") == "" {
			c = c.with(tool.param("tag", "label"), f.tags[0])
		}
	}
	return c.with(tool.param(queryParams...), queryOf(f.query))
}

var queryParams = []string{"query", "search", "q", "text", "keyword"}

func (f filter) withStatus(c plannedCall, tool *todoTool) plannedCall {
	status := tool.param("status", "state")
	if status == "" {
		if flag := tool.param("completed", "done", "is_completed"); flag != "" && f.status != "all" {
			return c.with(flag, f.status == "completed")
		}
		return c
	}
	switch f.status {
	case "completed":
		return c.with(status, tool.choose(status, "completed", "complete", "done", "finished", "closed"))
	case "open":
		return c.with(status, tool.choose(status, "pending", "open", "active", "todo", "incomplete"))
	}
	if enum := tool.props[status].Enum; len(enum) > 0 && !slices.Contains(enum, any("all")) {
		return c // leaving it out is the only way to ask for all
	}
	return c.with(status, "all")
}

// dueValue is what the tool's filter by date understands; "" where it knows
// nothing that fits, and the answer is filtered here alone.
func (f filter) dueValue(tool *todoTool, param string, now time.Time) string {
	switch {
	case f.status == "completed":
		return ""
	case f.overdue && tool.mentions(param, "overdue"):
		return "overdue"
	case f.overdue || f.days.from.IsZero():
		return ""
	case f.days.name == "today", f.days.name == "tomorrow" && tool.mentions(param, "tomorrow"):
		return f.days.name
	case f.days.name == "this week" && (param == "due_date_filter" || tool.mentions(param, "this_week")):
		return "this_week"
	case f.days.from.Equal(f.days.to):
		return f.days.from.Format(time.DateOnly)
	}
	return ""
}
