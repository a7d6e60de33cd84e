// This file finds out which todo is meant. A visitor names one by some of its words: "I finished the report" means
// "finish the quarterly report". And "it" is the todo that an earlier message names.

package offline

import (
	"slices"
	"strings"

	"sluice/internal/sim/offline/english"
	"sluice/internal/sim/offline/roles"
)

// fillers are words that say nothing of a todo: articles, and the verbs that begin every other one.
const fillers = "the a an my our your that this to of for and with about on in at up from one todo task item reminder it is some " +
	"thing list me i todos tasks buy call get finish do make go pick write send pay clean fix see take bring check book meet email wash feed " +
	"bought got finished did made went picked wrote sent paid took brought met fed"

// fit says how well some words name a todo.
type fit int

const (
	none  fit = iota
	some      // the title holds all of the words: half of them must not delete a todo
	exact     // it says nothing else, or the words are the id
)

// bestFits returns the todos that fit the words equally well and better than all others.
func bestFits(words string, todos []todo) (found []todo) {
	top := some
	for _, t := range todos {
		switch fit := fitOf(words, t); {
		case fit > top:
			top, found = fit, []todo{t}
		case fit == top:
			found = append(found, t)
		}
	}
	return found
}

// hasAll reports whether all words of want are among those.
func hasAll(words, want map[string]bool) bool {
	for w := range want {
		if !words[w] {
			return false
		}
	}
	return true
}

// fitOf returns how well words name a todo.
func fitOf(words string, t todo) fit {
	want, title := stemsOf(words), stemsOf(t.title)
	if words != "" && (strings.EqualFold(words, t.title) || strings.EqualFold(words, t.id)) {
		return exact
	}
	if !hasAll(title, want) {
		return none
	}
	switch len(want) {
	case 0:
		return none
	case len(title):
		return exact
	}
	return some
}

// stemsOf returns the words of text that say something, without their endings.
func stemsOf(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range english.Read(text).Words {
		if hasMeaning(w.Low) {
			set[english.Stem(w.Low)] = true
		}
	}
	return set
}

// hasMeaning reports whether a word says something of a todo.
func hasMeaning(w string) bool {
	return !english.IsSign(w) && !english.In(fillers, w) && !english.In(fillers, english.Stem(w))
}

// longestKeyword returns the longest meaningful word of a text, because servers search for the
// exact query. It returns "" for a possible id, because titles do not contain ids.
func longestKeyword(text string) (longest string) {
	if !strings.Contains(text, " ") && strings.ContainsAny(text, "0123456789") {
		return ""
	}
	for _, w := range english.Read(text).Words {
		if hasMeaning(w.Low) && len(w.Text) > len(longest) {
			longest = w.Text
		}
	}
	return longest
}

// antecedentTitle returns the title of the todo that "it" means. The model keeps no memory: it
// reads the earlier messages of the request from the newest back. The first message that names a
// todo counts: by the only title in the model's words, or by the user's phrase. It returns "" if no
// message names one, or if the newest names several.
func (t *turn) antecedentTitle() string {
	for _, m := range slices.Backward(t.before) {
		if m.Model {
			if titles := boldTexts(m.Text); len(titles) == 1 {
				return titles[0]
			}
			continue
		}
		switch in := readIntent(roles.OwnText(m.Text), t.now).(type) {
		case create:
			if len(in) == 1 {
				return in[0].title
			}
			return ""
		case change:
			if in.title != "" {
				return in.title
			}
			if !in.refersBack() {
				return in.target
			}
		case listing:
			return ""
		}
	}
	return ""
}

// boldTexts returns the bold texts in s, because the model names todos in bold.
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
