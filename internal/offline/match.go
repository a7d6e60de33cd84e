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

// Half of the words will not do: nobody wants the wrong todo deleted.
const enough = 0.6

// best returns the todos that fit the words equally well and better than all others.
func best(words string, todos []todo) []todo {
	var found []todo
	top := enough
	for _, t := range todos {
		switch score := similarity(words, t); {
		case score > top:
			top, found = score, []todo{t}
		case score == top:
			found = append(found, t)
		}
	}
	return found
}

// similarity says how well t fits: from 0 to 1 the share of the words that its
// title holds, 1.5 if the title says nothing else, 2 for the very title or the id.
func similarity(words string, t todo) float64 {
	if words != "" && (strings.EqualFold(words, t.title) || strings.EqualFold(words, stringOf(t.id))) {
		return 2
	}
	want, title := stems(words), stems(t.title)
	shared := 0
	for w := range want {
		if title[w] {
			shared++
		}
	}
	switch {
	case shared == 0:
		return 0
	case shared == len(want) && shared == len(title):
		return 1.5
	}
	return float64(shared) / float64(len(want))
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
