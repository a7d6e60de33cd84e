package geminisim

import (
	"slices"
	"strings"
)

// A visitor names a todo by some of its words: "I finished the report" means
// "finish the quarterly report". Words count by what they say: articles nothing,
// verbs that begin every other todo half as much as the rest.

// looksFor is a description of a todo, ready to be compared.
type looksFor struct {
	text   string
	weight map[string]float64
	total  float64
}

func newLooksFor(text string) looksFor {
	l := looksFor{text: text, weight: make(map[string]float64)}
	for w := range stemSet(text) {
		l.weight[w] = weightOf(w)
		l.total += l.weight[w]
	}
	return l
}

// score says how well t fits: from 0 to 1 the share of the description that the
// title holds, 1.5 if the title says nothing else, 2 for the very title or the id.
func (l looksFor) score(t todo) float64 {
	if l.text != "" && (strings.EqualFold(l.text, t.title) || strings.EqualFold(l.text, stringOf(t.id))) {
		return 2
	}
	if l.total == 0 {
		return 0
	}
	var found, all float64
	for w := range stemSet(t.title) {
		all += weightOf(w)
		found += l.weight[w]
	}
	if found == l.total && found == all {
		return 1.5
	}
	return found / l.total
}

// enough is the score from which a todo counts as meant. Half of the words will
// not do: "buy eggs" must never hit "buy milk".
const enough = 0.6

// best returns the todos that fit equally well and better than all others.
func (l looksFor) best(todos []todo) []todo {
	var found []todo
	top := enough
	for _, t := range todos {
		switch score := l.score(t); {
		case score > top:
			top, found = score, []todo{t}
		case score == top:
			found = append(found, t)
		}
	}
	return found
}

func weightOf(stem string) float64 {
	if commonVerbs[stem] {
		return 0.5
	}
	return 1
}

var commonVerbs = wordStems("buy call get finish do make go pick write send pay clean fix read see take bring check book meet email")

func wordStems(words string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		set[stem(w)] = true
	}
	return set
}

// stemSet returns the stems of text, each once.
func stemSet(text string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range stems(text) {
		set[w] = true
	}
	return set
}

var fillers = []string{
	"the", "a", "an", "my", "our", "your", "that", "this", "to", "of", "for", "and", "with", "about", "on", "in", "at", "up",
	"from", "one", "todo", "task", "item", "reminder", "it", "is", "some", "thing", "list", "me", "i", "todos", "tasks",
}

// stems returns the words of text that say something, without their endings.
func stems(text string) []string {
	var out []string
	for _, w := range readWords(text).words {
		if isSign(w.low) || slices.Contains(fillers, w.low) {
			continue
		}
		out = append(out, stem(w.low))
	}
	return out
}

func isSign(w string) bool { return !isWord(w) && (w[0] < '0' || w[0] > '9') && w[0] < 0x80 }

// stem cuts the endings of English words, roughly: what matters is that the same
// word in two forms gives the same stem.
func stem(w string) string {
	w = strings.TrimSuffix(w, "'s")
	if base, ok := irregular[w]; ok {
		return base
	}
	for _, ending := range []string{"ing", "ies", "ed", "es", "s", "y", "e"} {
		if base, ok := strings.CutSuffix(w, ending); ok && len(base) >= 3 && !strings.HasSuffix(w, "ss") {
			w = base
			break
		}
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] && w[n-1] < 0x80 { // shopp-ing
		w = w[:n-1]
	}
	if base, ok := irregular[w]; ok {
		return base
	}
	return w
}

// irregular holds the past tenses that visitors report with.
var irregular = map[string]string{
	"bought": "buy", "paid": "pay", "sent": "send", "went": "go", "gone": "go", "wrote": "writ", "written": "writ", "write": "writ",
	"made": "make", "make": "make", "did": "do", "done": "do", "got": "get", "took": "take", "taken": "take", "take": "take", "read": "read",
	"met": "meet", "fed": "feed", "brought": "bring", "built": "build", "gave": "give", "give": "give", "found": "find",
	"ran": "run", "saw": "see", "sold": "sell", "spoke": "speak", "told": "tell", "left": "leave", "swept": "sweep",
	"hung": "hang", "cut": "cut", "drew": "draw", "ate": "eat", "drank": "drink", "drove": "drive", "flew": "fly", "held": "hold",
	"mak": "make", "tak": "take", "giv": "give",
}
