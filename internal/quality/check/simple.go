// This file has the checks of a single property of an answer: it has text, it is complete, a tool
// was used, its length is within bounds.

package check

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"

	"github.com/go-json-experiment/json/jsontext"
)

// notEmpty asks for something that can be read.
type notEmpty struct{}

// compileCheck accepts no arguments.
func (c *notEmpty) compileCheck() (Check, error) { return c, nil }

// Run requires one visible character at least.
func (*notEmpty) Run(in *Input) Outcome {
	if strings.IndexFunc(in.Text, isVisible) < 0 {
		return failedOutcome("There is no text.")
	}
	return passedOutcome()
}

// isVisible reports whether r can be seen.
func isVisible(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }

// complete asks that the answer was not cut.
type complete struct{}

// compileCheck accepts no arguments.
func (c *complete) compileCheck() (Check, error) { return c, nil }

// Run requires that the model stopped by itself.
func (*complete) Run(in *Input) Outcome {
	if in.Finish != "stop" {
		return failedOutcome("The answer was cut before its end.")
	}
	return passedOutcome()
}

// dataUsed asks that a tool did something.
type dataUsed struct{}

// compileCheck accepts no arguments.
func (c *dataUsed) compileCheck() (Check, error) { return c, nil }

// Run requires that one tool at least has answered.
func (*dataUsed) Run(in *Input) Outcome {
	for _, e := range in.Evidence {
		if e.Completed {
			return passedOutcome()
		}
	}
	return failedOutcome("No tool was used, though the answer needs data.")
}

// maxLength bounds the answer. Characters are code points; words are those of Unicode
// Standard Annex 29 that have a letter or a digit.
type maxLength struct {
	Chars    int `json:"chars"`
	Words    int `json:"words"`
	Segments int `json:"segments"`
	Parts    int `json:"parts"`
}

// compileCheck wants a bound, and that none is negative. 0 is as if it were not
// given.
func (c *maxLength) compileCheck() (Check, error) {
	some := false
	for _, bound := range c.lengthBounds() {
		if bound.most < 0 {
			return nil, &ArgsError{jsontext.Pointer("/" + bound.argument), "must be 1 or more"}
		}
		some = some || bound.most > 0
	}
	if !some {
		return nil, &ArgsError{"", "must have one of chars, words, segments, parts, of 1 or more"}
	}
	return c, nil
}

// bound is one of the lengths that can be bounded.
type bound struct {
	argument string // the argument
	unit     string // of the feedback
	most     int    // 0 turns the bound off
	size     func(*Input) int
}

// lengthBounds lists the lengths with what measures them.
func (c *maxLength) lengthBounds() []bound {
	return []bound{
		{"chars", "characters", c.Chars, func(in *Input) int { return utf8.RuneCountInString(in.Text) }},
		{"words", "words", c.Words, func(in *Input) int { return countWords(in.Text) }},
		{"segments", "segments of SMS", c.Segments, func(in *Input) int { return in.Segments }},
		{"parts", "messages", c.Parts, func(in *Input) int { return in.Parts }},
	}
}

// Run reports all bounds that the answer exceeds, with how much, so that a model can shorten it
// at once.
func (c *maxLength) Run(in *Input) Outcome {
	var over []string
	for _, b := range c.lengthBounds() {
		if b.most == 0 {
			continue
		}
		if size := b.size(in); size > b.most {
			over = append(over, fmt.Sprintf("It has %d %s and may have %d.", size, b.unit, b.most))
		}
	}
	if len(over) > 0 {
		return failedOutcome("The answer is too long. " + strings.Join(over, " "))
	}
	return passedOutcome()
}

// countWords counts words as Unicode segments text (UAX #29), which works
// without spaces, too.
func countWords(text string) int {
	n := 0
	for it := words.FromString(text); it.Next(); {
		if strings.IndexFunc(it.Value(), isWord) >= 0 {
			n++
		}
	}
	return n
}

// isWord reports whether r makes a segment a word.
func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
