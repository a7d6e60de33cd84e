package offline

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/offline/english"
)

// Phrases that show what checks of answers do: some ask for an answer that is wrong.

// Numbers that are made up. The first is a prime, so that nothing in a list of todos adds up to
// it.
const (
	guessed  = 1237
	overhead = 3 // hours that are made up
)

// guess asks for a number that the model is to make up, although it has looked.
type guess listing

// guessPhrases are the phrases that ask for it.
func guessPhrases() []phrase {
	return []phrase{{"guess [wildly|roughly] how_many <todos> [i_have|have_i|do_i_have|there_are|are_there]",
		func(_ *english.Sentence, f english.Found, now time.Time) intent {
			return guess(readFilter(english.Read(f.Texts["todos"]), now))
		}}}
}

// It looks at the list first, so that a check has something to compare the wrong number
// with.
func (g guess) nextAnswer(t *turn) geminisim.Answer {
	return listing(g).showList(t, func(result, time.Time) string {
		return fmt.Sprintf("I guess you have %d %s.", guessed, filter(g).describeTodos(0))
	})
}

// table shows todos as a table.
type table listing

// readTable reads a question for todos that ends with "as a table", or returns nil.
func readTable(_ *english.Sentence, f english.Found, now time.Time) intent {
	l, ok := readPhrase(english.Read(f.Texts["todos"]), listPhrases(), now).(listing)
	if !ok {
		return nil
	}
	return table(l)
}

func (l table) nextAnswer(t *turn) geminisim.Answer { return listing(l).showList(t, l.reportTable) }

func (l table) reportTable(r result, now time.Time) string {
	kept := filter(l).matchingTodos(r.todos)
	if len(kept) == 0 {
		return listing(l).reportTodos(r, now)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "You have %d %s:\n\n| Todo | Due | Priority |\n| --- | --- | --- |\n", len(kept), filter(l).describeTodos(len(kept)))
	for _, todo := range kept {
		due := ""
		if !todo.due.At.IsZero() {
			due = todo.due.Spoken(now)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.ReplaceAll(bold(todo.title), "|", `\|`), due, todo.priority)
	}
	return b.String() + cutNote(r)
}

// timesheet asks for the hours of the week.
type timesheet struct {
	tool    *tool
	guessed bool
}

// readTimesheet returns nil if the text is about no timesheet, or no tool is.
func readTimesheet(text string, declared []geminisim.Function) intent {
	s := withoutPoliteness(english.Read(text))
	_, ok := s.Match("check|show|guess [me] my timesheet")
	tool := findTool(declared, "get_timesheet")
	if !ok || tool == nil {
		return nil
	}
	return timesheet{tool, s.At(0) == "guess"}
}

// A guessed answer adds hours that nobody has worked, for a check to find.
func (in timesheet) nextAnswer(t *turn) geminisim.Answer {
	results := t.resultsOf(in.tool)
	if len(results) == 0 {
		return in.lookUp(t)
	}
	last := results[len(results)-1]
	if last.fault != "" {
		return text(faultReply("read your timesheet", last.fault))
	}
	var said struct {
		Logged int `json:"hours_logged"`
		Target int `json:"hours_target"`
	}
	if json.Unmarshal([]byte(last.text), &said) != nil || said.Target == 0 {
		return text("The timesheet says:\n\n" + last.text)
	}
	if in.guessed {
		said.Logged += overhead
	}
	cheer := "Great progress!"
	if said.Logged >= said.Target {
		cheer = "All done!"
	}
	return text(fmt.Sprintf("You've logged %d/%d hours this week. %s", said.Logged, said.Target, cheer))
}

// lookUp asks for the hours, if tools may be called.
func (in timesheet) lookUp(t *turn) geminisim.Answer {
	if !t.mayCall {
		return text("I was asked to answer without using any tools, so I could not look at your timesheet.")
	}
	return geminisim.Answer{
		Thoughts: []string{thought("Looking up the Hours", "The user wants to know their hours. I'll ask for them with `"+in.tool.name+"`.")},
		Calls:    []geminisim.Call{plan{tool: in.tool}.call()},
	}
}
