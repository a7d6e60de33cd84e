package geminisim

import (
	"strings"
	"time"
)

// bulk does one thing to all todos of a filter.
type bulk struct {
	change    // its target is not looked at
	filter    filter
	confirmed bool // needed to delete without any restriction
}

var (
	bulkDelete = phrasePattern(`^(?:delete|remove|clear|purge|erase|clean up|clean out|get rid of|wipe|drop|empty|trash|cancel)\b(.*)$`)
	bulkDone   = phrasePattern(`^(?:complete|finish|mark|check off|tick off|close|set|i(?:'ve| have)? (?:finished|completed|done))\b(.*)$`)
	bulkTick   = phrasePattern(`^(?:tick|check|cross)( (?:everything|all\b.*?)) off[\s.!]*$`)
	doneSuffix = phrasePattern(` (?:as |to |off as )?(?:done|complete|completed|finished)[\s.!]*$`)
	allOfThem  = phrasePattern(`^.*\b(?:all|every|everything|each)\b.*$|^(?: out| up)?(?: the| my| of)* (?:completed|done|finished|overdue|old)(?: todos?| tasks?| items?| ones?| things?| reminders?| to-?dos?)?[\s.!]*$`)
	manyNouns  = phrasePattern(`\b(?:todos|to-dos|tasks|items|reminders|things|ones)\b`)
	wholeList  = phrasePattern(`^(?: out| up)? ?(?:the|my|our) (?:whole |entire |todo |to-do |task )*list[\s.!]*$`)
	emptyQuery = phrasePattern(`^(?:me|now|it|them|of them|the|my)$`)
)

// bulkWords are all that may be left beside the restrictions: what a phrase says
// beyond them would be lost, and "cancel all subscriptions" delete the todos.
var bulkWords = wordSet(`all every everything each both of the my our completed complete done finished overdue open pending
	old late todo todos to-do to-dos task tasks item items reminder reminders thing things one ones list whole entire from on
	in that are is which were due tagged with urgent important critical up out off now as them it`)

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// readBulk reads "delete all completed todos", "mark everything as done".
func readBulk(text string, now time.Time, confirmed bool) intent {
	b := bulk{change: change{kind: remove}, confirmed: confirmed}
	m := bulkDelete.FindStringSubmatch(text)
	for _, re := range []*pattern{bulkDone, bulkTick} {
		if m == nil {
			b.kind = complete
			m = re.FindStringSubmatch(text)
		}
	}
	if m == nil {
		return nil
	}
	rest := m[1]
	if b.kind == complete {
		rest = doneSuffix.ReplaceAllString(rest, "")
	}
	f, ok := bulkFilter(rest, now)
	if !ok {
		return nil
	}
	b.filter = f.forBulk(b.kind)
	return b
}

// bulkFilter reads which todos are meant by words for several of them.
func bulkFilter(text string, now time.Time) (filter, bool) {
	f := readFilter(text, now)
	if emptyQuery.MatchString(f.query) {
		f.query = ""
	}
	for _, w := range readWords(f.rest).words {
		if !bulkWords[w.low] && !isSign(w.low) {
			return f, false // all eggs are no todos
		}
	}
	several := manyNouns.MatchString(text) && (f.restricted() || f.status == "completed")
	return f, several || allOfThem.MatchString(text) || wholeList.MatchString(text)
}

// forBulk widens a filter to what the visitor means by it: all of them to delete,
// open or not, but only open ones to complete or to move.
func (f filter) forBulk(kind changeKind) filter {
	switch {
	case kind == reopen:
		f.status = "completed"
	case kind != remove || f.overdue:
		f.status = "open"
	case f.status == "open":
		f.status = "all"
	}
	return f
}

// next lists, changes in batches, and tells.
func (b bulk) next(t *turn) output {
	worker := toolFor(t, b.kind)
	if t.away(t.tools.list) || t.away(worker) {
		return output{text: awayReply(t)}
	}
	listed := t.of(t.tools.list)
	if len(listed) == 0 {
		if !t.mayCall {
			return output{text: noCallsReply(t)}
		}
		return output{
			thoughts: []string{thought("Finding the Todos", "The user wants to "+string(b.kind)+" "+b.filter.describe("todos")+". First I need the list.")},
			calls:    []plannedCall{b.filter.call(t.tools.list, t.now).withLimit(t.tools.list)},
		}
	}
	list := listed[0]
	if list.fault != "" {
		return output{text: faultReply("read the list", list.fault)}
	}
	meant := b.filter.apply(list.todos, t.now)
	if len(meant) == 0 {
		return output{text: "There is nothing to " + string(b.kind) + ": I found no " + b.filter.describe("todos") + "."}
	}
	if b.kind == remove && !b.filter.restricted() && b.filter.status != "completed" && !b.confirmed {
		return output{text: confirmReply(meant)}
	}
	return b.work(t, worker, list, meant)
}

func (b bulk) work(t *turn, worker *todoTool, list toolResult, meant []todo) output {
	var calls []plannedCall
	for _, m := range meant {
		calls = append(calls, b.call(worker, m, t.now))
	}
	done := t.of(worker)
	if todo := t.inBatches(calls, len(done)); len(todo) > 0 {
		return output{
			thoughts: []string{thought("Working Through the List", strings.ToUpper(string(b.kind)[:1])+string(b.kind)[1:]+": "+counted(len(todo), "todo")+" in this step. They do not depend on each other, so I'll do them in parallel.")},
			calls:    todo,
		}
	}
	return output{text: bulkReply(b.change, list, meant, done, t.now)}
}

// apply returns the todos that the filter keeps.
func (f filter) apply(todos []todo, now time.Time) []todo {
	var kept []todo
	for _, t := range todos {
		if f.keep(t, now) {
			kept = append(kept, t)
		}
	}
	return kept
}

// toolFor returns the tool that does a change; nil: none is declared.
func toolFor(t *turn, kind changeKind) *todoTool {
	switch {
	case kind == remove:
		return t.tools.remove
	case kind == complete && t.tools.update == nil:
		return t.tools.complete
	}
	return t.tools.update
}
