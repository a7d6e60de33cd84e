package geminisim

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// create adds todos.
type create struct {
	drafts []draft
}

const (
	adjectives = `(?:(?:new|urgent|important|critical|(?:high|low|medium|normal|top)[- ]priority|p[123]|quick|small|other) )*`
	todoNoun   = `(?:todo|to-do|to do|task|reminder|item|entry)`
	ownList    = `(?:my|the|our) (?:[\p{L}-]+ ){0,2}(?:list|todos|to-dos|tasks|agenda)`
)

// createPatterns find a wish for something new. The last group is what the todo
// is about; a group before it holds adjectives such as "urgent".
var createPatterns = []*pattern{
	phrasePattern(`^(?:please )?remind (?:me|us)\b ?[:,]? ?(.*)$`),
	phrasePattern(`^(?:(?:do not|don't|dont|never) (?:let me |ever )?forget|(?:help me |i (?:need|have|want|must) to )?remember|help me remember)(?: to| about| that)?\b ?[:,]? ?(.*)$`),
	phrasePattern(`^make sure (?:that )?(?:i|we|to)\b ?(?:don't forget to|do not forget to|remember to)? ?(.*)$`),
	phrasePattern(`^(?:make|take|write|jot|leave) (?:me )?(?:down )?(?:a )?note(?: to self)?(?: to| of| that| about|:)? (.*)$`),
	phrasePattern(`^note(?: to self| down)?[:,]? (.*)$`),
	phrasePattern(`^(?:add|create|make|set(?: up)?|put|give me|schedule|write down|note down|start|open|insert|enter|i (?:want|need|would like)|i'd like)(?: up| in)?(?: me)? (?:a|an|another|one more|the following|this|the)? ?(` + adjectives + `)` + todoNoun + `\b(?: (?:on|to|in|into) ` + ownList + `)?[\s,:–—-]*(?:(?:to|about|called|named|titled|saying|that says|which says|that|with the title|with title|for me to)\b[\s:]*)?(.*)$`),
	phrasePattern(`^(?:a |an |another |my |the )?(` + adjectives + `)(?:new|next|another) ?(?:` + todoNoun + `)\b[\s,:–—-]*(?:(?:to|about|called|named|for)\b[\s:]*)?(.+)$`),
	phrasePattern(`^(?:(` + adjectives + `)` + todoNoun + `|todos?|to-dos?) ?[:,–—-]+ ?(.+)$`),
	phrasePattern(`^((?:urgent|important|asap|(?:high|low|medium|top)[- ]prio(?:rity)?))(?: ` + todoNoun + `)? ?[:!,–—-]+ ?(.+)$`),
	ontoList,
	phrasePattern(`^(?:i|we)(?:(?: really| also| still| definitely| probably)* (?:need(?: to)?|have to|want to|ought to|got to|gotta|must|should|would like to|am supposed to|will have to|plan to|am going to|intend to|promised to|had better|shouldn't forget to|mustn't forget to|can't forget to)|'ve got to|'d like to|'ll have to|'m supposed to|'m going to|'d better)\b (.+)$`),
	phrasePattern(`^(?:add|create|schedule|track|plan to|plan on|i'm planning to)\b:? (.+)$`),
}

// ontoList has the list behind the todo: put milk on my list for tomorrow.
var (
	ontoList    = phrasePattern(`^(?:put|add|write|place|include|get|throw|stick) (.+) (?:on|to|onto|in|into) ` + ownList + `\b(.*)$`)
	manyCreates = phrasePattern(`^(?:add|create|make|put|set|new|insert|enter)(?: me)? ?(?:these|those|the following|some|a few|a couple of|two|three|four|five|six|seven|eight|\d+|my)? ?(` + adjectives + `)(?:todos|to-dos|tasks|reminders|items|things)\b(?: (?:on|to) ` + ownList + `)?([^:\n]*)[:\n]\s*(.+)$`)
	manyToDo    = phrasePattern(`^(?:(?:my )?(?:todos|to-dos|tasks|things to do)|(?:i|we) (?:need|have) to do (?:these|the following)(?: things)?|remind me(?: about| of)?(?: these| the following)(?: things)?)([^:\n]*)[:\n]\s*(.+)$`)
	quotedOnly  = phrasePattern(`^(?:add|create|make)(?: (?:the )?(?:todos|tasks))?:? ?(?:["“][^"”]+["”](?:,? and |, ?| )?){2,}(?:(?:to|on) ` + ownList + `)?[\s.!]*$`)
	quoted      = rawPattern(`["“][^"”]+["”]`)
	manyNoColon = phrasePattern(`^(?:add|create|make)(?: me)? (?:two|three|four|five|six|seven|eight|\d+|these|the following)? ?(` + adjectives + `)(?:todos|to-dos|tasks|reminders)(?: (?:for|to))? (.+)$`)
)

// readCreate reads a wish for one todo, or for an enumeration of them.
func readCreate(text string, now time.Time) intent {
	if c := readMany(text, now); c != nil {
		return c
	}
	if setPriority.MatchString(text) && !newNoun.MatchString(text) || addTag.MatchString(text) {
		return nil
	}
	if m := ontoList.FindStringSubmatch(text); m != nil && strings.Contains(m[1], ",") {
		return newCreate(splitItems(m[1]), m[2], now)
	}
	for _, re := range createPatterns {
		m := re.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		head, rest := "", m[1]
		switch {
		case re == ontoList:
			rest = m[1] + " " + m[2]
		case len(m) == 3:
			head, rest = m[1], m[2]
		}
		c := create{readDrafts(rest, now)}
		_, priority := takePriority(asClause(head))
		for i := range c.drafts {
			c.drafts[i].priority = cmp.Or(c.drafts[i].priority, priority)
		}
		return c
	}
	return nil
}

// asClause turns adjectives into something that takePriority understands.
func asClause(adjectives string) string { return "x, " + strings.TrimSpace(adjectives) }

// readMany reads "add todos: milk, bread and eggs". What stands before the colon
// holds for all of them.
func readMany(text string, now time.Time) intent {
	if m := manyCreates.FindStringSubmatch(text); m != nil {
		return newCreate(splitItems(m[3]), asClause(m[1])+" "+m[2], now)
	}
	if quotedOnly.MatchString(text) {
		return newCreate(quoted.FindAllString(text, -1), "", now)
	}
	if m := manyToDo.FindStringSubmatch(text); m != nil {
		return newCreate(splitItems(m[2]), m[1], now)
	}
	if m := manyNoColon.FindStringSubmatch(text); m != nil {
		if items := splitItems(m[2]); len(items) > 1 {
			return newCreate(items, asClause(m[1]), now)
		}
	}
	return nil
}

// newCreate makes a draft of each item; what shared says fills the gaps.
func newCreate(items []string, shared string, now time.Time) intent {
	common := readDraft(shared, now)
	var c create
	for _, item := range items {
		d := readDraft(item, now)
		if d.due.isZero() {
			d.due = common.due
		}
		d.priority = cmp.Or(d.priority, common.priority)
		d.tags = append(d.tags, common.tags...)
		c.drafts = append(c.drafts, d)
	}
	return c
}

var createBoundary = phrasePattern(`(?:[.;,!?]| and| then| also|\n)+ ?\b((?:please |also |then )*(?:remind me|add a|create a|don't (?:let me )?forget|make a note|set a reminder|i (?:also )?(?:need|have) to)\b)`)

// readSeveralCreates reads several wishes in one text: remind me to buy milk and
// remind me to call Bob at five.
func readSeveralCreates(text string, now time.Time) intent {
	cuts := createBoundary.FindAllStringSubmatchIndex(text, -1)
	if len(cuts) == 0 {
		return nil
	}
	var all create
	start := 0
	for i := 0; i <= len(cuts); i++ {
		end, next := len(text), len(text)
		if i < len(cuts) {
			end, next = cuts[i][0], cuts[i][2]
		}
		c, ok := readCreate(withoutPoliteness(text[start:end]), now).(create)
		if !ok {
			return nil
		}
		all.drafts = append(all.drafts, c.drafts...)
		start = next
	}
	return all
}

// next adds the todos, in parallel where there are several, and then tells.
func (c create) next(t *turn) output {
	tool := t.tools.create
	if t.away(tool) {
		return output{text: awayReply(t)}
	}
	var calls []plannedCall
	for _, d := range c.drafts {
		if d.title == "" {
			return output{text: noTitleReply}
		}
		calls = append(calls, d.call(tool))
	}
	done := t.of(tool)
	if todo := t.inBatches(calls, len(done)); len(todo) > 0 {
		return output{thoughts: c.thoughts(tool, len(done)), calls: todo}
	}
	if len(done) == 0 {
		return output{text: noCallsReply(t)}
	}
	return output{text: createReply(t, c.drafts, done)}
}

func (d draft) call(tool *todoTool) plannedCall {
	c := plannedCall{name: tool.name}
	c = c.with(tool.param("title", "name", "task", "text", "content", "summary"), d.title)
	c = c.with(tool.param("description", "notes", "note", "details"), d.description)
	c = c.with(tool.param("due_date", "dueDate", "due", "due_at", "deadline"), d.due.iso())
	priority := tool.param("priority")
	c = c.with(priority, tool.choose(priority, cmp.Or(d.priority, "medium")))
	if len(d.tags) > 0 {
		c = c.with(tool.param("tags", "labels"), d.tags)
	}
	return c
}

// thoughts tells in the model's own way what was understood.
func (c create) thoughts(tool *todoTool, done int) []string {
	if done > 0 {
		return []string{thought("Carrying On", fmt.Sprintf("%d of %d todos have been sent; here are the next ones.", done, len(c.drafts)))}
	}
	if len(c.drafts) > 1 {
		return []string{thought("Splitting the Request", fmt.Sprintf("The user names %d todos. They do not depend on each other, so I'll create them in parallel with `%s`.", len(c.drafts), tool.name))}
	}
	d := c.drafts[0]
	when := "there is no due date"
	if !d.due.isZero() {
		when = "the due date is " + d.due.iso()
	}
	return []string{
		thought("Interpreting the Request", fmt.Sprintf("The user wants a new todo. The title is “%s”, %s, and the priority is %s.", d.title, when, cmp.Or(d.priority, "medium by default"))),
		thought("Creating the Todo", "All that is needed is known, so I'll call `"+tool.name+"`."),
	}
}

func thought(title, text string) string { return "**" + title + "**\n\n" + text + "\n\n\n" }
