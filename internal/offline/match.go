package offline

import "strings"

// A visitor names a todo by some of its words: "I finished the report" means
// "finish the quarterly report". Words count only if they say something: neither
// articles nor the verbs that begin every other todo.
const (
	fillers = "the a an my our your that this to of for and with about on in at up from one todo task item reminder it is some " +
		"thing list me i todos tasks " + commonVerbs + " " + pastVerbs
	commonVerbs = "buy call get finish do make go pick write send pay clean fix see take bring check book meet email wash feed"
	// pastVerbs are those of them that a report has in another form.
	pastVerbs = "bought got finished did made went picked wrote sent paid took brought met fed"
)

// best returns the todos that fit the words equally well and better than all others.
func best(words string, todos []todo) []todo {
	var found []todo
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

// fit says how well some words name a todo.
type fit int

const (
	none  fit = iota
	some      // the title holds all of the words: half of them must not delete a todo
	whole     // and says nothing else
	exact     // the very title, or the id
)

// compare says how well words name a todo.
func compare(words string, t todo) fit {
	want, title := stems(words), stems(t.title)
	switch {
	case words != "" && (strings.EqualFold(words, t.title) || strings.EqualFold(words, t.id)):
		return exact
	case len(want) == 0:
		return none
	}
	for w := range want {
		if !title[w] {
			return none
		}
	}
	if len(want) == len(title) {
		return whole
	}
	return some
}

// stems returns the words of text that say something, without their endings.
func stems(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range readWords(text).words {
		if says(w.low) {
			set[stem(w.low)] = true
		}
	}
	return set
}

func says(w string) bool { return !isSign(w) && !in(fillers, w) && !in(fillers, stem(w)) }

// stem cuts the endings of English words, roughly: what matters is that the same
// word in two forms gives the same stem.
func stem(w string) string {
	for _, ending := range []string{"'s", "ing", "ies", "ed", "es", "s", "y", "e"} {
		if base, ok := strings.CutSuffix(w, ending); ok && len(base) >= 3 && !strings.HasSuffix(w, "ss") {
			return base
		}
	}
	return w
}

// keyword returns the longest word of a text that says something, as servers look
// for the query as it stands; "" for what may be an id, which no title holds.
func keyword(text string) (longest string) {
	if !strings.Contains(text, " ") && strings.ContainsAny(text, "0123456789") {
		return ""
	}
	for _, w := range readWords(text).words {
		if says(w.low) && len(w.text) > len(longest) {
			longest = w.text
		}
	}
	return longest
}
