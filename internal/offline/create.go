// This file understands phrases that create todos: one, or several of one kind with a date
// and a priority for all. What is not said of a todo stays empty, and the tool's own
// defaults count.

package offline

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"sluice/internal/geminisim"
)

// create adds todos. What was not said of them is empty.
type create []todo

// readDraft takes tags, date and priority out of a text; what is left, in the
// visitor's own words, is the title.
//
// The order matters: tags and dates go first, so that their words are not taken for a
// title.
func readDraft(text string, now time.Time) (d todo) {
	s, tags := takeTags(readWords(text))
	s, d.due = takeDate(s, now)
	s, d.priority = takePriority(s)
	for range 3 { // "and also to"
		s, _, _ = s.cut("^ to|that|about|also|and|i_need_to|i_have_to")
		s, _, _ = s.cut("and|with|as|due|by|but|is $")
	}
	d.title, d.tags = tidy(s.text()), tags
	return d
}

// tidy trims blanks, quotes and stops, and what removed words have left inside.
func tidy(text string) string {
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), " ,", ",")
	return strings.Trim(text, " ,;:.!?\"“”‘`–—-")
}

// takeTags cuts #tags; #12 is a number.
//
// Tags are returned with their letters as they are written.
func takeTags(s *sentence) (*sentence, []string) {
	var tags []string
	for i := 0; i < len(s.words); i++ {
		if tag, ok := strings.CutPrefix(s.span(i, i+1), "#"); ok && strings.Trim(tag, "#0123456789") != "" {
			tags = append(tags, tag)
			s, i = s.without(i, i+1), i-1
		}
	}
	return s, tags
}

// levels are the words for priorities.
const levels = "not_urgent|not_important|urgent|important|critical|asap|highest|high|top|medium|normal|lowest|low|high-priority|low-priority"

// takePriority cuts what names a priority. Adjectives count only at the end or
// before a colon, since in "read the important mail" they belong to the title.
func takePriority(s *sentence) (rest *sentence, priority string) {
	for _, rule := range []string{
		"[with] [a|the] highest|high|top|medium|normal|low|lowest priority",
		"[with] high-priority|low-priority|asap|as_soon_as_possible",
		"[and|but] [it's|it_is|which_is|that's] [very|really] not_urgent|not_important|urgent|important|critical $",
		"^ urgent|important|critical :|,|!|-",
		"no_rush|no_hurry|whenever_i_have_time",
		"! $",
	} {
		if cut, f, ok := s.cut(rule); ok {
			priority = cmp.Or(priority, level(s.span(f.from, f.to)))
			s = cut
		}
	}
	return s, priority
}

// level is the priority that some words name.
func level(words string) string {
	s := readWords(words)
	if _, ok := s.find("low|lowest|low-priority|not_urgent|not_important|no_rush|no_hurry|whenever_i_have_time"); ok {
		return "low"
	}
	if _, ok := s.find("medium|normal"); ok {
		return "medium"
	}
	return "high"
}

// splitItems cuts an enumeration: milk, bread and eggs.
func splitItems(text string) (items []string) {
	separators := strings.NewReplacer(" and ", ",", ";", ",", "* ", ",", "- ", ",")
	for item := range strings.SplitSeq(separators.Replace(text), ",") {
		if item = tidy(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// readCreate reads one todo, or several if the phrase has <items>, with what holds
// for all of them. Without a comma "eggs and bacon" is one.
func readCreate(f found, now time.Time) intent {
	items := []string{f.texts["todo"] + f.texts["items"]}
	if f.texts["many"] != "" || f.texts["items"] != "" && strings.Contains(items[0], ",") {
		items = splitItems(items[0])
	}
	common := readDraft(f.texts["common"], now)
	if how := f.texts["how"]; how != "" {
		common.priority = level(how)
	}
	var c create
	for _, item := range items {
		d := readDraft(item, now)
		if d.due.at.IsZero() {
			d.due = common.due
		}
		d.priority = cmp.Or(d.priority, common.priority)
		d.tags = append(d.tags, common.tags...)
		c = append(c, d)
	}
	return c
}

// readImperative takes a bare "buy milk" for a new todo, and any text with a date
// that is no question: dentist on Friday at 10.
//
// It is the last rule and guesses: only verbs that begin todos, or a date, make one.
func readImperative(s *sentence, now time.Time) intent {
	const (
		verbs = "buy call phone pay email mail text book clean wash fix repair finish submit renew water feed walk return order cook bake " +
			"prepare iron pack file sign visit meet pick take schedule print post send"
		others = "what who where why how when which is are was do does did can could will would should i you he she it we they this that " +
			"these there tell explain translate say write hello if"
	)
	d := readDraft(s.text(), now)
	verb := readWords(d.title).at(0)
	if verb == "" || strings.HasSuffix(s.text(), "?") || in(others, s.at(0)) || in(others, verb) || !in(verbs, verb) && d.due.at.IsZero() {
		return nil
	}
	return create{d}
}

// next adds the todos, in parallel where there are several, and then reports.
func (c create) next(t *turn) geminisim.Answer {
	tool := t.tools.create
	if tool == nil {
		return text(unavailable)
	}
	var plans []plan
	for _, d := range c {
		if d.title == "" {
			return text("What should the todo say? For example “Remind me to call mom on Friday at noon”.")
		}
		plans = append(plans, plan{tool: tool}.with("title", d.title).with("due_date", d.due.iso()).
			with("priority", cmp.Or(d.priority, "medium")).with("tags", d.tags))
	}
	done := t.of(tool)
	if calls := t.step(plans, len(done)); len(calls) > 0 {
		return geminisim.Answer{Thoughts: c.thoughts(tool.name), Calls: calls}
	}
	if len(done) == 0 {
		return text(noCalls)
	}
	return text(c.report(done, t.now))
}

// thoughts shows in the model's own way what was understood.
func (c create) thoughts(tool string) []string {
	if len(c) > 1 {
		return []string{thought("Splitting the Request", fmt.Sprintf("The user names %d todos. They do not depend on each other, so I'll create them in parallel with `%s`.", len(c), tool))}
	}
	when := "there is no due date"
	if !c[0].due.at.IsZero() {
		when = "the due date is " + c[0].due.iso()
	}
	return []string{
		thought("Interpreting the Request", fmt.Sprintf("The user wants a new todo. The title is “%s”, %s, and the priority is %s.", c[0].title, when, cmp.Or(c[0].priority, "medium by default"))),
		thought("Creating the Todo", "All that is needed is known, so I'll call `"+tool+"`."),
	}
}

// thought words a thought as Gemini does: a title in bold, and a paragraph.
func thought(title, text string) string { return "**" + title + "**\n\n" + text + "\n\n\n" }

// report says what became of the calls that are done.
func (c create) report(done []result, now time.Time) string {
	var added, faults []string
	for i, r := range done[:min(len(done), len(c))] {
		made := c[i]
		made.priority = cmp.Or(made.priority, "medium")
		if len(r.todos) == 1 {
			made = r.todos[0]
		}
		if r.fault != "" {
			faults = append(faults, "\n\n"+faultReply("add "+bold(made.title), r.fault))
			continue
		}
		added = append(added, made.describe(" for ", ", ", ", tagged ", now))
	}
	said := ""
	switch len(added) {
	case 0:
	case 1:
		said = "I've added " + added[0] + "."
	default:
		said = "I've added " + counted(len(added)) + ":\n\n- " + strings.Join(added, "\n- ")
	}
	return strings.TrimSpace(said + strings.Join(faults, "") + left(len(c)-len(done)))
}
