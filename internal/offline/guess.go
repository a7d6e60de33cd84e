package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"sluice/internal/geminisim"
)

// Phrases that show what checks of answers do: some ask for an answer that is wrong.

// Numbers that are made up. They are primes, so that nothing in a list of todos adds up to
// them.
const (
	guessed  = 1237
	wildly   = 4567
	overhead = 3 // hours that are made up
)

// guess asks for a number that the model is to make up, although it has looked.
type guess listing

// readGuess reads a question for a number that is to be guessed; nil: it is none.
func readGuess(s *sentence, now time.Time) intent {
	f, ok := s.match("guess [wildly|roughly] how_many <todos> [i_have|have_i|do_i_have|there_are|are_there]")
	if !ok {
		return nil
	}
	filter, _ := readFilter(readWords(f.texts["todos"]), now)
	return guess(filter)
}

// It looks at the list first, so that a check has something to compare the wrong number
// with.
func (g guess) next(t *turn) geminisim.Answer {
	if tool := t.tools.list; tool == nil || len(t.of(tool)) == 0 {
		return listing(g).next(t)
	}
	return text(fmt.Sprintf("I guess you have %d %s.", guessed, filter(g).describe()))
}

// table shows todos as a table.
type table listing

// readTable reads a question for todos that ends with "as a table"; nil: it is none.
func readTable(s *sentence, now time.Time) intent {
	s, _, ok := s.cut("as|in [a|the] table $")
	if !ok {
		return nil
	}
	l, ok := readListing(s, now).(listing)
	if !ok {
		return nil
	}
	return table(l)
}

func (l table) next(t *turn) geminisim.Answer {
	if tool := t.tools.list; tool == nil || len(t.of(tool)) == 0 {
		return listing(l).next(t)
	}
	results := t.of(t.tools.list)
	last := results[len(results)-1]
	kept := filter(l).apply(last.todos, t.now)
	if last.fault != "" || len(kept) == 0 {
		return text(listing(l).report(last, t.now))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "You have %d %s:\n\n| Todo | Due | Priority |\n| --- | --- | --- |\n", len(kept), filter(l).name(len(kept)))
	for _, todo := range kept {
		due := ""
		if !todo.due.at.IsZero() {
			due = todo.due.spoken(t.now)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.ReplaceAll(bold(todo.title), "|", `\|`), due, todo.priority)
	}
	return text(b.String() + cutNote(last))
}

// timesheet asks for the hours of the week.
type timesheet struct {
	tool    *tool
	guessed bool
}

// readTimesheet returns nil if the text is about no timesheet, or no tool is.
func readTimesheet(text string, declared []geminisim.Function) intent {
	s := withoutPoliteness(readWords(text))
	_, ok := s.match("check|show|guess [me] my timesheet")
	tool := findTool(declared, "get_timesheet")
	if !ok || tool == nil {
		return nil
	}
	return timesheet{tool, s.at(0) == "guess"}
}

// A guessed answer adds hours that nobody has worked, for a check to find.
func (in timesheet) next(t *turn) geminisim.Answer {
	results := t.of(in.tool)
	if len(results) == 0 {
		if !t.mayCall {
			return text("I was asked to answer without using any tools, so I could not look at your timesheet.")
		}
		return geminisim.Answer{
			Thoughts: []string{thought("Looking up the Hours", "The user wants to know their hours. I'll ask for them with `"+in.tool.name+"`.")},
			Calls:    []geminisim.Call{plan{tool: in.tool}.call()},
		}
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

var numbers = regexp.MustCompile(`\d+`)

// rewritten answers a request to write an answer once more, whose last message names the
// criteria that failed: the same answer, with the numbers that no tool has told put right.
// Of a wild guess it makes another one.
//
// false: nothing is to be written again. It is tried before all other rules, as its request
// looks like none of a visitor's.
func rewritten(q geminisim.Question) (string, bool) {
	var asked struct {
		Response string `json:"original_response"`
		Failed   []struct {
			ID string `json:"id"`
		} `json:"failed_criteria"`
	}
	if !findData(q, &asked, `"original_response"`) || asked.Response == "" || len(asked.Failed) == 0 {
		return "", false
	}
	var data struct {
		Message string       `json:"user_message"`
		Results []toolResult `json:"tool_results"`
	}
	findData(q, &data, `"tool_results"`)
	if strings.Contains(strings.ToLower(data.Message), "wildly") {
		return numbers.ReplaceAllString(asked.Response, strconv.Itoa(wildly)), true
	}
	known, used := map[string]bool{}, numbers.FindAllString(asked.Response, -1)
	var spare []string // of the results, and not in the answer
	for _, r := range data.Results {
		for _, n := range r.counts() {
			if !known[n] && !slices.Contains(used, n) {
				spare = append(spare, n)
			}
			known[n] = true
		}
	}
	return numbers.ReplaceAllStringFunc(asked.Response, func(n string) string {
		if known[n] || len(spare) == 0 {
			return n
		}
		put := spare[0]
		spare = spare[1:]
		return put
	}), true
}

// toolResult is what a request tells of a tool.
type toolResult struct {
	Tool   string `json:"tool"`
	Result string `json:"result"`
}

// counts returns how many items there are in each list of the result, and the numbers that
// stand in it on their own.
func (r toolResult) counts() (all []string) {
	var v any
	if json.Unmarshal([]byte(r.Result), &v) != nil {
		return numbers.FindAllString(r.Result, -1)
	}
	lists, single := countedIn(v)
	return append(lists, single...)
}

// countedIn returns the numbers that a result of a tool backs: the lengths of its lists, and the
// numbers that stand outside of lists.
func countedIn(v any) (lists, single []string) {
	switch v := v.(type) {
	case []any:
		return []string{strconv.Itoa(len(v))}, nil
	case float64:
		return nil, []string{strconv.FormatFloat(v, 'f', -1, 64)}
	case map[string]any:
		for _, name := range sortedNames(v) {
			l, s := countedIn(v[name])
			lists, single = append(lists, l...), append(single, s...)
		}
	}
	return lists, single
}
