package geminisim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// What the offline model says. Short, friendly, and never more than the tools
// have confirmed.

var markdown = strings.NewReplacer("*", `\*`, "`", "\\`", "[", `\[`, "<", `\<`, "\n", " ")

func bold(title string) string { return "**" + markdown.Replace(title) + "**" }

// counted: 1 todo, 2 todos.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// spoken writes a date for people; the year only where it is not now's.
func (d due) spoken(now time.Time) string {
	layout := "Monday, 2 January"
	if d.at.Year() != now.Year() {
		layout += " 2006"
	}
	if d.timed {
		layout += " at 15:04"
	}
	return d.at.Format(layout)
}

func hashed(tags []string) string {
	var out []string
	for _, tag := range tags {
		out = append(out, "#"+strings.TrimPrefix(tag, "#"))
	}
	return strings.Join(out, " ")
}

// createReply tells what became of the drafts whose calls are done.
func createReply(t *turn, drafts []draft, done []toolResult) string {
	var added []string
	var b strings.Builder
	for i, r := range done {
		if i < len(drafts) && r.fault == "" {
			added = append(added, created(t, drafts[i], r))
		}
	}
	switch len(added) {
	case 0:
	case 1:
		b.WriteString("I've added " + added[0] + ".")
	default:
		b.WriteString("I've added " + counted(len(added), "todo") + ":\n\n- " + strings.Join(added, "\n- "))
	}
	for i, r := range done {
		if i < len(drafts) && r.fault != "" {
			paragraph(&b, faultReply("add "+bold(drafts[i].title), r.fault))
		}
	}
	if left := len(drafts) - len(done); left > 0 {
		paragraph(&b, counted(left, "todo")+" of your list did not get a turn; please send the rest again.")
	}
	return b.String()
}

// created describes a new todo as the server has it, or as it was asked for
// where the server does not say.
func created(t *turn, d draft, r toolResult) string {
	got := todo{title: d.title, due: d.due, priority: cmp.Or(d.priority, "medium"), tags: d.tags}
	if len(r.todos) == 1 {
		got = r.todos[0]
	}
	text := bold(got.title)
	if !got.due.isZero() {
		text += " for " + got.due.spoken(t.now)
	}
	if got.priority != "" {
		text += ", " + got.priority + " priority"
	}
	if len(got.tags) > 0 {
		text += ", tagged " + hashed(got.tags)
	}
	return text
}

func paragraph(b *strings.Builder, text string) {
	if b.Len() > 0 {
		b.WriteString("\n\n")
	}
	b.WriteString(text)
}

// faultReply explains that a tool failed, in the words that it gave.
func faultReply(tried, fault string) string {
	fault = strings.TrimRight(strings.TrimSpace(fault), ".")
	text := fmt.Sprintf("I couldn't %s. The todo list answered: “%s”.", tried, fault)
	low := strings.ToLower(fault)
	if strings.Contains(low, "unavailable") || strings.Contains(low, "timed out") || strings.Contains(low, "timeout") {
		text += " Please try again in a moment."
	}
	return text
}

// changeReply tells what became of a change.
func changeReply(c change, t *turn, meant []todo, done []toolResult) string {
	var b strings.Builder
	for i, r := range done {
		if i >= len(meant) {
			break
		}
		if r.fault != "" {
			paragraph(&b, faultReply(string(c.kind)+" "+bold(meant[i].title), r.fault))
			continue
		}
		paragraph(&b, c.told(meant[i], c.afterChange(meant[i], r, t.now), t.now))
	}
	return b.String()
}

// told is the sentence about one changed todo.
func (c change) told(before, after todo, now time.Time) string {
	switch c.kind {
	case complete:
		return "Done! I've marked " + bold(before.title) + " as completed."
	case reopen:
		return bold(before.title) + " is open again."
	case remove:
		return "I've deleted " + bold(before.title) + "."
	case rename:
		return "I've renamed " + bold(before.title) + " to " + bold(after.title) + "."
	case reschedule:
		return "I've moved " + bold(before.title) + " to " + after.due.spoken(now) + "."
	case prioritise:
		return bold(before.title) + " now has " + after.priority + " priority."
	}
	return bold(before.title) + " is now tagged " + hashed(after.tags) + "."
}

// whichReply asks which todo is meant, when several fit or none does.
func whichReply(c change, doubt, all []todo, t *turn) string {
	if len(doubt) > 0 {
		return fmt.Sprintf("Several todos fit “%s”. Which one should I %s? You can name it by its id.\n\n%s", c.target, c.kind, bullets(withIDs(doubt), t.now))
	}
	open := filter{status: "open"}.apply(all, t.now)
	if len(open) == 0 {
		return fmt.Sprintf("I found no todo that fits “%s”, so nothing was changed. There are no open todos on your list.", c.target)
	}
	return fmt.Sprintf("I found no todo that fits “%s”, so nothing was changed. These are open:\n\n%s", c.target, bullets(open[:min(5, len(open))], t.now))
}

// withIDs adds the ids to the titles, as nothing else may tell the todos apart.
func withIDs(todos []todo) []todo {
	todos = slices.Clone(todos)
	for i := range todos {
		todos[i].title += " (" + stringOf(todos[i].id) + ")"
	}
	return todos
}

func bulkReply(c change, list toolResult, meant []todo, done []toolResult, now time.Time) string {
	var titles []string
	var b strings.Builder
	for i, r := range done {
		if i < len(meant) && r.fault == "" {
			titles = append(titles, bold(meant[i].title))
		}
	}
	if len(titles) > 0 {
		fmt.Fprintf(&b, "I've %s %s%s: %s.", c.past(), counted(len(titles), "todo"), c.outcome(now), strings.Join(titles, ", "))
	}
	if bad := failed(done); len(bad) > 0 {
		paragraph(&b, faultReply(fmt.Sprintf("%s %s", c.kind, counted(len(bad), "todo")), bad[0].fault))
	}
	if left := len(meant) - len(done); left > 0 {
		paragraph(&b, counted(left, "todo")+" did not get a turn; please ask again for the rest.")
	}
	if len(done) == 0 {
		return foundOnlyReply(meant)
	}
	return b.String() + cutNote(list)
}

func (c change) past() string {
	switch c.kind {
	case remove, complete, rename, reschedule, prioritise:
		return strings.TrimSuffix(string(c.kind), "e") + "ed"
	case label:
		return "tagged"
	}
	return "reopened"
}

// outcome says what all todos of a bulk change have in common now.
func (c change) outcome(now time.Time) string {
	switch {
	case c.kind == reschedule && !c.due.isZero():
		return " to " + c.due.spoken(now)
	case c.kind == prioritise:
		return " to " + c.priority + " priority"
	case c.kind == label:
		return " with " + hashed(c.tags)
	}
	return ""
}

func foundOnlyReply(meant []todo) string {
	return "I found " + counted(len(meant), "matching todo") + ", but I may not use tools any more in this turn, so nothing was changed."
}

func confirmReply(meant []todo) string {
	return fmt.Sprintf("That would delete %s, and it cannot be undone. If you mean it, say “yes, delete all todos”.", counted(len(meant), "todo"))
}
