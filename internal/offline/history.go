package offline

import (
	"cmp"
	"slices"
	"strings"
)

// antecedent finds the todo that "it" means, in the newest of the earlier messages
// that names one: the only todo of a function response or the only title in the
// model's words, else what the user asked for. It has an id where a function
// response held one. The zero value: no message names one.
func (t *turn) antecedent() (it todo) {
	for i := len(t.before) - 1; i >= 0 && it.title == ""; i-- {
		m := t.before[i]
		titles, todos := boldTexts(m.Text), t.todosOf(i)
		switch {
		case m.Model && len(titles) == 1:
			it.title = titles[0]
		case !m.Model && len(todos) == 1:
			return todos[0]
		case !m.Model && len(m.Results) == 0:
			title, known := t.subject(m.Text)
			if it.title = title; known && title == "" {
				return it
			}
		}
	}
	for i := len(t.before) - 1; i >= 0 && it.title != ""; i-- {
		todos := t.todosOf(i)
		if k := slices.IndexFunc(todos, func(known todo) bool { return strings.EqualFold(known.title, it.title) }); k >= 0 {
			return todos[k]
		}
	}
	return it
}

func (t *turn) todosOf(i int) (todos []todo) {
	for _, r := range t.readResults(t.before, i) {
		todos = append(todos, r.todos...)
	}
	return todos
}

// subject returns the title of the todo that an earlier message of the user was
// about. known says that "it" cannot be older, even if no single todo was named.
func (t *turn) subject(text string) (title string, known bool) {
	switch in := readIntent(text, t.now).(type) {
	case create:
		if len(in) == 1 {
			return in[0].title, true
		}
	case change:
		if in.many == nil && !in.refersBack() {
			return cmp.Or(in.title, in.target), true
		}
		return "", in.many != nil
	case listing:
	default:
		return "", false
	}
	return "", true
}

// boldTexts returns what a text sets in bold: the model's way to name a todo.
func boldTexts(text string) (bold []string) {
	parts := strings.Split(strings.ReplaceAll(text, `\*`, "\x00"), "**")
	plain := strings.NewReplacer("\x00", "*", "\\", "")
	for i := 1; i+1 < len(parts); i += 2 {
		bold = append(bold, plain.Replace(parts[i]))
	}
	return bold
}
