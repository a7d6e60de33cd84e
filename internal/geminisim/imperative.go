package geminisim

import (
	"slices"
	"strings"
	"time"
)

// Visitors also write what is to be done without saying that it is a todo.

// plainVerbs begin todos that are hardly anything else.
var plainVerbs = strings.Fields(`buy call phone ring pay email mail text pick book clean wash fix repair finish submit renew
	water feed walk return order cook bake prepare mow vacuum iron pack file sign visit meet grab collect drop get take
	schedule cancel tidy organise organize print refill replace dust schedule wrap post send deposit rsvp`)

// noImperative are words that begin a statement or a question.
var noImperative = strings.Fields(`what who where why how when which whose is are am was were do does did can could will would
	should shall may might have has had i you he she it we they this that there these those tell explain translate say
	hello hi hey thanks ok yes no if because but let's lets sorry`)

// noTodo are works that a language model would be asked for, and that the demo
// cannot do.
var noTodo = phrasePattern(`\b(?:poem|haiku|story|song|essay|joke|limerick|code|program|function|script|weather|forecast|news|capital of|translate)\b`)

// readImperative takes a bare "buy milk" for a new todo, and any phrase with a
// date that is no question: dentist on Friday at 10.
func readImperative(text string, now time.Time) intent {
	appointment := haveThing.ReplaceAllString(text, "")
	d := readDraft(appointment, now)
	if appointment != text && d.due.isZero() {
		return nil
	}
	if d.title == "" || strings.HasSuffix(text, "?") || noTodo.MatchString(text) || len(text) > 500 {
		return nil
	}
	first, rest := readWords(appointment).at(0), readWords(d.title).at(0)
	if slices.Contains(noImperative, first) || slices.Contains(noImperative, rest) {
		return nil
	}
	if slices.Contains(plainVerbs, first) || !d.due.isZero() {
		return create{readDrafts(appointment, now)}
	}
	return nil
}

// haveThing: I have a dentist appointment on Friday.
var haveThing = phrasePattern(`^(?:i|we)(?:'ve got| have got| have|'ve) (?:a |an |my |the )?`)

var (
	didSomething = phrasePattern(`^(?:i|we)(?:'ve| have)? ?(?:(?:just|already|finally|now|also|successfully) )*(\p{L}+) (.+)$`)
	atTime       = phrasePattern(` (?:yesterday|today|this (?:morning|afternoon|evening)|just now|last night|already|now|earlier)[\s.!]*$`)
	noReport     = strings.Fields("need needed want wanted decided tried wondered asked forgot thought heard said had was lost liked loved hated would used noticed added created feel felt")
)

// readReport takes "I bought the eggs" for the end of "buy eggs".
func readReport(text string, _ time.Time) intent {
	m := didSomething.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	verb := strings.ToLower(m[1])
	if slices.Contains(noReport, verb) {
		return nil
	}
	if _, past := irregular[verb]; !past && !strings.HasSuffix(verb, "ed") || presentForms[verb] {
		return nil
	}
	return change{kind: complete, target: targetOf(m[1] + " " + atTime.ReplaceAllString(m[2], ""))}
}

// presentForms stand among the irregular verbs for their stems' sake.
var presentForms = map[string]bool{"write": true, "make": true, "take": true, "give": true, "mak": true, "tak": true, "giv": true}
