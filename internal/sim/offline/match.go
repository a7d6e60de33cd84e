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

// best returns the todos that fit the words equally well and better than all others.
func best(words string, todos []todo) (found []todo) {
	top := some
	for _, t := range todos {
		switch fit := compare(words, t); {
		case fit > top:
			top, found = fit, []todo{t}
		case fit == top:
			found = append(found, t)
		}
	}
	return found
}

// hasAll says whether all words of want are among those.
func hasAll(words, want map[string]bool) bool {
	for w := range want {
		if !words[w] {
			return false
		}
	}
	return true
}

// compare says how well words name a todo.
func compare(words string, t todo) fit {
	want, title := stems(words), stems(t.title)
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

// stems returns the words of text that say something, without their endings.
func stems(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range english.Read(text).Words {
		if says(w.Low) {
			set[english.Stem(w.Low)] = true
		}
	}
	return set
}

// says says whether a word says something of a todo.
func says(w string) bool {
	return !english.IsSign(w) && !english.In(fillers, w) && !english.In(fillers, english.Stem(w))
}

// keyword returns the longest word of a text that says something, as servers look
// for the query as it stands; "" for what may be an id, which no title holds.
func keyword(text string) (longest string) {
	if !strings.Contains(text, " ") && strings.ContainsAny(text, "0123456789") {
		return ""
	}
	for _, w := range english.Read(text).Words {
		if says(w.Low) && len(w.Text) > len(longest) {
			longest = w.Text
		}
	}
	return longest
}

// antecedent returns the title of the todo that "it" means. The model has no memory: it reads the earlier
// messages of the request from the newest back. The first one that names a todo counts, the only one in the
// model's words, or what the user spoke of. "": no message names one, or the newest that could names several.
func (t *turn) antecedent() string {
	for _, m := range slices.Backward(t.before) {
		if m.Model {
			if titles := boldTexts(m.Text); len(titles) == 1 {
				return titles[0]
			}
			continue
		}
		switch in := readIntent(roles.Said(m.Text), t.now).(type) {
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
