// This file finds out what "it" means. The model has no memory: it reads the earlier
// messages of the request from the newest back, and stops at the first one that names a
// todo.

package offline

import (
	"cmp"
	"strings"
)

// antecedent finds the todo that "it" means, in the newest of the earlier messages
// that names one. It has an id where a function response held one. The zero value:
// no message names one, or the newest names several.
func (t *turn) antecedent() todo {
	for i := len(t.before) - 1; i >= 0; i-- {
		it, named := t.topic(i)
		if !named {
			continue
		}
		for k := len(t.before) - 1; k >= 0 && it.id == ""; k-- {
			for _, known := range t.todosOf(k) {
				if strings.EqualFold(known.title, it.title) {
					it = known
				}
			}
		}
		return it
	}
	return todo{}
}

// topic returns the todo that a message is about: the only one of a function
// response, the only title in the model's words, or what the user asked for. named
// says that "it" cannot be older, even if no single todo was named.
func (t *turn) topic(i int) (it todo, named bool) {
	m := t.before[i]
	if m.Model {
		titles := boldTexts(m.Text)
		return todo{title: strings.Join(titles, "")}, len(titles) == 1
	}
	if len(m.Results) > 0 {
		if todos := t.todosOf(i); len(todos) == 1 {
			return todos[0], true
		}
		return todo{}, false
	}
	switch in := readIntent(m.Text, t.now).(type) {
	case create:
		if len(in) == 1 {
			return in[0], true
		}
	case change:
		return todo{title: cmp.Or(in.title, in.target)}, in.many != nil || !in.refersBack()
	case listing:
	default:
		return todo{}, false
	}
	return todo{}, true
}

// todosOf returns the todos in the results that a message holds.
func (t *turn) todosOf(i int) (todos []todo) {
	for _, r := range t.readResults(t.before, i) {
		todos = append(todos, r.todos...)
	}
	return todos
}

// boldTexts returns what a text sets in bold: the model's way to name a todo.
//
// It undoes what bold escapes.
func boldTexts(text string) (bold []string) {
	parts := strings.Split(strings.ReplaceAll(text, `\*`, "\x00"), "**")
	plain := strings.NewReplacer("\x00", "*", "\\", "")
	for i := 1; i+1 < len(parts); i += 2 {
		bold = append(bold, plain.Replace(parts[i]))
	}
	return bold
}
