// This file understands phrases that create todos: one, or several of one kind with a date and a
// priority for all. Missing details of a todo stay empty, so that the tool's defaults apply.

package offline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/offline/english"
)

// create adds todos. Missing details are empty.
type create []todo

// readDraft takes tags, date and priority out of a text. The remaining words of the visitor are the
// title.
//
// The order matters: tags and dates go first, so that their words are not taken for a
// title.
func readDraft(text string, now time.Time) (d todo) {
	s, tags := cutTags(english.Read(text))
	if cut, f, ok := s.Cut("because|since_i|as_i <why> $"); ok && f.From > 0 {
		s, d.description = cut, tidyText(f.Texts["why"])
	}
	if s, d.due = s.CutDate(now); d.due.At.IsZero() { // "because we bake tomorrow" names the day too
		_, d.due = english.Read(d.description).CutDate(now)
	}
	s, tags = cutSpokenTag(s, tags)
	s, d.priority = cutPriority(s)
	for range 3 { // "and also to"
		s, _, _ = s.Cut("^ to|that|about|also|and|i_need_to|i_have_to")
		s, _, _ = s.Cut("and|with|as|due|by|but|is $")
	}
	d.title, d.tags = tidyText(s.Text()), tags
	return d
}

// tidyText trims blanks, quotes and stops, and the blanks around removed words.
func tidyText(text string) string {
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), " ,", ",")
	return strings.Trim(text, " ,;:.!?\"“”‘`–—-")
}

// cutTags cuts #tags; #12 is a number.
//
// Tags are returned with their letters as they are written.
func cutTags(s *english.Sentence) (*english.Sentence, []string) {
	var tags []string
	for i := 0; i < len(s.Words); i++ {
		if tag, ok := strings.CutPrefix(s.Span(i, i+1), "#"); ok && strings.Trim(tag, "#0123456789") != "" {
			tags = append(tags, tag)
			s, i = s.Without(i, i+1), i-1
		}
	}
	return s, tags
}

// cutSpokenTag cuts a word at the end that says which part of life a todo is of.
func cutSpokenTag(s *english.Sentence, tags []string) (*english.Sentence, []string) {
	for _, rule := range []string{"[it's|it_is] personal|private $", ", personal|private|work|family|home|shopping|health $"} {
		if cut, f, ok := s.Cut(rule); ok && f.From > 0 {
			words := english.Read(s.Span(f.From, f.To)).Words
			return cut, append(tags, words[len(words)-1].Low)
		}
	}
	return s, tags
}

// levels are the words for priorities.
const levels = "not_urgent|not_important|urgent|important|critical|asap|high|medium|normal|low|high-priority|low-priority"

// cutPriority cuts the words for a priority. Adjectives count only at the end or before a colon,
// since in "read the important mail" they belong to the title.
func cutPriority(s *english.Sentence) (rest *english.Sentence, priority string) {
	for _, rule := range []string{
		"[with] [a|the] high|medium|normal|low priority",
		"[with] high-priority|low-priority|asap",
		"[and|but] [it's|it_is] [very|really] not_urgent|not_important|urgent|important|critical $",
		"^ urgent|important|critical :|,|!|-",
	} {
		if cut, f, ok := s.Cut(rule); ok {
			priority = cmp.Or(priority, priorityOf(s.Span(f.From, f.To)))
			s = cut
		}
	}
	return s, priority
}

// priorityOf is the priority that some words name.
func priorityOf(words string) string {
	s := english.Read(words)
	if _, low := s.Find("low|low-priority|not_urgent|not_important"); low {
		return "low"
	}
	if _, medium := s.Find("medium|normal"); medium {
		return "medium"
	}
	return "high"
}

// splitItems cuts an enumeration: milk, bread and eggs.
func splitItems(text string) (items []string) {
	separators := strings.NewReplacer(" and ", ",", ";", ",", "* ", ",", "- ", ",")
	for item := range strings.SplitSeq(separators.Replace(text), ",") {
		if item = tidyText(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// readCreate reads one todo, or several if the phrase has <items>, with the details that they
// share. Without a comma "eggs and bacon" is one.
func readCreate(_ *english.Sentence, f english.Found, now time.Time) intent {
	items := []string{f.Texts["todo"] + f.Texts["items"]}
	if f.Texts["many"] != "" || f.Texts["items"] != "" && strings.Contains(items[0], ",") {
		items = splitItems(items[0])
	}
	common := readDraft(f.Texts["common"], now)
	if how := f.Texts["how"]; how != "" {
		common.priority = priorityOf(how)
	}
	var c create
	for _, item := range items {
		d := readDraft(item, now)
		if d.due.At.IsZero() {
			d.due = common.due
		}
		d.priority = cmp.Or(d.priority, common.priority)
		d.tags = append(d.tags, common.tags...)
		c = append(c, d)
	}
	return c
}

// readImperative takes a bare "buy milk" for a new todo, and any text with a date
// that is not a question: dentist on Friday at 10.
//
// It is the last rule and guesses: only verbs that begin todos, or a date, make one.
func readImperative(s *english.Sentence, now time.Time) intent {
	const (
		verbs = "buy call phone pay email text book clean wash fix finish submit renew water feed walk return order cook " +
			"prepare sign visit meet pick take print post send"
		others = "what who where why how when which is are was do does did can could will would should i you he she it we they this that " +
			"these there tell explain translate say write hello if"
	)
	d := readDraft(s.Text(), now)
	verb := english.Read(d.title).At(0)
	if verb == "" || strings.HasSuffix(s.Text(), "?") || english.In(others, s.At(0)) || english.In(others, verb) ||
		!english.In(verbs, verb) && d.due.At.IsZero() {
		return nil
	}
	return create{d}
}

// nextAnswer adds the todos, in parallel where there are several, and then reports.
func (c create) nextAnswer(t *turn) geminisim.Answer {
	tool := t.declaredTool("create_todo")
	if tool == nil {
		return t.answerUnavailable()
	}
	var plans []plan
	for _, d := range c {
		if d.title == "" {
			return text("What should the todo say? For example “Remind me to call mom on Friday at noon”.")
		}
		plans = append(plans, plan{tool: tool}.withArgument("title", d.title).withArgument("description", d.description).withArgument("due_date", d.due.ISO()).
			withArgument("priority", cmp.Or(d.priority, "medium")).withArgument("tags", d.tags))
	}
	if done := t.resultsOf(tool); len(done) > 0 {
		return text(c.reportCalls(done, t.now))
	}
	if calls := t.allowedCalls(plans); len(calls) > 0 {
		return geminisim.Answer{Thoughts: c.thoughtTexts(tool.name), Calls: calls}
	}
	return text(noCalls)
}

// thoughtTexts words the understood request in the model's own way.
func (c create) thoughtTexts(tool string) []string {
	if len(c) > 1 {
		return []string{thought("Splitting the Request", fmt.Sprintf("The user names %d todos. They do not depend on each other, so I'll create them in parallel with `%s`.", len(c), tool))}
	}
	when := "there is no due date"
	if !c[0].due.At.IsZero() {
		when = "the due date is " + c[0].due.ISO()
	}
	return []string{
		thought("Interpreting the Request", fmt.Sprintf("The user wants a new todo. The title is “%s”, %s, and the priority is %s.", c[0].title, when, cmp.Or(c[0].priority, "medium by default"))),
		thought("Creating the Todo", "All that is needed is known, so I'll call `"+tool+"`."),
	}
}

// reportAdded says which todos there are now.
func reportAdded(added []string) string {
	if len(added) == 1 {
		return "I've added " + added[0] + "."
	}
	return fmt.Sprintf("I've added %d todos:\n\n- %s", len(added), strings.Join(added, "\n- "))
}

// reportCalls words the results of the calls.
func (c create) reportCalls(done []result, now time.Time) string {
	var added, said []string
	for i, r := range done[:min(len(done), len(c))] {
		made := c[i]
		made.priority = cmp.Or(made.priority, "medium")
		if len(r.todos) == 1 {
			made = r.todos[0]
		}
		if r.fault != "" {
			said = append(said, faultReply("add "+bold(made.title), r.fault))
			continue
		}
		lead := ", "
		if !made.due.At.IsZero() {
			lead = " for "
		}
		added = append(added, strings.TrimSuffix(bold(made.title)+lead+made.describeFacts(now), ", "))
	}
	if len(added) > 0 {
		said = slices.Insert(said, 0, reportAdded(added))
	}
	if left := len(c) - len(done); left > 0 {
		said = append(said, fmt.Sprintf("For %d more there was no call left; please ask again for the rest.", left))
	}
	return strings.Join(said, "\n\n")
}
